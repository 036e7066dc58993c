"""Random programs, many of which fail: every pass and every rule keeps what they mean.

An assertion that fails before a pass must fail after it; a bounds check or a division may go
with the value that it guards.  What did not fail must give the same results to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from runelift.frontend.load import load
from runelift.ir.check import check
from runelift.ir.errors import ProgramFailure
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.ir.syntax import Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise
from runelift.rewrite.registry import PASSES, RULES, Pass
from tests import test_random_programs as random_programs

SEEDS = int(os.environ.get("RUNELIFT_RANDOM_SEEDS", "24"))
"""How many programs a pass is tried on, and a tenth of it each rule."""
FAILED = "failed"


class Risky(random_programs.Writer):
    """Also writes what may fail: assertions, or (``traps``) divisions and unguarded indices."""

    def __init__(self, seed: int, *, traps: bool) -> None:
        super().__init__(seed)
        self.traps = traps

    def scalar(self, scope: dict[str, int], depth: int) -> str:
        if depth > 0 and self.random.random() < 0.12:
            x = self.scalar(scope, depth - 1)
            if not self.traps:
                return f"(assert ({self.pick(scope, 0)} < {self.random.randint(-3, 12)}) ({x}))"
            if self.random.random() < 0.5:
                return f"({x} / ({self.pick(scope, 0)}))"
            return f"{self.pick(scope, 1)}[i64.i32 ({self.pick(scope, 0)})]"
        return str(super().scalar(scope, depth))

    def vector(self, scope: dict[str, int], depth: int) -> str:
        if depth > 0 and self.random.random() < 0.25:
            xs, i, k = self.fresh("xs"), self.fresh("i"), self.fresh("k")
            inner = {**scope, xs: 1, k: 0}
            match self.random.choice(["update", "tabulate", "scatter", "hist", "copy"]):
                case "update":
                    return (f"(loop {xs} = copy {self.pick(scope, 1)} for {i} < m do "
                            f"let {k} = i32.i64 {i} in "
                            f"{xs} with [{i}] = {self.scalar(inner, depth - 1)})")
                case "tabulate":
                    return (f"(tabulate m (\\{i} -> let {k} = i32.i64 {i} in "
                            f"{self.pick(scope, 1)}[{i}] + "
                            f"{self.scalar({**scope, k: 0}, depth - 1)}))")
                case "scatter":
                    return (f"(scatter (copy {self.pick(scope, 1)}) (reverse (iota m)) "
                            f"{self.vector(scope, depth - 1)})")
                case "hist":
                    return (f"(reduce_by_index (replicate m 1) (+) 0 "
                            f"(map (\\{k} -> i64.i32 ({k} & 3)) {self.vector(scope, depth - 1)}) "
                            f"{self.pick(scope, 1)})")
                case "copy":
                    return f"(copy {self.vector(scope, depth - 1)})"
        return str(super().vector(scope, depth))


def made(seed: int, *, traps: bool) -> tuple[Program, Names, list[Any]]:
    names = Names()
    program = load(Source(f"seed {seed}", Risky(seed, traps=traps).program()), names)
    return program, names, random_programs.arguments(seed)


def outcome(program: Program, args: list[Any], version: int = 0) -> list[bytes] | str:
    """The bits of the results, or that there are none."""
    try:
        found = interpret(program, "main", args,
                          choose=lambda v: min(version, len(v.alternatives) - 1))
    except ProgramFailure:
        return FAILED
    return [value.tobytes() for value in found]


def agree(seed: int, before: list[bytes] | str, after: list[bytes] | str, *,
          traps: bool) -> None:
    if not (traps and before == FAILED):
        assert after == before, f"seed {seed}\n{Risky(seed, traps=traps).program()}"


def chunks(step: int) -> Iterable[int]:
    return range(0, SEEDS, step)


def seeds(first: int, count: int, *, sweeps: bool) -> range:
    """So many from ``first`` on; in the quick suite the second and third, whose programs are short.

    Each eighth is nested more deeply than the others.
    """
    return range(first, first + count) if sweeps else range(first + 1, first + min(count, 3))


@pytest.mark.parametrize("traps", [False, True])
@pytest.mark.parametrize("each", PASSES, ids=lambda p: p.name)
@pytest.mark.parametrize("first", chunks(20))
def test_pass_keeps_the_meaning(each: Pass, first: int, traps: bool, sweeps: bool) -> None:
    for seed in seeds(first, 20, sweeps=sweeps):
        program, names, args = made(seed, traps=traps)
        after = each.run(program, names, None)
        check(after)
        agree(seed, outcome(program, args), outcome(after, args), traps=traps)


@pytest.mark.parametrize("traps", [False, True])
@pytest.mark.parametrize("first", chunks(20))
def test_optimiser_and_flattening_keep_the_meaning(first: int, traps: bool, sweeps: bool) -> None:
    for seed in seeds(1000 + first, 20, sweeps=sweeps):
        program, names, args = made(seed, traps=traps)
        before = outcome(program, args)
        after = optimise(program, names)
        agree(seed, before, outcome(after, args), traps=traps)
        versioned = clean(flatten(after, names), names)
        for version in range(3):
            agree(seed, before, outcome(versioned, args, version), traps=True)


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_without_one_rule(name: str, sweeps: bool) -> None:
    for seed in seeds(2000, SEEDS // 10, sweeps=sweeps):
        program, names, args = made(seed, traps=False)
        after = optimise(program, names, Rewriting(names, frozenset({name})))
        agree(seed, outcome(program, args), outcome(after, args), traps=False)


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_with_one_rule(name: str, sweeps: bool) -> None:
    off = frozenset(rule.name for rule in RULES) - {name}
    for seed in seeds(3000, SEEDS // 10, sweeps=sweeps):
        program, names, args = made(seed, traps=False)
        before, rewriting = outcome(program, args), Rewriting(names, off)
        for each in PASSES:
            program = each.run(program, names, rewriting)
            check(program)
        agree(seed, before, outcome(program, args), traps=False)
