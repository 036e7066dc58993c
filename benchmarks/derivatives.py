"""Time derivatives beside their primals, and beside Futhark's.

``python benchmarks/derivatives.py [--device NAME] [--size N] [--only PART] [--tune]
[--peer FOLDER [--build FUTHARK] [--peer-device NAME]] [--json FILE]``

A row is a function with its derivative.  Six rows are programs of ``examples/``; all further rows
are small functions of vectors and matrices.  Calls of the primal, of the derivative and of the peer
take turns, with inputs on the device.  Times are medians.

- ``ratio`` is the derivative's time over the primal's, and ``peer`` Futhark's ratio.
- ``peer/ours`` is Futhark's time of the derivative over ours: above 1 we are faster.

FOLDER has programs that ``--build`` compiled with Futhark; both read the same text.  ``N`` scales
the elements: 1 suits a processor with few cores, 30 a GPU.  A ratio that misses its target has a
``!``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
from common import EXAMPLES, parser_of, write_json
from peers import Peer, build, compiled_name

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

ROUNDS = 7
LIMIT = 300.0
"""Seconds that the peer may take for an answer."""


class Row(NamedTuple):
    """A function and its derivative: entry points of a program, and their arguments.

    ``most`` is the target of the ratio, ``least`` that of the peer's time over ours.
    """

    program: str
    primal: str
    derivative: str
    arguments: Callable[[np.random.Generator, int], list[Any]]
    most: float
    least: float


class Small(NamedTuple):
    """A small function of a matrix ``xss`` with rows ``n``, a vector ``xs`` and indices ``is``."""

    name: str
    of: str
    body: str
    seed: str
    most: float


GROUPS = {"chains": 2, "scans": 2, "reductions": 2, "products": 6, "places": 2.5}
"""The targets of small functions; ``products`` have the general rules."""
SMALL = [
    Small("chain", "xs", "map (\\x -> f32.sin (f32.exp (x * x) + x)) xs", "xs", GROUPS["chains"]),
    Small("sum", "xs", "f32.sum (map (\\x -> f32.sin x * x) xs)", "1", GROUPS["chains"]),
    Small("row_sums", "xss", "map (\\xs -> f32.sum (map (\\x -> f32.sin x * x) xs)) xss",
          "(head (transpose xss))", GROUPS["chains"]),
    Small("scan_sum", "xs", "scan (+) 0 xs", "xs", GROUPS["scans"]),
    Small("scan_rows", "xss", "map (scan (+) 0) xss", "xss", GROUPS["scans"]),
    Small("scan_max", "xs", "scan f32.max f32.lowest xs", "xs", GROUPS["scans"]),
    Small("maximum", "xs", "f32.maximum xs", "1", GROUPS["reductions"]),
    Small("row_maxima", "xss", "map f32.maximum xss", "(head (transpose xss))",
          GROUPS["reductions"]),
    Small("product", "xs", "f32.product xs", "1", GROUPS["products"]),
    Small("scan_product", "xs", "scan (*) 1 xs", "xs", GROUPS["products"]),
    Small("scan_linear", "xs", "map (.0) (scan (\\(a, b) (c, d) -> (a * d + c, b * d)) (0, 1) "
          "(zip xs (rotate 1 xs)))", "xs", GROUPS["products"]),
    Small("reduce_any", "xs", "reduce (\\x y -> x + y + x * y) 0 xs", "1", GROUPS["products"]),
    Small("gather", "xs", "map (\\i -> xs[i]) is", "xs", GROUPS["places"]),
    Small("writes", "xs", "scatter (map (* 2) xs) is xs", "xs", GROUPS["places"]),
    Small("hist_few", "xs", "reduce_by_index (replicate 16 0) (+) 0 (map (% 16) is) xs",
          "(take 16 xs)", GROUPS["places"]),
    Small("hist_many", "xs", "reduce_by_index (replicate n 0) (+) 0 is xs", "xs",
          GROUPS["places"]),
    Small("hist_max", "xs", "reduce_by_index (replicate 1024 (-1)) f32.max f32.lowest "
          "(map (% 1024) is) xs", "(take 1024 xs)", GROUPS["places"]),
    Small("hist_product", "xs", "reduce_by_index (replicate 1024 1) (*) 1 (map (% 1024) is) xs",
          "(take 1024 xs)", GROUPS["products"]),
]
MICRO = "micro"


def micro_text() -> str:
    """The program of the small functions; ``NAME_vjp`` is the derivative of ``NAME``."""
    lines: list[str] = []
    for name, of, body, seed, _ in SMALL:
        params = ("[n] (is: [n]i64) (xs: [n]f32)" if of == "xs"
                  else "[n][m] (is: [m]i64) (xss: [n][m]f32)")
        lines += [f"entry {name} {params} = {body}",
                  f"entry {name}_vjp {params} = vjp (\\{of} -> {body}) {of} {seed}"]
    return "\n".join(lines) + "\n"


def small_arguments(of: str, rng: np.random.Generator, size: int) -> list[Any]:
    """Indices, and numbers near 1: their products stay finite."""
    shape = (size << 18,) if of == "xs" else (size << 10, 256)
    return [rng.integers(0, shape[-1], shape[-1]),
            (1 + rng.normal(0, 1e-4, shape)).astype(np.float32)]


def floats(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Any]:
    """Arrays of numbers from -0.5 to 0.5."""
    return [rng.random(shape, np.float32) - np.float32(0.5) for shape in shapes]


def gmm(rng: np.random.Generator, size: int) -> list[Any]:
    """25 components in 10 dimensions."""
    return floats(rng, (25,), (25, 10), (25, 10), (25, 45), (1000 * size, 10))


def lstm(rng: np.random.Generator, size: int) -> list[Any]:
    """Sequences of 20 steps."""
    return floats(rng, (20, 16 * size, 32), (16 * size, 48), (4, 48, 32), (4, 48, 48), (4, 48))


def bundle(rng: np.random.Generator, size: int) -> list[Any]:
    """Twenty observations of a point."""
    count = 4000 * size
    points = rng.random((count // 20, 3)) + np.array([0, 0, 3])
    return [rng.random((50, 11)), points, rng.random(count),
            *rng.integers(0, count, (2, count)), rng.random((count, 2))]


def newton(rng: np.random.Generator, size: int) -> list[Any]:
    """Ten centres in 16 dimensions."""
    return floats(rng, (4096 * size, 16), (10, 16))


def heat(rng: np.random.Generator, size: int) -> list[Any]:
    """100 steps."""
    return [100, *rng.random((3, 4096 * size))]


def network(rng: np.random.Generator, size: int) -> list[Any]:
    """64 inputs, 128 neurons, ten classes."""
    return [*floats(rng, (128, 64), (128,), (10, 128), (10,), (512 * size, 64)),
            rng.integers(0, 10, 512 * size)]


ROWS = [
    Row("gmm", "likelihood", "main", gmm, 4, 1.2),
    Row("lstm", "loss", "main", lstm, 4, 1.2),
    Row("bundle", "residuals", "main", bundle, 8, 1.0),
    Row("newton", "cost", "improved", newton, 5, 1.2),
    Row("heat", "misfit", "main", heat, 6, 1.0),
    Row("network", "loss", "main", network, 4, 1.2),
    *(Row(MICRO, each.name, f"{each.name}_vjp", partial(small_arguments, each.of), each.most, 1.2)
      for each in SMALL),
]


def main() -> None:
    """Compile the peers, or measure all rows."""
    parser = parser_of(__doc__, "a part of PROGRAM PRIMAL")
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--tune", action="store_true", help="tune each entry point first")
    parser.add_argument("--peer", type=Path, metavar="FOLDER", help="programs by Futhark")
    parser.add_argument("--build", metavar="FUTHARK", help="compile them, measure nothing")
    parser.add_argument("--peer-device", help="what Futhark calls the device")
    options = parser.parse_args()
    if options.build:
        build_peers(options)
        return
    rows: list[dict[str, Any]] = []
    print(f"{'function':22}{'primal':>10}{'derived':>10}{'ratio':>8}{'peer':>8}{'peer/ours':>11}")
    for row in measured(options):
        rows.append(row)
        show(row)
    summarise(rows)
    write_json(options.json, rows)


def chosen(options: argparse.Namespace) -> list[Row]:
    """The rows to measure."""
    return [row for row in ROWS if options.only in f"{row.program} {row.primal}"]


def build_peers(options: argparse.Namespace) -> None:
    """Compile each program with Futhark."""
    options.peer.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(row.program for row in chosen(options)):
        target = options.peer / compiled_name(name)
        source = target.with_name(f"{target.name}.fut")
        source.write_text(text_of(name))
        print(f"{name:22}{build(options.build, source, target, LIMIT) or 'compiled'}", flush=True)


def text_of(name: str) -> str:
    """The text of a program."""
    return micro_text() if name == MICRO else (EXAMPLES / f"{name}.fut").read_text()


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The times of all rows, in microseconds, or what is wrong."""
    programs: dict[str, Any] = {}
    with ExitStack() as stack:
        peers: dict[str, Peer | None] = {}
        for row in chosen(options):
            found: dict[str, Any] = {"program": row.program, "function": row.primal}
            try:
                if row.program not in programs:
                    peers[row.program] = peer_of(options, row.program, stack)
                    programs[row.program] = runelift.compile(
                        text_of(row.program), device=options.device, tuning={})
                times = turns(options, programs[row.program], peers[row.program], row)
            except RuneliftError as error:
                yield {**found, "error": str(error).splitlines()[0]}
                continue
            found |= times
            found["ratio"] = found["derived"] / found["primal"]
            found["meets"] = found["ratio"] <= row.most
            if "peer_derived" in found:
                found["peer_ratio"] = found["peer_derived"] / found["peer_primal"]
                found["faster"] = found["peer_derived"] / found["derived"]
                found["beats"] = found["faster"] >= row.least
            yield found


def peer_of(options: argparse.Namespace, name: str, stack: ExitStack) -> Peer | None:
    """The server of a program by Futhark, if there is one."""
    path = options.peer and options.peer / compiled_name(name)
    if not path or not path.exists():
        return None
    chosen = [f"--device={options.peer_device}"] if options.peer_device else []
    return stack.enter_context(Peer(path, chosen, LIMIT))


def turns(options: argparse.Namespace, program: Any, peer: Peer | None, row: Row
          ) -> dict[str, float]:
    """Medians of the primal, of the derivative and of the peer's, which take turns."""
    args = row.arguments(np.random.default_rng(1), options.size)
    measuring = MeasuredProgram(program)
    resident = measuring.place(args)
    sides: dict[str, Callable[[], float]] = {}
    for name, entry in (("primal", row.primal), ("derived", row.derivative)):
        if options.tune:
            program.tune({"dataset": args}, entry=entry)
        measuring.warm_up(entry, resident)
        sides[name] = partial(microseconds, measuring, entry, resident)
        if peer:
            theirs = peer.prepare(entry, args)
            theirs()
            sides[f"peer_{name}"] = theirs
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, each in sides.items():
            each()  # the one after another side is slower
            times[name].append(each())
    return {name: median(each) for name, each in times.items()}


def microseconds(measuring: MeasuredProgram, entry: str, args: Any) -> float:
    """The time of a call."""
    return 1e6 * measuring.time(entry, args)


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    label = f"{row['program']} {row['function']}"
    if "error" in row:
        print(f"{label:22}{row['error'][:100]}", flush=True)
        return
    text = (f"{label:22}{row['primal']:>10.0f}{row['derived']:>10.0f}{row['ratio']:>7.2f}"
            f"{' ' if row['meets'] else '!'}")
    if "faster" in row:
        text += f"{row['peer_ratio']:>8.2f}{row['faster']:>10.2f}{' ' if row['beats'] else '!'}"
    print(text, flush=True)


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print how many rows meet their targets, and geometric means."""
    for key, target, said in (("ratio", "meets", "derivative over primal"),
                              ("faster", "beats", "peer over ours")):
        found = [row for row in rows if key in row]
        if found:
            mean = geometric_mean(row[key] for row in found)
            print(f"{said}: {mean:.2f} (geometric mean), "
                  f"{sum(row[target] for row in found)} of {len(found)} rows meet their target")


if __name__ == "__main__":
    main()
