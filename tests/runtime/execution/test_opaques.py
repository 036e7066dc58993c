"""Values of composite types, out of one entry point and into another."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError

TEXT = """
type particle = {place: (f32, f32), mass: f32}
type shape = #circle f32 | #box (f32, f32) | #none
entry particles [n] (xs: [n]f32): [n]particle = map (\\x -> {place = (x, -x), mass = 2 * x}) xs
entry mass [n] (ps: [n]particle): f32 = f32.sum (map (.mass) ps)
entry heavier (factor: f32) (p: particle): (f32, particle) =
  (factor, p with mass = p.mass * factor)
entry first [n] (ps: [n]particle): particle = ps[0]
entry shapes (x: f32): [3]shape = [#circle x, #box (x, 2), #none]
entry area (shapes: []shape): []f32 =
  map (\\s -> match s case #circle r -> r * r case #box (a, b) -> a * b case #none -> 0) shapes
entry pairs [n] (xs: [n]i32): [n](i32, i32) = zip xs (reverse xs)
entry swap (ps: [](i32, i32)): [](i32, i32) = map (\\(a, b) -> (b, a)) ps
entry note (x: i32): (i32, ()) = (x, ())
"""


@pytest.fixture(scope="module", params=["interpreter", None])
def program(request: pytest.FixtureRequest) -> runelift.Program:
    return runelift.compile(TEXT, device=request.param)


def test_arrays_of_records_go_out_and_in(program: runelift.Program) -> None:
    particles = program.particles(np.arange(4, dtype="float32"))
    assert isinstance(particles, runelift.Opaque)
    assert particles.type == "[]{mass: f32, place: (f32, f32)}"
    assert program.mass(particles) == 12


def test_records_beside_other_values(program: runelift.Program) -> None:
    one = program.first(program.particles(np.array([3], "float32")))
    factor, heavy = program.heavier(np.float32(2), one)
    assert factor == 2
    assert tuple(heavy) == (12, 3, -3)


def test_sums_keep_their_constructors(program: runelift.Program) -> None:
    assert program.area(program.shapes(np.float32(3))).tolist() == [9, 6, 0]


def test_parts_can_be_taken_and_given(program: runelift.Program) -> None:
    left, right = program.pairs(np.array([1, 2], "int32"))
    assert (left.tolist(), right.tolist()) == ([1, 2], [2, 1])
    assert [part.tolist() for part in program.swap(left, right)] == [[2, 1], [1, 2]]


def test_unit_is_nothing(program: runelift.Program) -> None:
    assert program.note(np.int32(4)) == 4


def test_another_type_is_refused(program: runelift.Program) -> None:
    with pytest.raises(UserError, match=r"should be \[\]\(i32, i32\), but has type \[\]#box"):
        program.swap(program.shapes(np.float32(3)))
