"""Host plans: what they read back from the device, and where they copy."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.hostplan.arrays import LITERAL_ELEMENTS
from runelift.codegen.plan.plan import kernels
from runelift.ir.interpret import interpret

REDUCED = "entry main [n] (xs: [n]f32): [n]f32 = {}"
DEFERRED = {
    "a result of a reduction": "let s = f32.sum xs in map (/ s) xs",
    "arithmetic on results": (
        "let mean = f32.sum xs / f32.i64 n let var = f32.sum (map (\\x -> (x - mean) ** 2) xs)"
        " in map (\\x -> (x - mean) / f32.sqrt (1 + var)) xs"),
    "an element": "let x = xs[n - 1] in map (+ x) xs",
    "an element that is overwritten": (
        "loop ys = copy xs for i < 3 do let y = ys[0] let ys[0] = 7 in map (+ y) ys"),
    "a value that is written": "let s = f32.sum xs in copy xs with [0] = s",
    "a loop's value": (
        "(loop (s, ys) = (0, copy xs) for _i < 3 do (s + f32.sum ys, map (+ s) ys)).1"),
    "values that iterations exchange": (
        "(loop (a, b, ys) = (f32.sum xs, 2, copy xs) for _i < 3 do"
        " (b, a + f32.minimum ys, map (\\y -> y * b - a) ys)).2"),
    "a branch's value": (
        "let s = f32.sum xs let (a, b) = if n > 3 then (s, 1) else (2, s * 3)"
        " in map (\\x -> x * a + b) xs"),
    "a version's value": (
        "let s = f32.sum (map (\\x -> f32.product (map (+ x) xs)) xs) in map (/ s) xs"),
}
NEEDED = {
    "a branch": "let s = f32.sum xs in if s > 3 then map (+ 1) xs else map (* s) xs",
    "a bound": "let s = i32.f32 (f32.sum xs) in loop ys = copy xs for _i < s % 4 do map (+ 1) ys",
    "an assertion": "let s = f32.sum xs in assert (s > 0) (map (/ s) xs)",
    "a condition": (
        "(loop (s, ys) = (0, copy xs) while s < 20 do (s + f32.sum ys, map (+ s) ys)).1"),
}


def reads(program: runelift.Program) -> int:
    return program.source("host").partition("def ending(")[0].count("rt.reads(")


@pytest.mark.parametrize("body", DEFERRED.values(), ids=DEFERRED)
def test_scalars_stay_on_the_device(body: str) -> None:
    program = runelift.compile(REDUCED.format(body), tuning={})
    assert not reads(program)
    _agree(program, body)


@pytest.mark.parametrize("body", NEEDED.values(), ids=NEEDED)
def test_scalars_that_the_host_needs_are_read(body: str) -> None:
    program = runelift.compile(REDUCED.format(body), tuning={})
    assert reads(program)
    _agree(program, body)


def _agree(program: runelift.Program, body: str) -> None:
    xs = np.array([1.5, 0.25, 3.0, 0.5], np.float32)
    expected = runelift.compile(REDUCED.format(body), device="interpreter").main(xs)
    assert np.allclose(program.main(xs), expected, rtol=1e-5)


@pytest.mark.parametrize("count", [1, 3, LITERAL_ELEMENTS, LITERAL_ELEMENTS + 3])
def test_scalars_are_put_into_an_array_by_few_kernels(count: int, simulator: str) -> None:
    elems = ", ".join("s" if k % 3 == 1 else f"{k} - k" if k % 3 else str(k) for k in range(count))
    text = f"entry main [n] (xs: [n]i32) (k: i32) = let s = i32.sum xs in [{elems}]"
    program = runelift.compile(text, device=simulator)
    plan = program.compiled.plan("main")
    written = sum(kernel.kind == "segscatter" for kernel in kernels(plan.steps))
    assert written == -(-count // LITERAL_ELEMENTS)
    xs = np.array([4, 5], np.int32)
    found, _ = program.run("main", [xs, np.int32(3)])
    want = [9 if k % 3 == 1 else k - 3 if k % 3 else k for k in range(count)]
    np.testing.assert_array_equal(found[0], np.array(want, np.int32))


PLACES = {
    "a slice": "let ys = #[unsafe] xs[s:s + 3] in if ys[1] > 3 then map (+ 1) xs else xs",
    "a slice of a slice": "let ys = #[unsafe] xs[s:s + 4] let zs = #[unsafe] ys[t:t + 2] "
                          "in if zs[1] > 3 then map (+ 1) xs else xs",
    "a reshaped slice": "let ys = #[unsafe] (unflatten (xs :> [4 * 2]i32))[s:s + 2] "
                        "in if (flatten ys)[3] > 3 then map (+ 1) xs else xs",
    "a reversed slice": "let ys = reverse (#[unsafe] xs[s:s + 3]) "
                        "in if ys[0] > 3 then map (+ 1) xs else xs",
}
"""Elements of views, which the host reads; kernels compute where the views begin."""


@pytest.mark.parametrize("body", PLACES.values(), ids=PLACES)
def test_the_host_reads_where_views_begin(body: str) -> None:
    program = runelift.compile(f"""
        entry main (ks: [3]i64) (xs: [8]i32): [8]i32 =
          let s = i64.sum ks let t = i64.maximum ks in {body}""", tuning={})
    for ks in ([0, 1, 0], [1, 1, 0], [0, 0, 0]):
        args = [np.array(ks), np.array([1, 5, 2, 9, 3, 3, 8, 0], np.int32)]
        (expected,) = interpret(program.compiled.core, "main", args)
        np.testing.assert_array_equal(program.main(*args), expected)
