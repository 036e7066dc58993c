"""Random programs whose results are derivatives: forward, reverse, and forward over reverse mode.

Half of the programs compute with integers, which wrap, so that all versions agree exactly.  The
others compute with floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_programs.writer import Family, Kind

_TYPES = (("f64", "r.i64 x / 4", "x / (1 + x * x)"), ("i64", "x", "x * 3 - x * x"))
"""A type, how integers become it, and a function with a bend."""
_AROUND = ("map (f is vs) xss", "map (\\xs -> f is xs (map (* vs[0]) xs)) xss",
           "map (\\xs -> map (* r.maximum xs) (f is vs xs)) xss")
_WANTED = ("jvp2 (g is) (vs, xss) (us, tss)", "vjp2 (g is) (vs, xss) yss",
           "jvp2 (\\both -> vjp (g is) both yss) (vs, xss) (us, tss)")
_PROGRAM = """
module r = {}
type t = {}
def of (x: i64): t = {}
def bent (x: t): t = {}
def f [n] (is: [n]i64) (vs_0: [n]t) (xs_0: [n]t): [n]t =
  $row
def g [m][n] (is: [n]i64) (vs: [n]t, xss: [m][n]t): [m][n]t = {}
entry main [m][n] (is: [n]i64) (vs: [n]i64) (xss: [m][n]i64) (yss: [m][n]i64) =
  let (vs, us) = (map of vs, map of (reverse vs))
  let (xss, yss, tss) = (map (map of) xss, map (map of) yss, map (map of) (reverse yss))
  in {}
"""

_GRAMMAR = {
    "program": Kind(tuple(_PROGRAM.format(number, number, of, bent, around, wanted)
                          for number, of, bent in _TYPES for around in _AROUND
                          for wanted in _WANTED), plain=True),
    "row": Kind(("$n", "$n", "map bent $n"), (
        *["map (\\%x -> ${a x}) $row"] * 2, *["map2 (\\%x %y -> ${a x y}) $row $row"] * 2,
        "scan (+) 0 $row", "scan r.min r.highest $row", "scan (*) 1 $row",
        "map (.0) (scan (\\(%x, %y) (%z, %u) -> (%x * %u + %z, %y * %u)) (0, 1) (zip $row $row))",
        "let %xs = $row in ${row xs}",
        "let %x = r.sum $row in map (* %x) $row", "let %x = r.maximum $row in map (+ %x) $row",
        "let %x = r.product $row in map (+ %x) $row",
        "let %x = reduce (\\%z %u -> %z * %u + %z + %u) 0 $row in map (+ %x) $row",
        "loop %xs = $row for _i < 2i32 do ${row xs}",
        "loop %xs = copy $row for k < n do %xs with [(k * 3) % n] = ${a xs} + %xs[k]",
        "scatter (copy $row) (map (\\k -> (k * 3 + 1) % (n + 1)) (iota n)) $row",
        "let %xs = $row in map (\\k -> %xs[(k * 3 + 1) % n] * %xs[k]) (iota n)",
        "let %xs = $row in map (\\k -> r.sum (map (\\j -> %xs[(k + j) % n] * ${a xs}) "
        "(iota (k % 3)))) (iota n)",
        "let %xs = $row in map (\\k -> loop %y = %xs[k] for j < k % 3 do %y * ${a y} + "
        "r.sum (map (\\i -> %xs[(i * j + k) % n]) (iota 2))) (iota n)",
        "reduce_by_index (copy $row) (+) 0 is $row",
        "reduce_by_index (copy $row) r.max r.lowest is $row",
        "reduce_by_index (copy $row) (*) 1 is $row",
        "if $a > $a then $row else $row",
        "let %xs = $row in map (\\%x -> r.sum (map (\\%y -> %x * ${a x y}) %xs)) $row",
        "map (\\%x -> loop %y = %x for _i < 2i32 do %y * %x + ${a x y}) $row",
        "map (\\%x -> loop %y = %x while r.abs %y < 9 do %y * %y + %x * %x + 1) $row",
        "rotate 1 $row", "reverse $row")),
    "n": Kind(("vs_0",), named=0.9),
    "a": Kind(("$n[$at]", "2"), ("$a * $a", "$a + $a", "r.max $a $a", "r.abs $a", "bent $a",
                                 "if $a > $a then $a else $a"), named=0.7),
    "at": Kind(("0", "n - 1", "3 % n"), plain=True),
}


def _inputs(seed: int) -> list[list[Any]]:
    """Small numbers, so that some are equal, and buckets, some of them out of range."""
    rng = np.random.default_rng(seed)
    return [[rng.integers(-1, n + 1, n), *(rng.integers(-4, 5, shape)
                                           for shape in ((n,), (m, n), (m, n)))]
            for m, n in ((3, 4), (2, 1))[:1 + (seed % 4 == 0)]]


DERIVED = Family(_GRAMMAR, {"vs_0": "n", "xs_0": "n"}, lambda seed: 1 + seed % 3, _inputs,
                 close=1e-7)
