"""``std/linalg`` beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.library.functions import DEVICES, function

L = 'import "std/linalg"\n'


def sizes(device: str) -> tuple[int, ...]:
    return (1, 2, 5) if device == "interpreter" else (1, 2, 5, 33)


@pytest.mark.parametrize("device", DEVICES)
def test_products(device: str) -> None:
    f = function(L + "entry f [n][m][k] (a: [n][m]f32) (b: [m][k]f32) (x: [m]f32) = "
                 "let l = a in (linalg_f32.matmul l b, linalg_f32.matvec a x, "
                 "linalg_f32.outer x x, matmul_by f32.max (-f32.inf) (+) a b, linalg_f32.kron a b)",
                 device)
    for n, m, k in (1, 1, 1), (0, 2, 3), (3, 5, 2), (2, 0, 3), (17, 9, 8):
        rng = np.random.default_rng(n)
        a, b, x = (rng.normal(size=s).astype(np.float32) for s in ((n, m), (m, k), m))
        product, vector, outer, longest, kron = f(a, b, x)
        np.testing.assert_allclose(product, a @ b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(vector, a @ x, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(outer, np.outer(x, x))
        np.testing.assert_array_equal(
            longest, np.max(a[:, :, None] + b, axis=1, initial=-np.inf))
        np.testing.assert_array_equal(kron, np.kron(a, b))


@pytest.mark.parametrize("device", DEVICES)
def test_norms(device: str) -> None:
    f = function(L + "entry f [n] (x: [n]f64) (a: [n][n]f64) = (linalg_f64.norm x, "
                 "linalg_f64.norm_1 x, linalg_f64.norm_max x, linalg_f64.frobenius a, "
                 "linalg_f64.trace a, linalg_f64.dot x x)", device)
    for n in (0, *sizes(device)):
        rng = np.random.default_rng(n)
        x, a = rng.normal(size=n), rng.normal(size=(n, n))
        wanted = [np.linalg.norm(x), np.linalg.norm(x, 1), np.max(np.abs(x), initial=0),
                  np.linalg.norm(a), np.trace(a), x @ x]
        np.testing.assert_allclose(f(x, a), wanted, rtol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_systems(device: str) -> None:
    f = function(L + "entry f [n] (a: [n][n]f64) (b: [n]f64) = (linalg_f64.solve a b, "
                 "linalg_f64.inverse a, linalg_f64.determinant a)", device)
    for n in (0, *sizes(device)):
        rng = np.random.default_rng(n)
        a, b = rng.normal(size=(n, n)), rng.normal(size=n)
        if n > 1:
            a[0, 0] = 0  # nothing without pivots
        x, inverse, determinant = f(a, b)
        np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(determinant, np.linalg.det(a), rtol=1e-7)
    assert f(np.ones((2, 2)), np.ones(2))[2] == 0
    assert not np.isfinite(f(np.ones((2, 2)), np.ones(2))[0]).all()


@pytest.mark.parametrize("device", DEVICES)
def test_factors(device: str) -> None:
    f = function(L + "entry f [n][m] (a: [n][m]f64) (s: [m][m]f64) (b: [n]f64) = let (q, r) = "
                 "linalg_f64.qr a in (q, r, linalg_f64.cholesky s, linalg_f64.least_squares a b)",
                 device)
    for m in sizes(device):
        rng = np.random.default_rng(m)
        a, b = rng.normal(size=(m + 3, m)), rng.normal(size=m + 3)
        s = a.T @ a
        q, r, lower, x = f(a, s, b)
        np.testing.assert_allclose(q @ r, a, atol=1e-9)
        np.testing.assert_allclose(q.T @ q, np.eye(m), atol=1e-7)
        np.testing.assert_array_equal(r, np.triu(r))
        np.testing.assert_allclose(lower, np.linalg.cholesky(s), atol=1e-7)
        np.testing.assert_allclose(x, np.linalg.lstsq(a, b)[0], rtol=1e-6, atol=1e-7)
