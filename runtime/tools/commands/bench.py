"""Time a program on the datasets of its test blocks, or on a file.

Each dataset runs a few times to warm up and then several times.  Prints the median of two times and
its median absolute deviation (MAD), beside the device time that the model of cost predicts.  With
≥, loops of unknown length count once, and launches of unknown size as starts alone.  'wall' is the
time of the call on the host: arguments and results stay on the device, without profiling.  'device'
is the time from the first to the last command on the device.  Datasets tagged 'nobench' or
'disable' are left out, and cases that must fail.  Cases without a name are timed only if there are
no other cases.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.source import Source
from runelift.ir.prim import Prim
from runelift.ir.types import Const
from runelift.runtime.data.values import load_values
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.programs.program import Program
from runelift.runtime.records.format import dataset_label, show_seconds, table
from runelift.runtime.records.observers import Observers
from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import Summary, median, summarise
from runelift.runtime.tools.commands.open_program import (
    entries_of,
    forced,
    open_program,
    pick_entry,
    tell_failed_versions,
    version_names_in_errors,
)
from runelift.runtime.tools.commands.options import COMPILATION, add_options, print_json
from runelift.runtime.tools.commands.progress import display
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import Case, datasets_of
from runelift.runtime.tuner.measure.protocols import Dataset, Progress
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.choose import RequiredVersions

if TYPE_CHECKING:
    from runelift.runtime.tools.commands.tuning_request import TuningRequest

EXAMPLES = ("runelift bench examples/matmul.fut --only thin",
            "runelift bench examples/matmul.fut --force V3 --json")
EXCLUDED_TAGS = frozenset({"nobench", "disable"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift bench``."""
    add_options(parser, "program", "entries")
    parser.add_argument("-r", "--runs", type=int, default=10, metavar="N",
                        help="how often to run each dataset (default: %(default)s)")
    parser.add_argument("-i", "--input", type=Path, metavar="FILE",
                        help="time this input instead of the datasets of the program")
    add_options(parser, "only", "force", "memory", *COMPILATION, "observe", "json")


def inputs(args: argparse.Namespace | TuningRequest, program: Program,
           datasets: Callable[[Source, str], Sequence[Case]]) -> list[Dataset]:
    """The inputs that the command line asks for, of the cases that ``datasets`` picks.

    Arrays of random values are made when they are brought to the device.
    """
    if args.input is not None:
        path: Path = args.input
        entry = pick_entry(program, args.entry)
        return [Dataset(path.name, entry, partial(load_values, path, _types(program, entry)))]
    entries = entries_of(args, program.entries)
    scripts = partial(evaluate, program=program.compiled.source, device=program.device_info)
    found = [
        Dataset(case.dataset, entry, partial(case.recipes, scripts, _types(program, entry)),
                case.expected)
        for entry in entries
        for case in datasets(program.compiled.source, entry)
        if args.only is None or args.only in case.dataset]
    if not found:
        named = "" if args.only is None else f" whose name contains '{args.only}'"
        raise UserError(f"'{args.program}' has no dataset to run{named}.  "
                        + (_block(program, entries[0]) if entries and args.only is None else
                           "Add a test block with one, or use --input FILE."))
    return found


def _block(program: Program, entry: str) -> str:
    """The advice to add a test block, with the types of an entry point's parameters."""
    params = program.interface(entry).params
    most = max((len(each.shape or ()) for each in params), default=0)
    size = {0: 1, 1: 1_000_000, 2: 1000}.get(most, 100)
    given = " ".join(
        "".join(f"[{dim.value if isinstance(dim, Const) else size}]" for dim in each.shape or ())
        + (f"{size}i64" if each.prim is Prim.I64 and not each.shape else each.prim.value)
        for each in params)
    named = [] if entry == "main" else [f"-- entry: {entry}"]
    lines = ["-- ==", *named, f"-- random input {{ {given} }}"]
    return "Add a test block before its entry point, or use --input FILE:\n  " + "\n  ".join(lines)


def _types(program: Program, entry: str) -> list[Prim]:
    return [p.prim for p in program.interface(entry).params]


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift bench``."""
    if args.runs < 1:
        raise UserError("--runs must be at least 1.")
    observers = Observers(args.observe)
    program = open_program(args)
    device = program.device_info.label if program.device_info else "interpreter"
    if not args.json:
        show(f"{args.program} on {device}, {args.runs} runs"
             + (", tuned" if program.thresholds else ""))
    todo = inputs(args, program, partial(datasets_of, without=EXCLUDED_TAGS))
    results, rows = [], [["dataset", "wall", "± MAD", "device", "± MAD",
                          "predicted", "launches", "memory"]]
    with display(len(todo)) as shown:
        for number, each in enumerate(todo):
            label = dataset_label(each.entry, each.name)
            shown.begun(label)
            observe = observers.of(args.program, each.entry, each.name, device)
            done = Progress(label, number * args.runs, len(todo) * args.runs)

            def seen(times: Sequence[float], record: Record | None, *,
                     done: Progress = done,
                     observe: Callable[[float, Record | None], None] = observe) -> None:
                over = f"median {show_seconds(median(times))}" * (len(times) == args.runs)
                shown.measured(replace(done, done=done.done + len(times), seconds=times[-1],
                                       summary=over))
                observe(times[-1], record)

            try:
                with version_names_in_errors(program):
                    found = measure(program, each.entry, each.arguments(), args.runs,
                                    forced(args, program, each.entry), seen)
            except (UserError, CompilerLimitation) as error:
                with shown.aside():
                    show(f"runelift: {label}: {error}", sys.stderr)
                continue
            wall, span = summarise(found["wall"]), summarise(found["device"])
            results.append({"entry": each.entry, "dataset": each.name, **found,
                            "wall_summary": asdict(wall), "device_summary": asdict(span)})
            rows.append([label, *_cells(wall), *_cells(span), "-" if found["predicted_seconds"]
                         is None else "≥ " * found["predicted_least"]
                         + show_seconds(found["predicted_seconds"]),
                         str(found["launches"]),
                         show_bytes(found['peak_bytes'])])
    if not args.json:
        show(table(rows))
    tell_failed_versions(program, replaced=len(results) == len(todo))
    if args.json:
        print_json({"program": str(args.program), "device": device, "runs": args.runs,
                    "thresholds": program.thresholds, "results": results})
    return 1 if len(results) < len(todo) else 0


def measure(program: Program, entry: str, args: Sequence[Any], runs: int,
            force: Mapping[str, int] | None = None,
            seen: Callable[[Sequence[float], Record | None], None] = lambda times, record: None
            ) -> dict[str, Any]:
    """Times of ``runs`` runs in seconds, after some to warm up; ``force``: versions by site.

    The times so far are ``seen`` after each of them, with the record of another run.
    """
    wall: list[float] = []
    device: list[float] = []
    launches = peak = 0
    if program.device_info is None:
        values = [np.asarray(arg)[()] for arg in args]
        for _ in range(runs):
            started = time.perf_counter()
            program.run(entry, values, force=force)
            wall.append(time.perf_counter() - started)
            seen(wall, None)
        return {"wall": wall, "device": device, "predicted_seconds": None,
                "predicted_least": False, "launches": launches, "peak_bytes": peak}
    # late: it uses OpenCL, and programs are also interpreted
    from runelift.runtime.predictions.predict import outlined, predict_call

    said = predict_call(program.loaded, entry, outlined(program.loaded, entry, args),
                        program.thresholds, force)
    measured = MeasuredProgram(program)
    resident = measured.place(args)
    program.run(entry, resident, force=force, device_arrays=True)
    required = RequiredVersions(force or {})
    measured.warm_up(entry, resident, force=required)
    for _ in range(runs):
        wall.append(measured.time(entry, resident, force=required))
        record = measured.record(entry, resident, force=required, samples=False)
        device.append(record.span)
        launches, peak = record.launches, record.peak_bytes
        seen(wall, record)
    return {"wall": wall, "device": device, "predicted_seconds": said.totals.seconds,
            "predicted_least": said.totals.partial, "launches": launches, "peak_bytes": peak}


def _cells(summary: Summary) -> list[str]:
    if not summary.count:
        return ["-", "-"]
    return [show_seconds(summary.median), show_seconds(summary.mad)]
