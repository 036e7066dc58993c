"""Time the spellings of each family of ``tests/spelling`` beside each other.

``python benchmarks/spelling.py [--device NAME] [--only PART] [--small] [--best] [--seconds N]
[--folder FOLDER] [--json OUT]``

All entry points of a file compute the same from the same data.  They run in turn with their default
thresholds, or with their fastest version with ``--best``.  Times are medians of host time for a
call with inputs and outputs on the device.  ``ratio`` is the time over that of the family's fastest
spelling.  Loops over elements, which must keep their order, are marked ``*`` and count for nothing.
The last columns are the launches, the most bytes of device memory with inputs, and the versions
that run, by number, of one recorded run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import parser_of, write_json
from compare import arguments, timed

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

BED = Path(__file__).parent.parent / "tests" / "spelling"
IN_ORDER = {"looped"}
"""Entry points that a compiler must not reorder, so that other classes are out of their reach."""

# Family, dataset, inputs (see `compare.arguments`), inputs of the small form for processors.
ROWS: list[tuple[str, list[str], list[str]]] = [
    ("product", ["[1024][1024]f32"] * 2, ["[192][192]f32"] * 2),
    ("product", ["[32][16384]f32", "[16384][64]f32"], ["[16][2048]f32", "[2048][16]f32"]),
    ("convolution", ["[64][114][114]f32", "[64][64][3][3]f32"],
     ["[8][34][34]f32", "[8][8][3][3]f32"]),
    ("stencil", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("row_sums", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("row_sums", ["[100][100000]f32"], ["[10][20000]f32"]),
    ("row_sums", ["[1000000][8]f32"], ["[40000][8]f32"]),
    ("histogram", ["256i64", "=keys 4096i64 1024i64 256i32"],
     ["256i64", "=keys 256i64 512i64 256i32"]),
    ("prefix_sums", ["[4096][1024]i32"], ["[256][512]i32"]),
    ("transposed", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("transposed", ["[100000][100]f32"], ["[20000][10]f32"]),
    ("vectors", ["[1000000][3]f32"], ["[100000][3]f32"]),
    ("time_loop", ["200i64", "[1000000]f32"], ["50i64", "[20000]f32"]),
    ("extremes", ["[4000000]f32"], ["[100000]f32"]),
    ("matrix_vector", ["[4096][4096]f32", "[4096]f32"], ["[512][512]f32", "[512]f32"]),
    ("matrix_vector", ["[1000000][8]f32", "[8]f32"], ["[40000][8]f32", "[8]f32"]),
    ("distances", ["[4096][16]f32", "[4096][16]f32"], ["[256][16]f32", "[256][16]f32"]),
    ("averages", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("dot", ["[4000000]f32", "[4000000]f32"], ["[100000]f32", "[100000]f32"]),
    ("normalised", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("normalised", ["[200000][16]f32"], ["[20000][16]f32"]),
    ("softmax", ["[4096][4096]f32"], ["[512][512]f32"]),
    ("counts", ["[4000000]i32"], ["[100000]i32"]),
]


def main() -> None:
    """Print a table of the spellings of each family."""
    parser = parser_of(__doc__, "a part of the names of families")
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--best", action="store_true", help="the fastest version of each spelling")
    parser.add_argument("--seconds", type=float, default=2, help="time for each family's runs")
    parser.add_argument("--folder", type=Path, default=BED)
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    for family, large, small in ROWS:
        if args.only in family:
            found += family_times(args, family, small if args.small else large)
            write_json(args.json, found)
    far = [row for row in found if row["ratio"] > 1.3 and row["spelling"] not in IN_ORDER]
    print(f"{len(found)} spellings, {len(far)} above 1.3")


def family_times(args: argparse.Namespace, family: str, inputs: list[str]) -> list[dict[str, Any]]:
    """The times of all spellings of a family for one dataset, in turn, as rows of the table."""
    program = runelift.compile(args.folder / f"{family}.fut", device=args.device, tuning={})
    measured = MeasuredProgram(program)
    values = measured.place(keys(inputs) or arguments(program, inputs))
    forces: dict[str, Any] = {}
    for entry in program.entries:
        try:
            forces[entry] = _fastest(program, entry, values) if args.best else {}
            measured.warm_up(entry, values, force=forces[entry])
        except RuneliftError as error:
            print(f"{family:12s} {entry:18s} {error}")
            forces.pop(entry, None)
    samples: dict[str, list[float]] = {entry: [] for entry in forces}
    started, rounds = time.perf_counter(), 0
    order = np.random.default_rng(0)  # no entry always runs behind one that fills the cache
    while rounds < 3 or (rounds < 50 and time.perf_counter() - started < args.seconds):
        for entry, force in order.permutation(list(forces.items())):
            if rounds == 0 or samples[entry][0] < args.seconds / 3:
                samples[entry].append(measured.time(entry, values, force=force))
        rounds += 1
    times = {entry: median(some) * 1e6 for entry, some in samples.items()}
    best = min(time for entry, time in times.items() if entry not in IN_ORDER)
    rows = []
    for entry, microseconds in times.items():
        ratio = microseconds / best
        mark = "*" if entry in IN_ORDER else ""
        record = measured.record(entry, values, force=forces[entry])
        print(f"{family:13s} {' '.join(inputs):30.30s} {entry + mark:18s} {microseconds:10.1f} us "
              f"{ratio:6.2f} {record.launches:3d} {record.peak_bytes:12,d} "
              f"{''.join(str(each.chosen) for each in record.encounters)}", flush=True)
        rows.append({"family": family, "inputs": inputs, "spelling": entry,
                     "microseconds": microseconds, "ratio": ratio, "launches": record.launches,
                     "peak_bytes": record.peak_bytes})
    return rows


def keys(inputs: list[str]) -> list[Any] | None:
    """The arguments of a histogram with keys below the number of bins; None for other inputs."""
    if not inputs[-1].startswith("=keys"):
        return None
    height, width, bins = (int(text.split("i")[0]) for text in inputs[-1].split()[1:])
    made = np.random.default_rng(42).integers(0, bins, (height, width)).astype(np.int32)
    return [np.int64(bins), made]


def _fastest(program: Any, entry: str, values: list[Any]) -> Any:
    """The forced plan of the fastest version."""
    return min(plans(program.tree.entry(entry)), key=lambda force: _time(
        program, entry, values, force))


def _time(program: Any, entry: str, values: list[Any], force: Any) -> float:
    try:
        return timed(program, entry, values, force, 3)
    except RuneliftError:
        return float("inf")


if __name__ == "__main__":
    main()
