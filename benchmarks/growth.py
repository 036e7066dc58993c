"""The growth of each example's cost with its work: time per unit of work at four sizes or more.

``python benchmarks/growth.py [--device NAME] [--only PART] [--best] [--svg OUT] [--json OUT]``

The work of each size is about ten times that of the one before.  Times are medians of host time for
a call with inputs and outputs on the device.  They are of the default thresholds, or of the fastest
version with ``--best``.  ``worst step`` is the largest factor by which a unit of work costs more
than at the size before: above 1 something does not scale.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from common import EXAMPLES, parser_of, write_json
from compare import VOLATILITY, arguments, timed

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans


class Series(NamedTuple):
    """An example at growing sizes: its inputs and its work for a size."""

    program: str
    sizes: tuple[int, ...]
    inputs: Callable[[int], list[str]]
    work: Callable[[int], float]
    entry: str = "main"


RUNS = 7
CUBES = (60, 128, 278, 600, 1290)
SQUARES = (32, 100, 320, 1000, 3200)
DECADES = (1_000, 10_000, 100_000, 1_000_000)


def linear(n: int) -> float:
    """Work in proportion to the size."""
    return n


def square(n: int) -> float:
    """Work in proportion to the square of the size."""
    return n**2


def cube(n: int) -> float:
    """Work in proportion to the cube of the size."""
    return n**3


SERIES = [
    Series("matmul", CUBES, lambda n: [f"[{n}][{n}]f32"] * 2, cube),
    Series("sgemm", CUBES, lambda n: ["0.5f32", *[f"[{n}][{n}]f32"] * 2, "2f32",
                                      f"[{n}][{n}]f32"], cube),
    Series("variant", (64, 128, 256, 512, 1024), lambda n: [f"[{n}][{n}]f32"] * 2, cube),
    Series("lud", CUBES, lambda n: [f"=matrix {n}i64"], cube),
    Series("mapscan", (16, 160, 1600, 16_000, 160_000), lambda n: [f"[{n}][256]i32"], linear),
    Series("srad", SQUARES, lambda n: ["100i32", f"[1][{n}][{n}]u8"], square),
    Series("hotspot", SQUARES, lambda n: ["360i32", *[f"[{n}][{n}]f32"] * 2], square),
    Series("nw", SQUARES, lambda n: ["10i32", f"[{n}][{n}]i32"], square),
    Series("mandelbrot", SQUARES, lambda n: [f"{n}i64", f"{n}i64", "255i32", "-2f32", "-1f32",
                                             "1f32", "1f32"], square),
    Series("nbody", (320, 1000, 3200, 10_000, 32_000),
           lambda n: ["1i32", "0.01f32", *[f"[{n}]f32"] * 7], square),
    Series("nn", DECADES, lambda n: ["100i64", "0.5f32", "0.5f32", *[f"[{n}]f32"] * 2], linear),
    Series("pathfinder", DECADES, lambda n: [f"[1][100][{n}]i32"], linear),
    Series("backprop", DECADES, lambda n: [f"[{n}]f32", "[1]f32",
                                           *[f"[{n + 1}][16]f32", "[17][1]f32"] * 2], linear),
    Series("mri-q", (256, 2560, 25_600, 256_000),
           lambda n: [*["[2048]f32"] * 5, *[f"[{n}]f32"] * 3], linear),
    Series("stencil", (16, 34, 75, 160, 345),
           lambda n: ["20i32", "0.1666667f32", "0.0277778f32", f"[{n}][{n}][{n}]f32"], cube),
    Series("poisson", SQUARES, lambda n: ["1e-30f64", "20i32", f"[{n}][{n}]f64"], square),
    Series("kmeans", DECADES, lambda n: ["5i64", "20i32", f"[{n}][34]f32"], linear),
    Series("OptionPricing", DECADES, lambda n: [f"{n}i64", "5i64", "3i64"], linear, "synthetic"),
    Series("lavaMD", (2, 4, 9, 20), lambda n: [f"{n}i64", "0.5f32", *[f"[{n**3}][100]f32"] * 5],
           cube),
    Series("LocVolCalib", (4, 40, 400, 4000),
           lambda n: [f"{n}i64", "32i64", "32i64", "8i64", *VOLATILITY], linear),
    Series("bfast", (16, 160, 1600, 16_000),
           lambda n: ["3i64", "113i64", "23f32", "0.25f32", "1.736f32", f"[{n}][235]f32"], linear),
    Series("tpacf", (30, 100, 320, 1000), lambda n: [*[f"[{n}]f64"] * 2, *[f"[100][{n}]f64"] * 2],
           square),
    Series("heston", (2, 20, 200, 2000), lambda n: ["1i32", "64i64", "4i64", "64i64", "1f64",
                                                    "0.02f64", *[f"[{n}]f64"] * 3], linear),
]


def main() -> None:
    """Print the table, and draw it."""
    parser = parser_of(__doc__, "a part of the name of a program")
    parser.add_argument("--best", action="store_true", help="the fastest version of each size")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; then stop")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    found: list[dict[str, Any]] = []
    print(f"{'program':15}{'worst step':>11}  size: microseconds (nanoseconds per unit of work)")
    for series in SERIES:
        if options.only not in series.program or time.perf_counter() - started > options.budget:
            continue
        program = runelift.compile(EXAMPLES / f"{series.program}.fut", device=options.device,
                                   tuning={})
        try:
            seconds = [measure(program, series, n, best=options.best) for n in series.sizes]
        except RuneliftError as error:
            print(f"{series.program:15} {str(error).splitlines()[0]}", flush=True)
            continue
        costs = [t / series.work(n) * 1e9 for t, n in zip(seconds, series.sizes, strict=True)]
        worst = max(b / a for a, b in pairwise(costs))
        print(f"{series.program:15}{worst:>11.2f}  " + "  ".join(
            f"{n}: {t * 1e6:.0f} ({c:.3g})" for n, t, c in
            zip(series.sizes, seconds, costs, strict=True)), flush=True)
        found.append({"program": series.program, "sizes": series.sizes, "seconds": seconds,
                      "cost": costs, "worst": worst})
    if options.svg:
        options.svg.write_text(drawing(found))
    write_json(options.json, found)


def measure(program: Any, series: Series, size: int, *, best: bool) -> float:
    """Seconds of the default version, or of the fastest."""
    args = MeasuredProgram(program).place(arguments(program, series.inputs(size)))
    forces = plans(program.tree.entry(series.entry)) if best else [None]
    for force in forces:
        program.run(series.entry, args, force=force, device_arrays=True)
    return min(timed(program, series.entry, args, force, RUNS) for force in forces) / 1e6


WIDTH, HEIGHT, COLUMNS, MARGIN = 220, 150, 4, 28


def drawing(found: list[dict[str, Any]]) -> str:
    """A panel for each program: cost of a unit of work over the size, both logarithmic.

    The height of a panel is four decades, from the least cost of the program upwards.
    """
    rows = -(-len(found) // COLUMNS)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" '
             f'height="{rows * HEIGHT}" font-family="sans-serif" font-size="11">']
    for number, each in enumerate(found):
        x, y = number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT
        parts += [f'<g transform="translate({x},{y})">', *_panel(each), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _panel(each: dict[str, Any]) -> list[str]:
    least, sizes = min(each["cost"]), each["sizes"]
    wide, high = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    span = math.log(sizes[-1] / sizes[0])
    points = [(MARGIN + wide * math.log(n / sizes[0]) / span,
               HEIGHT - MARGIN - high * math.log10(c / least) / 4)
              for n, c in zip(sizes, each["cost"], strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return [f'<text x="{MARGIN}" y="18">{each["program"]}  (from {least:.3g} ns)</text>',
            f'<rect x="{MARGIN}" y="{MARGIN}" width="{wide}" height="{high}" fill="none" '
            'stroke="#bbb"/>',
            *[f'<path d="M{MARGIN} {y}h{wide}" stroke="#eee"/>' for y in
              (HEIGHT - MARGIN - high * k / 4 for k in (1, 2, 3))],
            f'<polyline points="{line}" fill="none" stroke="#06c" stroke-width="1.5"/>',
            *[f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="#06c"/>' for x, y in points],
            *[f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{n:g}</text>'
              for (x, _), n in zip(points, sizes, strict=True)]]


if __name__ == "__main__":
    main()
