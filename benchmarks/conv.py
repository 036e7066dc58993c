"""Time convolutions of neural networks, written in seven ways, beside each other.

``python benchmarks/conv.py [--device NAME] [--only PARTS] [--spellings NAMES] [--small] [--best]
[--fp-contract] [--peer FUTHARK] [--seconds N] [--budget SECONDS] [--json FILE]``

The rows are the nine different layers of VGG-16, and further layers of another form.  These have
filters of 1x1 and 5x5, every second window, a small image with many channels, and a batch.  The
spellings are

- ``direct``: sums of sums that test each index, ``padded``: these sums on a stored padded image;
- ``matrix``: windows stored as a matrix, then a product of matrices;
- ``implicit``: that product, with elements of the matrix computed where they are read;
- ``one_sum``: one sum over all elements of a filter, by quotients;
- ``slices``: windows as slices, then sums; ``pixels``: like ``slices``, with one index of pixels.

All results are compared with NumPy's.  Columns are

- microseconds of a call with inputs and outputs on the device;
- their ratio to the fastest spelling of the row, and GFLOP/s;
- launches, and the most bytes of device memory, with inputs and result;
- the versions that ran, by number.

``--best`` takes the fastest version of each spelling instead of the default.  ``--peer`` compiles
the programs with a Futhark compiler, too.  Rows of this device that FILE has already are not
measured again.  No row begins after ``--budget`` seconds, so a run may go on where one ended.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import parser_of, write_json
from numpy.typing import NDArray
from peers import Peer, build

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

Floats = NDArray[np.floating[Any]]

FUNCTIONS = """
def get [c][h][w] (x: [c][h][w]f32) (k: i64) (i: i64) (j: i64): f32 =
  if 0 <= i && i < h && 0 <= j && j < w then x[k, i, j] else 0

def with_margin [c][h][w] (x: [c][h][w]f32): [c][h + 2 * MARGIN][w + 2 * MARGIN]f32 =
  tabulate_3d c (h + 2 * MARGIN) (w + 2 * MARGIN) (\\k i j -> get x k (i - MARGIN) (j - MARGIN))

def count (n: i64): i64 = (n + 2 * MARGIN - SIDE) / STEP + 1

def direct_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  tabulate_3d m (count h) (count w) (\\o i j ->
    f32.sum (tabulate c (\\k -> f32.sum (tabulate SIDE (\\di -> f32.sum (tabulate SIDE (\\dj ->
      get x k (i * STEP + di - MARGIN) (j * STEP + dj - MARGIN) * ker[o, k, di, dj])))))))

def padded_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  let x = opaque (with_margin x)
  in tabulate_3d m (count h) (count w) (\\o i j ->
    f32.sum (tabulate c (\\k -> f32.sum (tabulate SIDE (\\di -> f32.sum (tabulate SIDE (\\dj ->
      x[k, i * STEP + di, j * STEP + dj] * ker[o, k, di, dj])))))))

def matrix_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  let windows = tabulate_2d (c * SIDE * SIDE) ((count h) * (count w)) (\\r p ->
    let (k, d) = (r / (SIDE * SIDE), r % (SIDE * SIDE))
    let (i, j) = (p / (count w), p % (count w))
    in get x k (i * STEP + d / SIDE - MARGIN) (j * STEP + d % SIDE - MARGIN))
  let stored = opaque windows
  in map (\\f -> unflatten (map (\\window -> f32.sum (map2 (*) (flatten_3d f) window))
                               (transpose stored))) ker

def implicit_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  map (\\f -> unflatten (tabulate ((count h) * (count w)) (\\p ->
    f32.sum (map2 (\\v r ->
      let (k, d) = (r / (SIDE * SIDE), r % (SIDE * SIDE))
      let (i, j) = (p / (count w), p % (count w))
      in v * get x k (i * STEP + d / SIDE - MARGIN) (j * STEP + d % SIDE - MARGIN))
      (flatten_3d f) (iota (c * SIDE * SIDE)))))) ker

def one_sum_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  let x = opaque (with_margin x)
  in tabulate_3d m (count h) (count w) (\\o i j ->
    f32.sum (tabulate (c * SIDE * SIDE) (\\r ->
      let (k, d) = (r / (SIDE * SIDE), r % (SIDE * SIDE))
      in x[k, i * STEP + d / SIDE, j * STEP + d % SIDE] * ker[o, k, d / SIDE, d % SIDE])))

def window [c][h][w] (x: [c][h][w]f32) (i: i64) (j: i64): [c][SIDE][SIDE]f32 =
  x[:, i * STEP:i * STEP + SIDE, j * STEP:j * STEP + SIDE] :> [c][SIDE][SIDE]f32

def slices_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  let x = opaque (with_margin x)
  let windows = tabulate_2d (count h) (count w) (\\i j -> window x i j)
  in map (\\f -> map (map (\\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d f))))
                   windows) ker

def pixels_of [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][SIDE][SIDE]f32)
    : [m][count h][count w]f32 =
  let x = opaque (with_margin x)
  in map (\\f -> unflatten (tabulate ((count h) * (count w)) (\\p ->
       #[unsafe]
       let win = window x (p / (count w)) (p % (count w))
       in f32.sum (map2 (*) (flatten_3d win) (flatten_3d f))))) ker
"""
SPELLINGS = ("direct", "padded", "matrix", "implicit", "one_sum", "slices", "pixels")


@dataclass(frozen=True, slots=True)
class Row:
    """A layer with ``channels`` of ``height`` times ``width`` pixels.

    It has so many ``filters`` of ``side`` times ``side`` pixels.  ``batch`` is the number of
    images, 0 for a single image.  With ``--small``, channels and sides are divided, so that
    processors can do it.
    """

    name: str
    channels: int
    height: int
    width: int
    filters: int
    side: int = 3
    step: int = 1
    batch: int = 0

    def smaller(self) -> Row:
        """The row for a processor: sixteen times less work, or more."""
        return Row(self.name, max(self.channels // 4, 3), max(self.height // 4, 7),
                   max(self.width // 4, 7), self.filters // 4, self.side, self.step,
                   self.batch // 4)

    def text(self, spelling: str) -> str:
        """The program of a spelling."""
        images, result = ("[n]", f"map (\\x -> {spelling}_of x ker) xs") if self.batch else (
            "", f"{spelling}_of xs ker")
        entry = (f"entry main {images}[c][h][w][m] (xs: {images}[c][h][w]f32) "
                 f"(ker: [m][c][SIDE][SIDE]f32) = {result}\n")
        return (FUNCTIONS + entry).replace("SIDE", f"{self.side}i64").replace(
            "STEP", f"{self.step}i64").replace("MARGIN", f"{self.side // 2}i64")

    def inputs(self) -> tuple[Floats, Floats]:
        """Images and filters."""
        rng = np.random.default_rng(0)
        images = (self.batch,) if self.batch else ()
        return (rng.random((*images, self.channels, self.height, self.width), np.float32) - 0.5,
                rng.random((self.filters, self.channels, self.side, self.side), np.float32) - 0.5)

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        points = math.prod((n - 1) // self.step + 1 for n in (self.height, self.width))
        return 2 * points * self.filters * self.channels * self.side ** 2 * max(self.batch, 1)


LAYERS = ((0, 3, 224, 64), (2, 64, 224, 64), (5, 64, 112, 128), (7, 128, 112, 128),
          (10, 128, 56, 256), (12, 256, 56, 256), (17, 256, 28, 512), (19, 512, 28, 512),
          (24, 512, 14, 512))
"""The layers of VGG-16 that differ: number, channels, side of the image, filters."""
ROWS = (
    *(Row(f"vgg {number}", channels, side, side, filters)
      for number, channels, side, filters in LAYERS),
    Row("1x1", 256, 56, 56, 256, side=1),
    Row("5x5", 64, 56, 56, 64, side=5),
    Row("stride 2", 64, 112, 112, 128, step=2),
    Row("13x13x384", 384, 13, 13, 384),
    Row("batch 8", 64, 56, 56, 64, batch=8),
)


def reference(row: Row, images: Floats, filters: Floats) -> Floats:
    """The layer as products of matrices in 64-bit floats, one for each place in the filter."""
    margin, step = row.side // 2, row.step
    around = ((0, 0), (0, 0), (margin, margin), (margin, margin))
    x = np.pad(images.reshape(-1, *images.shape[-3:]), around)
    height, width = ((n - 1) // step + 1 for n in images.shape[-2:])
    total = np.zeros((len(x), row.filters, height, width))
    for i in range(row.side):
        for j in range(row.side):
            part = x[:, :, i:i + (height - 1) * step + 1:step, j:j + (width - 1) * step + 1:step]
            total += np.einsum("oc,ncij->noij", filters[:, :, i, j], part.astype(np.float64),
                               optimize=True)
    return total if row.batch else total[0]


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, "rows whose names have one of these parts, with commas between")
    parser.add_argument("--spellings", metavar="NAMES", default=",".join(SPELLINGS))
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--best", action="store_true", help="the fastest version of each spelling")
    parser.add_argument("--fp-contract", action="store_true")
    parser.add_argument("--peer", metavar="FUTHARK", help="a Futhark compiler to compare with")
    parser.add_argument("--seconds", type=float, default=2, help="time for each row's runs")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds for all rows")
    options = parser.parse_args()
    started = time.perf_counter()
    kept: list[dict[str, Any]] = (json.loads(options.json.read_text())
                                  if options.json and options.json.exists() else [])
    for whole in ROWS:
        row = whole.smaller() if options.small else whole
        if not any(part in row.name for part in options.only.split(",")):
            continue
        if time.perf_counter() - started > options.budget:
            print("the budget is spent")
            break
        kept += measured(row, options, kept)
        write_json(options.json, kept)


def measured(row: Row, options: argparse.Namespace, kept: list[dict[str, Any]]
             ) -> list[dict[str, Any]]:
    """The times of all spellings of a row, in turn."""
    images, filters = row.inputs()
    expected = reference(row, images, filters)
    run = {"row": row.name, "small": options.small, "best": options.best,
           "fp_contract": options.fp_contract}
    found: dict[str, Spelling] = {}
    with ExitStack() as stack:
        for name in options.spellings.split(","):
            try:
                program = runelift.compile(row.text(name), device=options.device, tuning={},
                                           fp_contract=options.fp_contract)
                device = program.device_info.label if program.device_info else "interpreter"
                if any(run.items() <= each.items() and (each["device"], each["spelling"]) == (
                        device, name) for each in kept):
                    continue
                found[name] = Spelling(program, images, filters, expected, best=options.best)
            except RuneliftError as error:
                print(f"{row.name:10s} {name:9s} {str(error).splitlines()[0]}", flush=True)
                continue
            if options.peer:
                found[name].take_peer(stack, options.peer, row.text(name), (images, filters))
        for each in found.values():
            each.begin((images, filters))
        began, rounds = time.perf_counter(), 0
        while found and (rounds < 3 or time.perf_counter() - began < options.seconds):
            for each in found.values():
                each.sample()
            rounds += 1
    least = min((median(each.samples) for each in found.values()), default=0)
    return [report(row, name, each, least, run) for name, each in found.items()]


class Spelling:
    """A program with its inputs on the device, and what was measured of it."""

    def __init__(self, program: Program, images: Floats, filters: Floats, expected: Floats, *,
                 best: bool) -> None:
        self.program, self.run = program, MeasuredProgram(program)
        self.inputs = self.run.place([images, filters])  # alone, so that bytes are its own
        self.samples: list[float] = []
        self.peer_samples: list[float] = []
        self.peer: Any = None
        self.force: dict[str, int] = {}
        if best:
            self.force = min(plans(program.tree.entry("main")), key=self._time)
        (result,), _ = program.run("main", [images, filters], force=self.force)
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        self.error = float(np.abs(np.asarray(result) - expected).max(initial=0)) / scale
        self.record = self.run.record("main", self.inputs, force=self.force)
        self.inputs = []

    def begin(self, values: tuple[Floats, ...]) -> None:
        """Place the inputs for runs in turn with the runs of other programs."""
        self.inputs = self.run.place(list(values))
        self.run.warm_up("main", self.inputs, force=self.force)

    def _time(self, force: dict[str, int]) -> float:
        try:
            self.run.time("main", self.inputs, force=force)
            return self.run.time("main", self.inputs, force=force)
        except RuneliftError:
            return math.inf

    def take_peer(self, stack: ExitStack, compiler: str, text: str, values: tuple[Floats, ...]
                  ) -> None:
        """Compile the peer's program and start it; a note if that fails."""
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source, target = folder / "main.fut", folder / "main"
        source.write_text(text)
        if (error := build(compiler, source, target, 300)) is not None:
            print(f"  peer: {error}", flush=True)
            return
        peer = stack.enter_context(Peer(target, [], 300))
        self.peer = peer.prepare("main", values)
        self.peer()

    def sample(self) -> None:
        """Run Runelift's program and the peer's once more."""
        self.samples.append(self.run.time("main", self.inputs, force=self.force))
        if self.peer is not None:
            self.peer_samples.append(self.peer() / 1e6)


def report(row: Row, name: str, found: Spelling, least: float, run: dict[str, Any]
           ) -> dict[str, Any]:
    """Print a line of the table, and return it."""
    seconds, record = median(found.samples), found.record
    info = found.program.device_info
    peer = median(found.peer_samples) * 1e6 if found.peer_samples else None
    result = {**run, "device": info.label if info else "interpreter", "spelling": name,
              "microseconds": seconds * 1e6, "ratio": seconds / least, "peer": peer,
              "launches": record.launches, "peak_bytes": record.peak_bytes, "error": found.error}
    print(f"{row.name:10s} {name:9s} {seconds * 1e6:12.1f} us {seconds / least:6.2f} "
          f"{row.operations / seconds / 1e9:8.1f} GFLOP/s {record.launches:3d} "
          f"{record.peak_bytes:12,d} {''.join(str(e.chosen) for e in record.encounters):5s}"
          + (f" peer {peer:12.1f} us" if peer else "")
          + ("" if found.error < 1e-4 else f"  WRONG: off by {found.error:.1e} of the largest"),
          flush=True)
    return result


if __name__ == "__main__":
    main()
