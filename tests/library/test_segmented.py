"""``std/segmented`` beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.library.functions import DEVICES, function

S = 'import "std/segmented"\n'
LENGTHS = ([], [0], [1], [2, 0, 3], [0, 0, 5, 1, 0], [37, 0, 1], list(range(60)))


@pytest.mark.parametrize("device", DEVICES)
def test_lengths(device: str) -> None:
    f = function(S + "entry f (lengths: []i64) = (starts lengths, rows lengths, places lengths, "
                 "flags lengths, expand (\\k -> k) (\\k i -> 100 * k + i) lengths)", device)
    for each in LENGTHS:
        lengths = np.array(each, np.int64)
        starts, rows, places, flags, expanded = f(lengths)
        np.testing.assert_array_equal(starts, np.cumsum(lengths) - lengths)
        np.testing.assert_array_equal(rows, np.repeat(np.arange(len(each)), lengths))
        wanted = np.concatenate([np.arange(0), *map(np.arange, each)])
        np.testing.assert_array_equal(places, wanted)
        np.testing.assert_array_equal(flags, wanted == 0)
        np.testing.assert_array_equal(expanded, 100 * np.repeat(lengths, lengths) + wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_rows(device: str) -> None:
    f = function(S + "entry f [n] (lengths: []i64) (flags: [n]bool) (xs: [n]i64) = "
                 "(reduce_rows (+) 0 lengths xs, segmented_scan i64.max i64.lowest flags xs, "
                 "segmented_reduce (+) 0 flags xs)", device)
    for each in LENGTHS:
        xs = np.random.default_rng(1).integers(-9, 9, sum(each))
        rows = np.split(xs, np.cumsum(each, dtype=np.int64))[:-1]
        flags = np.array([i == 0 for n in each for i in range(n)], bool)
        reduced, scanned, filled = f(np.array(each, np.int64), flags, xs)
        np.testing.assert_array_equal(reduced, [row.sum() for row in rows])
        np.testing.assert_array_equal(filled, [row.sum() for row in rows if len(row)])
        np.testing.assert_array_equal(scanned, np.concatenate(
            [np.arange(0), *map(np.maximum.accumulate, rows)]))


@pytest.mark.parametrize("device", DEVICES)
def test_runs(device: str) -> None:
    f = function(S + "entry f [n] (xs: [n]i64) = runs (==) xs", device)
    for n in (0, 1, 2, 37, 500):
        xs = np.random.default_rng(n).integers(0, 2, n)
        places = np.flatnonzero(np.diff(xs, prepend=-1))
        np.testing.assert_array_equal(f(xs), np.diff(places, append=n))
