"""Scalars that reach nothing but kernels."""

from __future__ import annotations

import pytest

from runelift.codegen.plan.free_scalars import free_scalars
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source

CASES = {
    "to a kernel": ("(k: f32) (xs: []f32) = map (* k) xs", ["k"]),
    "through the host": ("(k: f32) (xs: []f32) = map (\\x -> x * (k * k + 1)) xs", ["k"]),
    "some of them": ("(k: i64) (c: i32) (xs: []i32) = map (+ c) xs ++ replicate k c", ["c"]),
    "a size": ("(n: i64) (xs: [n]i32) = map (+ i32.i64 n) xs", []),
    "a computed size": ("(n: i64) = iota (n * 2)", []),
    "an end of a loop": (
        "(k: i32) (xs: []i32) = loop ys = xs for _i < k do map (* 3) (rotate 1 ys)", []),
    "inside of a loop": (
        "(c: i32) (xs: []i32) = loop ys = xs for _i < 3i32 do map (* c) (rotate 1 ys)", []),
    "a branch": ("(c: i32) (xs: []i32) = if c > 3 then map (+ 1) xs else xs", []),
    "a result": ("(c: i32) (xs: []i32) = (c + 1, map (* c) xs)", []),
    "a check": ("(i: i64) (c: i32) (xs: []i32) = xs[i] + i32.sum (map (* c) xs)", ["c"]),
    "a result that kernels know": ("(c: f32) (xs: []f32) = (f32.sum xs * c, map (* c) xs)", []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_free(case: str) -> None:
    text, expected = CASES[case]
    compiled = compile_source(Source("text", f"entry main {text}"))
    for coherent in (False, True):
        found = free_scalars(compiled.plan("main", coherent=coherent, interleave=coherent))
        assert [name.base for name in found.params] == expected
