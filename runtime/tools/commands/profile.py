"""Say where the time of a program goes: kernels, code versions, the host, and device memory.

Each dataset runs a few times to warm up and then several times with a profile.  It prints each
kernel with its time and the place of its construct in the program.  Beside them are the parts of
the measured peaks of the device that it reaches.  --html writes a page with a roofline and a
timeline, --trace a file for https://ui.perfetto.dev.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.cost.peaks import measured_peaks
from runelift.runtime.records.observers import Observers
from runelift.runtime.tools.commands.bench import EXCLUDED_TAGS, inputs
from runelift.runtime.tools.commands.open_program import (
    forced,
    open_program,
    tell_failed_versions,
    version_names_in_errors,
)
from runelift.runtime.tools.commands.options import (
    add_compilation,
    add_entry,
    add_force,
    add_json,
    add_memory,
    add_observe,
    add_only,
    add_program,
    print_json,
)
from runelift.runtime.tools.commands.progress import display
from runelift.runtime.tools.commands.styles import coloured, columns, show
from runelift.runtime.tools.profiling.data import data
from runelift.runtime.tools.profiling.page import page
from runelift.runtime.tools.profiling.profile import Profile, profile_of
from runelift.runtime.tools.profiling.session import each_alone, runs_of
from runelift.runtime.tools.profiling.text import print_profile, rules_of_counting
from runelift.runtime.tools.profiling.trace import trace
from runelift.runtime.tools.testing.test_blocks import datasets_of

__doc__ += f"\n{rules_of_counting()}\n"

WIDE = 150
"""The width of tables where lines may be of any length."""
EXAMPLES = ("runelift profile examples/matmul.fut --only square",
            "runelift profile examples/lud.fut --html lud.html --trace lud.json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift profile``."""
    add_program(parser)
    add_entry(parser)
    parser.add_argument("-r", "--runs", type=int, default=10, metavar="N",
                        help="the most runs of each dataset (default: %(default)s; fewer, at "
                             "least three, if they take longer than some seconds)")
    parser.add_argument("-i", "--input", "--data", type=Path, metavar="FILE",
                        help="profile this input instead of the datasets of the program")
    add_only(parser)
    parser.add_argument("--html", type=Path, metavar="FILE",
                        help="also write a page with a roofline and a timeline, as one HTML file")
    parser.add_argument("--trace", type=Path, metavar="FILE",
                        help="also write Chrome trace events (JSON) of the median run")
    parser.add_argument("--all-versions", action="store_true",
                        help="also run each code version alone, and compare them")
    parser.add_argument("--measure-peaks", action="store_true",
                        help="measure the peaks of the device again (done once, and kept in the "
                             "cache): other programs may have used it then")
    add_json(parser)
    add_force(parser)
    add_memory(parser)
    add_compilation(parser)
    add_observe(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift profile``."""
    if args.runs < 1:
        raise UserError("--runs must be at least 1.")
    for path in (args.html, args.trace):
        if path is not None and not path.absolute().parent.is_dir():
            raise UserError(f"Cannot write '{path}': there is no such folder.")
    observers = Observers(args.observe)
    program = open_program(args)
    if program.device_info is None:
        raise UserError("A profile needs a device; the interpreter has none.")
    device = program.device_info.label
    found = list[Profile]()
    console = _console()
    if not args.json:
        show(f"{args.program} on {device}, at most {args.runs} runs")
    todo = inputs(args, program, partial(datasets_of, without=EXCLUDED_TAGS))
    with display(len(todo)) as shown:
        for entry, name, arguments, _ in todo:
            shown.begun(name)
            try:
                given = arguments()
                with version_names_in_errors(program):
                    runs = runs_of(program, entry, given, args.runs,
                                   forced(args, program, entry),
                                   observers.of(args.program, entry, name, device))
                peaks = measured_peaks(program.loaded.device,
                                       again=args.measure_peaks and not found)
                made = profile_of(*runs, name, peaks)
                if args.all_versions:
                    alone = each_alone(program, entry, given, peaks, shown.trying)
                    made = replace(made, compared=tuple(alone))
            except (UserError, CompilerLimitation) as error:
                with shown.aside():
                    show(f"runelift: {name}: {error}", sys.stderr)
                continue
            if not args.json:
                with shown.aside():
                    console.print()
                    print_profile(made, console)
            found.append(made)
    tell_failed_versions(program)
    if args.json:
        print_json({"program": str(args.program), "profiles": [data(each) for each in found]})
    if found and args.html is not None:
        _write(args.html, page(str(args.program), found))
    if found and args.trace is not None:
        _write(args.trace, json.dumps(trace(found)))
    return 1 if len(found) < len(todo) else 0


def _console() -> Console:
    """Standard output, for tables that fit; what they say is visible before."""
    out = sys.stdout
    return Console(file=getattr(out, "raw_text", out), width=columns(out) or WIDE, markup=False,
                   emoji=False, highlight=False, force_terminal=coloured(out),
                   color_system="standard" if coloured(out) else None, legacy_windows=False)


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UserError(f"Cannot write '{path}': {error.strerror}.") from None
    show(f"runelift: wrote {path}", sys.stderr)
