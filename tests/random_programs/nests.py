"""Random programs over matrices and vectors: nests of all constructs over all kinds of types.

Nested maps with reductions, scans, histograms, scatters, streams, filters, loops, branches, updates
in place and layouts, with operators over scalars, vectors, tuples, records, sum types and hidden
types of modules.  Numbers are integers, or small multiples of a half (f16, too), so that results
are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tests.random_programs.writer import Family, Kind

DECLARATIONS = """\
type shape = #none | #one i32 | #two i32 i32
type nest = #empty | #leaf shape | #both shape {l: shape, r: i32}
type cells [k] = #row ([k]i32) | #cell i32 | #deep nest
def area (s: shape) = match s case #none -> 1i32 case #one x -> x case #two x y -> x - y
def weight (t: nest) = match t
  case #empty -> 2i32
  case #leaf (#one x) -> x
  case #leaf s -> area s * 3
  case #both #none {l = #two x _, r} -> x ^ r
  case #both s {l, r} -> area s + area l * r
def later (a: shape) (b: shape): shape = match b case #none -> a case _ -> b
def best (a: shape) (b: shape): shape =
  match (a, b) case (#none, s) -> s case (s, #none) -> s case _ -> #one (i32.max (area a) (area b))
module type ring = { type t val zero: t val of: i32 -> t val plus: t -> t -> t val to: t -> i32 }
module plain: ring = {
  type t = i32
  def zero = 0i32
  def of (x: i32) = x
  def plus (x: t) (y: t) = x + y
  def to (x: t) = x
}
module pair (R: ring): ring = {
  type t = {first: R.t, rest: (R.t, i32)}
  def zero = {first = R.zero, rest = (R.zero, 0i32)}
  def of (x: i32) = {first = R.of x, rest = (R.of (x + 1), x & 7)}
  def plus (x: t) (y: t) = {first = R.plus x.first y.first,
                            rest = (R.plus x.rest.0 y.rest.0, i32.max x.rest.1 y.rest.1)}
  def to (x: t) = R.to x.first * 3 - R.to x.rest.0 ^ x.rest.1
}
module row: ring = {
  type t = [2]i32
  def zero = [0i32, 0i32]
  def of (x: i32) = [x, x * 2]
  def plus (x: t) (y: t) = [x[0] + y[0], x[1] + y[1]]
  def to (x: t) = x[0] ^ x[1]
}
module option (R: ring): ring = {
  local module inner = R
  open inner
  type t = #some inner.t | #nothing
  def zero: t = #nothing
  def of (x: i32): t = if x & 3 == 1 then #nothing else #some (inner.of x)
  def plus (x: t) (y: t): t = match (x, y)
    case (#some a, #some b) -> #some (inner.plus a b)
    case (#some _, #nothing) -> x
    case _ -> y
  def to (x: t) = match x case #some a -> inner.to a case #nothing -> 5i32
}
module twice (F: (R: ring) -> ring) (R: ring) = F (F R)
module type sized = {
  val k: i64
  type many [n] 'a
  val zero: [k]i32
  val of: i32 -> [k]i32
  val plus: [k]i32 -> [k]i32 -> [k]i32
  val to [n]: [n]i32 -> i32
  val many [n] 'a: [n]a -> many [n] a
  val each [n] 'a 'b: (a -> b) -> many [n] a -> [n]b
}
module sized (P: { val k: i64 }): sized = {
  def k = P.k
  type many [n] 'a = {tail: i32, head: [n]a}
  def zero = replicate k 0i32
  def of (x: i32) = map (\\i -> x * i32.i64 i + 1 - 1) (iota k)
  def plus (a: [k]i32) (b: [k]i32) = map2 (i32.+) a b
  def to [n] (xs: [n]i32) = if n > 1 then xs[0] ^ xs[n - 1] else 4
  def many xs = {tail = 3i32, head = xs}
  def each [n] 'a 'b (f: a -> b) (x: many [n] a) = map f x.head
}
module three = sized { def k = 3i64 }
module opened = {
  local open sized { def k = 1i64 + three.k }
  def both (x: i32) = to (plus (of x) (map (+ 1) zero))
}
open opened
"""
"""What all programs may use."""

SCALARS = (
    "$s $op $s", "$s $op $s", "$a",
    "if $a < $a then $s else $s",
    "loop %x = $a for %i < 3 do ${s x} + %i",
    "(loop (%x, %i) = ($a, 0i32) while %i < (%x & 3) do (${s x i}, %i + 1)).0",
    "let %x = $s in ${s x}",
    "i32.i8 (i8.i32 $s * i8.i32 $a)", "i32.i64 (i64.i32 $s * 3 - i64.i32 $a)",
    "i32.bool ($s < $a || $a == 2)", "i32.u8 (u8.i32 $s / 3)",
    "i32.f32 (f32.i32 ($s & 1023) * 0.5)", "($s & 63) / (1 + ($a & 3))",
    "let %r = {a = $s, b = {c = $a}} let %r = %r with b.c = %r.a - %r.b.c in %r.a ^ %r.b.c",
    # reductions, of elements and of vectors
    "$how reduce $fold $v", "$how reduce $fold $v",
    "let (s, t) = reduce (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) (zip $v $n) "
    "in s ^ t",
    "let %p = $how reduce $pairfold (map (\\%x -> ${two x}) $v) in %p[0] - %p[1]",
    "let %p = $how reduce (map2 (+)) [0, 0, 0] (replicate m [$a, $a, 3]) in %p[0] - %p[2]",
    "reduce $fold (filter (\\%x -> ${a x} > $a) $v)",
    "i32.i64 (length (filter (\\%x -> %x > $a) $v))",
    "reduce i32.max 0 (scan (+) 0 (filter (\\%x -> %x > $a) $v))",
    "if m > 0 then $n[m / 2] else 7",
    # other numbers
    "i32.f32 (reduce (+) 0f32 (map (\\%x -> f32.i32 (%x & 255) * 0.5) $v))",
    "i32.f16 (2 * reduce (+) 0f16 (map (\\%x -> f16.i32 (%x & 3) * 0.5) $v))",
    "i32.f16 (f16.maximum (scan (+) 0f16 (map (\\%x -> f16.i32 (%x & 3) * 0.5) $v)) |> f16.min 9)",
    "i32.u16 (f16.to_bits (f16.i32 $s * 0.3f16 - f16.i32 $a / 7)) & 1023",
    "i32.bool (f16.i32 $s / 3 < f16.i32 $a)",
    "i32.f16 (f16.max (f16.i32 $s * f16.i32 $a) (-99) + 0x1.8p-1f16) & 255",
    "i32.f32 (f32.f16 (f16.f32 (f32.i32 (f16.i32 $s |> i32.f16) / 3)) * 8) & 255",
    # sums
    "match $shape case #none -> $a case #one %x -> ${s x} case #two %x %y -> ${s x y}",
    "match ($s, $shape) case (2, #one %x) -> ${s x} case (%x, #two %y _) -> ${s x y} "
    "case (%z, _) -> ${s z}",
    "match $nest case #leaf (#one %x) -> ${s x} case #both _ {l = #two %x _, r = %y} -> ${s x y} "
    "case #both (#one %x) _ -> %x case %q -> weight %q",
    "area (loop %q = $shape for %i < 3 do match %q case #none -> $shape "
    "case #one %x -> #two %x ${a x} case #two %x %y -> ${shape x y})",
    "area (reduce $choose #none (map (\\%x -> ${shape x}) $v))",
    "i32.sum (map weight (map (\\%x -> ${nest x}) $v))",
    "match $cells case #row %xs -> ${s xs} case #cell %x -> ${s x} case #deep %q -> weight %q",
    # modules
    "$ring.to ($ring.of $s)",
    "let f r = $ring.(to (plus r (of $s))) in f $ring.zero",
    "$ring.to (reduce $ring.plus $ring.zero (map $ring.of $v))",
    "three.to (reduce three.plus three.zero (map three.of $v))",
    "both $s",
)

VECTORS = (
    "map (\\%x -> ${s x}) $v", "map (\\%x -> ${s x}) $v",
    "map2 (\\%x %y -> ${s x y}) $v $v",
    "scan $fold $v",
    "map (.1) (scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0) "
    "(map (\\%x -> (%x & 3 == 0, %x)) $v))",
    "loop (%xs: [m]i32) = $n for %i < 2 do ${v xs i}",
    "(loop (%xs: [m]i32, %i) = ($n, 0i32) while %i < ($a & 3) do (${v xs i}, %i + 1)).0",
    "if $a < $a then $v else $v",
    "let %xs = $v in ${v xs}",
    "reverse $v",
    "let %xs = copy $v in if m > 1 then %xs with [1] = $s else %xs",
    "let %r = {a = $v, b = ($s, $n)} in map2 (\\x y -> x * y + %r.b.0) %r.a %r.b.1",
    "loop %xs = copy $v for %i < m do let %xs[%i] = %xs[(i64.i32 $a & 7) %% m] + %xs[m - %i - 1] "
    "in %xs",
    "let %t = replicate 2 $v let %t[1] = $n let %t[0] = map (* 3) %t[1] "
    "in map2 (-) %t[0] (rotate 1 %t[1])",
    # each index is another, and one may be out of bounds
    "scatter (copy $n) (map (\\%i -> (%i + i64.i32 ($a & 7)) %% (m + 1)) (iota m)) $v",
    "reduce_by_index (copy $n) $fold (map (\\%x -> i64.i32 (%x & 7)) $n) $v",
    # vectors that are reduced
    "$how reduce $rowfold (map (\\%x -> ${v x}) $v)",
    "$how reduce $rowfold (map (\\%x -> ${v x}) $v)",
    "$how reduce $rowfold (map (\\%x -> map (\\%i -> ${s x i}) $v) $v)",
    "$how reduce (\\a b -> map2 (\\x y -> x + y) a b) (replicate m 0) (replicate 3 $v)",
    "let %t = map (\\%x -> ${v x}) $v "
    "in map2 (\\%x %y -> ${s x y}) ($how reduce $rowfold %t) (map i32.sum %t)",
    "let (%t, %xs) = unzip (map (\\%x -> (${v x}, ${s x})) $v) "
    "in map2 (-) (reduce $rowfold %t) %xs",
    "let (%xs, %y) = reduce (\\(a, x) (b, y) -> (map2 (+) a b, i32.max x y)) "
    "(replicate m 0, i32.lowest) (map (\\%x -> (${v x}, %x)) $v) in map (^ %y) %xs",
    "loop (%xs: [m]i32) = $n for %i < 2 do $how reduce $rowfold (map (\\%x -> ${v x xs}) $v)",
    "map (\\%xs -> ${s xs}) (scan $rowfold (map (\\%x -> ${v x}) $v))",
    "map (\\%p -> %p[0] - %p[1]) (scan $pairfold (map (\\%x -> ${two x}) $v))",
    "map (\\%x -> let %p = $how reduce $pairfold (map (\\%y -> ${two x y}) $v) "
    "in %p[0] ^ %p[1]) $v",
    "let %t = reduce (map2 (map2 (+))) (replicate 2 (replicate m 0)) "
    "(map (\\%x -> [${v x}, $n]) $v) in map2 (-) %t[0] %t[1]",
    "let %t = reduce_by_index (replicate 3 (copy $n)) $rowfold "
    "(map (\\%x -> i64.i32 (%x & 3)) $n) (map (\\%x -> ${v x}) $v) in map2 (-) %t[0] %t[2]",
    # accumulators: two writes to different places, or one that may be out of bounds
    "scatter_stream (copy $n) (\\(acc: *acc ([m]i32)) (%i, %x) -> if ${a x} < ${a x} "
    "then write acc (%i * 2) ${s x} "
    "else write (write acc (%i * 2) %x) (%i * 2 + 1) ${s x}) (zip (iota m) $v)",
    # as many writes as an element says
    "reduce_by_index_stream (copy $n) $commfold (\\(acc: *acc ([m]i32)) %x -> "
    "loop acc for %j < %x & 3 do if ${a x} == 1 then acc else "
    "write acc (i64.i32 (%x + %j & 7)) ${s x j}) $v",
    "let %t = reduce_by_index_stream (replicate 3 (copy $n)) $rowfold "
    "(\\(acc: *acc ([3][m]i32)) %x -> if ${a x} < $a then acc else "
    "write acc (i64.i32 (%x & 3)) ${v x}) $v in map2 (-) %t[0] %t[2]",
    # other numbers
    "map i32.f16 (reduce_by_index (replicate m 1f16) $halffold "
    "(map (\\%x -> i64.i32 (%x & 7)) $n) (map (\\%x -> f16.i32 (%x & 3)) $v))",
    "map (\\x -> i32.f16 (x * 8)) (loop %xs = copy (map (\\x -> f16.i32 (x & 63) / 8) $v) "
    "for %i < m do %xs with [%i] = %xs[m - %i - 1] * 0.7 + f16.i32 $a)",
    "map i32.f16 (reduce (map2 f16.max) (replicate m (-f16.inf)) "
    "(map (\\%x -> map (\\%y -> f16.i32 (${s x y} & 3)) $v) $v))",
    # sums
    "let %q = map (\\%x -> ${shape x}) $v in map2 (\\s x -> area s * x) %q (map area %q)",
    "map area (scan $choose #none (map (\\%x -> ${shape x}) $v))",
    "map area (reduce_by_index (replicate m #none) best #none (map (\\%x -> i64.i32 (%x & 7)) $n) "
    "(map (\\%x -> ${shape x}) $v))",
    "match $cells case #row %xs -> ${v xs} case #cell %x -> ${v x} "
    "case #deep %q -> map (+ weight %q) $n",
    "map (\\%q -> match %q case #row %xs -> ${s xs} case #cell %x -> ${s x} "
    "case #deep (#leaf %t) -> area %t case #deep %t -> weight %t) (map (\\%x -> ${cells x}) $v)",
    "(loop %q = $cells for %i < 2 do match %q case #row %xs -> #row ${v xs} "
    "case #cell %x -> ${cells x} case #deep _ -> #cell $s) "
    "|> \\%q -> match %q case #row %xs -> %xs case _ -> $n",
    # modules
    "map $ring.to (scan $ring.plus $ring.zero (map $ring.of $v))",
    "map $ring.to (reduce_by_index (replicate m ($ring.of 3)) $ring.plus $ring.zero "
    "(map (\\%x -> i64.i32 (%x & 7)) $n) (map $ring.of $v))",
    "map three.to (scan three.plus three.zero (map three.of $v))",
    "three.each (\\%x -> ${s x}) (three.many $v)",
)

_RESULTS = (
    "unzip (map2 (\\%row %x ->\n    (${v row x},\n     ${s row x})) xss zs)",
    "unzip (map2 (\\%row %x ->\n    (${v row x},\n     ${s row x})) xss zs)",
    "let %t = map2 (\\%row %x ->\n    ${v row x}) xss zs\n"
    "  in (%t, $how reduce $rowfold %t)",
    "let (%t, %zs) = unzip (map2 (\\%row %x ->\n    (${v row x}, ${s row x})) xss zs)\n"
    "  in ($how reduce $rowfold %t, %zs)",
    "(\n    $v,\n    $how reduce $fold (map2 (\\%row %x -> ${s row x}) xss zs))",
    "($how reduce $rowfold (map2 (\\%row %x ->\n    ${v row x}) xss zs), k)",
    "(map (\\%row -> ${s row}) xss, loop (%xs: [m]i32) = ys for %i < 3 do\n"
    "    $how reduce $rowfold (map2 (\\%row %x -> ${v row x xs}) xss zs))",
)

GRAMMAR = {
    "program": Kind((), (
        f"{DECLARATIONS}module mine = $module\n"
        "entry main [n][m] (xss: [n][m]i32) (zs: [n]i32) (ys: [m]i32) (k: i32) =\n  $results\n",
    ), plain=True),
    "results": Kind((), _RESULTS, plain=True),
    "s": Kind(("$a", "$a $op $a", "$a $op $a"), SCALARS),
    "v": Kind(("$n",), VECTORS),
    "a": Kind(("0", "1", "2", "3", "7", "9", "(-1)", "(-4)"), named=0.7),
    "n": Kind((), named=1),
    "op": Kind(("+", "-", "*", "`i32.max`", "`i32.min`", "&", "^"), plain=True),
    "fold": Kind(("(+) 0", "(+) 0", "(*) 1", "i32.max i32.lowest", "i32.min i32.highest",
                  "(^) 0"), plain=True),
    "commfold": Kind(("$fold", "(\\x y -> x * y + x + y) 0"), plain=True),
    "halffold": Kind(("(+) 0", "f16.max (-f16.inf)"), plain=True),
    "rowfold": Kind(("(map2 (+)) (replicate m 0)", "(map2 (+)) (replicate m 0)",
                     "(map2 i32.max) (replicate m i32.lowest)",
                     "(\\a b -> map2 (\\x y -> x * y) a b) (map (\\_ -> 1) (iota m))",
                     "(map2 (\\x y -> x * y + x + y)) (replicate m 0)"), plain=True),
    "pairfold": Kind(("(map2 (+)) (replicate 2 0)", "(map2 i32.min) [i32.highest, i32.highest]",
                      "(\\a b -> [a[0] + b[0], i32.max a[1] b[1]]) [0, i32.lowest]"), plain=True),
    "how": Kind(("", "", "#[sequential_inner]", "#[sequential_outer]"), plain=True),
    "two": Kind(("[$a, $a]", "[2, 5]", "replicate 2 $a"),
                ("[$s, $s]", "map (\\%x -> ${s x}) [0, 4]",
                 "if $a < 3 then $two else [$s, 1]")),
    "shape": Kind(("if $a < $a then #one $a else if $a < 3 then #two $a $a else #none : shape",
                   "#one $a : shape"),
                  ("if $a < $a then #one $s else if $a < 3 then #two $s $a else #none : shape",
                   "match $s case 0 -> #none case %x -> #one %x : shape")),
    "nest": Kind(("if $a < $a then #leaf $shape else #empty : nest",),
                 ("if $a < $a then #leaf $shape else #both $shape {l = $shape, r = $a} : nest",)),
    "cells": Kind(("if $a < $a then #row $n else #cell $a : cells [m]",),
                  ("if $a < $a then #row $v else if $a < 3 then #cell $s "
                   "else #deep $nest : cells [m]",)),
    "choose": Kind(("later", "best"), plain=True),
    "ring": Kind(("plain", "mine", "row"), plain=True, once=True),
    "module": Kind(("pair $base", "option $base", "pair (option $base)", "option (pair $base)",
                    "twice pair $base", "twice option $base"), plain=True),
    "base": Kind(("plain", "row"), plain=True),
}
"""Programs over a matrix, a vector of its height, one of its width, and a number."""


Shapes: TypeAlias = Sequence[tuple[int, int]]
SMALL: Shapes = list(product((0, 1, 1, 2, 3, 5, 7), repeat=2))
LARGE: Shapes = [(0, 33), (33, 0), (1, 257), (257, 2), (33, 33), (1000, 1), (2, 100)]


def arguments(seed: int, shapes: Shapes = SMALL) -> list[list[Any]]:
    """A matrix, a vector of its height and one of its width, and a number."""
    rng = np.random.default_rng(seed)
    n, m = shapes[rng.integers(len(shapes))]
    return [[*(rng.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (n,), (m,))),
             np.int32(rng.integers(-9, 9))]]


def nests(shapes: Shapes = SMALL, grammar: Mapping[str, Kind] = GRAMMAR) -> Family:
    """The family on arguments of given shapes; each eighth is nested more deeply than others."""
    return Family(grammar, {"ys": "n", "k": "a"}, lambda seed: 5 if seed % 8 == 0 else 4,
                  lambda seed: arguments(seed, shapes))


NESTS = nests()
