"""Time the versions that run by default beside all other versions, on nests of many sizes.

``python benchmarks/defaults.py [--device NAME] [--only PART] [--budget SECONDS] [--json FILE]``

Each row is a nest of parallel operations on ``n`` rows of ``m`` elements.  Times are medians of
microseconds for a call with inputs and results on the device; the default and the forced versions
take turns.  ``best`` is the fastest of all, and its choices stand last.  Several processes compile
at a time; one of them has the device.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.forest import plans

ROUNDS = 3
RUNS = 5
HOPELESS = 4.0
"""A version whose first run takes so many times the default's is not run again."""
SLOW = 1.25
"""Defaults that are so many times slower than their best version are marked."""

FILL = """
def made 't (f: i64 -> t) (n: i64) (m: i64): [n][m]t =
  tabulate_2d n m (\\i j -> f ((i * 7 + j * 13) % 101))
entry fill (n: i64) (m: i64): [n][m]T = made T.i64 n m
"""
NESTS = {
    "sums": "entry go [n][m] (a: [n][m]T) = map (reduce (+) (T.i64 0)) a",
    "scans": "entry go [n][m] (a: [n][m]T) = map (scan (+) (T.i64 0)) a",
    "maxima": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> reduce (\\(v, i) (w, j) -> if v > w || (v == w && i < j) then (v, i) else (w, j))
                    (T.lowest, -1) (zip r (iota m))) a""",
    "centred": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> let s = reduce (+) (T.i64 0) r / T.i64 m in map (\\x -> x - s) r) a""",
    "spread": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> let s = reduce (+) (T.i64 0) r / T.i64 m
             in reduce (+) (T.i64 0) (map (\\x -> (x - s) * (x - s)) r)) a""",
    "laden": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> reduce (+) (T.i64 0)
                    (map (\\x -> T.exp (-x * x) * T.sin x + T.log (T.i64 1 + x * x)) r)) a""",
    "mapped": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> map (\\x -> x * r[0] + T.i64 3) r) a""",
    "pairs": """entry go [n][m] (a: [n][m]T) =
  let t = flatten (take 1 a)
  in map (\\r -> let p = r[0] in reduce (+) (T.i64 0) (map (\\y -> (p - y) * (p - y)) t)) a""",
    "boxes": """entry go [n][m] (a: [n][m]T) =
  tabulate n (\\b -> map (\\p -> loop s = T.i64 0 for k < 9 do
      let r = a[(b + k * 31) % n]
      in s + reduce (+) (T.i64 0) (map (\\q -> T.exp (-(p - q) * (p - q)) * (p - q)) r)) a[b])""",
    "walks": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> loop r = copy r for _i < 16 do
    map (\\j -> (r[(j + m - 1) % m] + r[j] + r[(j + 1) % m]) / T.i64 3) (iota m)) a""",
    "steps": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> loop s = r[0] for _i < 16 do
    reduce (+) (T.i64 0) (map (\\x -> x / (T.i64 1 + s * s)) r) / T.i64 m) a""",
    "affine": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> let p = scan (\\(u, v) (x, y) -> (u * x, v * x + y)) (T.i64 1, T.i64 0)
                        (map (\\x -> (x / T.i64 200, x)) r)
             in map (\\(u, v) -> u + v) p) a""",
    "polynomials": """entry go [n][m] (a: [n][m]T) =
  map (map (\\x -> loop s = x for i < 64 do s * x / T.i64 100 + T.i64 i)) a""",
    "escapes": """entry go [n][m] (a: [n][m]T) =
  map (map (\\x -> (loop (s, i) = (x, 0) while i < 100 && s * s < T.i64 1000000 do
                     (s + s / T.i64 7, i + 1i32)).1)) a""",
    "counts": """entry go [n][m] (a: [n][m]T) =
  map (\\r -> reduce_by_index (replicate 16 0i32) (+) 0
                             (map (\\x -> i64.T x % 16) r) (replicate m 1i32)) a""",
    "numbers": """entry go [n][m] (a: [n][m]T) =
  tabulate n (\\i -> reduce (+) (T.i64 0)
                           (tabulate m (\\j -> T.i64 ((i * 31 + j * 17) % 11))))""",
    "distances": """entry go [n][m] (a: [n][m]T) =
  map (\\x -> let far = \\y -> reduce (+) (T.i64 0) (map2 (\\p q -> (p - q) * (p - q)) x y)
             in reduce T.min T.highest (map far (take (i64.min n 64) a))) a""",
}
TYPES = {"sums": "i8 i16 i32 f64", "scans": "i8 i32 f64", "maxima": "i8 f32", "mapped": "i8 f32",
         "counts": "i32", "spread": "f32 f64"}
SHAPES = ((30000, 100), (300000, 20), (1000, 100), (5000, 300), (100000, 32), (100, 4096),
          (2000, 2048), (1000000, 4), (100, 100), (65536, 64), (1000, 16), (16, 200000),
          (200000, 64), (20000, 1000))


class Nest(NamedTuple):
    """A nest for one type of elements."""

    name: str
    type: str

    def text(self) -> str:
        """The program."""
        return re.sub(r"\bT\b", self.type, FILL + NESTS[self.name])


def main() -> None:
    """Measure all rows and print the slow rows."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--only", default="", help="a part of the names of rows")
    parser.add_argument("--most", type=int, default=1 << 24, help="elements of a matrix")
    parser.add_argument("--work", type=float, default=3e9, help="the most steps of a nest")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--all", action="store_true", help="print all rows")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end = time.perf_counter() + options.budget
    nests = [Nest(name, each) for name in NESTS for each in TYPES.get(name, "f32").split()]
    nests = [nest for nest in nests if any(options.only in label for label in _labels(nest))]
    context = multiprocessing.get_context("fork")  # this process opens no device
    with tempfile.NamedTemporaryFile() as lock:
        parts: list[Any] = []
        for job in range(options.jobs):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_measure, args=(
                nests[job::options.jobs], options, end, lock.name, theirs))
            process.start()
            theirs.close()
            parts.append((process, ours))
        rows = list(_received([connection for _, connection in parts], end))
        for process, _ in parts:
            process.kill()
            process.join()
    _print(rows, everything=options.all)
    if options.json:
        options.json.write_text(json.dumps(rows) + "\n")


def _labels(nest: Nest) -> list[str]:
    return [f"{nest.name} {nest.type} [{n}][{m}]" for n, m in SHAPES]


def _received(connections: list[Any], end: float) -> Iterator[dict[str, Any]]:
    """The rows that processes send before the end."""
    while connections and (left := end - time.perf_counter()) > 0:
        for connection in wait(connections, None if math.isinf(left) else left):
            try:
                yield connection.recv()
            except EOFError:
                connections.remove(connection)


def _measure(nests: Sequence[Nest], options: argparse.Namespace, end: float, lock: str,
             connection: Any) -> None:
    """Send the rows of some nests."""
    programs: dict[Nest, Any] = {}
    for n, m in SHAPES:
        for nest in nests:
            label = f"{nest.name} {nest.type} [{n}][{m}]"
            cost = n * m * {"boxes": 9 * m, "distances": 64, "polynomials": 64}.get(nest.name, 1)
            if options.only not in label or n * m > options.most or cost > options.work:
                continue
            if time.perf_counter() > end:
                return
            if nest not in programs:
                programs[nest] = runelift.compile(nest.text(), device=options.device, tuning={})
            try:
                connection.send({"row": label, **_row(programs[nest], n, m, lock)})
            except RuneliftError as error:
                print(label, str(error).splitlines()[0], flush=True)
    connection.close()


def _row(program: Any, n: int, m: int, lock: str) -> dict[str, Any]:
    """Times of all versions for one shape."""
    measured = MeasuredProgram(program)
    with open(lock, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        resident = [program["fill"](n, m, device_arrays=True)]
        record = measured.record("go", resident, samples=False)
        fcntl.flock(file, fcntl.LOCK_UN)
        versions: dict[str, Any] = {"default": None}
        for version in plans(program.tree.entry("go")):
            with suppress(RuneliftError):
                measured.prebuild("go", resident, [version])
                versions[_name(version)] = RequiredVersions(version)
        fcntl.flock(file, fcntl.LOCK_EX)
        times: dict[str, list[float]] = {}
        least = math.inf
        for name, force in versions.items():
            with suppress(RuneliftError):
                first = 1e6 * measured.time("go", resident, force=force)
                first = min(first, 1e6 * measured.time("go", resident, force=force))
                if first < HOPELESS * least:
                    measured.warm_up("go", resident, force=force)
                    times[name] = []
                if name == "default":
                    least = max(first, 30)
        for _ in range(ROUNDS):
            for name, each in times.items():
                each += [1e6 * measured.time("go", resident, force=versions[name])
                         for _ in range(RUNS)]
        fcntl.flock(file, fcntl.LOCK_UN)
    medians = {name: median(each) for name, each in times.items()}
    return {"n": n, "m": m, "default": medians["default"], "best": min(medians.values()),
            "version": min(medians, key=medians.__getitem__), "versions": medians,
            "left_out": sorted(versions.keys() - times.keys()),
            "chosen": _name({e.site: e.chosen for e in record.encounters}),
            "sizes": [(e.site, e.par, e.sizes) for e in record.encounters[:4]],
            "launches": record.launches, "busy": 1e6 * record.busy}


def _name(version: Any) -> str:
    return " ".join(f"{site.rpartition('_')[2]}:{index}" for site, index in version.items())


def _print(rows: Sequence[dict[str, Any]], *, everything: bool) -> None:
    ratios = [row["default"] / row["best"] for row in rows]
    print(f"{'row':28}{'default':>9}{'best':>9}{'def/best':>9}  chosen, best and others")
    for ratio, row in sorted(zip(ratios, rows, strict=True), key=lambda each: -each[0]):
        if everything or ratio > SLOW:
            print(f"{row['row']:28}{row['default']:>9.0f}{row['best']:>9.0f}{ratio:>9.2f}  "
                  f"{row['chosen']}; {row['version']};",
                  ", ".join(f"{name} {value:.0f}" for name, value in row["versions"].items()
                            if name != "default"), flush=True)
    if ratios:
        slow = sum(ratio > SLOW for ratio in ratios)
        print(f"{len(rows)} rows, {slow} above {SLOW}, geometric mean "
              f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
