"""``std/sort`` beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.library.functions import DEVICES, function, sizes

KINDS = ("i32", "u32", "i64", "f32", "f64")


def numbers(kind: str, n: int) -> NDArray[Any]:
    """Random numbers of all magnitudes, some of them equal; floats with what is no number."""
    rng = np.random.default_rng(n)
    if kind[0] == "f":
        found = (rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)).astype(
            np.dtype(f"f{int(kind[1:]) // 8}"))
        for special in (0.0, -0.0, np.inf, -np.inf, np.nan):
            found[rng.random(n) < 0.05] = special
        return found
    bits = int(kind[1:])
    low, high = (0, 2**bits) if kind[0] == "u" else (-2**(bits - 1), 2**(bits - 1))
    found = rng.integers(low, high, n, np.dtype(f"{kind[0]}{bits // 8}"))
    found[rng.random(n) < 0.3] = 7
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_by_radix(kind: str, device: str) -> None:
    sort = function(f'import "std/sort"\nentry f [n] (xs: [n]{kind}) = '
                    f"(sort_{kind} xs, argsort_{kind} xs)", device)
    for n in sizes(device, 1025, 5000):
        xs = numbers(kind, n)
        found, places = sort(xs)
        np.testing.assert_array_equal(found, np.sort(xs))
        np.testing.assert_array_equal(places, np.argsort(xs, kind="stable"))


@pytest.mark.parametrize("device", DEVICES)
def test_any_order_by_merging(device: str) -> None:
    sort = function('import "std/sort"\nentry f [n] (xs: [n]i64) = (sort (>=) xs, '
                    "argsort (<=) xs, (unzip (sort_by_key (.0) (<=) (zip (map (& 7) xs) xs))).1)",
                    device)
    for n in sizes(device, 64, 1025, 5000):
        xs = numbers("i64", n)
        down, places, by_key = sort(xs)
        np.testing.assert_array_equal(down, np.sort(xs)[::-1])
        np.testing.assert_array_equal(places, np.argsort(xs, kind="stable"))
        np.testing.assert_array_equal(by_key, xs[np.argsort(xs & 7, kind="stable")])


@pytest.mark.parametrize("device", DEVICES)
def test_elements_that_are_arrays(device: str) -> None:
    sort = function('import "std/sort"\nentry f [n] (xs: [n][2]i32) = '
                    "(sort (\\x y -> x[1] <= y[1]) xs, "
                    "radix_sort_by_key 8 (\\x -> u64.i32 x[1] & 255) xs)", device)
    for n in sizes(device, 300):
        xs = np.random.default_rng(n).integers(0, 20, (n, 2)).astype(np.int32)
        for found in sort(xs):
            np.testing.assert_array_equal(found, xs[np.argsort(xs[:, 1], kind="stable")])


@pytest.mark.parametrize("device", DEVICES)
def test_places_in_sorted_arrays(device: str) -> None:
    found = function('import "std/sort"\nentry f [n][m] (xs: [n]i32) (ys: [m]i32) = '
                     "(map (lower_bound (<=) xs) ys, map (upper_bound (<=) xs) ys, "
                     "is_sorted (<=) xs, is_sorted (<=) ys, unique (==) xs)", device)
    for n in sizes(device, 1000):
        rng = np.random.default_rng(n)
        xs = np.sort(rng.integers(0, 50, n)).astype(np.int32)
        ys = rng.integers(-5, 55, 11).astype(np.int32)
        low, high, yes, no, each = found(xs, ys)
        np.testing.assert_array_equal(low, np.searchsorted(xs, ys))
        np.testing.assert_array_equal(high, np.searchsorted(xs, ys, "right"))
        assert yes
        assert not no
        np.testing.assert_array_equal(each, np.unique(xs))
