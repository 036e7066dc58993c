"""``std/complex`` and ``std/fft`` beside NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.library.functions import DEVICES, function

UNARY: dict[str, Callable[..., object]] = {
    "conj": np.conj, "abs": np.abs, "arg": np.angle, "exp": np.exp, "log": np.log, "sqrt": np.sqrt}
BINARY: dict[str, Callable[..., object]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}


@pytest.mark.parametrize("device", DEVICES)
def test_arithmetic(device: str) -> None:
    c = "complex_f64"
    text = ", ".join([*(f"map {c}.{name} x" for name in UNARY),
                      *(f"map2 {c}.{name} x y" for name in BINARY), f"{c}.sum x"])
    f = function('import "std/complex"\nentry f [n] (a: [n]f64) (b: [n]f64) (c: [n]f64) '
                 f"(d: [n]f64) = let (x, y) = (zip a b, zip c d) in ({text})", device)
    for n in (0, 1, 2, 37):
        parts = np.random.default_rng(n).normal(size=(4, n))
        x, y = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
        found = list(f(*parts))
        for name, there in [*UNARY.items(), *BINARY.items(), ("sum", None)]:
            wanted = x.sum() if there is None else there(*(x, y)[:1 + (name in BINARY)])
            one = found.pop(0)
            if name not in ("abs", "arg"):
                one = np.asarray(one) + 1j * np.asarray(found.pop(0))
            np.testing.assert_allclose(one, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
        assert not found


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("kind", "tolerance"), [("f32", 1e-4), ("f64", 1e-10)])
def test_transforms(kind: str, tolerance: float, device: str) -> None:
    s = f"fft_{kind}"
    f = function(f'import "std/fft"\nentry f [n] (a: [n]{kind}) (b: [n]{kind}) = '
                 f"({s}.fft (zip a b), {s}.ifft (zip a b), {s}.rfft a, {s}.convolve_ring a b)",
                 device)
    for n in (1, 2, 3, 8, 37, 64, *((1024, 1000) if device == "pocl" else ())):
        a, b = np.random.default_rng(n).normal(size=(2, n)).astype(f"f{int(kind[1:]) // 8}")
        found = f(a, b)
        there, back, half = (found[i] + 1j * found[i + 1] for i in (0, 2, 4))
        limit = {"rtol": tolerance, "atol": tolerance * n**0.5}
        np.testing.assert_allclose(there, np.fft.fft(a + 1j * b), **limit)
        np.testing.assert_allclose(back, np.fft.ifft(a + 1j * b), **limit)
        np.testing.assert_allclose(half, np.fft.rfft(a), **limit)
        np.testing.assert_allclose(
            found[6], np.fft.ifft(np.fft.fft(a) * np.fft.fft(b)).real, **limit)


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("device", DEVICES)
def test_transforms_of_matrices(device: str) -> None:
    f = function('import "std/fft"\nentry f [n][m] (a: [n][m]f64) (b: [n][m]f64) = let x = '
                 "map2 zip a b in (fft_f64.fft_2d x, fft_f64.ifft_2d x)", device)
    for shape in (1, 1), (2, 3), (8, 16), (5, 4):
        a, b = np.random.default_rng(shape).normal(size=(2, *shape))
        re, im, back_re, back_im = f(a, b)
        np.testing.assert_allclose(re + 1j * im, np.fft.fft2(a + 1j * b), atol=1e-10)
        np.testing.assert_allclose(back_re + 1j * back_im, np.fft.ifft2(a + 1j * b), atol=1e-10)
