"""Derivatives in every version on a device, beside the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import VersionUnavailable
from runelift.ir.interpret import interpret
from runelift.runtime.versions.forest import plans

RNG = np.random.default_rng(11)
XSS, YSS = RNG.normal(size=(2, 5, 7))
IS = np.array([0, 2, 1, 2, 9])
PROGRAMS: dict[str, tuple[str, list[Any]]] = {
    "products": ("entry main [n][m][k] (a: [n][m]f64) (b: [k][m]f64) = "
                 "vjp (\\(a, b) -> f64.sum (flatten (map (\\x -> map (\\y -> "
                 "f64.sum (map2 (*) x y)) b) a)) ** 2) (a, b) 1", [XSS, YSS]),
    "loops": ("entry main [n][m] (a: [n][m]f64) = vjp (map (\\x -> loop y = x for i < 3 do "
              "map2 (*) y (rotate i x))) a (map (map (* 2)) a)", [XSS]),
    "buckets": ("entry main [n][m] (is: [n]i64) (a: [3][m]f64) (b: [n][m]f64) = "
                "vjp (\\(a, b) -> reduce_by_index (copy a) (map2 (*)) (replicate m 1) is b) "
                "(a, b) (map (map (+ 1)) a)", [IS, XSS[:3], YSS]),
    "winners": ("entry main [n][m] (is: [n]i64) (a: [3][m]f64) (b: [n][m]f64) = "
                "vjp (\\(a, b) -> reduce_by_index (copy a) (map2 f64.max) (replicate m (-9)) is b) "
                "(a, b) (map (map (+ 1)) a)", [IS, XSS[:3], YSS]),
    "scans": ("entry main [n][m] (a: [n][m]f64) = vjp (map (\\x -> map (.0) (scan (\\(a, b) (c, d) "
              "-> (a * d + c, b * d)) (0, 1) (zip x (rotate 1 x))))) a (map (map (* 2)) a)", [XSS]),
    "gathers": ("entry main [n][m] (a: [n][m]f64) = vjp (\\a -> tabulate n (\\i -> f64.sum "
                "(tabulate m (\\j -> a[(i * j) % n, j] * a[i, 0])))) a (replicate n 1)", [XSS]),
    "selections": ("entry main [n][m] (is: [n]i64) (a: [n][m]f64) = vjp (\\a -> let least = "
                   "(\\(a, i: i64) (b, j) -> if a < b then (a, i) else (b, j)) in map (\\x -> "
                   "let (v, i) = reduce least (9, -1) (zip x (iota m)) in v * f64.i64 i) a ++ "
                   "map (.0) (reduce_by_index (zip (copy a[:, 0]) is) least (9, -1) is "
                   "(zip a[:, 1] is))) a (tabulate (n + n) f64.i64)", [IS, XSS]),
    "factors": ("entry main [n][m] (is: [n]i64) (a: [n][m]f64) = vjp (\\a -> map f64.product a ++ "
                "reduce_by_index (copy a[:, 0]) (*) 1 is a[:, 1]) (map (map (\\x -> if x > 1 then "
                "0 else x)) a) (tabulate (n + n) f64.i64)", [IS, XSS]),
    "whiles": ("entry main [n][m] (a: [n][m]f64) = vjp (map (map (\\x -> loop y = x while "
               "f64.abs y < 3 do y * y + 0.5 + x * x))) a a", [XSS]),
    "bounds": ("entry main [n][m] (a: [n][m]f64) = vjp (map (map (\\x -> #[bound(9)] loop y = x "
               "while f64.abs y < 3 do y * y + 0.5 + x * x))) a a", [XSS]),
    "checkpoints": ("entry main [n][m] (a: [n][m]f64) = vjp (\\a -> #[stripmine(1)] loop b = a "
                    "for i < 7 do map (map (\\x -> f64.sin x + x * x / 9)) (rotate i b)) a a",
                    [XSS]),
    "counts": ("entry main [n] (is: [n]i64) (a: [n]f64) = vjp (\\a -> map2 (\\x k -> "
               "loop y = x for i < k do y * f64.sin y + a[i % n]) a is) a a", [IS, XSS[:, 0]]),
    "segments": ("entry main [n][m] (is: [n]i64) (a: [n][m]f64) = vjp (\\a -> map (\\i -> f64.sum "
                 "(map (\\j -> a[(i + j) % n, 0] * a[j % n, 1]) (iota (i % 4))) + (loop s = 0 for "
                 "j < i % 4 do s + f64.sum (map2 (*) a[(i + j) % n] a[i % n]))) is) a "
                 "(replicate n 1)", [IS, XSS]),
    "hessian": ("entry main [n] (x: [n]f64) = map (\\t -> jvp (\\x -> vjp (\\x -> f64.sum "
                "(map2 (*) x (map f64.sin (rotate 1 x)))) x 1) x t) "
                "(tabulate_2d n n (\\i j -> f64.bool (i == j)))", [XSS[0]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_versions_agree_with_the_oracle(name: str) -> None:
    text, args = PROGRAMS[name]
    program = runelift.compile(text)
    expected = interpret(program.compiled.core, "main", args)
    forced: list[dict[str, int]] = [{}, *plans(program.tree.entry("main"))]
    for force in forced:
        try:
            found, _ = program.run("main", args, force=force)
        except VersionUnavailable:  # a device need not have room for it
            continue
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
