"""Small programs: elaborated, interpreted, optimised, flattened; every form means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramFailure, UserError
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Program
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise

I32 = np.int32
XS = np.array([3, 1, 4, 1, 5], I32)
FS = np.array([0.5, 1.5, -2.0], np.float32)
MATRIX = np.arange(6, dtype=I32).reshape(2, 3)


def forms(text: str) -> dict[str, tuple[Program, int]]:
    """The program in core, optimised and versioned form, with the version to choose."""
    names = Names()
    core = load(Source("t", text), names)
    check(core)
    optimised = optimise(core, names)
    found = {"core": (core, 0), "optimised": (optimised, 0)}
    for policy in ("all", "full", "divided", "classic", "moderate"):
        versioned = clean(flatten(optimised, names, policy=policy), names)
        for version in range(3):
            found[f"{policy} {version}"] = (versioned, version)
    return found


def results(text: str, *args: Any) -> list[Any]:
    """The results, after checking that all forms agree."""
    expected: list[Any] | None = None
    for form, (program, version) in forms(text).items():
        found = interpret(program, "main", args, choose=lambda v, k=version: min(  # type: ignore[misc]
            k, len(v.alternatives) - 1))
        expected = expected or found
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=form)
            assert np.asarray(a).dtype == np.asarray(b).dtype, form
    assert expected is not None
    return expected


CASES: list[tuple[str, list[Any], list[Any]]] = [
    ("entry main (x: i32): i32 = x + 1", [I32(4)], [5]),
    ("entry main (x: i32) (y: i32) = (x / y, x % y, x // y, x %% y)", [I32(-7), I32(2)],
     [-4, 1, -3, -1]),
    ("entry main (x: u8) = (x + 250u8, x << 9u8, x >> 1u8)", [np.uint8(10)], [4, 0, 5]),
    ("entry main (x: f32) = (f32.sqrt x, i32.f32 x, x < 3)", [np.float32(2.25)], [1.5, 2, True]),
    ("entry main [n] (xs: [n]i32) = map (*2) xs", [XS], [XS * 2]),
    ("entry main [n] (xs: [n]i32) = (i32.sum xs, i32.maximum xs, reduce (*) 1 xs)", [XS],
     [14, 5, 60]),
    ("entry main [n] (xs: [n]i32) = scan (+) 0 xs", [XS], [np.cumsum(XS).astype(I32)]),
    ("entry main [n] (xs: [n]i32) = filter (> 2) xs", [XS], [np.array([3, 4, 5], I32)]),
    ("entry main [n] (xs: [n]i32) = partition (> 2) xs", [XS],
     [np.array([3, 4, 5], I32), np.array([1, 1], I32)]),
    ("entry main [n] (xs: [n]i32) = reverse xs", [XS], [XS[::-1]]),
    ("entry main [n] (xs: [n]i32) = rotate 2 xs", [XS], [np.roll(XS, -2)]),
    ("entry main [n] (xs: [n]i32) = xs[1:4]", [XS], [XS[1:4]]),
    ("entry main [n] (xs: [n]i32) = concat xs (take 2 xs)", [XS], [np.concatenate([XS, XS[:2]])]),
    ("entry main [n] (xs: *[n]i32) = xs with [2] = 9", [XS], [np.array([3, 1, 9, 1, 5], I32)]),
    ("entry main [n] (xs: *[n]i32) = loop xs for i < n do xs with [i] = xs[i] + i32.i64 i", [XS],
     [XS + np.arange(5, dtype=I32)]),
    ("entry main [n][m] (xss: [n][m]i32) = transpose xss", [MATRIX], [MATRIX.T]),
    ("entry main [n][m] (xss: [n][m]i32) = flatten (map (map (+1)) xss)", [MATRIX],
     [(MATRIX + 1).ravel()]),
    ("entry main [n][m] (xss: [n][m]i32) = map (\\xs -> (i32.sum xs, scan (+) 0 xs)) xss |> unzip",
     [MATRIX], [MATRIX.sum(1).astype(I32), np.cumsum(MATRIX, 1).astype(I32)]),
    ("entry main [n][m] (xss: [n][m]i32) = reduce (map2 (+)) (replicate m 0) xss", [MATRIX],
     [MATRIX.sum(0).astype(I32)]),
    ("entry main [n][m] (xss: [n][m]i32) = scan (map2 (+)) (replicate m 0) xss", [MATRIX],
     [np.cumsum(MATRIX, 0).astype(I32)]),
    ("entry main [n][m] (xss: [n][m]i32) = map (\\xs -> loop ys = xs for _i < 3 do "
     "scan (+) 0 (map (+1) ys)) xss", [MATRIX], []),
    ("entry main [n][m] (b: bool) (xss: [n][m]i32) = map (\\xs -> if b then scan (+) 0 xs "
     "else map (*2) xs) xss", [True, MATRIX], [np.cumsum(MATRIX, 1).astype(I32)]),
    ("entry main [n][m] (xss: [n][m]i32) = map (\\xs -> let y = i32.sum xs "
     "in map (\\x -> x * y) xs) xss", [MATRIX], [MATRIX * MATRIX.sum(1, keepdims=True)]),
    ("entry main [n] (is: [n]i64) (vs: [n]i32) = scatter (replicate 4 0) is vs",
     [np.array([0, 9, 2, -1, 3]), XS], [np.array([3, 0, 4, 5], I32)]),
    ("entry main [n] (is: [n]i64) = reduce_by_index (replicate 3 0i32) (+) 0 is (replicate n 1)",
     [np.array([0, 2, 2, 7, 0])], [np.array([2, 0, 2], I32)]),
    ("entry main (n: i64) = tabulate_2d n 3 (\\i j -> i * 10 + j)", [np.int64(2)],
     [np.array([[0, 1, 2], [10, 11, 12]])]),
    ("entry main (x: i32): i32 = (loop (a, b) = (x, 0) while a > 1 do (a / 2, b + 1)).1",
     [I32(40)], [5]),
    ("entry main [n] (xs: [n]i32) = loop s = 0 for x in xs do s * 2 + x", [XS], [79]),
    ("entry main [n] (xs: [n]f32) = all (> 0) xs && any (< 0) xs", [FS], [False]),
    ("def f 't [n] (g: t -> t) (xs: [n]t) = map (g >-> g) xs\n"
     "entry main [n] (xs: [n]i32) = f (+1) xs", [XS], [XS + 2]),
    ("entry main [n] (xs: [n]i32) = let (ys, zs) = unzip (map (\\x -> (x, x * x)) xs) "
     "in map2 (-) zs ys", [XS], [XS * XS - XS]),
    ("entry main (n: i64) = map (\\i -> map (\\j -> i32.i64 (i * j)) (iota 3)) (iota n)",
     [np.int64(2)], [np.array([[0, 0, 0], [0, 1, 2]], I32)]),
    ("entry main [n] (xs: [n]i32) = map (\\x -> loop ys = replicate 3 x for i < 3 do "
     "ys with [i] = ys[i] + i32.i64 i) xs", [XS], [XS[:, None] + np.arange(3, dtype=I32)]),
    ("entry main (n: i64) = n..n-2..>0", [np.int64(7)], [np.array([7, 5, 3, 1])]),
    ("entry main = f32.pi > 3 && i32.highest == 2147483647", [], [True]),
    ("entry main (x: i32) = (i32.popc x, i32.clz x, x ** 3, i32.abs (-x))", [I32(6)],
     [2, 29, 216, 6]),
]


@pytest.mark.parametrize(("text", "args", "expected"), CASES, ids=lambda v: str(v)[:40])
def test_program(text: str, args: list[Any], expected: list[Any]) -> None:
    found = results(text, *args)
    for a, b in zip(found, expected, strict=False):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1), (1, 5), (5, 1)])
def test_empty_and_single_rows(shape: tuple[int, int]) -> None:
    xss = np.arange(np.prod(shape), dtype=I32).reshape(shape)
    text = ("entry main [n][m] (xss: [n][m]i32) = map (\\xs -> let s = i32.sum xs "
            "in scan (+) 0 (map (+s) xs)) xss")
    (found,) = results(text, xss)
    want = np.cumsum(xss + xss.sum(1, keepdims=True), 1).astype(I32)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("text", "args", "message"), [
    ("entry main [n] (xs: [n]i32) (i: i64) = xs[i]", [XS, np.int64(7)],
     r"Index \[7\] out of bounds for array of shape \[5\]"),
    ("entry main (x: i32) = 1 / x", [I32(0)], "Division by zero"),
    ("entry main (x: i32) = assert (x > 0) x", [I32(0)], r"Assertion is false: \(x > 0\)"),
    ("entry main (x: i32) = 1...x", [I32(0)], r"Range 1\.\.\.0 is invalid"),
    ("entry main (x: i32) = x..3...5", [I32(4)], r"Range 4\.\.3\.\.\.5 is invalid"),
    ("entry main (x: i32) = 4..x..>2", [I32(4)], r"Range 4\.\.4\.\.>2 is invalid"),
    ("entry main (x: i32) = 4..x..<6", [I32(3)], r"Range 4\.\.3\.\.<6 is invalid"),
    ("entry main [n] (xs: [n]i32) = xs :> [3]i32", [XS],
     r"Value of shape \[5\] cannot match shape \[3\]"),
])
def test_failure_names_its_cause_and_place(text: str, args: list[Any], message: str) -> None:
    names = Names()
    with pytest.raises(ProgramFailure, match=r"t:1:\d+: error\[[a-z-]+\]: " + message):
        interpret(load(Source("t", text), names), "main", args)


def test_sizes_must_agree() -> None:
    names = Names()
    program = load(Source("t", "entry main [n] (xs: [n]i32) (ys: [n]i32) = map2 (+) xs ys"), names)
    with pytest.raises(UserError, match="size 'n' is 5"):
        interpret(program, "main", [XS, XS[:3]])


def test_text_names_every_statement() -> None:
    names = Names()
    program = load(Source("t", "entry main (x: i32) = x + 1"), names)
    assert "add.i32(x_1, 1i32)" in pretty(program)


@pytest.mark.parametrize(("text", "args", "want"), [
    ("entry main (xs: []i32) (ys: []i32) = map2 (-) xs ys", [XS, XS], [0] * 5),
    ("def (<+>) (x: i32) (y: i32) = 2 * x + y\nentry main (x: i32) = x <+> 3 <+> 4", [I32(1)], 14),
    ("entry main [n] (xs: [n]i32) = foldl (\\a x -> 10 * a + x) 0 xs", [XS], 31415),
    ("entry main [n] (xs: [n]i32) = foldr (\\x a -> 10 * a + x) 0 xs", [XS], 51413),
    ("entry main (x: i32) = iterate 5 (* 2) x", [I32(3)], 96),
    ("entry main (x: i32) = iterate_until (> 50) (* 2) x", [I32(3)], 96),
    ("entry main (x: i32) = iterate_while (< 50) (* 2) x", [I32(3)], 96),
    ("type ints [n] = [n]i32\nentry main [n] (_: ints [n]) = n", [XS], 5),
    ("entry main [n] (is: [n]i64) = reduce_by_index_2d (replicate 2 (replicate 2 0i64)) (+) 0 "
     "(map (\\i -> (i % 3, i / 3)) is) is", [np.arange(9)], None),
    ("entry main [n] (xs: [n]i32) = opaque xs", [XS], XS.tolist()),
    ("entry main (x: i8) = u32.i8 x", [np.int8(-128)], 128),
    ("entry main (x: i8) = u16.i8 x", [np.int8(-2)], 254),
    ("entry main (x: i32) = u64.i32 x", [I32(-2)], 2**32 - 2),
    ("entry main (x: i32) = u8.i32 x", [I32(-2)], 254),
    ("entry main (x: i8) = i64.i8 x", [np.int8(-128)], -128),
])
def test_prelude_and_declarations(text: str, args: list[Any], want: Any) -> None:
    (found,) = results(text, *args)
    if "reduce_by_index_2d" in text:
        want = np.zeros((2, 2), np.int64)
        for i in range(9):
            if i % 3 < 2 and i // 3 < 2:
                want[i % 3, i // 3] += i
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("text", "want"), [
    ("entry main (xs: []i64) = flatmap (\\x -> (map (+ 10 * x) (iota x), 2 * x)) xs",
     ([3, 0, 2], [True, False, False, True, False], [0, 3, 3], [30, 31, 32, 20, 21], [6, 0, 4])),
    ("entry main (xs: []i64) = flatmap' (\\x -> filter (> 0) (map (x -) (iota 3))) xs",
     ([3, 0, 2], [True, False, False, True, False], [0, 3, 3], [3, 2, 1, 2, 1])),
    ("entry main (xs: []i64) = flatmap' (\\x -> replicate (x - 1) [x, 7]) (filter (> 0) xs)",
     ([2, 1], [True, False, True], [0, 2], [[3, 7], [3, 7], [2, 7]])),
    ("entry main (xs: []i64) = (flatmap' (\\x -> iota x) (filter (> 9) xs)).3", ([],)),
])
def test_flatmap(text: str, want: tuple[list[Any], ...]) -> None:
    found = results(text, np.array([3, 0, 2]))
    for ours, theirs in zip(found, want, strict=True):
        assert np.asarray(ours).tolist() == theirs
