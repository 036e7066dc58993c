"""Random programs whose rows are work-groups, on PoCL: loops, branches of all work-items, scans and
single elements that change.

Such a version has barriers in loops and behind branches, which PoCL 3.0 gets wrong in many ways.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import runelift
from tests.codegen.harness import by_groups

SEEDS = int(os.environ.get("RUNELIFT_RANDOM_SEEDS", "6"))
FIRST = 1
"""That of 0 takes PoCL as long as all the others together."""
SHAPES = (3, 5), (2, 37)
NUMBERS = 4, 1


class Writer:
    """Writes the body of a function of a row ``xs`` and a number ``k``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"xs{self.count}"

    def index(self) -> str:
        return self.random.choice(["0", "m - 1", "3 % m", "i64.i32 k % m"])

    def scalar(self, xs: str) -> str:
        """A number, or one that elements decide about."""
        return self.random.choice([
            str(self.random.randint(1, 9)), f"{xs}[{self.index()}]", f"k * {xs}[{self.index()}]",
            f"{xs}[{self.index()}] - {xs}[{self.index()}]"])

    def condition(self, xs: str) -> str:
        """Something that is the same for all work-items of a row."""
        return self.random.choice([f"k > {self.random.randint(0, 3)}"] * 3 + [
            f"{xs}[{self.index()}] % 2 == 0", f"i32.sum {xs} > 0"])

    def row(self, xs: str) -> str:
        """Of elements where they are, or of others."""
        if self.random.random() < 0.4:
            return f"copy {xs} with [{self.index()}] = {self.scalar(xs)}"
        return self.random.choice([f"scan (+) 0 {xs}"] * 3 + [
            f"scan i32.max i32.lowest {xs}", f"map (% 1007) {xs}", f"map (+ i32.sum {xs}) {xs}",
            f"map (\\x -> loop x for _i < 5i32 do x * 3 - k) {xs}",
            f"reverse {xs}", f"map2 (-) {xs} (rotate 1 {xs})"])

    def step(self, xs: str) -> str:
        """An operation, in some cases under a condition."""
        if self.random.random() < 0.7:
            return self.row(xs)
        sides = [self.row(xs), self.random.choice([xs, self.row(xs)])]
        self.random.shuffle(sides)
        return f"(if {self.condition(xs)} then {sides[0]} else {sides[1]})"

    def body(self, xs: str) -> str:
        """Some steps one after the other; a sum, so that work-items meet."""
        lines: list[str] = []
        for _ in range(self.random.randint(2, 3)):
            ys = self.fresh()
            lines.append(f"let {ys} = {self.step(xs)}")
            xs = ys
        return " ".join(lines) + f" in map (+ i32.sum {xs}) {xs}"

    def text(self) -> str:
        """The whole program: the row again and again, on a condition."""
        times = f"loop ys = copy xs for _i < i64.i32 k do {self.body('ys')}"
        return ("entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =\n"
                f"  map (\\xs -> if {self.condition('xs')}\n   then {times}\n"
                f"   else {self.row('xs')}) xss\n")


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_random_groups(seed: int) -> None:
    text = Writer(seed).text()
    program, force = by_groups(text, "pocl")
    meaning = runelift.compile(text, device="interpreter")
    for shape in SHAPES:
        rows = np.random.default_rng(shape[1]).integers(-50, 50, shape).astype(np.int32)
        for number in NUMBERS:
            args = rows, np.int32(number)
            found = program.run("main", args, force=force)[0][0]
            expected = meaning.run("main", args)[0][0]
            np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), err_msg=text)
