"""Scalar operations of programs on inputs of known sizes, and what the search makes of them."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.rewrite.pipeline import optimise
from runelift.runtime.tuner.schedules.drawing import Drawing, operations

CHAIN = """
entry main [n] (a: [n][n]f32) (b: [n][n]f32) (c: [n][n]f32): [n][n]f32 =
  map (\\row -> map (\\col ->
    let t = map (\\brow -> f32.sum (map2 (*) brow col)) b
    in f32.sum (map2 (*) row t)) (transpose c)) a
"""


@pytest.mark.parametrize(("text", "sizes", "count"), [
    ("entry main [n] (xs: [n]f32): [n]f32 = map (\\x -> x * x + 1) xs", {"n": 10}, 20),
    ("entry main [n] (xs: [n]f32): f32 = f32.sum (map (* 2) xs)", {"n": 10}, 20),
    ("entry main [n] (xs: [n]f32): f32 = f32.sum xs", {}, 1),
    ("entry main [n] (x: f32) (xs: [n]f32): [n]f32 = "
     "if x < 0 then map (+ 1) xs else map (\\x -> x * x + x) xs", {"n": 5}, 11),
    ("entry main [n] (k: i64) (xs: [n]f32): [n]f32 = "
     "loop xs for _i < k + 1 do map (* 2) xs", {"n": 5, "k": 3}, 21),
    ("entry main [n] (xss: [n][n]f32): [n]f32 = map f32.sum xss", {"n": 7}, 49),
])
def test_operations_are_those_of_a_run(text: str, sizes: dict[str, int], count: int) -> None:
    names = Names()
    fun = optimise(load(Source("t", text), names), names).funs[0]
    known = {str(p.name): sizes[p.name.base] for p in fun.params if p.name.base in sizes}
    assert operations(fun, known) == count


def test_schedules_that_save_work_come_first() -> None:
    """A matrix is multiplied by each row again, unless it is stored and the loops are exchanged."""
    names = Names()
    fun = load(Source("chain", CHAIN), names).funs[0]
    sizes = {str(fun.params[0].name): 96}
    drawn = list(islice(Drawing(fun, names, [sizes], {}, random.Random(0)).draw(), 6))
    assert drawn[0].work < 0.1
    assert "interchange()" in str(drawn[0])
    assert not drawn[0].at_random
    assert sorted(each.work > 2 for each in drawn) == [each.work > 2 for each in drawn]
