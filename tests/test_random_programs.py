"""Random well-typed programs: the interpreter and every version on the device agree.

A program is made from a seed: nested maps with reductions, scans, loops, branches, updates and
layouts over integers, so that results are equal to the last bit.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.interpret import interpret
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.runtime.tuner.forest import Forest, plans

PROGRAMS = int(os.environ.get("RUNELIFT_RANDOM_PROGRAMS", "500"))
CHUNK = 25
MIXES = 3
"""How many random combinations of versions a program runs in, besides those that cover all."""


class Writer:
    """Writes expressions of a given rank over the names in scope (name to rank)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def pick(self, scope: dict[str, int], rank: int) -> str:
        """A name of a rank, or a literal."""
        names = [n for n, r in scope.items() if r == rank]
        if rank == 0 and (not names or self.random.random() < 0.3):
            return f"{self.random.randint(-4, 9)}"
        return self.random.choice(names)

    def scalar(self, scope: dict[str, int], depth: int) -> str:
        """An i32."""
        choices = ["atom", "op", "op"]
        if depth > 0:
            choices += ["if", "loop", "let"]
            if any(r == 1 for r in scope.values()):
                choices += ["reduce", "reduce", "index"]
        match self.random.choice(choices):
            case "op":
                op = self.random.choice(["+", "-", "*", "`i32.max`", "`i32.min`", "&", "^"])
                left, right = (self.scalar(scope, depth - 1) if depth > 0 else
                               self.pick(scope, 0) for _ in range(2))
                return f"({left} {op} {right})"
            case "if":
                return (f"(if {self.pick(scope, 0)} < {self.pick(scope, 0)} "
                        f"then {self.scalar(scope, depth - 1)} "
                        f"else {self.scalar(scope, depth - 1)})")
            case "loop":
                x, i = self.fresh("x"), self.fresh("i")
                inner = {**scope, x: 0}
                return (f"(loop {x} = {self.pick(scope, 0)} for {i} < 3 do "
                        f"{self.scalar(inner, depth - 1)} + {i})")
            case "let":
                x = self.fresh("x")
                return (f"(let {x} = {self.scalar(scope, depth - 1)} "
                        f"in {self.scalar({**scope, x: 0}, depth - 1)})")
            case "reduce":
                op, unit = self.random.choice([("+", 0), ("*", 1), ("i32.max", "i32.lowest")])
                op = f"({op})" if len(op) == 1 else op
                return f"(reduce {op} {unit} {self.vector(scope, depth - 1)})"
            case "index":
                xs = self.pick(scope, 1)
                return f"(if length {xs} > 0 then {xs}[length {xs} / 2] else 7)"
        return self.pick(scope, 0)

    def vector(self, scope: dict[str, int], depth: int) -> str:
        """An array of rank 1 whose size is m."""
        if depth <= 0:
            return self.pick(scope, 1)
        match self.random.choice(["map", "map2", "scan", "loop", "if", "let", "reverse", "with",
                                  "name"]):
            case "map":
                x = self.fresh("x")
                return (f"(map (\\{x} -> {self.scalar({**scope, x: 0}, depth - 1)}) "
                        f"{self.vector(scope, depth - 1)})")
            case "map2":
                x, y = self.fresh("x"), self.fresh("y")
                body = self.scalar({**scope, x: 0, y: 0}, depth - 1)
                return (f"(map2 (\\{x} {y} -> {body}) {self.vector(scope, depth - 1)} "
                        f"{self.vector(scope, depth - 1)})")
            case "scan":
                return f"(scan (+) 0 {self.vector(scope, depth - 1)})"
            case "loop":
                xs, i = self.fresh("xs"), self.fresh("i")
                return (f"(loop {xs} = {self.pick(scope, 1)} for {i} < 2 do "
                        f"{self.vector({**scope, xs: 1, i: 0}, depth - 1)})")
            case "if":
                return (f"(if {self.pick(scope, 0)} < {self.pick(scope, 0)} "
                        f"then {self.vector(scope, depth - 1)} "
                        f"else {self.vector(scope, depth - 1)})")
            case "let":
                xs = self.fresh("xs")
                return (f"(let {xs} = {self.vector(scope, depth - 1)} "
                        f"in {self.vector({**scope, xs: 1}, depth - 1)})")
            case "reverse":
                return f"(reverse {self.vector(scope, depth - 1)})"
            case "with":
                xs = self.fresh("xs")
                return (f"(let {xs} = copy {self.vector(scope, depth - 1)} "
                        f"in if m > 1 then {xs} with [1] = {self.scalar(scope, depth - 1)} "
                        f"else {xs})")
        return self.pick(scope, 1)

    def program(self) -> str:
        """A program over a matrix, a vector and a scalar."""
        row, x = self.fresh("row"), self.fresh("x")
        scope = {"ys": 1, "k": 0, row: 1, x: 0}
        body = self.vector(scope, 3)
        extra = self.scalar(scope, 3)
        return ("entry main [n][m] (xss: [n][m]i32) (zs: [n]i32) (ys: [m]i32) (k: i32) =\n"
                f"  unzip (map2 (\\{row} {x} ->\n    ({body},\n     {extra})) xss zs)\n")


def arguments(seed: int) -> list[Any]:
    """A matrix of few rows, often empty or of width 1."""
    rng = np.random.default_rng(seed)
    n, m = (int(rng.choice([0, 1, 1, 2, 3, 5])) for _ in range(2))
    return [rng.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (n,), (m,))] + [
        np.int32(rng.integers(-9, 9))]


def check_program(seed: int, device: str) -> None:
    """The program of a seed on a device, in every version."""
    text = Writer(seed).program()
    args = arguments(seed)
    program = runelift.compile(text, device=device)
    compiled = program.compiled
    for ir in (compiled.core, compiled.optimised, compiled.versioned):
        assert parse(pretty(ir)) == ir
    expected = interpret(compiled.core, "main", args)
    for force in forced(program.tree.entry("main"), seed):
        found, _ = program.run("main", args, force=force)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"seed {seed} versions {force}\n{text}")


def forced(forest: Forest, seed: int) -> list[dict[str, int]]:
    """Every version of every site, and some more ways to mix them."""
    rng = np.random.default_rng(seed)
    mixed = [{name: int(rng.integers(len(site.alternatives)))
              for name, site in forest.sites().items()} for _ in range(MIXES)]
    return [*plans(forest), *mixed]


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_programs_mean_the_same_in_every_version(first: int, simulator: str) -> None:
    for seed in range(first, min(first + CHUNK, PROGRAMS)):
        check_program(seed, simulator)
