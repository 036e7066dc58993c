"""Entry points as functions of JAX; without JAX nothing of this is tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.programs.program import Program

jax = pytest.importorskip("jax", reason="JAX is not installed")

TEXT = """
entry cost [n] (xs: [n]f64) (w: f64) = f64.sum (map (\\x -> f64.sin (x - w) * x) xs)
entry gathered [n][m] (xs: [n]f64) (is: [m]i64) = (map (\\i -> xs[i % n] ** 2) is, m)
entry few (xs: []f64) = filter (> 0) xs
"""
XS = np.array([0.3, 1.2, 2.5, -0.7])


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile(TEXT, device="Portable")


def native(xs: Any, w: Any) -> Any:
    return (jax.numpy.sin(xs - w) * xs).sum()


def test_gradients_are_those_of_jax(program: Program) -> None:
    cost = program.cost.jax()
    for change in (lambda f: f, jax.jit):
        found = change(jax.grad(cost, (0, 1)))(XS, 0.4)
        for ours, theirs in zip(found, jax.grad(native, (0, 1))(XS, 0.4), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_reverse_mode_twice(program: Program) -> None:
    def by_gradient(function: Any) -> Any:
        return jax.grad(lambda xs: (jax.grad(function)(xs, 0.4) ** 2).sum())(XS)
    np.testing.assert_allclose(by_gradient(program.cost.jax()), by_gradient(native), rtol=1e-12)


def test_integers_and_batches(program: Program) -> None:
    gathered, places = program.gathered.jax(), np.array([0, 3, 3])
    (found, count), back = jax.vjp(lambda xs: gathered(xs, places), XS)
    assert int(count) == 3
    (adjoint,) = back((np.ones(3), np.zeros((), jax.dtypes.float0)))
    np.testing.assert_allclose(adjoint, [0.6, 0, 0, -2.8])
    batch = jax.vmap(lambda xs: gathered(xs, places)[0])(np.stack([XS, XS]))
    np.testing.assert_allclose(batch, np.stack([found, found]))


def test_unknown_sizes_are_refused(program: Program) -> None:
    with pytest.raises(runelift.ArgumentError, match="JAX has to know"):
        program.few.jax()(XS)
