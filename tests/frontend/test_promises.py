"""Promises of operators and scatters: broken ones are named with an example, kept ones pass."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from runelift.frontend.load import check, load
from runelift.frontend.promises import promise_run
from runelift.ir.base.errors import Diagnostic, ProgramError, ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names

HEAD = "entry main [n] (xs: [n]i32) (fs: [n]f32) (bs: [n]bool) (is: [n]i64) = "


def warned(text: str) -> list[Diagnostic]:
    """The warnings of a check."""
    with warnings.catch_warnings(record=True, action="always") as seen:
        check(Source("p.fut", HEAD + text))
    return [each.message.diagnostic for each in seen if isinstance(each.message, ProgramWarning)]


def met(text: str, xs: list[int], fs: list[float] | None = None) -> list[str]:
    """What is told of a run on some elements."""
    source, told = Source("p.fut", HEAD + text), list[Diagnostic]()
    count = len(xs)
    interpret(load(source, Names()), "main", [
        np.array(xs, np.int32), np.array(fs or [0.5] * count, np.float32), np.ones(count, bool),
        np.array([0, 1] * count, np.int64)[:count]], machine=promise_run(source, told.append))
    return [each.message for each in told]


@pytest.mark.parametrize(("text", "example", "place"), [
    ("reduce (+) 5 xs", "5 + 1 is 6, not 1", "reduce (+) 5 xs"),
    ("scan (+) 100 xs", "100 + 1 is 101, not 1", "scan (+) 100 xs"),
    ("reduce (-) 0 fs", "(1 - 2) - 3 is -4, but 1 - (2 - 3) is 2", "reduce (-) 0 fs"),
    ("reduce (\\x y -> x / y) 1 fs", "(1 / 2) / 3 is 0.166667, but 1 / (2 / 3) is 1.5", ""),
    ("reduce (*) 0 (map (+ 1) fs)", "0 * 1 is 0, not 1", ""),
    ("reduce_comm (\\a b -> b - a) 0 xs", "is", ""),
    ("reduce_by_index (replicate 3 0) (-) 0 is xs", "(1 - 2) - 3 is -4", ""),
    ("hist (+) 1 3 is xs", "1 + 1 is 2, not 1", ""),
    ("reduce (\\(a, b) (c, d) -> (a + c, b * d)) (0, 0) (zip xs fs)", "0 * 1 is 0, not 1", ""),
    ("map (\\x -> reduce (+) 1 (map (* x) xs)) xs", "1 + 1 is 2", "reduce (+) 1 (map (* x) xs)"),
    ("reduce (<<) 0 xs", "is", ""),
])
def test_known_operators(text: str, example: str, place: str) -> None:
    (found,) = warned(text)
    assert (found.code, found.severity) == ("broken-promise", "warning")
    assert example in found.message
    assert place in found.span.text


@pytest.mark.parametrize("text", [
    "reduce (+) 0 fs", "scan (*) 1 xs", "reduce i32.max i32.lowest xs", "reduce i32.max 0 xs",
    "reduce (&&) true bs", "reduce (||) false bs", "reduce (!=) false bs", "reduce (==) true bs",
    "reduce (^) 0 xs", "reduce (\\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (zip xs fs)",
    "f32.sum fs + f32.maximum fs", "reduce_by_index (replicate 3 0) (+) 0 is xs",
    "reduce (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (-f32.inf, -1) (zip fs is)",
    "scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0) (zip bs xs)",
    "reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip fs fs)",
])
def test_kept_promises(text: str) -> None:
    assert warned(text) == []
    check(Source("p.fut", HEAD + text), promises=True)


@pytest.mark.parametrize(("text", "what"), [
    ("reduce (\\x y -> x * y + 1) 0 xs", "not associative"),
    ("reduce_comm (\\x y -> x) 0 xs", "not"),
    ("reduce (\\x y -> (x + y) / 2) 0 fs", "not associative"),
    ("reduce (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (0f32, -1) (zip fs is)",
     "not neutral"),
    ("reduce_by_index (replicate 3 0) (\\x y -> y) 0 is xs", "not"),
])
def test_random_values_on_demand(text: str, what: str) -> None:
    assert warned(text) == []
    with pytest.raises(ProgramError, match=what) as caught:
        check(Source("p.fut", HEAD + text), promises=True)
    assert caught.value.code == "broken-promise"


def test_values_of_a_run() -> None:
    assert met("reduce (+) 5 xs", [1, 2, 3])[0].startswith("The neutral element of reduce is not")
    assert met("reduce i32.max 0 xs", [1, 2, 3]) == []
    assert "max(0, -1) is 0, not -1" in met("reduce i32.max 0 xs", [-1])[0]
    assert met("reduce (\\x y -> (x + y) % 10) 0 xs", [1, 7, 9]) == []
    (one,) = met("map (\\x -> reduce (\\a b -> a * b - x) 0 xs) xs", [2, 3])
    assert "is not associative" in one
    assert met("reduce (\\x y -> map2 (-) x y) [0, 0] (map (\\x -> [x, x]) xs)", [2, 3])
    assert met("reduce (+) 0 fs", [1] * 4, [1e8, 1.0, -1e8, 3e-5]) == []


def test_scatters_of_a_run() -> None:
    text = "scatter (replicate 2 0) is xs"
    assert met(text, [4, 5]) == []
    assert met(text, [4, 5, 4, 5]) == []
    assert met(text, [4, 5, 6]) == ["Two elements are scattered to [0]: 4 and 6.  Either may win."]
    assert met("scatter (replicate 2 0) (map (\\i -> i - 9) is) xs", [4, 5, 6]) == []
    assert met("scatter_2d (replicate 2 (replicate 2 0f32)) (zip is is) fs", [1] * 3,
               [np.nan, 1, np.nan]) == []
