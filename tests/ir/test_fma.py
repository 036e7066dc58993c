"""A multiplication and an addition that are rounded once."""

from __future__ import annotations

import math

import numpy as np
import pytest

import runelift
from runelift.ir.meaning import apply
from runelift.ir.prim import Prim

TYPES = [(Prim.F16, np.float16), (Prim.F32, np.float32), (Prim.F64, np.float64)]


@pytest.mark.parametrize(("prim", "type_"), TYPES)
def test_it_is_rounded_once(prim: Prim, type_: type[np.floating]) -> None:
    epsilon = np.finfo(type_).eps
    one, next_ = type_(1), type_(1) + epsilon
    assert apply("fma", prim, next_, next_, -(one + 2 * epsilon)) == epsilon * epsilon
    assert apply("fma", prim, next_, one - epsilon, -one) == -epsilon * epsilon
    # halfway between two floats but for the last term, which says which of them is nearer
    tiny = np.finfo(type_).smallest_subnormal
    half = type_(1 + epsilon / 2)  # = 1
    assert apply("fma", prim, epsilon / 2, one, half) == 1
    assert apply("fma", prim, epsilon / 2, next_, half) == next_
    assert apply("fma", prim, tiny, tiny, half) == 1


@pytest.mark.parametrize(("prim", "type_"), TYPES)
def test_zeros_and_infinities(prim: Prim, type_: type[np.floating]) -> None:
    large = np.finfo(type_).max

    def fused(x: float, y: float, z: float) -> float:
        return float(apply("fma", prim, type_(x), type_(y), type_(z)))

    assert fused(large, 2, -large) == large
    assert fused(large, large, -math.inf) == -math.inf
    assert fused(large, large, large) == math.inf
    assert math.isnan(fused(math.inf, 0, 1))
    assert math.isnan(fused(math.inf, 1, -math.inf))
    assert math.isnan(fused(1, 1, math.nan))
    for x, y, z, sign in ((0, -1, -0.0, -1), (0, 1, -0.0, 1), (2, 3, -6, 1)):
        assert fused(x, y, z) == 0
        assert math.copysign(1, fused(x, y, z)) == sign


def test_devices_round_once_too() -> None:
    text = """
entry fused (xs: []f32) (ys: []f32) (zs: []f32) = map3 f32.fma xs ys zs
entry wide (xs: []f64) (ys: []f64) (zs: []f64) = map3 f64.fma xs ys zs
entry half (xs: []f16) (ys: []f16) (zs: []f16) = map3 f16.fma xs ys zs
entry twice (xs: []f32) (ys: []f32) (zs: []f32) = map3 f32.mad xs ys zs
"""
    program, model = (runelift.compile(text, device=each) for each in (None, "interpreter"))
    rng = np.random.default_rng(3)
    for entry, type_ in (("fused", "float32"), ("wide", "float64"), ("half", "float16"),
                         ("twice", "float32")):
        xs, ys = rng.standard_normal((2, 300)).astype(type_)
        zs = np.where(rng.random(300) < 0.5, -(xs * ys), xs).astype(type_)
        found = getattr(program, entry)(xs, ys, zs)
        np.testing.assert_array_equal(found, getattr(model, entry)(xs, ys, zs))
        assert np.array_equal(found, xs * ys + zs) == (entry == "twice")
