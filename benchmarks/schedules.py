"""Programs that a search over schedules speeds up: untuned, tuned, and with schedules, in turn.

Run: python benchmarks/schedules.py [--search 60s] [--device NAME] [PROGRAM...]
     python benchmarks/schedules.py --candidates [--device NAME] [--only PART,PART]

Each program is tuned twice, without schedules and with them.  Then the three forms run in turn.
The kinds differ: windows that may be stored, a sum inside of a product, columns, and blocks.

With ``--candidates``, schedules of the examples run with other numbers (:mod:`candidates`).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import candidates
import numpy as np

import runelift
from runelift.runtime.tools.commands.cli import main as command

RUNS = 15
PROGRAMS: Mapping[str, tuple[str, Sequence[tuple[int, ...]]]] = {
    "convolution": ("""
entry main [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][h][w]f32 =
  let padded = map (lift.pad2d 1 1 1 1 0) image
  let windows = map (\\plane -> lift.slide2d 3 1 3 1 plane :> [h][w][3][3]f32) padded
  let pixels = map flatten_3d (flatten (lift.transpose_nd_120 windows))
  let rows = map flatten_3d filters
  let sums = map (\\row -> map (\\pixel -> f32.sum (map2 (*) row pixel)) pixels) rows
  in map unflatten sums
""", ((16, 28, 28), (32, 16, 3, 3))),
    "chain": ("""
entry main [n] (a: [n][n]f32) (b: [n][n]f32) (c: [n][n]f32): [n][n]f32 =
  map (\\row -> map (\\col ->
    let t = map (\\brow -> f32.sum (map2 (*) brow col)) b
    in f32.sum (map2 (*) row t)) (transpose c)) a
""", ((96, 96), (96, 96), (96, 96))),
    "smooth": ("""
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  let smooth = map (map (\\w -> f32.exp (f32.sum (flatten w) / 49)))
                   (lift.slide2d 7 1 7 1 (lift.pad2d 3 3 3 3 0 xss)) :> [n][m]f32
  in map (map (\\w -> f32.maximum (flatten w)))
         (lift.slide2d 5 1 5 1 (lift.pad2d 2 2 2 2 0 smooth)) :> [n][m]f32
""", ((300, 300),)),
    "columns": ("""
entry main [n][m] (xss: [n][m]f32): [m]f32 =
  map (\\col ->
    let mean = f32.sum col / f32.i64 n
    let variance = f32.sum (map (\\x -> (x - mean) * (x - mean)) col) / f32.i64 n
    in f32.maximum (map (\\x -> (x - mean) / f32.sqrt (variance + 1)) col)) (transpose xss)
""", ((2000, 500),)),
    "distances": ("""
entry main [n][m][d] (xs: [n][d]f32) (ys: [m][d]f32): [n]f32 =
  map (\\x -> f32.minimum (map (\\y -> f32.sum (map2 (\\a b -> (a - b) * (a - b)) x y)) ys)) xs
""", ((400, 16), (600, 16))),
}
"""Programs, and the shapes of their arguments."""


def tuned(path: Path, options: Sequence[str], device: str) -> runelift.Program:
    """A program after ``autotune`` with some options."""
    command(["autotune", str(path), "--device", device, "--no-parameters", *options])
    return runelift.compile(path, device=device)


def compare(name: str, search: str, device: str) -> None:
    """Tune a program twice, and print the times of its three forms."""
    text, shapes = PROGRAMS[name]
    sizes = " ".join("".join(f"[{size}]" for size in shape) + "f32" for shape in shapes)
    rng = np.random.default_rng(0)
    args = [rng.random(shape, np.float32) for shape in shapes]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{each}.fut" for each in ("plain", "searched")]
        for path in paths:
            path.write_text(f"-- ==\n-- random input {{ {sizes} }}\n{text}")
        forms = {"untuned": runelift.compile(paths[0], device=device, tuning={}),
                 "tuned": tuned(paths[0], [], device),
                 "schedules": tuned(paths[1], ["--schedules", search], device)}
        times: dict[str, list[float]] = {form: [] for form in forms}
        for _ in range(RUNS + 2):
            for form, program in forms.items():
                begun = time.perf_counter()
                program.main(*args)
                times[form].append(time.perf_counter() - begun)
    least = {form: min(each[2:]) for form, each in times.items()}
    print(f"{name}: " + ", ".join(
        f"{form} {1e3 * least[form]:.3g} ms (median {1e3 * median(times[form][2:]):.3g})"
        for form in forms)
        + f"; schedules are {least['untuned'] / least['schedules']:.2f}x as fast as untuned, "
        f"{least['tuned'] / least['schedules']:.2f}x as tuned without")


def main() -> None:
    """Run the programs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--search", default="60s", help="the time of each search")
    parser.add_argument("--device", default="pocl")
    parser.add_argument("--candidates", action="store_true",
                        help="time schedules of the examples with other numbers instead")
    parser.add_argument("--only", default=candidates.USUAL, help="with --candidates: parts of "
                        "programs' names, with commas between (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=80,
                        help="with --candidates: begin no row later (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=9,
                        help="with --candidates: runs of each (default: %(default)s)")
    parser.add_argument("programs", nargs="*", help=", ".join(PROGRAMS))
    options = parser.parse_args()
    if options.candidates:
        candidates.show(options.device, options.only.split(","), options.seconds, options.turns)
        return
    for name in options.programs or PROGRAMS:
        compare(name, options.search, options.device)


if __name__ == "__main__":
    main()
