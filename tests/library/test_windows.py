"""``std/windows`` beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.library.functions import DEVICES, function

W = 'import "std/windows"\n'
view = np.lib.stride_tricks.sliding_window_view


@pytest.mark.parametrize("device", DEVICES)
def test_windows(device: str) -> None:
    f = function(W + "entry f [n] (k: i64) (xs: [n]i32) = (windows k xs, moving i32.max i32.lowest "
                 "k xs, windows_i32.moving_sum k xs, diff (-) xs)", device)
    for n, k in (1, 1), (2, 1), (2, 2), (37, 5), (301, 300):
        xs = np.random.default_rng(n).integers(-99, 99, n).astype(np.int32)
        every, most, total, steps = f(k, xs)
        np.testing.assert_array_equal(every, view(xs, k))
        np.testing.assert_array_equal(most, view(xs, k).max(axis=1))
        np.testing.assert_array_equal(total, view(xs, k).sum(axis=1))
        np.testing.assert_array_equal(steps, np.diff(xs))


@pytest.mark.parametrize("device", DEVICES)
def test_margins(device: str) -> None:
    f = function(W + "entry f [n] (b: i64) (a: i64) (xs: [n]i32) = (pad b a 7 xs, "
                 "pad_edge b a xs, pad_wrap b a xs, pad_reflect b a xs, "
                 "pad_2d b a 1 2 7 [xs])", device)
    for n in (1, 2, 37):
        xs = np.random.default_rng(n).integers(-99, 99, n).astype(np.int32)
        for margins in (0, 0), (1, 0), (2, 5), (80, 81):
            value, *others, matrix = f(*margins, xs)
            np.testing.assert_array_equal(value, np.pad(xs, margins, constant_values=7))
            np.testing.assert_array_equal(
                matrix, np.pad(xs[None], (margins, (1, 2)), constant_values=7))
            for mode, found in zip(("edge", "wrap", "reflect"), others, strict=True):
                np.testing.assert_array_equal(found, np.pad(xs, margins, mode), mode)


@pytest.mark.parametrize("device", DEVICES)
def test_convolutions(device: str) -> None:
    f = function(W + "entry f [n][k] (xs: [n]f32) (ys: [k]f32) = (windows_f32.convolve xs ys, "
                 "windows_f32.convolve_same xs ys, windows_f32.convolve_valid xs ys, "
                 "windows_f32.correlate xs ys, windows_f32.moving_mean k xs)", device)
    for n, k in (1, 1), (2, 1), (2, 2), (37, 5), (38, 6), (400, 33):
        rng = np.random.default_rng(n)
        xs, ys = (rng.normal(size=m).astype(np.float32) for m in (n, k))
        *found, correlated, mean = f(xs, ys)
        for mode, one in zip(("full", "same", "valid"), found, strict=True):
            np.testing.assert_allclose(one, np.convolve(xs, ys, mode), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(correlated, np.correlate(xs, ys), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(mean, view(xs, k).mean(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_convolutions_of_matrices(device: str) -> None:
    f = function(W + "entry f [n][m][k][l] (xs: [n][m]f32) (ys: [k][l]f32) = "
                 "(windows_f32.correlate_2d xs ys, windows_f32.convolve_2d xs ys, "
                 "windows_2d k l xs)", device)
    for whole, part in ((1, 1), (1, 1)), ((5, 7), (3, 2)), ((30, 17), (4, 5)):
        rng = np.random.default_rng(whole[0])
        xs, ys = (rng.normal(size=s).astype(np.float32) for s in (whole, part))
        correlated, convolved, every = f(xs, ys)
        np.testing.assert_array_equal(every, view(xs, part))
        np.testing.assert_allclose(correlated, np.tensordot(view(xs, part), ys), atol=1e-4)
        np.testing.assert_allclose(
            convolved, np.tensordot(view(xs, part), ys[::-1, ::-1]), atol=1e-4)
