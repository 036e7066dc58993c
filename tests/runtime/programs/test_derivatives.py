"""Derivatives of entry points in Python: results, seeds, arguments, errors, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.programs.program import Program

TEXT = """
entry cost [n] (xs: [n]f64) (w: f64) = f64.sum (map (\\x -> f64.sin (x - w) * x) xs)
entry sums (n: i64) (xs: [n]f64): [n]f64 = scan (+) 0 (map (\\x -> x * x) xs)
entry changed [n] (xs: *[n]f64): [n - 1]f64 = tail (xs with [1] = 2) :> [n - 1]f64
entry mixed [n] (xs: [n]f32) (i: i32): (f32, i32, [n]f32) = (f32.product xs, i + 1, map (** 2) xs)
entry points (n: i64) = map (\\i -> {x = f32.i64 i, y = 1f32}) (iota n)
entry total [n] (ps: [n]{x: f32, y: f32}) =
  {s = f32.sum (map (\\p -> p.x * p.y) ps), t = f32.sum (map (.y) ps)}
entry number (i: i32) = i + 1
"""
XS, W = np.array([0.3, 1.2, 2.5, -0.7]), 0.4


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile(TEXT, device="Portable")


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Central differences of a scalar function of an array or number."""
    x = np.asarray(x)
    return np.array([(f(x + h) - f(x - h)) / (2 * step) for h in step * np.eye(x.size).reshape(
        x.size, *x.shape)]).reshape(x.shape)


def test_gradients_are_those_of_differences(program: Program) -> None:
    cost = program.cost
    by_xs, by_w = cost.grad((0, 1))(XS, W)
    np.testing.assert_allclose(by_xs, differences(lambda xs: cost(xs, W), XS), rtol=1e-6)
    np.testing.assert_allclose(by_w, differences(lambda w: cost(XS, float(w)), W), rtol=1e-6)
    value, again = cost.value_and_grad()(XS, w=W)
    assert value == cost(XS, W)
    np.testing.assert_array_equal(again, by_xs)


def test_products_with_the_second_derivative(program: Program) -> None:
    v = np.array([1.0, -2.0, 0.5, 3.0])
    gradient = program.cost.grad()
    found = program.cost.hvp(XS, W, v)
    np.testing.assert_allclose(found, (gradient(XS + 1e-6 * v, W) - gradient(XS - 1e-6 * v, W))
                               / 2e-6, rtol=1e-5)
    by_xs, by_w = program.cost.hvp(XS, W, (v, 0.0), argnums=(0, 1))
    np.testing.assert_allclose(by_xs, found)
    assert by_w != 0


def test_forward_and_reverse_mode_are_transposed(program: Program) -> None:
    u, v = np.array([1.0, 2.0, -1.0, 0.5]), np.array([0.5, 1.0, -3.0, 2.0])
    there, tangent = program.sums.jvp(4, XS, tangents=(None, u))
    again, (adjoint,) = program.sums.vjp(4, XS, seed=v)
    np.testing.assert_array_equal(there, again)
    np.testing.assert_allclose(v @ tangent, adjoint @ u, rtol=1e-10)


def test_consumed_arguments_are_unchanged(program: Program) -> None:
    there = program.to_device(XS)
    result, adjoint = program.changed.vjp(there, seed=np.ones(3), argnums=0)
    assert result.tolist() == [2.0, 2.5, -0.7]
    assert adjoint.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert there.get().tolist() == XS.tolist()


def test_results_without_a_seed_do_not_count(program: Program) -> None:
    xs = np.array([2, 3, 4], np.float32)
    for seed, wanted in (((1.0, None, None), [12, 8, 6]), ((None, None, xs), [8, 18, 32]),
                         ((1.0, 5, xs), [20, 26, 38])):
        (product, number, squares), (adjoint,) = program.mixed.vjp(xs, 2, seed=seed)
        assert (product, number, squares.tolist()) == (24, 3, [4, 9, 16])
        assert adjoint.tolist() == wanted


def test_values_of_composite_types_have_adjoints(program: Program) -> None:
    points = program.points(3)
    result, (adjoint,) = program.total.vjp(points, seed=program.total(points))
    assert tuple(result) == (3, 3)
    assert isinstance(adjoint, runelift.Opaque)
    assert [part.tolist() for part in adjoint] == [[3, 3, 3], [3, 6, 9]]


def test_arrays_stay_on_the_device(program: Program) -> None:
    there = program.cost.grad()(program.to_device(XS), W, device_arrays=True)
    assert isinstance(there, DeviceArray)
    np.testing.assert_array_equal(there.get(), program.cost.grad()(XS, W))


def test_the_interpreter_agrees(program: Program) -> None:
    interpreted = runelift.compile(TEXT, device="interpreter").cost
    np.testing.assert_allclose(interpreted.grad()(XS, W), program.cost.grad()(XS, W))


def test_hidden_entry_points_are_compiled_once_and_stay_hidden(program: Program) -> None:
    program.cost.grad()(XS, W)
    before = program.cost.derived(next(iter(program.cost._derived)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.cost.grad()(XS, W)
    assert program.cost.derived(next(iter(program.cost._derived))) is before
    assert program.entries == ("cost", "sums", "changed", "mixed", "points", "total", "number")


def test_calls_are_recorded_with_the_program() -> None:
    program = runelift.compile(TEXT, device="Portable")
    program.recording = True
    program.cost.grad()(XS, W)
    assert len(program.records) == 1


def test_decorated_functions_have_derivatives() -> None:
    square: Any = runelift.fn("entry square (x: f64) = x * x", device="Portable")
    assert square.grad()(3.0) == 6.0
    assert square.hvp(3.0, 1.0) == 2.0
    assert square.derived(next(iter(square._derived))).grad()(3.0) == 2.0  # of a derivative


@pytest.mark.parametrize(("call", "words"), [
    (lambda p: p.cost.grad()(XS), "'cost' takes 2 arguments"),
    (lambda p: p.cost.hvp(XS, W), "'cost' takes 2 arguments"),
    (lambda p: p.sums.grad(), "not one float, but"),
    (lambda p: p.mixed.vjp(XS.astype("f"), 2), "seed has the type of its result"),
    (lambda p: p.cost.grad(5), "numbers from 0 to 1, not 5"),
    (lambda p: p.cost.grad((0, 0)), "should be different numbers"),
    (lambda p: p.cost.grad(2.0), "the gradient at x is `grad(0)(x)`"),
    (lambda p: p.cost.grad(np.ones(3)), "should be different numbers"),
    (lambda p: p.number.vjp(1, seed=1), "No argument of 'number' is a float"),
    (lambda p: p.cost.vjp(XS, W, seed=XS), "Argument 'seed' should be f64"),
    (lambda p: p.sums.vjp(4, XS, seed=XS[1:]), "Argument 'seed' has shape"),
    (lambda p: p.cost.jvp(XS, W, tangents=(XS,)), "'tangents' should be a tuple of 2"),
    (lambda p: p.cost.jvp(XS, W, tangents=(None, None)), "No argument has a tangent"),
    (lambda p: p.cost.grad()(XS.astype("f"), W), "astype"),
])
def test_wrong_arguments_are_named(program: Program, call: Callable[[Program], Any], words: str
                                   ) -> None:
    with pytest.raises(runelift.ArgumentError) as raised:
        call(program)
    assert words in str(raised.value)
