"""Random programs, many of which fail: every pass and every rule keeps what they mean.

An assertion that fails before a pass must fail after it; a bounds check or a division may go
with the value that it guards.  What did not fail must give the same results to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise
from runelift.rewrite.registry import DERIVE, PASSES, RULES, Pass
from tests.random_programs.nests import GRAMMAR, nests
from tests.random_programs.writer import Family

SEEDS = int(os.environ.get("RUNELIFT_RANDOM_SEEDS", "24"))
"""How many programs a pass is tried on, and a tenth of it each rule."""
NAMES = [rule.name for rule in RULES if rule not in DERIVE.rules]
"""Rules that a program without derivatives may need."""
FAILED = "failed"


_ASSERTED = ("assert ($a < 9) $s", "assert ($a < 2) $s", "assert ($a < (-2)) $s")
_TRAPS = ("$s / $a", "$n[i64.i32 $a]", "$s %% $a")
_ROWS = (
    "loop %xs = copy $n for %i < m do let %k = i32.i64 %i in %xs with [%i] = ${s xs k}",
    "tabulate m (\\%i -> let %k = i32.i64 %i in $n[%i] + ${s k})",
    "scatter (copy $n) (reverse (iota m)) $v",
    "reduce_by_index (replicate m 1) (+) 0 (map (\\%k -> i64.i32 (%k & 3)) $v) $n",
    "copy $v",
)


@cache
def risky(*, traps: bool) -> Family:
    """Programs that may fail: by assertions, or (``traps``) divisions and unguarded indices."""
    more = {"s": (_TRAPS if traps else _ASSERTED) * 3, "v": _ROWS * 3}
    return nests(grammar={**GRAMMAR, **{
        kind: replace(GRAMMAR[kind], rules=(*GRAMMAR[kind].rules, *rules))
        for kind, rules in more.items()}})


@cache
def loaded(seed: int, *, traps: bool) -> tuple[Program, Names, list[Any], list[bytes] | str]:
    """A program, its names, arguments, and what it computes: most passes and rules get the same."""
    names = Names()
    family = risky(traps=traps)
    program = load(Source(f"seed {seed}", family.text(seed)), names)
    (args,) = family.inputs(seed)
    return program, names, args, outcome(program, deepcopy(args))


def made(seed: int, *, traps: bool) -> tuple[Program, Names, list[Any], list[bytes] | str]:
    """What :func:`loaded` gives, where names and arguments may be changed."""
    program, names, args, before = loaded(seed, traps=traps)
    return program, copy(names), deepcopy(args), before


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
        assert after == before, f"seed {seed}\n{risky(traps=traps).text(seed)}"


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
        program, names, args, before = made(seed, traps=traps)
        after = each.run(program, Rewriting(names))
        check(after)
        agree(seed, before, outcome(after, args), traps=traps)


@pytest.mark.parametrize("traps", [False, True])
@pytest.mark.parametrize("first", chunks(20))
def test_optimiser_and_flattening_keep_the_meaning(first: int, traps: bool, sweeps: bool) -> None:
    for seed in seeds(1000 + first, 20, sweeps=sweeps):
        program, names, args, before = made(seed, traps=traps)
        after = optimise(program, names)
        agree(seed, before, outcome(after, args), traps=traps)
        versioned = clean(flatten(after, names), names)
        for version in range(3):
            agree(seed, before, outcome(versioned, args, version), traps=True)


@pytest.mark.parametrize("name", NAMES)
def test_without_one_rule(name: str, sweeps: bool) -> None:
    for seed in seeds(2000, SEEDS // 10, sweeps=sweeps):
        program, names, args, before = made(seed, traps=False)
        after = optimise(program, names, Rewriting(names, frozenset({name})))
        agree(seed, before, outcome(after, args), traps=False)


@pytest.mark.parametrize("name", NAMES)
def test_with_one_rule(name: str, sweeps: bool) -> None:
    off = frozenset(NAMES) - {name}
    for seed in seeds(3000, SEEDS // 10, sweeps=sweeps):
        program, names, args, before = made(seed, traps=False)
        rewriting = Rewriting(names, off)
        for each in PASSES:
            program = each.run(program, rewriting)
            check(program)
        agree(seed, before, outcome(program, args), traps=False)
