"""``std/random`` beside NumPy: the words are those of its generator, the rest has their law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.library.functions import DEVICES, function, sizes

R = 'import "std/random"\n'


@pytest.mark.parametrize("device", DEVICES)
def test_the_generator_is_that_of_numpy(device: str) -> None:
    f = function(R + "entry f (n: i64) (s: u64) = (random_words n s, map (random_word s) (iota n), "
                 "uniform_f64 n s)", device)
    for n in sizes(device, 1001):
        seed = np.uint64(2**64 - 1 - 12345 * n)
        wanted = np.random.Philox(key=int(seed)).random_raw(n)
        words, each, uniform = f(n, seed)
        np.testing.assert_array_equal(words, wanted)
        np.testing.assert_array_equal(each, wanted)
        np.testing.assert_array_equal(
            uniform, np.random.Generator(np.random.Philox(key=int(seed))).random(n))


@pytest.mark.parametrize("device", DEVICES)
def test_laws(device: str) -> None:
    """Distances from distribution functions that chance leaves with a probability of 1 in 10^6."""
    f = function(R + "entry f (n: i64) (s: u64) = (uniform_f32 n s, normal_f64 n s, "
                 "normal_f32 n s, exponential_f64 n s)", device)
    n = 301 if device == "interpreter" else 20001
    laws = [lambda x: x, *2 * [lambda x: (1 + math.erf(x / math.sqrt(2))) / 2],
            lambda x: 1 - math.exp(-x)]
    for found, law in zip(f(n, np.uint64(3)), laws, strict=True):
        xs = [law(x) for x in np.sort(found)]
        assert np.max(np.abs(xs - np.arange(n) / n)) < 2.7 / math.sqrt(n)
    for n in (0, 1, 2):
        assert [len(each) for each in f(n, np.uint64(3))] == [n] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_choices(device: str) -> None:
    f = function(R + "entry f (n: i64) (s: u64) = (uniform_i64 (-3) 4 n s, permutation n s, "
                 "shuffle s (iota n), choice n s [5, 6i64], bernoulli 0.25 n s, "
                 "map (split_seed s) (iota n))", device)
    for n in sizes(device, 7000):
        numbers, order, shuffled, chosen, true, seeds = f(n, np.uint64(n))
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
        np.testing.assert_array_equal(np.sort(shuffled), np.arange(n))
        assert set(numbers) <= set(range(-3, 4))
        assert set(chosen) <= {5, 6}
        assert len(set(seeds)) == n
    if n == 7000:
        assert np.all(np.abs(np.bincount(numbers + 3) - 1000) < 150)
        assert abs(np.mean(true) - 0.25) < 0.03
        assert abs(np.mean(chosen) - 5.5) < 0.03
        assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 0.06
