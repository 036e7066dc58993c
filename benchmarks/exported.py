"""Time exported functions beside calls of the programs that they are from.

``python benchmarks/exported.py [--only TEXT] [--rounds N] [--device NAME]``

Each program is exported to a temporary folder, and both kinds of calls run in turn in this process,
on NumPy's arrays.  A row has the medians in milliseconds, and the median of the quotients of
neighbouring calls, exported by plain.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import EXAMPLES, parser_of

import runelift
from runelift.runtime.records.statistics import median
from runelift.runtime.tools.export.folder import export

ROUNDS, WARM_UP, SECONDS = 200, 15, 8.0
"""The most pairs of calls, the calls before them, and the seconds that the pairs take at most."""
Arguments = Callable[[np.random.Generator], tuple[Any, ...]]


def f32(rng: np.random.Generator, *shape: int) -> Any:
    """Random floats."""
    return rng.random(shape).astype(np.float32)


CASES: dict[str, tuple[str, str, Arguments]] = {
    "rows 16": ("rows", "main", lambda rng: (f32(rng, 4, 4),)),
    "rows 4M": ("rows", "main", lambda rng: (f32(rng, 2000, 2000),)),
    "matmul 8": ("matmul", "main", lambda rng: (f32(rng, 8, 8), f32(rng, 8, 8))),
    "matmul 400": ("matmul", "main", lambda rng: (f32(rng, 400, 400), f32(rng, 400, 400))),
    "mapscan": ("mapscan", "main", lambda rng: (rng.integers(0, 9, (50, 2000)).astype(np.int32),)),
    "kmeans": ("kmeans", "main", lambda rng: (5, np.int32(10), f32(rng, 20_000, 3))),
    "lud": ("lud", "main", lambda rng: (f32(rng, 128, 128) + 128 * np.eye(128, dtype="f4"),)),
    "nn": ("nn", "main", lambda rng: (10, np.float32(0.5), np.float32(0.2), f32(rng, 200_000),
                                      f32(rng, 200_000))),
    "radix": ("radix", "main", lambda rng: (rng.integers(0, 1 << 32, 50_000).astype(np.uint32),)),
    "pathfinder": ("pathfinder", "main", lambda rng: (
        rng.integers(0, 9, (2, 60, 20_000)).astype(np.int32),)),
}
"""Programs, entry points and arguments by the name of a row."""


def timed(call: Callable[..., object], args: tuple[Any, ...]) -> float:
    """The seconds of a call."""
    started = time.perf_counter()
    call(*args)
    return time.perf_counter() - started


def pairs(plain: Callable[..., object], exported: Callable[..., object], args: tuple[Any, ...],
          rounds: int) -> list[tuple[float, float]]:
    """The seconds of neighbouring calls, plain and exported, in alternating order."""
    for _ in range(WARM_UP):
        plain(*args)
        exported(*args)
    found, until = [], time.perf_counter() + SECONDS
    while len(found) < rounds and (len(found) < 10 or time.perf_counter() < until):
        if len(found) % 2:
            one, other = timed(plain, args), timed(exported, args)
        else:
            other, one = timed(exported, args), timed(plain, args)
        found.append((one, other))
    return found


def main() -> None:
    """Print a row for each case."""
    parser = parser_of(__doc__, "a part of the name of a row")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pairs of calls at most")
    args = parser.parse_args()
    print(f"{'':12}{'plain ms':>10}{'exported':>10}{'ratio':>8}  pairs")
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for name, (file, entry, arguments) in CASES.items():
            if args.only not in name:
                continue
            program = runelift.compile(EXAMPLES / f"{file}.fut", device=args.device)
            written = export(program, (entry,), Path(folder), args.device)
            module = importlib.import_module(written.module.stem)
            found = pairs(program[entry], getattr(module, written.functions[entry]),
                          arguments(np.random.default_rng(1)), args.rounds)
            one, other = (median([pair[k] for pair in found]) for k in (0, 1))
            ratio = median([exported / plain for plain, exported in found])
            print(f"{name:12}{one * 1e3:10.3f}{other * 1e3:10.3f}{ratio:8.3f}  {len(found)}",
                  flush=True)


if __name__ == "__main__":
    main()
