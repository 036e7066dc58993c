"""Operators that are found to be commutative, and others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.rewrite.pipeline import optimise
from tests.rewrite.passes.test_filters import statements

PAIRS = {  # operators of (a, i) and (b, j)
    "first least": ("if a < b || a == b && i < j then (a, i) else (b, j)", True),
    "last greatest": ("if a > b then (a, i) else if a < b then (b, j) else (a, i32.max i j)", True),
    "nested": ("if a < b then (a, i) else if b < a then (b, j) "
               "else if i < j then (a, i) else (b, j)", True),
    "by negations": ("if !(b < a || a == b && j < i) then (a, i) else (b, j)", True),
    "extremes": ("(i32.min a b, i32.max i j)", True),
    "sum and least": ("(a + b, if i < j then i else j)", True),
    "right of equals": ("if a < b then (a, i) else (b, j)", False),
    "left of equals": ("if a <= b then (a, i) else (b, j)", False),
    "left": ("(a, i)", False),
    "difference": ("(a - b, i + j)", False),
    "crossed": ("if a < b then (a, j) else (b, i)", False),
    "places alone": ("if i < j then (a, i) else (b, j)", False),
    "with a constant": ("if a < 3 then (a, i) else (b, j)", False),
    "made of both pairs": ("(a + j, b + i)", False),
}


def reduction(operator: str, prim: str = "i32") -> ir.Redomap:
    names = Names()
    program = optimise(load(Source("t", f"""
entry main [n] (xs: [n]{prim}) (is: [n]i32) =
  reduce (\\(a, i) (b, j) -> {operator}) (100, 100) (zip xs is)
"""), names), names)
    (found,) = [stm.exp for fun in program.funs for stm in statements(fun.body)
                if isinstance(stm.exp, ir.Redomap)]
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_operators_of_pairs(name: str) -> None:
    operator, commutes = PAIRS[name]
    found = reduction(operator)
    assert all(op.comm for op in found.ops) is commutes


@pytest.mark.parametrize(("name", "commutes"), [("first least", True), ("last greatest", False)])
def test_equal_floats_may_be_zeros_of_different_signs(name: str, commutes: bool) -> None:
    found = reduction(PAIRS[name][0], "f32")
    assert all(op.comm for op in found.ops) is commutes


@pytest.mark.parametrize("name", [name for name, (_, commutes) in PAIRS.items() if commutes])
def test_what_is_found_is_true(name: str) -> None:
    program = load(Source("t", f"""
entry main (a: i32) (i: i32) (b: i32) (j: i32) : (i32, i32) = {PAIRS[name][0]}
"""), Names())
    for a, i, b, j in product(map(np.int32, (1, 2, 3)), repeat=4):
        assert interpret(program, "main", [a, i, b, j]) == interpret(program, "main", [b, j, a, i])
