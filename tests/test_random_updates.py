"""Random loops that compute parts of a matrix from other parts and put them into it.

What may be made in place, and what must not, depends on which parts meet; every version must give
what the interpreter gives.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import runelift
from runelift.runtime.versions.forest import plans
from tests.replays import results_agree

SEEDS = int(os.environ.get("RUNELIFT_RANDOM_SEEDS", "12"))
FIRST = 24
"""Each condition of the pass, when it is left out, gives a wrong result among the first seeds."""
ROWS = ("i", "i + 1", "0", "n - 1", "(i * 2 + 1) % n")
SIDE = 5


class Writer:
    """Writes the body of ``loop a for i < n - 1``, with ``rest`` rows behind row i."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.vectors: list[str] = []
        self.matrices: list[str] = []

    def row(self) -> str:
        """A row or a column of the matrix."""
        at = self.random.choice(ROWS)
        return f"a[{at}]" if self.random.random() < 0.7 else f"a[:, {at}]"

    def vector(self) -> str:
        """Elements by elements, or from other places."""
        xs = self.random.choice([self.row(), self.row(), *self.vectors])
        ys = self.random.choice([self.row(), *self.vectors])
        return self.random.choice([
            f"map (\\x -> x * 3 + k) {xs}",
            f"map2 (\\x y -> x - y * k) {xs} {ys}",
            f"map (\\j -> {xs}[n - 1 - j] + i32.i64 j) (iota n)",
            f"map2 (\\x j -> x + {ys}[j]) {xs} (iota n)",
            "map (\\j -> i32.i64 (i * j) - k) (iota n)",
        ])

    def matrix(self) -> str:
        """The rows behind row i, in ways that differ in what a row's elements look at."""
        below = self.random.choice(["(a[i + 1:] :> [rest][n]i32)",
                                    "(a[i + 1:] :> [rest][n]i32)",
                                    "(a[:n - 1 - i] :> [rest][n]i32)", *self.matrices])
        ys = self.random.choice([self.row(), *self.vectors])
        loop = "loop xs = copy xs for j < n do xs with [j] = xs[j] * 2 + xs[(j + n - 1) % n]"
        return self.random.choice([
            f"map (map2 (\\y x -> x * 2 - y) {ys}) {below}",
            f"map (\\xs -> {loop}) {below}",
            f"map (\\xs -> map (\\j -> xs[n - 1 - j] + xs[j] * 2) (iota n)) {below}",
            f"map2 (\\x xs -> map (+ x) xs) (take rest {ys}) {below}",
            f"transpose (map (\\xs -> loop xs = copy xs for j < rest do xs with [j] = xs[j] - "
            f"(if j > 0 then xs[j - 1] else k)) (transpose {below}))",
        ])

    def text(self) -> str:
        """The whole program."""
        waiting: list[str] = []
        for number in range(self.random.randint(2, 4)):
            if self.random.random() < 0.5:
                self.lines.append(f"let v{number} = {self.vector()}")
                self.vectors.append(f"v{number}")
                at = self.random.choice(ROWS)
                place = f"{at}, :" if self.random.random() < 0.7 else f":, {at}"
                waiting.append(f"let a[{place}] = v{number}")
            else:
                self.lines.append(f"let m{number} = {self.matrix()}")
                self.matrices.append(f"m{number}")
                start = self.random.choice(["i + 1", "i + 1", "i", "0"])
                waiting.append(f"let a[{start}:{start} + rest] = m{number}")
            if self.random.random() < 0.4:
                self.lines.append(waiting.pop(self.random.randrange(len(waiting))))
        body = "\n    ".join([*self.lines, *waiting])
        return ("entry main [n] (k: i32) (xss: [n][n]i32): [n][n]i32 =\n"
                "  loop a = copy xss for i < n - 1 do\n"
                f"    let rest = n - 1 - i\n    {body}\n    in a\n")


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_random_updates(seed: int) -> None:
    text = Writer(seed).text()
    xss = np.random.default_rng(seed).integers(-9, 9, (SIDE, SIDE)).astype(np.int32)
    args = [np.int32(3), xss]
    expected = np.asarray(runelift.compile(text, device="interpreter").run("main", args)[0][0])
    program = runelift.compile(text, device="pocl", tuning={})
    for force in plans(program.tree.entry("main")):
        found = np.asarray(program.run("main", args, force=force)[0][0])
        np.testing.assert_array_equal(found, expected, err_msg=f"{force}\n{text}")
    results_agree(program, "main", args, [expected])
