"""``std/stats`` beside NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.library.functions import DEVICES, function, sizes

KINDS = ("f32", "f64")


def dtype(kind: str) -> type[np.floating]:
    return {"f32": np.float32, "f64": np.float64}[kind]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_moments(kind: str, device: str) -> None:
    s = f"stats_{kind}"
    f = function(f'import "std/stats"\nentry f [n] (xs: [n]{kind}) (ys: [n]{kind}) = '
                 f"({s}.mean xs, {s}.variance xs, {s}.sample_variance xs, {s}.std xs, "
                 f"{s}.covariance xs ys, {s}.correlation xs ys)", device)
    for n in sizes(device, 4097):
        rng = np.random.default_rng(n)
        xs, ys = (rng.normal(3, 2, n).astype(dtype(kind)) for _ in range(2))
        ys += xs
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = [xs.mean(), xs.var(), xs.var(ddof=1), xs.std(),
                      np.mean((xs - xs.mean()) * (ys - ys.mean())),
                      np.corrcoef(xs, ys)[0, 1] if n > 1 else np.nan]
        np.testing.assert_allclose(f(xs, ys), wanted, rtol=1e-3 if kind == "f32" else 1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_order(kind: str, device: str) -> None:
    s = f"stats_{kind}"
    f = function(f'import "std/stats"\nentry f [n] (xs: [n]{kind}) (qs: []{kind}) = '
                 f"({s}.quantiles xs qs, {s}.quantile xs 0.3, {s}.median xs)", device)
    qs = np.array([0, 0.1, 0.25, 0.5, 0.77, 1], dtype(kind))
    for n in sizes(device, 1000)[1:]:
        xs = np.random.default_rng(n).normal(size=n).astype(dtype(kind))
        several, one, median = f(xs, qs)
        np.testing.assert_allclose(several, np.quantile(xs, qs), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(one, np.quantile(xs, dtype(kind)(0.3)), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(median, np.median(xs), rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_best_and_counts(device: str) -> None:
    f = function('import "std/stats"\nentry f [n] (xs: [n]f32) (js: [n]i64) = '
                 "(stats_f32.argmax xs, stats_f32.argmin xs, bincount 5 js, "
                 "stats_f32.histogram 7 (-1) 2 xs)", device)
    for n in sizes(device, 3001):
        rng = np.random.default_rng(n)
        xs = rng.integers(-3, 4, n).astype(np.float32)  # several are the greatest
        js = rng.integers(0, 5, n)
        best, least, counts, histogram = f(xs, js)
        assert best == (xs.argmax() if n else -1)
        assert least == (xs.argmin() if n else -1)
        np.testing.assert_array_equal(counts, np.bincount(js, minlength=5))
        np.testing.assert_array_equal(histogram, np.histogram(xs, 7, (-1, 2))[0])


@pytest.mark.parametrize("device", DEVICES)
def test_vectors(device: str) -> None:
    f = function('import "std/stats"\nentry f [n] (xs: [n]f64) = '
                 "(stats_f64.standardized xs, stats_f64.softmax xs)", device)
    for n in sizes(device, 1000)[2:]:
        xs = np.random.default_rng(n).normal(5, 100, n)
        standardized, softmax = f(xs)
        np.testing.assert_allclose(standardized, (xs - xs.mean()) / xs.std(), rtol=1e-9)
        powers = np.exp(xs - xs.max())
        np.testing.assert_allclose(softmax, powers / powers.sum(), rtol=1e-9)
