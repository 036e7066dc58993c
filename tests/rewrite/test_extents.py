"""Arrays inside of kernels whose size only the kernel knows."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.errors import CompilerLimitation
from runelift.ir.interpret import interpret
from runelift.runtime.tuner.forest import plans

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


def test_explain_says_why() -> None:
    program = runelift.compile(f"{HEAD} {PROGRAMS['read']}", device="interpreter")
    (derivation,) = program.compiled.derivations
    assert "extent" in derivation.render()
    assert "its greatest value is found first" in derivation.render()


def test_sizes_that_are_carried_from_iteration_to_iteration_are_refused(simulator: str) -> None:
    body = "map (\\xs -> i32.sum (loop ys = xs :> []i32 for _i < 3 do filter (> 2) (map (* 2) ys)))"
    program = runelift.compile(f"{HEAD} {body} xss", device=simulator)
    with pytest.raises(CompilerLimitation, match="known only inside"):
        program.main(np.ones((2, 3), np.int32))
