"""``std/sparse`` beside dense matrices of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.library.functions import DEVICES, function

S = 'import "std/sparse"\n'


@pytest.mark.parametrize("device", DEVICES)
def test_matrices(device: str) -> None:
    f = function(S + "entry f [n][m][l] (a: [n][m]f64) (x: [m]f64) (b: [m][l]f64) = "
                 "let (p, i, d) = sparse_f64.from_dense a "
                 "let (tp, ti, td) = sparse_f64.transposed m p i d in "
                 "(p, i, d, sparse_f64.matvec p i d x, sparse_f64.matmul p i d b, "
                 "sparse_f64.to_dense m p i d, sparse_f64.to_dense n tp ti td, "
                 "sparse_f64.diagonal p i d, csr_rows p)", device)
    for n, m in (1, 1), (1, 3), (2, 1), (5, 7), (40, 33):
        rng = np.random.default_rng(n)
        a = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.3)
        x, b = rng.normal(size=m), rng.normal(size=(m, 3))
        starts, columns, data, vector, product, dense, transposed, diagonal, rows = f(a, x, b)
        places = np.nonzero(a)
        np.testing.assert_array_equal(starts, [0, *np.cumsum((a != 0).sum(axis=1))])
        np.testing.assert_array_equal(rows, places[0])
        np.testing.assert_array_equal(columns, places[1])
        np.testing.assert_array_equal(data, a[places])
        np.testing.assert_allclose(vector, a @ x, atol=1e-12)
        np.testing.assert_allclose(product, a @ b, atol=1e-12)
        np.testing.assert_array_equal(dense, a)
        np.testing.assert_array_equal(transposed, a.T)
        np.testing.assert_array_equal(diagonal, [a[i, i] if i < m else 0 for i in range(n)])


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_at_places(device: str) -> None:
    f = function(S + "entry f [k] (n: i64) (m: i64) (is: [k]i64) (js: [k]i64) (d: [k]f32) = "
                 "let (p, i, d) = sparse_f32.from_places n m is js d in "
                 "sparse_f32.to_dense m p i d", device)
    for k in (0, 1, 2, 50):
        rng = np.random.default_rng(k)
        rows, columns = rng.integers(0, 6, k), rng.integers(0, 5, k)  # some places occur twice
        data = rng.integers(1, 9, k).astype(np.float32)
        wanted = np.zeros((6, 5), np.float32)
        np.add.at(wanted, (rows, columns), data)
        np.testing.assert_array_equal(f(6, 5, rows, columns, data), wanted)
