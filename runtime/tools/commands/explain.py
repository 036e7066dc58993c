"""Explain the code of an error, with an example and its cure, or how a program is flattened.

For a program, it says which rule fired on which expression, the result, and why other rules did not
apply.  With --parameters, it lists the parameters of the kernels on a device, which 'run --param'
sets and 'autotune' chooses, and the constraints on them.  With --kernels, it lists the classes of
the kernels that each code version may run, their launches, and stored intermediates.  With
--memory, it lists the device memory that each code version needs, for the datasets of the program
or for --sizes.  With --cost, it lists what each code version is predicted to cost, without a run.
--as-device h200 stands for a device that is not there.  With --access, it lists the class of each
reference to an array, which says what elements work-items have in common.  With --barriers, it
lists the barriers of kernels, and the accesses that each of them separates; --dot draws the graph
of accesses.  With --schedule, it prints the rewrite points of the program, a step a line, and which
other points match.  With --steps, it adds the program after each step.  With --file FILE, it
explains the program with another schedule.  With --html, it writes a page for a browser: passes,
flattening, versions and kernels.  Lines that belong together can be marked there.

Without an argument, list the codes.
"""

from __future__ import annotations

import argparse
import difflib
import os
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from runelift.ir.base.codes import CODES
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.runtime.tools.commands.options import (
    add_device,
    add_entry,
    add_json,
    add_only,
    add_policy,
    add_rules,
    add_tuning,
    print_json,
)
from runelift.runtime.tools.commands.rewriting_options import add_rewriting
from runelift.runtime.tools.commands.styles import show, show_page
from runelift.runtime.tools.testing import error_index as explained

EXPLAINERS = {
    "parameters": "explain_parameters", "kernels": "explain_kernels", "memory": "explain_memory",
    "cost": "explain_cost",
    "schedule": "explain_schedule", "barriers": "explain_barriers", "access": "explain_accesses",
    "html": "explain_page"}
"""The modules for options, the first of which counts.  They are imported by name, as commands are:
some need much."""
FLATTENING = "explain_flattening"
"""The module for programs without such an option."""
EXAMPLES = ("runelift explain examples/matmul.fut", "runelift explain examples/matmul.fut --html",
            "runelift explain examples/matmul.fut --cost --as-device h200 --only thin",
            "runelift explain type-mismatch")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift explain``."""
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
    parser.add_argument("--cost", action="store_true",
                        help="list launches, bytes, operations, the longest work-item and the "
                             "predicted time of each code version at each choice, for datasets or "
                             "--sizes; with --html and --over, draw the times over a size")
    parser.add_argument("--as-device", metavar="DEVICE",
                        help="with --cost: as if on this device, which need not be here, by the "
                             "name of its profile or the path of one (.json)")
    parser.add_argument("--over", metavar="NAME",
                        help="with --cost: vary this size from 1 to 10^8, as far as arrays fit "
                             "the device")
    parser.add_argument("--sizes", metavar="NAME=N", nargs="+", default=[],
                        help="with --memory or --cost: these sizes and parameters in place of "
                             "datasets")
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
    parser.add_argument("--html", metavar="OUT", nargs="?", const="",
                        help="write a page about the program: source, passes with changes, "
                             "flattening step by step, versions, kernels (default: the name of "
                             "FILE with .html)")
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
    if args.steps and not args.schedule:
        raise UserError("--steps goes with --schedule.")
    if args.sizes and not (args.memory or args.cost):
        raise UserError("--sizes goes with --memory or --cost.")
    if not args.cost and (args.as_device is not None or args.over is not None):
        raise UserError("--as-device and --over go with --cost.")
    if args.subject is None and args.sizes and "=" not in args.sizes[-1]:
        args.subject = args.sizes.pop()  # the program behind the sizes
    if args.subject is None and (args.html or "").endswith(".fut"):
        args.subject, args.html = args.html, ""  # the program behind the option
    asked = next((name for option, name in EXPLAINERS.items()
                  if getattr(args, option) not in (None, False)), None)
    if args.subject is None and asked is not None:
        raise UserError("Which program?  Name its file as well.")
    if args.subject is None:
        if args.json:
            print_json({code: each.title for code, each in CODES.items()})
        else:
            show(explained.index())
    elif args.subject in CODES:
        _explain_code(args)
    else:
        path = require_file(_program(args.subject))
        import_module(f"{__package__}.{asked or FLATTENING}").explain(args, path)
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
        show_page(explained.page(args.subject).rstrip())
