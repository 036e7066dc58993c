"""Time simple operations on matrices of many shapes, beside the same compiled by Futhark.

``python benchmarks/shapes.py [--peers FOLDER] [--device NAME] [--types i8 i32] [--only PART]``

An operation has one text for each element type; ``--write FOLDER`` writes these texts.  FOLDER of
``--peers`` has them compiled as servers, by ``futhark opencl --server shapes_i8.fut`` for instance.
Every matrix has about ``--elements`` elements; one of its sides has each of ``--sides``.  Runs of
both take turns; times are medians of microseconds for a call with inputs on the device.  ``best``
is our fastest version.  ``GB/s`` counts the bytes of inputs and results once each.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
from common import parser_of, write_json
from peers import Peer

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.info import select
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

TYPES = ("i8", "i16", "f16", "i32", "f64")
SIDES = (1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 100, 1000)
ROUNDS = 3
RUNS = 5
"""The runs of each side before the other has its turn."""
PEER_SECONDS = 300.0
"""The peer is ended if it takes longer for an answer."""
SLOW = 1.25
"""Defaults that are so many times slower than their best version, or the peer, are marked."""
TEXT = """
entry fill (n: i64) (m: i64): [n][m]T =
  tabulate_2d n m (\\i j -> T.i64 ((i * 7 + j * 13) % 101))
entry turned [n][m] (a: [n][m]T): [m][n]T = transpose a
entry added [n][m] (a: [n][m]T): [n][m]T = map (map (+ T.i64 1)) a
entry row_sums [n][m] (a: [n][m]T): [n]T = map (reduce (+) (T.i64 0)) a
entry row_maxima [n][m] (a: [n][m]T): [n]T = map T.maximum a
entry column_sums [n][m] (a: [n][m]T): [m]T = map (reduce (+) (T.i64 0)) (transpose a)
entry row_scans [n][m] (a: [n][m]T): [n][m]T = map (scan (+) (T.i64 0)) a
entry made_sums (n: i64) (m: i64): [n]T =
  tabulate n (\\i -> reduce (+) (T.i64 0) (tabulate m (\\j -> T.i64 (i ^ j))))
entry made_vector (n: i64) (m: i64): [n]T =
  reduce (map2 (+)) (replicate n (T.i64 0)) (tabulate m (\\j -> tabulate n (\\i -> T.i64 (i ^ j))))
"""
"""The operations; ``T`` is the element type."""
MADE = ("made_sums", "made_vector")
ENTRIES = tuple(e for e in re.findall(r"entry (\w+)", TEXT) if e != "fill")


class Case(NamedTuple):
    """One operation on matrices of one shape."""

    entry: str
    n: int
    m: int

    def bytes(self, size: int) -> int:
        """The bytes of inputs and results, of elements of ``size`` bytes."""
        small = {"column_sums": self.m}.get(self.entry, self.n)
        whole = self.n * self.m
        if self.entry in MADE:
            return size * small
        return size * (whole + (small if self.entry in (
            "row_sums", "row_maxima", "column_sums") else whole))


class FilledPeer(Peer):
    """A server that makes its own arguments."""

    def fill(self, case: Case) -> list[str]:
        """Make the arguments of a case; their names."""
        names = self.place("fill", [np.int64(case.n), np.int64(case.m)])
        if case.entry in MADE:
            return names
        self.ask(" ".join(["call fill a", *names]))
        return ["a"]

    def empty(self, names: Sequence[str]) -> None:
        """Free the arguments of a case."""
        self.forget()
        if names == ["a"]:
            self.ask("free a")


def main() -> None:
    """Run the sweep and print a row as soon as it is measured."""
    parser = parser_of(__doc__, "a part of the names of rows")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--peer-device", help="what the other programs call the device")
    parser.add_argument("--write", type=Path, help="write the texts there, and end")
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--sides", nargs="+", type=int, default=SIDES)
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--default-only", action="store_true", help="do not force versions")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    options = parser.parse_args()
    if options.write:
        for each in options.types:
            (options.write / f"shapes_{each}.fut").write_text(text_of(each))
        return
    started, found = time.perf_counter(), []
    device = select(options.device)
    print("device:", device.label if device else "none")
    print(f"{'row':36}{'peer':>9}{'default':>9}{'best':>9}{'peer/def':>9}{'def/best':>9}"
          f"{'GB/s':>8}")
    for each in options.types:
        for row in _rows(each, options, started + options.budget):
            found.append(row)
            slow = [mark for mark, limit in (("version", row["best"]), ("peer", row["peer"]))
                    if row["default"] > SLOW * limit]
            print(f"{row['row']:36}{row['peer']:>9.0f}{row['default']:>9.0f}{row['best']:>9.0f}"
                  f"{row['peer'] / row['default']:>9.2f}{row['default'] / row['best']:>9.2f}"
                  f"{row['bytes'] / row['default'] / 1000:>8.0f}  {' '.join(slow)}", flush=True)
    for which in ("default", "best"):
        ratios = [row["peer"] / row[which] for row in found if math.isfinite(row["peer"])]
        if ratios:
            print(f"geometric mean of peer / {which} over {len(ratios)} rows: "
                  f"{geometric_mean(ratios):.2f}")
    write_json(options.json, found)


def text_of(type_: str) -> str:
    """The program of an element type."""
    return re.sub(r"\bT\b", type_, TEXT)


def _cases(options: argparse.Namespace, type_: str) -> Iterator[Case]:
    shapes = {(side, max(1, options.elements // side)): None for side in options.sides}
    shapes |= {(m, n): None for n, m in shapes}
    for entry in ENTRIES:
        for n, m in shapes:
            if options.only in f"{type_} {entry} [{n}][{m}]":
                yield Case(entry, n, m)


def _rows(type_: str, options: argparse.Namespace, end: float) -> Iterator[dict[str, Any]]:
    """The measurements of a type."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"shapes_{type_}.fut"
        path.write_text(text_of(type_))
        program = runelift.compile(path, device=options.device, tuning={})
    size = int(type_[1:]) // 8
    with ExitStack() as stack:
        peer = None
        if options.peers and (options.peers / f"shapes_{type_}").exists():
            chosen = [f"--device={options.peer_device}"] if options.peer_device else []
            peer = stack.enter_context(FilledPeer(
                (options.peers / f"shapes_{type_}").resolve(), chosen, PEER_SECONDS))
        for case in _cases(options, type_):
            if time.perf_counter() > end:
                return
            label = f"{type_} {case.entry} [{case.n}][{case.m}]"
            try:
                row = compare(program, peer, case, default_only=options.default_only)
            except RuneliftError as error:
                print(f"{label:36}{str(error).splitlines()[0]}", file=sys.stderr)
                continue
            yield {"row": label, "bytes": case.bytes(size), **row}


def compare(program: Any, peer: FilledPeer | None, case: Case, *, default_only: bool
            ) -> dict[str, Any]:
    """Median microseconds of the peer, of our default and of our fastest version."""
    measured = MeasuredProgram(program)
    resident: list[Any] = [case.n, case.m]
    if case.entry not in MADE:
        resident = [program["fill"](*resident, device_arrays=True)]
    versions = [{}, *([] if default_only else plans(program.tree.entry(case.entry)))]
    ours: list[list[float]] = [[] for _ in versions]
    for force in versions:
        measured.warm_up(case.entry, resident, force=force)
    theirs: list[float] = []
    names = peer.fill(case) if peer else []
    if peer:
        peer.call(case.entry, names)
    for _ in range(ROUNDS):
        if peer:
            theirs += [peer.call(case.entry, names) for _ in range(RUNS)]
        for force, times in zip(versions, ours, strict=True):
            times += [1e6 * measured.time(case.entry, resident, force=force) for _ in range(RUNS)]
    if peer:
        peer.empty(names)
    medians = [median(times) for times in ours]
    return {"peer": median(theirs) if theirs else math.inf, "default": medians[0],
            "best": min(medians), "versions": medians[1:]}


if __name__ == "__main__":
    main()
