"""Explain the code of an error, with an example and its cure, or how a program is flattened.

The topics about a program:

    rules       which rule fired on which expression, and why other rules did not (the default)
    kernels     the kernels of each code version, their launches, stored intermediates
    parameters  the parameters of kernels, which 'run --param' sets and 'autotune' chooses
    memory      the device memory of each code version, for datasets or --sizes
    cost        predicted times of each code version; --as-device h200 is a device not here
    schedule    the rewrite points, a step a line; --steps adds the program after each step
    access      the elements of arrays that work-items have in common
    barriers    the barriers of kernels, and the accesses between; --dot draws their graph

With --lengths 3,0,5,1, draw how versions for rows of different lengths run such rows.  With
--ragged, tell what decides for the lengths of datasets: parallelism, waste, predicted times.  With
--ragged, cost or memory, --lengths are lengths in place of datasets, as in '1000 power 64'.

With --html, write a page for a browser: passes, flattening, versions and kernels.  Lines that
belong together can be marked there.  Without an argument, list the codes.
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
from runelift.runtime.tools.commands.options import REWRITING, add_options, print_json, warn
from runelift.runtime.tools.commands.rewriting_options import add_rewriting
from runelift.runtime.tools.commands.styles import show, show_page
from runelift.runtime.tools.testing import error_index as explained

EXPLAINERS = {
    **{name: f"explain_kernels:{name}" for name in ("parameters", "kernels", "memory")},
    "cost": "explain_cost:explain", "schedule": "explain_schedule:explain",
    **{name: f"explain_kernels:{name}" for name in ("barriers", "access")},
    **{name: f"explain_rows:{name}" for name in ("ragged", "lengths")},
    "html": "explain_page:explain"}
"""The functions for options, the first of which counts.  Their modules are imported by name, as
commands are: some need much."""
FLATTENING = "explain_flattening:explain"
"""The function for programs without such an option."""
TOPICS = ("rules", *(name for name in EXPLAINERS if name not in ("lengths", "ragged", "html")))
"""The words in front of a program: what is explained about it."""
EXAMPLES = ("runelift explain examples/matmul.fut", "runelift explain examples/matmul.fut --html",
            "runelift explain cost examples/matmul.fut --as-device h200 --only thin",
            "runelift explain type-mismatch")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift explain``."""
    words = parser.add_argument(
        "words", nargs="*", metavar="[TOPIC] CODE|FILE",
        help="the code of an error, as in error[CODE], or a program (.fut), perhaps with a topic "
             f"before it: {', '.join(TOPICS)}")
    vars(words)["words"] = (*TOPICS, *CODES)  # for the completion of shells
    for name in TOPICS[1:]:  # spellings of before
        parser.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--as-device", metavar="DEVICE",
                        help="cost: as if on this device, which need not be here, by the "
                             "name of its profile or the path of one (.json)")
    parser.add_argument("--over", metavar="NAME",
                        help="cost: vary this size from 1 to 10^8, as far as arrays fit "
                             "the device")
    parser.add_argument("--sizes", metavar="NAME=N", nargs="+", default=[],
                        help="memory and cost: these sizes and parameters in place of datasets")
    add_options(parser, "only")
    parser.add_argument("--lengths", metavar="N,N,...",
                        help="draw how each version for rows of different lengths runs rows of "
                             "these lengths, such as 3,0,5,1 or '9 power 20': letters are "
                             "work-items; with cost, memory or --ragged: lengths in place of "
                             "datasets")
    parser.add_argument("--ragged", action="store_true",
                        help="for datasets with rows of different lengths: their lengths, and "
                             "parallelism, waste and predicted time of each version")
    parser.add_argument("--steps", action="store_true",
                        help="schedule: also the program after each step")
    parser.add_argument("--file", type=Path, metavar="FILE",
                        help="explain the program with this schedule (default: the points that "
                             "are written in it, or for 'schedule' the tuning file's schedule)")
    parser.add_argument("--kernel", metavar="NAME", help="barriers: of this kernel only")
    parser.add_argument("--dot", type=Path, metavar="OUT",
                        help="barriers: write the graph of accesses for Graphviz")
    parser.add_argument("--html", metavar="OUT", nargs="?", const="",
                        help="write a page about the program: source, passes with changes, "
                             "flattening step by step, versions, kernels (default: the name of "
                             "FILE with .html)")
    add_options(parser, "entries", "tuning", "device", *REWRITING, "rules", "json")
    add_rewriting(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift explain``."""
    _take_topic(args)
    if not args.barriers and (args.kernel is not None or args.dot is not None):
        raise UserError("--kernel and --dot go with 'explain barriers'.")
    if args.steps and not args.schedule:
        raise UserError("--steps goes with 'explain schedule'.")
    if args.sizes and not (args.memory or args.cost or (args.ragged and args.lengths)):
        raise UserError("--sizes goes with 'explain memory', 'explain cost', or 'explain --ragged "
                        "--lengths'.")
    if not args.cost and (args.over is not None or (args.as_device and not args.ragged)):
        raise UserError("--as-device and --over go with 'explain cost'.")
    topics = {name for name in TOPICS[1:] if getattr(args, name)}
    if args.ragged and (topics or args.topic):
        raise UserError("--ragged is a topic by itself: leave out "
                        f"'{', '.join(sorted(topics or {args.topic}))}'.")
    if args.lengths is not None and topics - {"cost", "memory"}:
        raise UserError("--lengths goes with 'explain cost', 'explain memory', --ragged, or "
                        "without a topic.")
    if args.html is not None and (args.ragged or topics - {"cost"} or (
            args.lengths is not None and not topics)):
        raise UserError("--html writes the page about a program, or that of 'explain cost --over': "
                        "leave out "
                        f"{', '.join(sorted(topics)) or '--ragged' * args.ragged or '--lengths'}.")
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
        module, _, name = (asked or FLATTENING).partition(":")
        getattr(import_module(f"{__package__}.{module}"), name)(args, path)
    return 0


def _take_topic(args: argparse.Namespace) -> None:
    """Take the subject, and set the topic as its option of before does."""
    topic, *words = args.words if args.words and args.words[0] in TOPICS else ("", *args.words)
    if args.schedule and len(words) == 2:  # the option of other commands, with its file
        args.schedule, args.file = False, Path(words.pop(0 if words[1].endswith(".fut") else 1))
    if len(words) > 1:
        raise UserError(f"'{words[0]:.80}' is no topic.  The topics are {', '.join(TOPICS)}."
                        if not topic else
                        f"Name one program behind the topic, not {' and '.join(map(repr, words))}.")
    for name in TOPICS[1:]:
        if getattr(args, name):
            warn(f"'explain --{name}' is written 'explain {name}' now.")
    args.topic = topic
    if topic and topic != TOPICS[0]:
        setattr(args, topic, True)
    args.subject = words[0] if words else None


def _program(subject: str) -> Path:
    """The file that is meant; UserError if it looks like a code that does not exist."""
    path = Path(subject)
    if not path.suffix and not os.path.exists(path):
        near = difflib.get_close_matches(subject, CODES, n=1)
        rules = import_module(f"{__package__}.rules").all_rules()
        raise UserError(f"There is no error code and no file '{subject:.80}'.  "
                        + (f"'runelift rules {subject}' shows the rule."
                           if any(subject in rule.name.split() for rule in rules) else
                           f"Did you mean '{near[0]}'?" if near else
                           "'runelift explain' lists the codes."))
    return path


def _explain_code(args: argparse.Namespace) -> None:
    if args.json:
        said = explained.message(CODES[args.subject], CODES[args.subject].wrong)
        print_json({**asdict(CODES[args.subject]), "message": said})
    else:
        show_page(explained.page(args.subject).rstrip())
