"""Print a program at a stage of compilation.

The stages:

    core       after parsing, checking and elaboration
    derived    after jvp and vjp are expanded
    opt        after simplification and fusion
    flat       after incremental flattening: all code versions, with their guards
    imp        the kernels of an entry point in the imperative IR
    kernels    the OpenCL source of an entry point
    host       the host program of an entry point, as Python
    tree       the threshold tree: which comparisons lead to which version (--dot for Graphviz);
               predicted times decide instead of comparisons whose threshold is not tuned

Stages 'imp', 'kernels' and 'host' show the first entry point unless one is named.
"""

from __future__ import annotations

import argparse

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source, require_file
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.open_program import pick_entry, require_entry
from runelift.runtime.tools.commands.options import REWRITING, add_options, print_json
from runelift.runtime.tools.commands.rewriting_options import add_rewriting, rewriting_of, rules_of
from runelift.runtime.tools.commands.styles import show, show_code
from runelift.runtime.versions.forest import Forest, Forests
from runelift.runtime.versions.tuning_file import schedule_of

PLANNED = ("imp", "kernels", "host")
"""The stages of one entry point."""
STAGES = ("core", "derived", "opt", "flat", *PLANNED, "tree")
STAGES_OF_OPTIONS = {"dot": "tree", "preamble": "kernels"}
LANGUAGES = {"kernels": "c", "host": "python",
             **dict.fromkeys(("core", "derived", "opt", "flat"), "runelift")}
"""The languages of stages that are programs."""
EXAMPLES = ("runelift dump --stage tree examples/matmul.fut",
            "runelift dump --stage kernels examples/matmul.fut")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift dump``."""
    add_options(parser, "program")
    parser.add_argument("--stage", choices=STAGES, default="flat",
                        help="the stage (default: %(default)s)")
    parser.add_argument("--dot", action="store_true",
                        help="with --stage tree, print it for Graphviz")
    parser.add_argument("--preamble", action="store_true",
                        help="with --stage kernels, also the macros and functions before kernels")
    add_options(parser, "entries", *REWRITING, "rules", "schedule")
    add_rewriting(parser)
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift dump``."""
    for option, stage in STAGES_OF_OPTIONS.items():
        if getattr(args, option) and args.stage != stage:
            raise UserError(f"--{option} goes with --stage {stage}.")
    compiled = compile_source(read_source(require_file(args.program)), policy=args.policy,
                              rewriting=rewriting_of(args), rules=rules_of(args),
                              schedule=schedule_of(args.schedule))
    require_entry(compiled.interfaces)
    program = Program(compiled, None)
    text = _tree(args, program) if args.stage == "tree" else _stage(args, program)
    if args.json:
        print_json({"stage": args.stage, "entry": args.entry, "text": text})
    elif args.stage in LANGUAGES:
        if args.stage == "kernels" and not args.preamble:
            text = _without_preamble(text)
        show_code(text, LANGUAGES[args.stage])
    elif args.stage == "tree":
        show(text)
    else:
        print(text)
    return 0


def _without_preamble(text: str) -> str:
    """The source of kernels from the first kernel on, with the comment above it."""
    start = text.find("\n__kernel") + 1
    above = text[:start].splitlines(keepends=True)
    while above and above[-1].startswith("//"):
        start -= len(above.pop())
    left = text.count("\n", 0, start)
    return f"// {left} lines of macros and functions: --preamble\n{text[start:]}" if left else text


def _tree(args: argparse.Namespace, program: Program) -> str:
    tree: Forest | Forests = program.tree if args.entry is None else program.tree.entry(
        pick_entry(program, args.entry))
    return tree.dot() if args.dot else tree.render()


def _stage(args: argparse.Namespace, program: Program) -> str:
    needs_entry = args.entry or (args.stage in PLANNED and not program.entries)
    return program.source(args.stage, pick_entry(program, args.entry) if needs_entry else None)
