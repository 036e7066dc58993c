"""Say where the time of a program goes: kernels, code versions, the host, and device memory.

Each dataset runs a few times to warm up and then several times with a profile.  It prints each
kernel with its time and the place of its construct in the program.  Beside them are the parts of
the measured peaks of the device that it reaches.  Then ways to make the call run in turn: default
settings, all versions, from Python, integers as constants, more data.  The last lines name the one
that gains most.  --html writes a page with a roofline and a timeline, --trace a file for
https://ui.perfetto.dev.
"""

from __future__ import annotations

import argparse
import json
import runpy
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.files import require_file
from runelift.ir.base.visible import visible
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.records.format import dataset_label
from runelift.runtime.records.observers import Observers
from runelift.runtime.tools.commands.bench import EXCLUDED_TAGS, inputs
from runelift.runtime.tools.commands.open_program import (
    forced,
    open_program,
    tell_failed_versions,
    version_names_in_errors,
)
from runelift.runtime.tools.commands.options import (
    COMPILATION,
    add_options,
    as_given,
    print_json,
)
from runelift.runtime.tools.commands.progress import display
from runelift.runtime.tools.commands.styles import coloured, columns, show
from runelift.runtime.tools.profiling.data import data
from runelift.runtime.tools.profiling.next_step import Commands, next_step
from runelift.runtime.tools.profiling.page import page
from runelift.runtime.tools.profiling.profile import Profile
from runelift.runtime.tools.profiling.session import profiled, runs_of
from runelift.runtime.tools.profiling.text import print_profile, rules_of_counting
from runelift.runtime.tools.profiling.trace import trace
from runelift.runtime.tools.profiling.way import Call, NumpyFunction
from runelift.runtime.tools.profiling.ways import commands_in_python
from runelift.runtime.tools.testing.test_blocks import datasets_of
from runelift.runtime.versions.tuning_file import tuning_path

__doc__ += f"\n{rules_of_counting()}\n"

WIDE = 160
"""The width of tables where lines may be of any length."""
EXAMPLES = ("runelift profile examples/matmul.fut --only square",
            "runelift profile examples/lud.fut --html lud.html --trace lud.json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift profile``."""
    add_options(parser, "program", "entries")
    parser.add_argument("-r", "--runs", type=int, default=10, metavar="N",
                        help="the most runs of each dataset (default: %(default)s; fewer, at "
                             "least three, if they take longer than some seconds)")
    parser.add_argument("-i", "--input", "--data", type=Path, metavar="FILE",
                        help="profile this input instead of the datasets of the program")
    add_options(parser, "only")
    parser.add_argument("--html", type=Path, metavar="FILE",
                        help="also write a page with a roofline and a timeline, as one HTML file")
    parser.add_argument("--trace", type=Path, metavar="FILE",
                        help="also write Chrome trace events (JSON) of the median run")
    parser.add_argument("--all-versions", action="store_true",
                        help="also profile each code version alone, and compare their kernels")
    parser.add_argument("--numpy", metavar="SCRIPT.py:NAME",
                        help="also run this function, on the same data as NumPy arrays")
    parser.add_argument("--measure-peaks", action="store_true",
                        help="measure the peaks of the device again (done once, and kept in the "
                             "cache): other programs may have used it then")
    add_options(parser, "json", "force", "memory", *COMPILATION, "observe")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift profile``."""
    if args.runs < 1:
        raise UserError("--runs must be at least 1.")
    for path in (args.html, args.trace):
        if path is not None and not path.absolute().parent.is_dir():
            raise UserError(f"Cannot write '{path}': there is no such folder.")
    observers = Observers(args.observe)
    function = None if args.numpy is None else _numpy_function(args.numpy)
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
        for each in todo:
            shown.begun(each.name)
            try:
                call = Call(program, each.entry, each.arguments(),
                            forced(args, program, each.entry), function)
                with version_names_in_errors(program):
                    runs = runs_of(call, args.runs,
                                   observers.of(args.program, each.entry, each.name, device))
                made = profiled(call, runs, args.runs, each.name, _commands(args, call, each.name),
                                again=args.measure_peaks and not found,
                                all_versions=args.all_versions, begins=shown.trying)
            except (UserError, CompilerLimitation) as error:
                with shown.aside():
                    show(f"runelift: {each.name}: {error}", sys.stderr)
                continue
            if not args.json:
                with shown.aside():
                    console.print()
                    print_profile(made, console)
            found.append(made)
    tell_failed_versions(program)
    _tell_next(args, found)
    if found and args.html is not None:
        _write(args.html, page(str(args.program), found))
    if found and args.trace is not None:
        _write(args.trace, json.dumps(trace(found)))
    return 1 if len(found) < len(todo) else 0


def _tell_next(args: argparse.Namespace, found: Sequence[Profile]) -> None:
    """Print what to do next; in JSON, behind all profiles."""
    following = next_step({dataset_label(each.entry, each.dataset): each.steps for each in found},
                          shlex.join(["runelift", "autotune", str(args.program),
                                      *as_given(args, ("entry", "device"))]))
    if args.json:
        print_json({"program": str(args.program), "profiles": [data(each) for each in found],
                    "next": None if following.step is None else
                    {"dataset": following.dataset or None, **asdict(following.step)}})
    elif found:
        show(f"\n{following.words}")
        if following.step is not None:
            print(f"  {visible(following.step.command)}")  # in one line, to be pasted


def _numpy_function(text: str) -> NumpyFunction:
    """The function that ``SCRIPT.py:NAME`` names."""
    path, _, name = text.rpartition(":")
    if not path or not name.isidentifier():
        raise UserError(f"--numpy takes a script and a function, SCRIPT.py:NAME, not '{text}'.")
    try:
        function = runpy.run_path(str(require_file(Path(path)))).get(name)
    except Exception as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"'{path}' fails: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise UserError(f"'{path}' has no function '{name}'.")
    return NumpyFunction(function, name)


KEPT = ("device", "tuning", "schedule", "policy", "rules", "fp_contract", "memory")
"""The options that a command to paste keeps."""


def _commands(args: argparse.Namespace, call: Call, dataset: str) -> Commands:
    entry = ["--entry", call.entry] if call.entry != "main" else []
    about = [*entry, *as_given(args, KEPT)]
    chosen = ["--input", str(args.input)] if args.input is not None else ["--only", dataset]
    used = args.tuning or tuning_path(args.program)
    return replace(commands_in_python(call), program=str(args.program),
                   options=[*chosen, *about], about=about,
                   tuning=str(used) if call.program.thresholds and not call.force else "")


class _Console(Console):
    """A console that leaves a reader who has gone to the command line, as all output does."""

    def on_broken_pipe(self) -> None:
        raise


def _console() -> Console:
    """Standard output, for tables that fit; what they say is visible before."""
    out = sys.stdout
    return _Console(file=getattr(out, "raw_text", out), width=columns(out) or WIDE, markup=False,
                   emoji=False, highlight=False, force_terminal=coloured(out),
                   color_system="standard" if coloured(out) else None, legacy_windows=False)


def _write(path: Path, text: str) -> None:
    write_atomically(path, text)
    show(f"runelift: wrote {path}", sys.stderr)
