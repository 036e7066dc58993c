"""Print a program at a stage of compilation.

The stages:

    core       after parsing, checking and elaboration
    opt        after simplification and fusion
    flat       after incremental flattening: all code versions, with their guards
    imp        the kernels of an entry point in the imperative IR
    kernels    the OpenCL source of an entry point
    host       the host program of an entry point, as Python
    tree       the threshold tree: which comparisons lead to which version (--dot for Graphviz)

Stages 'imp', 'kernels' and 'host' show the first entry point unless one is named.
"""

from __future__ import annotations

import argparse

from runelift.ir.files import read_source, require_file
from runelift.runtime.commands.open_program import pick_entry
from runelift.runtime.commands.options import (
    add_entry,
    add_policy,
    add_program,
    add_rules,
    add_schedule,
)
from runelift.runtime.commands.rewriting_options import add_rewriting, rewriting_of, rules_of
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.program import Program
from runelift.runtime.versions.tuning_file import schedule_of

PLANNED = ("imp", "kernels", "host")
"""The stages of one entry point."""
STAGES = ("core", "opt", "flat", *PLANNED, "tree")


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift dump``."""
    add_program(parser)
    parser.add_argument("--stage", choices=STAGES, default="flat",
                        help="the stage (default: %(default)s)")
    parser.add_argument("--dot", action="store_true", help="print the tree for Graphviz")
    add_entry(parser)
    add_policy(parser)
    add_rules(parser)
    add_schedule(parser)
    add_rewriting(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift dump``."""
    compiled = compile_source(read_source(require_file(args.program)), policy=args.policy,
                              rewriting=rewriting_of(args), rules=rules_of(args),
                              schedule=schedule_of(args.schedule))
    program = Program(compiled, None)
    if args.stage == "tree":
        tree = program.tree if args.entry is None else program.tree.entry(
            pick_entry(program, args.entry))
        print(tree.dot() if args.dot else tree.render())
    else:
        needs_entry = args.entry or (args.stage in PLANNED and not program.entries)
        entry = pick_entry(program, args.entry) if needs_entry else None
        print(program.source(args.stage, entry))
    return 0
