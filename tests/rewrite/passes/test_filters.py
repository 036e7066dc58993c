"""Reductions in place of filters and scans: which are replaced, and that none changes a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.traverse import bodies_inside
from runelift.rewrite.pipeline import optimise
from tests.replays import results_agree

WITHOUT = {
    "sum": "i32.sum (filter (> 2) xs)",
    "count": "length (filter (> 2) xs)",
    "both": "let ys = filter (> 2) xs in (length ys, i32.sum (map (* 3) ys))",
    "parts": "let (a, b) = partition (> 2) xs in (i32.sum a, i32.maximum b)",
    "pairs": "let (a, b) = unzip (filter (\\(x, i) -> x > i) (zip xs (map i32.i64 (iota n)))) "
             "in i32.sum (map2 (*) a b)",
    "rows": "map (\\x -> i32.sum (filter (> x) xs)) xs",
    "least": "reduce (\\(a, i) (b, j) -> if a < b || a == b && i < j then (a, i) else (b, j)) "
             "(100, 100) (filter (\\(x, _) -> x % 2 == 1) (zip xs (map i32.i64 (iota n))))",
    "divided": "i32.sum (map (100 /) (filter (!= 0) xs))",
    "last": "if n == 0 then 0 else last (scan (+) 0 xs)",
    "ends": "if n == 0 then 1 else let m = n - 1 in (scan (*) 1 xs)[m]",
}
WITH = {
    "one of two": "let (a, b) = partition (> 2) xs in (i32.sum a, b)",
    "kept": "let ys = filter (> 2) xs in (i32.sum ys, ys)",
    "in order": "let ys = filter (> 2) xs in loop s = 0 for y in ys do s * 2 + y",
    "other index": "let ys = filter (> 2) xs in i32.sum (map2 (*) ys (map i32.i64 (indices ys)))",
    "other end": "if n == 0 then 1 else last (scan (+) 0 xs)",
    "scan needed": "let ys = scan (+) 0 xs in ((if n == 0 then 0 else last ys), ys)",
    "other place": "if n == 0 then 0 else (scan (+) 0 xs)[0]",
}
INPUTS = [np.array(values, np.int32) for values in
          ([3, 1, 4, 1, 5, 0, -9, 2, 6], [0, 0, 1], [7], [])]


def text(body: str) -> str:
    indices = "def indices [n] 't (_: [n]t): [n]i64 = iota n\n" if "indices" in body else ""
    return f"{indices}entry main [n] (xs: [n]i32) = {body}"


def statements(body: ir.Body) -> Iterator[ir.Stm]:
    for stm in body.stms:
        yield stm
        for inner in bodies_inside(stm.exp):
            yield from statements(inner)


def intermediate(body: str) -> bool:
    """True if a program makes a filtered array or a scan after optimisation."""
    names = Names()
    (fun,) = optimise(load(Source("t", text(body)), names), names).funs
    return any(isinstance(stm.exp, ir.Scatter | ir.Scanomap) for stm in statements(fun.body))


@pytest.mark.parametrize("name", WITHOUT)
def test_reductions_need_no_array_in_between(name: str) -> None:
    assert not intermediate(WITHOUT[name])


@pytest.mark.parametrize("name", WITH)
def test_arrays_that_others_need_stay(name: str) -> None:
    assert intermediate(WITH[name])


@pytest.mark.parametrize("name", [*WITHOUT, *WITH])
def test_results_are_those_of_the_core(name: str) -> None:
    names = Names()
    core = load(Source("t", text({**WITHOUT, **WITH}[name])), names)
    optimised = optimise(core, names)
    program = runelift.compile(text({**WITHOUT, **WITH}[name]))
    for xs in INPUTS:
        expected: list[Any] = interpret(core, "main", [xs])
        for one, other in zip(interpret(optimised, "main", [xs]), expected, strict=True):
            np.testing.assert_array_equal(one, other)
        results_agree(program, "main", [xs], expected)
