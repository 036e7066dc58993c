"""Sizes: what inference finds, what it leaves to the running program, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.errors import ProgramError
from runelift.ir.names import Names
from runelift.ir.source import Source


@pytest.mark.parametrize(("text", "args", "expected"), [
    ("def main [n] (xs: *[n]i64) (k: i64) = xs with [1:3] = iota k",
     (np.arange(4), 2), [0, 0, 1, 3]),
    ("def f (n: i64): []i64 = iota n\ndef main (n: i64): [n]i64 = map2 (+) (f n) (iota n)",
     (3,), [0, 2, 4]),
    ("def tail = (.[1:])\ndef main (xs: []i64) (b: []bool) = map i64.bool (tail b) ++ tail xs",
     (np.arange(3), np.array([False, True])), [1, 1, 2]),
    ("type^ f = (k: i64) -> [k]i64 -> i64\ndef g: f = \\n xs -> n + xs[0]\n"
     "def main [n] (xs: [n]i64) = replicate 1 (g n xs)", (np.array([5, 6]),), [7]),
    ("def main (b: bool) = let (xs, ys) = if b then ([1i64, 2], [3i64, 4]) else ([1], [2]) "
     "in map2 (+) xs ys", (True,), [4, 6]),
    ("def f [n] (xs: [n][2 * n]i64) = flatten xs\ndef main = f [[1, 2]]", (), [1, 2]),
    ("def main (n: i64): [n]i64 = 0..1..<n", (2,), [0, 1]),
])
def test_found(text: str, args: tuple[Any, ...], expected: list[int]) -> None:
    assert runelift.compile(text, device="interpreter").main(*args).tolist() == expected


@pytest.mark.parametrize(("text", "code"), [
    ("def f (g: (n: i64) -> [n]i64) (l: i64) = (g l)[0]\ndef main = f (\\n -> iota (n + 1))",
     "size-mismatch"),
    ("def f (n: i64): []i64 = iota (n + 1)\ndef main (n: i64): [n]i64 = f n", "size-mismatch"),
    ("def main (b: bool) = let (xs, ys) = if b then ([1], [2, 3]) else ([1, 2], [3]) in zip xs ys",
     "size-mismatch"),
])
def test_refused(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load(Source("t", text), Names())
    assert caught.value.diagnostics[0].code == code
