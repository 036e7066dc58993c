"""``std/images`` beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.library.functions import DEVICES, function

I = 'import "std/images"\n'  # noqa: E741
view = np.lib.stride_tricks.sliding_window_view
SHAPES = ((1, 1), (1, 2), (2, 1), (7, 9), (30, 17))


def filtered(image: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    k, l = weights.shape  # noqa: E741
    padded = np.pad(image, ((k // 2, (k - 1) // 2), (l // 2, (l - 1) // 2)), mode="edge")
    return np.tensordot(view(padded, (k, l)), weights)


@pytest.mark.parametrize("device", DEVICES)
def test_pixels_that_move(device: str) -> None:
    f = function(I + "entry f [h][w] (a: [h][w]i32) = (flip_horizontal a, flip_vertical a, "
                 "rotate_left a, rotate_right a, crop 0 (w / 2) h (w - w / 2) a, "
                 "resize_nearest (2 * h) (3 * w) a)", device)
    for shape in SHAPES:
        a = np.random.default_rng(shape).integers(0, 255, shape).astype(np.int32)
        wanted = (np.fliplr(a), np.flipud(a), np.rot90(a), np.rot90(a, -1), a[:, shape[1] // 2:],
                  np.kron(a, np.ones((2, 3), np.int32)))
        for one, other in zip(f(a), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("device", DEVICES)
def test_filters(device: str) -> None:
    f = function(I + "entry f [h][w][k][l] (a: [h][w]f32) (b: [k][l]f32) = (filtered b a, "
                 "blur 2 a, gaussian_blur 1.3 a, edges a, dilate 1 a, erode 1 a, integral a)",
                 device)
    bell = np.exp(-0.5 * (np.arange(-4, 5) / 1.3) ** 2)
    bell /= bell.sum()
    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    for shape in SHAPES:
        rng = np.random.default_rng(shape)
        a, b = (rng.random(s).astype(np.float32) for s in (shape, (3, 4)))
        around = view(np.pad(a, 1, mode="edge"), (3, 3))
        wanted = (filtered(a, b), filtered(a, np.full((5, 5), 1 / 25)),
                  filtered(a, np.outer(bell, bell)),
                  np.hypot(filtered(a, sobel), filtered(a, sobel.T)),
                  around.max(axis=(2, 3)), around.min(axis=(2, 3)), a.cumsum(0).cumsum(1))
        for one, other in zip(f(a, b), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_sizes(device: str) -> None:
    f = function(I + "entry f [n][m] (h: i64) (w: i64) (a: [n][m]f32) = resize h w a", device)
    for (n, m), (h, w) in zip(SHAPES, SHAPES[1:] + SHAPES[:1], strict=True):
        a = np.random.default_rng(n).random((n, m)).astype(np.float32)
        ys, xs = ((np.arange(new) + 0.5) * old / new - 0.5 for old, new in ((n, h), (m, w)))
        rows = np.array([np.interp(xs, np.arange(m), row) for row in a])
        wanted = np.array([np.interp(ys, np.arange(n), column) for column in rows.T]).T
        np.testing.assert_allclose(f(h, w, a), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_values(device: str) -> None:
    f = function(I + "entry f [h][w] (rgb: [h][w][3]u8) = let a = grey rgb let b = bytes a in "
                 "(a, b, byte_histogram b, equalized b)", device)
    for shape in SHAPES:
        rgb = np.random.default_rng(shape).integers(0, 256, (*shape, 3)).astype(np.uint8)
        grey, bytes_, histogram, equalized = f(rgb)
        np.testing.assert_allclose(grey, rgb @ [0.299, 0.587, 0.114] / 255, rtol=1e-5)
        assert np.all(np.abs(bytes_ - grey * 255.0) <= 0.501)
        counts = np.bincount(bytes_.ravel(), minlength=256)
        np.testing.assert_array_equal(histogram, counts)
        below = counts.cumsum()
        least = below[below > 0].min()
        table = (below - least) / max(1, bytes_.size - least) * 255
        assert np.all(np.abs(equalized - table[bytes_]) <= 0.501)
