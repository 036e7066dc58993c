"""Time sums of rows of different lengths: nested in each version, by hand, and regular twins.

``python benchmarks/ragged.py [--device NAME] [--small] [--only PARTS] [--without SHAPE] [--no-tune]
[--peer FUTHARK] [--seconds N] [--budget SECONDS] [--json FILE]``

A row is a shape of lengths (:mod:`runelift.runtime.data.lengths`).  Its forms take turns:

- ``untuned`` and ``tuned`` are the nested program; one tuning is for all shapes, or for all but the
  one of ``--without``;
- ``new`` is the tuned program on lengths that PyOpenCL may change, so each call inspects them; all
  further forms inspect them once;
- forced versions by their kinds; the version with a work-item for each row is ``row``;
- ``flags`` and ``expanded`` are flattened by hand: a scan of pairs with flags, and an index of the
  row for each element.  The faster one is ``hand``;
- ``regular`` sums a matrix, ``whole`` all elements, ``closed`` rows whose places are known;
- ``peer`` is the nested program by a Futhark compiler.

A second table has a sparse matrix with such rows times a vector, beside SciPy and CuPy, if
these are installed.

Times are medians of calls with inputs on the device, with the spread (median absolute deviation).
All results are compared with NumPy's.  Ratios that miss their target have a ``!``.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from common import parser_of, write_json
from peers import Peer, build

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.data.lengths import Lengths, draw
from runelift.runtime.devices.info import DeviceKind
from runelift.runtime.records.format import table
from runelift.runtime.records.statistics import mad, median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import Forest, plans

SEGMENTS = Path(__file__).parents[1] / "examples/lib/segments.fut"
NESTED = """
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]f32): [n]f32 =
  map2 (\\o l -> f32.sum xs[o:o + l]) start len
entry csr [n][m][k] (start: [n]i64) (len: [n]i64) (vals: [m]f32) (cols: [m]i64)
                    (v: [k]f32): [n]f32 =
  map2 (\\o l -> f32.sum (map (\\(c, x) -> x * v[c]) (zip cols vals)[o:o + l])) start len
"""
TWINS = """
entry flags [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]f32): [n]f32 =
  let places = map2 (\\o l -> if l > 0 then o else -1) start len
  let first = scatter (replicate m false) places (map (const true) places)
  let join (f, x) (g, y) = (f || g, if g then y else x + y)
  let (_, sums) = unzip (scan join (false, 0) (zip first xs))
  in map2 (\\o l -> if l > 0 then sums[o + l - 1] else 0) start len
entry expanded [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]f32): [n]f32 =
  let (rows, places) = unzip (expand len)
  in segmented_reduce (+) 0 len places (map2 (\\i j -> xs[start[i] + j]) rows places)
entry regular [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry whole [m] (xs: [m]f32): f32 = f32.sum xs
entry closed [m] (n: i64) (xs: [m]f32): [n]f32 =
  tabulate n (\\i -> f32.sum xs[i * (i + 1) / 2:i * (i + 1) / 2 + i + 1])
"""
BY_HAND = ("flags", "expanded")
LONG = 0.1
"""A form whose run takes this part of a row's time is not run again."""
BEST, UNTUNED, LEFT_OUT = 1.05, 1.5, 1.25
"""Targets of the tuned and untuned time by that of the best version; tuned without the shape."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A row of the table: lengths on a GPU and in small, and what the tuned time is held to.

    The targets are the tuned time by that of a program by hand, by that of ``row``, and by that of
    another form.
    """

    name: str
    n: int
    cap: int
    small: tuple[int, int]
    by_hand: float
    by_row: float
    other: tuple[str, float] | None = None

    def lengths(self, *, small: bool) -> Lengths:
        """The lengths of the rows."""
        return draw(*(self.small[0], self.name, self.small[1]) if small
                    else (self.n, self.name, self.cap))


SHAPES = (
    Shape("uniform", 2_000_000, 8, (40_000, 8), 0.5, 1.05),
    Shape("equal", 10_000, 1000, (200, 1000), 0.5, 0.5, ("regular", 1.15)),
    Shape("geometric", 300_000, 256, (6000, 256), 0.6, 0.7),
    Shape("power", 1_000_000, 100_000, (40_000, 10_000), 0.6, 0.05),
    Shape("one", 100_000, 10_000_000, (2000, 200_000), 0.6, 0.01, ("whole", 1.5)),
    Shape("empty", 1_000_000, 0, (20_000, 0), 0.7, 1.3),
    Shape("alternating", 200, 100_000, (40, 10_000), 0.6, 0.02),
    Shape("ascending", 4500, 4500, (632, 632), 0.6, 0.1, ("closed", 1.5)),
)
ROUNDING = 2.0 ** -24
"""The most that an addition is off; a work-item may add up a row from its first element on."""
ON_CPUS = 1.05
"""The target of the tuned time by that of ``row`` on a processor, the only target there."""


@dataclass(slots=True)
class Form:
    """A form of a row: a function that runs it once and returns its seconds, and the samples."""

    name: str
    run: Callable[[], float]
    samples: list[float] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The median of the samples, in seconds."""
        return median(self.samples)


class Bench:
    """The compiled programs, and how they are timed on their device."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.program = runelift.compile(SEGMENTS.read_text() + NESTED + TWINS,
                                        device=options.device, tuning={})
        self.measured = MeasuredProgram(self.program)
        info = self.program.device_info
        self.gpu = info is not None and info.kind is DeviceKind.GPU
        self.longest = 0
        self.tuned: dict[str, int] = {}

    def form(self, name: str, entry: str, args: Sequence[Any], expected: Any, *,
             force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> Form:
        """A form of this program, whose results have been checked."""
        found, _ = self.program.run(entry, args, force=force, thresholds=thresholds or {})
        check(name, found[0], expected, self.longest)
        about = {"force": force, "thresholds": thresholds or {}}
        return Form(name, lambda: self.measured.time(entry, args, **about))

    def versions(self, entry: str, args: Sequence[Any], expected: Any) -> list[Form]:
        """A form for each version of an entry point that can run here."""
        forest, forms = self.program.tree.entry(entry), []
        for force in plans(forest):
            try:
                forms.append(self.form(version_name(forest, force), entry, args, expected,
                                       force=force))
            except RuneliftError as error:
                print(f"  {version_name(forest, force)}: {str(error).splitlines()[0]}")
        return forms

    def tune(self, datasets: Mapping[str, Sequence[Any]]) -> None:
        """Tune the nested program once for all datasets."""
        if self.program.tree.entry("main").trees and not self.options.no_tune:
            started = time.perf_counter()
            self.program.tune(datasets, entry="main")
            self.tuned = dict(self.program.thresholds)
            print(f"tuned in {time.perf_counter() - started:.1f} s: {self.tuned}")


def version_name(forest: Forest, force: Mapping[str, int]) -> str:
    """The kinds of the versions of a plan; ``row`` has a work-item for each row."""
    kinds = [forest.sites()[site].alternatives[index].kind.value for site, index in force.items()]
    return " ".join("row" if kind == "outer" else kind for kind in kinds) or "row"


def check(name: str, found: Any, expected: Any, longest: int) -> None:
    """Print a warning if results are off by more than rounding the sums of rows explains."""
    scale = np.maximum(1.0, np.abs(expected))
    error = float(np.max(np.abs(np.asarray(found, np.float64) - expected) / scale, initial=0))
    if error > max(1e-3, ROUNDING * longest):
        print(f"  {name} is WRONG: off by {error:.1e}")


def data_of(lengths: Lengths) -> tuple[list[Any], Any]:
    """Starts, lengths and elements, and the sums of rows."""
    m = int(lengths.sum())
    ends = np.cumsum(lengths)
    xs = np.random.default_rng(0).random(m, np.float32)
    sums = np.concatenate([[0.0], np.cumsum(xs, dtype=np.float64)])
    return [ends - lengths, lengths, xs], sums[ends] - sums[ends - lengths]


def take_turns(forms: Sequence[Form], seconds: float) -> None:
    """Run all forms in turn, until ``seconds`` have passed, and five times at least."""
    for each in forms:
        each.run()  # it may build kernels
        each.samples.append(min(each.run(), each.run()))
    worth = [each for each in forms if each.samples[0] < LONG * seconds] or forms
    began = time.perf_counter()
    while len(worth[0].samples) < 5 or time.perf_counter() - began < seconds:
        for each in worth:
            each.run()  # caches are no longer as another form left them
            each.samples.append(each.run())


def sums_of(bench: Bench, shape: Shape, stack: ExitStack) -> dict[str, Any]:
    """The times of all forms of a shape."""
    options = bench.options
    args, expected = data_of(shape.lengths(small=options.small))
    _, length, xs = args
    bench.longest = int(length.max(initial=0))
    placed = [bench.program.to_device(each) for each in args]
    forms = [bench.form("untuned", "main", placed, expected)]
    if bench.tuned:
        forms.append(bench.form("tuned", "main", placed, expected, thresholds=bench.tuned))
    shared = [bench.program.to_device(each) for each in args[:2]]
    for each in shared:
        each.to_pyopencl()
    forms.append(bench.form("new", "main", [*shared, placed[2]], expected,
                            thresholds=bench.tuned))
    forms += bench.versions("main", placed, expected)
    forms += [bench.form(name, name, placed, expected) for name in BY_HAND]
    match shape.other:
        case ("regular", _):
            matrix = bench.program.to_device(xs.reshape(len(length), -1))
            forms.append(bench.form("regular", "regular", [matrix], expected))
        case ("whole", _):
            forms.append(bench.form("whole", "whole", placed[2:], expected.sum()))
        case ("closed", _):
            forms.append(bench.form("closed", "closed", [len(length), placed[2]], expected))
    if options.peer:
        forms += peer_form(options.peer, args, stack)
    return timed(bench, shape, args, forms)


def timed(bench: Bench, shape: Shape, args: Sequence[Any], forms: Sequence[Form]
          ) -> dict[str, Any]:
    """The times of forms of a shape, which take turns, in microseconds."""
    take_turns(forms, bench.options.seconds)
    _, lengths, elements = args[:3]
    return {"row": shape.name, "n": len(lengths), "m": len(elements), "max": bench.longest,
            "times": {each.name: 1e6 * each.time for each in forms},
            "spread": {each.name: 1e6 * mad(each.samples) for each in forms}}


def peer_form(compiler: str, args: Sequence[Any], stack: ExitStack) -> list[Form]:
    """The nested program by another compiler; nothing, and a note, if it cannot compile it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    (folder / "main.fut").write_text(NESTED)
    if (error := build(compiler, folder / "main.fut", folder / "main", 300)) is not None:
        print(f"  peer: {error}")
        return []
    call = stack.enter_context(Peer(folder / "main", [], 300)).prepare("main", args)
    return [Form("peer", lambda: call() / 1e6)]


def products_of(bench: Bench, shape: Shape) -> dict[str, Any]:
    """The times of a sparse matrix with such rows times a vector."""
    (start, length, vals), _ = data_of(shape.lengths(small=bench.options.small))
    bench.longest = int(length.max(initial=0))
    rng = np.random.default_rng(1)
    width = max(len(length), 1)
    cols, v = rng.integers(0, width, len(vals)), rng.random(width, np.float32)
    products = np.concatenate([[0.0], np.cumsum(vals.astype(np.float64) * v[cols])])
    expected = products[start + length] - products[start]
    args = [bench.program.to_device(each) for each in (start, length, vals, cols, v)]
    forms = [bench.form("untuned", "csr", args, expected),
             *bench.versions("csr", args, expected)]
    ends = np.concatenate([start, [len(vals)]])
    for peer in (scipy_form, cupy_form):
        forms += peer(vals, cols, ends, v)
    return timed(bench, shape, (start, length, vals), forms)


def scipy_form(vals: Any, cols: Any, ends: Any, v: Any) -> list[Form]:
    """SciPy's product; nothing if it is not installed."""
    sparse = installed("scipy.sparse")
    if sparse is None:
        return []
    matrix = sparse.csr_matrix((vals, cols, ends), shape=(len(ends) - 1, len(v)))

    def run() -> float:
        began = time.perf_counter()
        matrix @ v
        return time.perf_counter() - began

    return [Form("SciPy", run)]


def cupy_form(vals: Any, cols: Any, ends: Any, v: Any) -> list[Form]:
    """CuPy's product, by its events; nothing if it is not installed."""
    cupy, sparse = installed("cupy"), installed("cupyx.scipy.sparse")
    if cupy is None or sparse is None:
        return []
    parts = tuple(cupy.asarray(each) for each in (vals, cols.astype(np.int32),
                                                  ends.astype(np.int32)))
    matrix, vector = sparse.csr_matrix(parts, shape=(len(ends) - 1, len(v))), cupy.asarray(v)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def run() -> float:
        begin.record()
        matrix @ vector
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3

    return [Form("CuPy", run)]


def installed(name: str) -> Any:
    """A module; None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


# Tables


def ratio(above: float | None, below: float | None, target: float | None) -> str:
    """A ratio beside its target, with a mark if it is missed."""
    if above is None or below is None:
        return "-"
    found = above / below
    if target is None:
        return f"{found:.2f}"
    return f"{found:.2f} of {target:g}{' !' if found > target else ''}"


def line_of_sums(bench: Bench, shape: Shape, found: Mapping[str, Any]) -> list[str]:
    """The cells of a shape in the table of sums."""
    times: dict[str, float] = found["times"]
    twins = {*BY_HAND, "untuned", "tuned", "new", "peer"} | (
        {shape.other[0]} if shape.other else set())
    versions = {name: time for name, time in times.items() if name not in twins}
    best = min(versions, key=versions.__getitem__)
    tuned, gpu = times.get("tuned", times["untuned"]), bench.gpu
    left_out = bench.options.without == shape.name
    by_hand = min(times[name] for name in BY_HAND)
    other = "-" if shape.other is None else f"{shape.other[0]} " + ratio(
        tuned, times.get(shape.other[0]), shape.other[1] if gpu else None)
    return [shape.name, f"{found['n']:.1g}", f"{found['m']:.1g}", f"{times['untuned']:.0f}",
            f"{tuned:.0f}", f"{best} {times[best]:.0f}",
            ratio(tuned, by_hand, shape.by_hand if gpu else None),
            ratio(times["new"], by_hand, None),
            ratio(tuned, times.get("row"), shape.by_row if gpu else ON_CPUS),
            ratio(tuned, times[best], LEFT_OUT if left_out else BEST),
            ratio(times["untuned"], times[best], UNTUNED), other]


SUMS = ["lengths", "n", "m", "untuned", "tuned", "best", "T/hand", "new/hand", "T/row", "T/best",
        "untuned/best", "other"]


def line_of_products(bench: Bench, found: Mapping[str, Any]) -> list[str]:
    """The cells of a shape in the table of products."""
    times: dict[str, float] = found["times"]
    versions = {name: time for name, time in times.items()
                if name not in ("untuned", "SciPy", "CuPy")}
    best = min(versions, key=versions.__getitem__)
    scipy = 1 / 20 if bench.gpu else 2 / (os.cpu_count() or 1)
    return [found["row"], f"{times['untuned']:.0f}", f"{best} {times[best]:.0f}",
            ratio(times[best], times.get("SciPy"), scipy),
            ratio(times[best], times.get("CuPy"), 1.5)]


PRODUCTS = ["lengths", "untuned", "best", "best/SciPy", "best/CuPy"]


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__, "parts of names of shapes, with commas between")
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--without", metavar="SHAPE", help="a shape that is not tuned for")
    parser.add_argument("--no-tune", action="store_true")
    parser.add_argument("--no-products", action="store_true", help="without sparse matrices")
    parser.add_argument("--peer", metavar="FUTHARK", help="a Futhark compiler to compare with")
    parser.add_argument("--seconds", type=float, default=2, help="time for each row's runs")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    options = parser.parse_args()
    end = time.perf_counter() + options.budget
    bench = Bench(options)
    print("device:", bench.program.device_info.label if bench.program.device_info else "none")
    for name in ("scipy.sparse", "cupy"):
        if installed(name) is None:
            print(f"{name.partition('.')[0]}: not installed")
    chosen = [each for each in SHAPES if any(part in each.name
                                             for part in options.only.split(","))]
    bench.tune({each.name: data_of(each.lengths(small=options.small))[0] for each in chosen
                if each.name != options.without})
    rows: dict[str, list[dict[str, Any]]] = {"sums": [], "products": []}
    tables: dict[str, list[list[str]]] = {"sums": [], "products": []}
    with ExitStack() as stack:
        for shape in chosen:
            if time.perf_counter() > end:
                print("the budget is spent")
                break
            rows["sums"].append(found := sums_of(bench, shape, stack))
            tables["sums"].append(line_of_sums(bench, shape, found))
            if not options.no_products:
                rows["products"].append(found := products_of(bench, shape))
                tables["products"].append(line_of_products(bench, found))
            write_json(options.json, {"tuned": bench.tuned, **rows})
    print("\nSums of rows, microseconds and ratios:")
    print(table([SUMS, *tables["sums"]]))
    if tables["products"]:
        print("\nA sparse matrix times a vector:")
        print(table([PRODUCTS, *tables["products"]]))


if __name__ == "__main__":
    main()
