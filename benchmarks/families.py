"""Time the families of the ledger: defaults beside all versions, and beside an earlier tree.

``python benchmarks/families.py [--device NAME] [--only PART] [--budget SECONDS] [--json FILE]
[--before PYTHON]``

A row is an entry point of ``tests/ledger/families`` at some sizes.  The default, the forced
versions, and the default of the tree before take turns.  Times are medians of a call with inputs
and results on the device, in microseconds.

- ``regret`` is the default's time over the fastest version's.
- ``said`` is the predicted over the measured time of the default.
- ``before`` is the default's time of the tree before over ours: above 1 we are faster.  PYTHON is
  the interpreter of that tree's environment.

Several processes compile at a time; one of them has the device.
"""

from __future__ import annotations

import argparse
import fcntl
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from statistics import geometric_mean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import parser_of, write_json
from timed_program import Force, OtherTree, TimedProgram

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests.ledger.shapes import FAMILIES, Shape, shapes

ROUNDS, RUNS = 3, 5
WARM_UP = 8
HOPELESS = 4.0
"""A version whose first runs take so many times the default's is not run again."""
LONG = 0.3
"""Seconds.  A call that takes longer is timed once a round."""
SLOW = 1.25
"""Regrets above are printed; so are rows that became slower by as much as 1 over it."""
MOST_VERSIONS = 12
MOST_SECONDS = 2.0
"""Versions that are predicted to take longer are not run."""
MOST_BYTES = 4_000_000_000


def main() -> None:
    """Measure all rows and print what stands out."""
    parser = parser_of(__doc__, "a part of FAMILY ENTRY SIZES")
    parser.add_argument("--before", type=Path, help="the Python of an earlier tree")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--all", action="store_true", help="print all rows")
    options = parser.parse_args()
    end = time.perf_counter() + options.budget
    context = multiprocessing.get_context("fork")  # this process opens no device
    with tempfile.NamedTemporaryFile() as lock:
        parts: list[Any] = []
        for job in range(options.jobs):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_measure, args=(
                FAMILIES[job::options.jobs], options, end, lock.name, theirs))
            process.start()
            theirs.close()
            parts.append((process, ours))
        rows = list(_received([connection for _, connection in parts], end))
        for process, _ in parts:
            process.kill()
            process.join()
    write_json(options.json, rows)
    _print(rows, everything=options.all)


def _received(connections: list[Any], end: float) -> Iterator[dict[str, Any]]:
    """The rows that processes send before the end."""
    while connections and (left := end - time.perf_counter()) > 0:
        for connection in wait(connections, None if math.isinf(left) else left):
            try:
                yield connection.recv()
            except EOFError:
                connections.remove(connection)


def _measure(families: Sequence[Path], options: argparse.Namespace, end: float, lock: str,
             connection: Any) -> None:
    """Send the rows of some families."""
    for family in families:
        chosen = [each for each in shapes(family) if options.only in _label(each)]
        if not chosen or time.perf_counter() > end:
            continue
        timed = TimedProgram(family, options.device)
        other = OtherTree(options.before, family, options.device) if options.before else None
        for shape in chosen:
            try:
                row = _row(timed, other, shape, lock)
            except (RuneliftError, RuntimeError, MemoryError) as error:
                print(_label(shape), str(error).splitlines()[0], flush=True)
                continue
            if row:
                connection.send({"row": _label(shape), **row})
        if other:
            other.close()
    connection.close()


def _label(shape: Shape) -> str:
    return f"{shape.family.stem} {shape.entry} {shape.text}"


def _row(timed: TimedProgram, other: OtherTree | None, shape: Shape, lock: str
         ) -> dict[str, Any] | None:
    """Times of the default, of the versions and of the tree before; None if too large."""
    program = timed.program
    args = shape.arguments(program.interface(shape.entry))
    if sum(getattr(each, "nbytes", 0) for each in args) > MOST_BYTES:
        return None
    said = predict_call(program.loaded, shape.entry, args).totals.seconds
    forces = _prebuilt(program, shape.entry, args)
    with open(lock, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        timed.place(shape.entry, args)
        times: dict[str, list[float]] = {}
        for name, force in forces.items():
            with suppress(RuneliftError):
                least = timed.times(1, force)[0]
                times[name] = [least]
                if name == "default" or least < HOPELESS * times["default"][0]:
                    times[name] = timed.times(WARM_UP if least < LONG else 1, force)[-1:]
        if other:
            other.ask("place", shape.entry, args)
            other.ask("times", 1)  # it builds its kernels
            times["before"] = other.ask("times", 1)
            if times["before"][0] < LONG:
                times["before"] = other.ask("times", WARM_UP)[-1:]
        for _ in range(ROUNDS):
            for name, each in times.items():
                runs = RUNS if each[0] < LONG else 1
                if name == "before":
                    assert other is not None
                    each += other.ask("times", runs)
                elif each[0] < HOPELESS * times["default"][0]:
                    each += timed.times(runs, forces[name])
        fcntl.flock(file, fcntl.LOCK_UN)
    medians = {name: 1e6 * median(each) for name, each in times.items()}
    before = medians.pop("before", None)
    return {"default": medians["default"], "best": min(medians.values()), "said": 1e6 * said,
            "version": min(medians, key=medians.__getitem__), "versions": medians,
            "before": before}


def _prebuilt(program: Any, entry: str, args: Sequence[Any]) -> dict[str, Force | None]:
    """The versions to time, with built kernels; None stands for the default."""
    forces: dict[str, Force | None] = {"default": None}
    measured = MeasuredProgram(program)
    with suppress(RuneliftError):
        measured.prebuild(entry, args, [{}])
    for version in list(plans(program.tree.entry(entry)))[:MOST_VERSIONS]:
        with suppress(RuneliftError):
            said = predict_call(program.loaded, entry, args, force=version).totals.seconds
            if said < MOST_SECONDS:
                measured.prebuild(entry, args, [version])
                forces[_name(version)] = version
    return forces


def _name(version: Force) -> str:
    return " ".join(f"{site.rpartition('_')[2]}:{index}" for site, index in version.items())


def _print(rows: Sequence[dict[str, Any]], *, everything: bool) -> None:
    """Print the rows that stand out, and figures of all rows."""
    rows = sorted(rows, key=lambda row: -row["default"] / row["best"])
    print(f"{'row':58}{'default':>10}{'best':>10}{'regret':>8}{'said':>7}{'before':>8}  best is")
    for row in rows:
        regret = row["default"] / row["best"]
        before = row["before"] / row["default"] if row["before"] else math.nan
        if everything or regret > SLOW or before < 1 / SLOW:
            print(f"{row['row'][:57]:58}{row['default']:>10.0f}{row['best']:>10.0f}{regret:>8.2f}"
                  f"{row['said'] / row['default']:>7.2f}{before:>8.2f}  {row['version']}")
    if not rows:
        return
    regrets = [row["default"] / row["best"] for row in rows]
    close = sum(0.5 <= row["said"] / row["default"] <= 2 for row in rows)
    print(f"{len(rows)} rows: regret {geometric_mean(regrets):.3f} (geometric mean), "
          f"{_share(each <= SLOW for each in regrets)} within {SLOW}, "
          f"{sum(each > 2 for each in regrets)} above 2; "
          f"predicted within a factor of 2: {close / len(rows):.0%}")
    ratios = [row["before"] / row["default"] for row in rows if row["before"]]
    if ratios:
        print(f"before over now: {geometric_mean(ratios):.3f} (geometric mean), "
              f"least {min(ratios):.2f}, greatest {max(ratios):.2f}, "
              f"{_share(each < 1 / SLOW for each in ratios)} slower by {SLOW}")


def _share(true: Iterator[bool]) -> str:
    every = list(true)
    return f"{sum(every) / len(every):.0%}"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
