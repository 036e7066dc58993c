"""Time our examples beside the same programs compiled by Futhark: same text, data and device.

``python benchmarks/beside.py FOLDER [--device NAME] [--peer-device NAME] [--rows] [--only PART]``

FOLDER holds the examples compiled by another compiler, made for instance by
``futhark opencl examples/matmul.fut -o FOLDER/matmul``; examples without a program there are left
out.  Data are the tuning datasets of the examples, or with ``--rows`` the large ones of
``compare.py``.  Runs of both take turns; times are medians of microseconds for a call with inputs
on the device.  Ours are those of the default thresholds and of the fastest version; neither side
is tuned.  ``peak`` is the greatest device memory at one time, inputs included, of our default, and
``/ peer`` how many times the peer's that is.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from compare import EXAMPLES, ROWS, arguments

import runelift
from runelift.ir.errors import RuneliftError, UserError
from runelift.runtime.commands.bench import EXCLUDED_TAGS
from runelift.runtime.data.values import format_values
from runelift.runtime.devices.info import select
from runelift.runtime.records.statistics import median
from runelift.runtime.testing.scripts import evaluate
from runelift.runtime.testing.test_blocks import datasets_of
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

ROUNDS = 3
RUNS = 5
"""The runs of each side before the other has its turn."""
PATIENCE = 4.0
"""A version that has taken so many seconds is not run again."""


class Case(NamedTuple):
    """One input of an entry point."""

    entry: str
    label: str
    arguments: Callable[[], Sequence[Any]]


def main() -> None:
    """Run the comparison and print a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--peer-device", help="what the other programs call the device")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started, found = time.perf_counter(), []
    chosen = [f"--device={options.peer_device}"] if options.peer_device else []
    device = select(options.device)
    print("device:", device.label if device else "none")
    print(f"{'program':36}{'peer':>10}{'default':>10}{'best':>10}{'/ default':>11}{'/ best':>9}"
          f"{'peak':>13}{'/ peer':>8}")
    for path in sorted(EXAMPLES.glob("*.fut")):
        peer = options.folder / path.stem
        late = time.perf_counter() - started > options.budget
        if late or not peer.exists() or options.only.split()[:1] not in ([], [path.stem]):
            continue
        program = runelift.compile(path, device=options.device, tuning={})
        for case in _large(path.stem, program) if options.rows else _own(program):
            label = f"{path.stem} {case.label}"
            if options.only not in label or time.perf_counter() - started > options.budget:
                continue
            try:
                row = compare(program, [str(peer), *chosen], case)
            except (RuneliftError, subprocess.TimeoutExpired) as error:
                print(f"{label:36}{str(error).splitlines()[0]}")
                continue
            found.append({"program": label, **row})
            print(f"{label:36}{row['peer']:>10.0f}{row['default']:>10.0f}{row['best']:>10.0f}"
                  f"{row['peer'] / row['default']:>11.2f}{row['peer'] / row['best']:>9.2f}"
                  f"{row['peak'] / 2**20:>9.1f} MiB{row['peak'] / max(row['peer_peak'], 1):>8.2f}",
                  flush=True)
    for which in ("default", "best"):
        logs = [math.log(row["peer"] / row[which]) for row in found]
        if logs:
            print(f"geometric mean of peer / {which} over {len(logs)} rows: "
                  f"{math.exp(sum(logs) / len(logs)):.2f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def _own(program: Any) -> Iterator[Case]:
    """The tuning datasets of an example."""
    scripts = partial(evaluate, program=program.compiled.source, device=program.device_info)
    for entry in program.entries:
        prims = [p.prim for p in program.interface(entry).params]
        for case in datasets_of(program.compiled.source, entry, EXCLUDED_TAGS):
            if case.named:
                yield Case(entry, case.dataset, partial(case.arguments, scripts, prims))


def _large(name: str, program: Any) -> Iterator[Case]:
    """The rows of ``compare.py``."""
    for row, entry, label, specs, *_ in ROWS:
        if row == name:
            yield Case(entry, label, lambda specs=specs: arguments(program, specs))


def compare(program: Any, peer: Sequence[str], case: Case) -> dict[str, Any]:
    """Median microseconds of the peer, of our default and of our fastest version; peak bytes."""
    args = case.arguments()
    measured = MeasuredProgram(program)
    resident = measured.place(args)
    versions = [{}, *plans(program.tree.entry(case.entry))]
    ours: list[list[float]] = [[] for _ in versions]
    for force in versions:
        measured.warm_up(case.entry, resident, force=force)
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_bytes(format_values(args, binary=True))
        peer_peak = _peak_of_peer(peer, case.entry, data)
        for turn in range(ROUNDS):  # another version comes first after the peer each time
            theirs += _run_peer(peer, case.entry, data)
            for place in range(turn, turn + len(versions)):
                number = place % len(versions)
                force, times = versions[number], ours[number]
                if sum(times) < 1e6 * PATIENCE:
                    measured.time(case.entry, resident, force=force)  # the peer does so, too
                for _ in range(RUNS):
                    if sum(times) < 1e6 * PATIENCE:
                        times.append(1e6 * measured.time(case.entry, resident, force=force))
    medians = [median(times) for times in ours]
    return {"peer": median(theirs), "default": medians[0], "best": min(medians),
            "versions": medians[1:], "peer_peak": peer_peak,
            "peak": measured.record(case.entry, resident, samples=False).peak_bytes}


def _run_peer(peer: Sequence[str], entry: str, data: Path) -> list[float]:
    """Microseconds of runs of another program."""
    times = data.with_name("times")
    _call_peer([*peer, "-e", entry, "-n", "-r", str(RUNS), "-t", str(times)], data)
    return [float(line) for line in times.read_text().split()]


def _peak_of_peer(peer: Sequence[str], entry: str, data: Path) -> int:
    """The most bytes of device memory that a run of another program has, as its log says."""
    log = _call_peer([*peer, "-e", entry, "-n", "-r", "1", "-L"], data)
    return max(map(int, re.findall(r"now allocated: (\d+) bytes", log)), default=0)


def _call_peer(command: Sequence[str], data: Path) -> str:
    """Run another program; what it writes to its standard error."""
    with data.open("rb") as given:
        done = subprocess.run(command, stdin=given, check=False, capture_output=True, timeout=600,
                              text=True)
    if done.returncode:
        raise UserError(f"the peer failed: {done.stderr.strip()[-200:]}")
    return done.stderr


if __name__ == "__main__":
    main()
