"""Consumption: what may not be looked at again, and what may not be consumed."""

from __future__ import annotations

import pytest

from runelift.frontend.check import check_module
from runelift.frontend.parser import parse
from runelift.ir.errors import ProgramError
from runelift.ir.source import Source


@pytest.mark.parametrize("text", [
    "def f [n] (xs: *[n]i32) = xs with [0] = 1",
    "def f [n] (xs: [n]i32) = let ys = copy xs in ys with [0] = xs[0]",
    "def f [n] (xs: [n]i32) = let ys = map (+1) xs let ys[0] = 2 let ys[1] = 3 in ys",
    "def f [n] (xs: *[n]i32) = loop xs for i < n do xs with [i] = 0",
    "def f [n] (xs: *[n]i32) (b: bool) = if b then xs with [0] = 1 else xs with [1] = 2",
    "def f [n] (xs: *[n]i32) = loop (xs, s) = (xs, 0) for i < n do (xs with [i] = s, s + 1)",
    "def f [n] (is: [n]i64) (vs: [n]i32) = scatter (replicate n 0) is vs",
    "def f [n] (xs: *[n]i32, x: i32) = let xs[0] = x in xs",
    "def f [n] (x: i32) (xs: *[n]i32) = let xs[0] = x in (xs, x)",
    "def f [n] (xs: [n]i32) = map (\\x -> let ys = replicate 3 x in ys with [0] = 1) xs",
])
def test_accepted(text: str) -> None:
    check_module(parse(Source("t", text)))


@pytest.mark.parametrize(("text", "code", "column"), [
    ("def f [n] (xs: *[n]i32) = let ys = xs with [0] = 1 in (xs, ys)", "use-after-consume", 56),
    ("def f [n] (xs: *[n]i32) = let ys = xs let zs = xs with [0] = 1 in (ys, zs)",
     "use-after-consume", 68),
    ("def f [n] (xs: [n]i32) = xs with [0] = 1", "not-consumable", 26),
    ("def f [n] (xs: [n]i32) = loop xs for i < n do xs with [i] = 0", "not-consumable", 47),
    ("def g [n] (xs: *[n]i32) = xs with [0] = 1\ndef f [n] (xs: *[n]i32) = (g xs, xs[0])",
     "use-after-consume", 34),
    ("def f [n] (xs: *[n]i32) (b: bool) = let ys = if b then xs with [0] = 1 else [2] :> [n]i32 "
     "in (ys, xs)", "use-after-consume", 99),
    ("def f [n] (is: [n]i64) (xs: *[n]i32) = (scatter xs is (replicate n 1), xs)",
     "use-after-consume", 72),
    ("def f [n] (xs: *[n]i32) = map (\\i -> (xs with [i] = 1)[0]) (iota n)", "consume-free", 39),
])
def test_rejected(text: str, code: str, column: int) -> None:
    with pytest.raises(ProgramError) as caught:
        check_module(parse(Source("t", text)))
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.column) == (code, column), first.render()
    if code == "use-after-consume":
        assert "consumed here" in first.render()
