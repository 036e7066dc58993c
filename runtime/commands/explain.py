"""Explain the code of an error, with an example and its cure, or how a program is flattened.

For a program, it says which rule fired on which expression, the result, and why others did not
apply.  With --parameters, it lists the parameters of the kernels on a device, which 'run --param'
sets and 'autotune' chooses, and the constraints on them.  With --kernels, it lists the classes of
the kernels that each code version may run, their launches, and stored intermediates.  With
--memory, it lists the device memory that each code version needs, for the datasets of the program
or for --sizes.  With --access, it lists the class of each reference to an array, which says what
elements work-items have in common.  With --barriers, it lists the barriers of kernels, and the
accesses that each of them separates; --dot draws the graph of accesses.  With --schedule, it
prints the rewrite points of the program, a step a line, and which others match; --steps adds the
program after each step.  --file FILE explains the program with another schedule.

Without an argument, list the codes.
"""

from __future__ import annotations

import argparse
import difflib
import os
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from runelift.codegen.plan.kernel_classes import render as render_kernels
from runelift.codegen.plan.kernel_classes import work_of
from runelift.ir import patterns
from runelift.ir.codes import CODES
from runelift.ir.errors import UserError, unknown_entry
from runelift.ir.files import read_source, require_file
from runelift.runtime.commands.explain_memory import explain_memory
from runelift.runtime.commands.explain_schedule import explain_schedule
from runelift.runtime.commands.open_program import pick_entry
from runelift.runtime.commands.options import (
    add_device,
    add_entry,
    add_json,
    add_only,
    add_policy,
    add_rules,
    add_tuning,
    print_json,
)
from runelift.runtime.commands.rewriting_options import add_rewriting, rewriting_of, rules_of
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.compile import compile as compile_program
from runelift.runtime.geometry.explained_spaces import facts, render
from runelift.runtime.testing import error_index as explained
from runelift.runtime.versions.tuning_file import schedule_of


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift explain``."""
    parser.add_argument("subject", nargs="?", metavar="CODE|FILE",
                        help="the code of an error, as in error[CODE], or a program (.fut)")
    parser.add_argument("--parameters", action="store_true",
                        help="list the parameters of the kernels with their values (0: as the "
                             "sizes suggest)")
    parser.add_argument("--kernels", action="store_true",
                        help="list the classes of kernels of each code version, launches and "
                             "stored intermediates")
    parser.add_argument("--memory", action="store_true",
                        help="list the device memory of each code version before it runs, as a "
                             "formula and for datasets, with the arrays that are alive then")
    parser.add_argument("--sizes", metavar="NAME=N", nargs="+", default=[],
                        help="with --memory: these sizes and parameters in place of datasets")
    add_only(parser)
    parser.add_argument("--access", action="store_true",
                        help="list how the kernels of a program access arrays")
    parser.add_argument("--schedule", action="store_true",
                        help="print the schedule of a program: its rewrite points, with further "
                             "ones that match in comments; 'run --schedule' takes the output")
    parser.add_argument("--steps", action="store_true",
                        help="with --schedule, also the program after each step")
    parser.add_argument("--file", type=Path, metavar="FILE",
                        help="explain the program with this schedule (default: the points that "
                             "are written in it, or for --schedule the tuning file's schedule)")
    parser.add_argument("--barriers", action="store_true",
                        help="list the barriers of the kernels, with the accesses that each one "
                             "separates")
    parser.add_argument("--kernel", metavar="NAME", help="with --barriers, of this kernel only")
    parser.add_argument("--dot", type=Path, metavar="OUT",
                        help="with --barriers, write the graph of accesses for Graphviz")
    add_entry(parser)
    add_tuning(parser)
    add_device(parser)
    add_policy(parser)
    add_rules(parser)
    add_json(parser)
    add_rewriting(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift explain``."""
    if not args.barriers and (args.kernel is not None or args.dot is not None):
        raise UserError("--kernel and --dot go with --barriers.")
    if args.subject is None:
        if args.json:
            print_json({code: each.title for code, each in CODES.items()})
        else:
            print(explained.index())
    elif args.subject in CODES:
        _explain_code(args)
    elif args.parameters:
        _list_parameters(args, require_file(_program(args.subject)))
    elif args.kernels:
        _list_kernels(args, require_file(_program(args.subject)))
    elif args.memory:
        explain_memory(args, require_file(_program(args.subject)))
    elif args.schedule:
        explain_schedule(args, require_file(_program(args.subject)))
    elif args.barriers:
        path = require_file(_program(args.subject))
        # by its name, as the command line imports commands: it needs networkx
        import_module("runelift.runtime.commands.explained_barriers").list_barriers(args, path)
    elif args.access:
        _list_accesses(args, require_file(_program(args.subject)))
    else:
        _explain_program(args, require_file(_program(args.subject)))
    return 0


def _program(subject: str) -> Path:
    """The file that is meant; UserError if it looks like a code that does not exist."""
    path = Path(subject)
    if not path.suffix and not os.path.exists(path):
        near = difflib.get_close_matches(subject, CODES, n=1)
        raise UserError(f"There is no error code and no file '{subject:.80}'.  "
                        + (f"Did you mean '{near[0]}'?" if near else
                           "'runelift explain' lists the codes."))
    return path


def _explain_code(args: argparse.Namespace) -> None:
    if args.json:
        said = explained.message(CODES[args.subject], CODES[args.subject].wrong)
        print_json({**asdict(CODES[args.subject]), "message": said})
    else:
        print(explained.page(args.subject), end="")


def _list_parameters(args: argparse.Namespace, path: Path) -> None:
    program = compile_program(path, device=args.device, tuning={}, policy=args.policy,
                              runs=False, rules=args.rules, schedule=args.file)
    if program.device_info is None:
        raise UserError("What parameters can be depends on the device, and there is none here; "
                        "'runelift doctor' says why.")
    spaces = program.spaces(None if args.entry is None else pick_entry(program, args.entry))
    if args.json:
        print_json(facts(spaces))
    else:
        print(render(spaces))


def _list_kernels(args: argparse.Namespace, path: Path) -> None:
    program = compile_program(path, device=args.device, tuning={}, policy=args.policy,
                              runs=False, rules=args.rules, schedule=args.file)
    info = program.device_info
    entries = program.entries if args.entry is None else [pick_entry(program, args.entry)]
    works = [(entry, work_of(program.compiled.plan(
        entry, interleave=info is None or info.interleaves,
        coherent=info is None or info.coherent, checked=False))) for entry in entries]
    if args.json:
        print_json({entry: asdict(work) for entry, work in works})
    else:
        print(render_kernels(works))


def _list_accesses(args: argparse.Namespace, path: Path) -> None:
    rewriting = rewriting_of(args)
    compiled = compile_source(read_source(path), policy=args.policy, rewriting=rewriting,
                              rules=rules_of(args), schedule=schedule_of(args.file))
    funs = [fun for fun in compiled.versioned.funs if args.entry in (None, fun.name)]
    if not funs:
        raise unknown_entry(args.entry, (fun.name for fun in compiled.versioned.funs))
    if args.json:
        print_json({fun.name: [
            {"kernel": each.name, "at": str(each.loc), "references": [
                {"reference": str(r), "array": r.array.base, "class": r.pattern.title}
                for r in each.references]} for each in patterns.accesses(fun)] for fun in funs})
    else:
        print("\n\n".join(f"{fun.name}\n" + patterns.render(patterns.accesses(fun))
                          for fun in funs))


def _explain_program(args: argparse.Namespace, path: Path) -> None:
    compiled = compile_source(read_source(path), policy=args.policy, rewriting=rewriting_of(args),
                              rules=rules_of(args), schedule=schedule_of(args.file))
    derivations = compiled.derivations
    if args.entry is not None:
        derivations = tuple(d for d in derivations if d.fun == args.entry)
        if not derivations:
            raise unknown_entry(args.entry, compiled.interfaces)
    if args.json:
        print_json({d.fun: [asdict(step) for step in d.steps] for d in derivations})
    else:
        print("\n\n".join(derivation.render() for derivation in derivations))
