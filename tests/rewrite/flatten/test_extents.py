"""Arrays inside of kernels whose size only the kernel knows."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.versions.forest import plans

HEAD = "entry main [n][m] (xss: [n][m]i32) ="
SHAPES = [(0, 3), (1, 1), (3, 17)]

PROGRAMS = {
    "read": "map (\\xs -> let k = i64.i32 (xs[0] & 7) "
            "in i32.sum (scan (+) 0 (map (\\i -> xs[i %% m] + i32.i64 i) (iota k)))) xss",
    "filter": "map (\\xs -> i32.sum (scan (+) 0 (filter (> 2) xs))) xss",
    "filter for each element":
        "map (\\xs -> i32.sum (map (\\x -> i32.sum (scan (+) 0 (filter (> x) xs))) xs)) xss",
    "filter in a while loop":
        "map (\\xs -> (loop (a, i) = (7, 0i32) while i < (a & 3) do "
        "(i32.maximum (scan (+) 0 (filter (> a) xs)), i + 1)).0) xss",
    "concatenation": "map (\\xs -> let k = i64.i32 (xs[0] & 3) let ys = filter (> 2) xs "
                     "in i32.sum (scan (+) 0 (filter (> 0) xs ++ ys ++ replicate k 1))) xss",
    "partition": "map (\\xs -> let (a, b) = partition (> 2) xs "
                 "in i32.sum (scan (+) 0 a) * i32.sum (scan (+) 0 b)) xss",
    "loop": "map (\\xs -> loop a = 0 for i < 5 do "
            "let ys = scan (+) 0 (map i32.i64 (iota (i + 1))) in a + ys[i / 2] + xs[0]) xss",
    "while": "map (\\xs -> (loop (a, i) = (0, 0i64) while i < i64.i32 (xs[0] & 3) do "
             "let ys = scan (+) 0 (map i32.i64 (iota (i + 2))) in (a + ys[i], i + 1)).0) xss",
    "branch": "map (\\xs -> if xs[0] > 0 then let ys = scan (+) 0 (iota (i64.i32 xs[0])) in ys[0] "
              "else 0) xss",
    "index": "map (\\i -> i64.sum (scan (+) 0 (scan (+) 0 (map (+ 1) (iota i))))) (iota n)",
    "two sizes": "map (\\xs -> let ys = scan (+) 0 (filter (> 2) xs) "
                 "in i32.sum (scan (+) 0 (filter (> 5) ys))) xss",
    "difference": "map (\\xs -> let k = i64.i32 (xs[0] & 3) "
                  "in i64.sum (scan (+) 0 (map (+ k) (iota (5 - k))))) xss",
    "a size that is known to equal another one":
        "map (\\xs -> let ys = filter (> 2) xs in (ys ++ filter (<= 2) xs) :> [m]i32) xss",
    "rows that are joined":
        "map (\\xs -> i32.sum (flatmap' (\\x -> let k = i64.i32 (x & 7) in reduce (map2 (+)) "
        "(replicate k 0) (map (\\y -> map (\\i -> y * i32.i64 i) (iota k)) xs)) xs).3) xss",
    "rows that are joined in a loop":
        "map (\\xs -> loop a = 0 for i < i64.i32 (xs[0] & 3) do a + i64.sum "
        "(flatmap' (\\x -> iota (i + i64.i32 (x & 3))) (filter (> 1) xs)).3) xss",
    "joined rows of a loop's index":
        "map (\\xs -> loop a = 0 for i < i64.i32 (xs[0] & 3) + 2 do a + i64.sum "
        "(flatmap' (\\x -> filter (> x) (iota i)) (iota i)).3) xss",
    "joined rows that earlier rows decide":
        "map (\\xs -> loop a = 0 for i < i64.i32 (xs[0] & 3) do a + i64.sum "
        "(flatmap' (\\x -> iota (a + i64.i32 (x & 1))) xs).3 % 5) xss",
    "joined rows that earlier rows decide, in a while loop":
        "map (\\xs -> (loop (a, k) = (0, i64.i32 (xs[0] & 7)) while k > 0 do let ys = (flatmap' "
        "(\\x -> iota ((a & 3) + i64.i32 (x & 1))) xs).3 in (a + i64.sum ys, k / 2)).0) xss",
    "filtered rows that are joined":
        "map (\\xs -> i32.sum (flatmap' (\\x -> let k = i64.i32 (x & 3) in filter (> 1) "
        "(scan (+) 0 (map (+ x) (replicate k k |> map i32.i64)))) xs).3) xss",
    "inner reduction":
        "reduce (+) 0 (map (\\xs -> i32.sum (scan (+) 0 (filter (> 0) xs))) xss)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_first_kernel_bounds_the_size(name: str, simulator: str) -> None:
    program = runelift.compile(f"{HEAD} {PROGRAMS[name]}", device=simulator)
    for shape in SHAPES:
        xss = np.random.default_rng(shape[1]).integers(-1, 9, shape).astype(np.int32)
        expected = interpret(program.compiled.core, "main", [xss])
        for force in plans(program.tree.entry("main")):
            found, _ = program.run("main", [xss], force=force)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{shape} {force}")


@pytest.mark.parametrize("name", [each for each in PROGRAMS if "joined" in each])
def test_no_policy_refuses_them(name: str) -> None:
    compiled = compile_source(Source(name, f"{HEAD} {PROGRAMS[name]}"), policy="moderate")
    assert compiled.plan("main").steps


def test_explain_says_why() -> None:
    program = runelift.compile(f"{HEAD} {PROGRAMS['read']}", device="interpreter")
    (derivation,) = program.compiled.derivations
    assert "extent" in derivation.render()
    assert "its greatest value is found first" in derivation.render()


IRREGULAR = {
    "loop": "map (\\xs -> i32.sum (loop ys = xs :> []i32 for _i < 3 do "
            "filter (> 2) (map (* 2) ys))) xss",
    "while": "map (\\xs -> let ys = loop ys = [1] while length ys < i64.i32 (xs[0] & 7) "
             "do ys ++ ys in i64.i32 ys[0] + length ys) xss",
    "branch": "map (\\xs -> let ys = if xs[0] > 2 then iota 3 else iota (i64.i32 (xs[0] & 3) + 1) "
              "in i64.sum (scan (+) 0 (copy ys with [0] = 7))) xss",
    "rows": "map (\\xs -> let ys = if xs[0] > 2 then xs else filter (> 0) xs "
            "in map (\\x -> f32.i32 (x + i32.sum (scan (+) 0 ys))) xs) xss",
    "truth": "map (\\xs -> let ys = if xs[0] > 2 then xs else filter (> 0) xs "
             "in map (\\x -> x > i32.sum (scan (+) 0 ys)) xs) xss",
    "nested": "map (\\xs -> map (\\x -> let ys = loop ys = [x] for _i < x & 3 do ys ++ ys "
              "in length ys + i64.i32 ys[0]) xs) xss",
    "scan": "scan (+) 0 (map (\\xs -> last (loop ys = [xs[0]] for _i < xs[0] & 3 "
            "do ys ++ [last ys + 1])) xss)",
    "scatter": "scatter (replicate m 0) (map (\\xs -> i64.i32 (last (loop ys = [xs[0]] "
               "for _i < xs[0] & 3 do ys ++ [last ys - 1]))) xss) (iota n)",
    "histogram": "hist (+) 0 m (map (\\xs -> i64.i32 (last (loop ys = [xs[0]] "
                 "for _i < xs[0] & 3 do ys ++ [last ys - 1]))) xss) (iota n)",
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_points_whose_sizes_nothing_bounds_run_in_turn(name: str, simulator: str) -> None:
    program = runelift.compile(f"{HEAD} {IRREGULAR[name]}", device=simulator)
    (derivation,) = program.compiled.derivations
    parted = name in ("rows", "truth")  # a branch runs over its points (G19)
    assert ("the points run in turn" in derivation.render()) is not parted
    for shape in SHAPES:
        xss = np.random.default_rng(shape[1]).integers(-1, 9, shape).astype(np.int32)
        expected = interpret(program.compiled.core, "main", [xss])
        for force in plans(program.tree.entry("main")):
            found, _ = program.run("main", [xss], force=force)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{shape} {force}")


def test_a_version_without_such_sizes_is_preferred(simulator: str) -> None:
    """The flat version runs the loop once for all rows."""
    body = ("map (\\xs -> let ys = loop ys = [1] for _i < 3 do ys ++ ys "
            "in i32.sum xs + ys[0]) xss")
    program = runelift.compile(f"{HEAD} {body}", device=simulator)
    (derivation,) = program.compiled.derivations
    assert "the points run in turn" not in derivation.render()
    np.testing.assert_array_equal(program.main(np.ones((2, 3), np.int32)), [4, 4])


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_a_range_without_a_step(device: str) -> None:
    """The check of a range in a map comes before the division by its step."""
    program = runelift.compile("entry main [n] (as: [n]i64) (bs: [n]i64) (cs: [n]i64) =\n"
                               "  map3 (\\a b c -> i64.sum (a..b..<c)) as bs cs", device=device)
    first, second = np.array([1, 2]), np.array([3, 4])
    assert program.main(first, second, np.array([10, 9])).tolist() == [25, 20]
    with pytest.raises(runelift.ProgramFailure, match=r"Range 2\.\.2\.\.<8 is invalid"):
        program.main(first, np.array([3, 2]), np.array([10, 8]))
