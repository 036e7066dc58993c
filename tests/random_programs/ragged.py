"""Random nests whose inner widths differ between points: slices, filters, iotas and loops.

Rows are slices of one array that may overlap.  Their lengths come from the shapes of
``runelift.runtime.data.lengths``, with rows of length 0 at the first, last, all, or runs of places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runelift.runtime.data.lengths import SHAPES, Lengths, draw
from tests.random_programs.writer import Family, Kind

_SCALARS = (
    "$a $op $a", "i32.sum $v", "reduce $fold $v",
    *["i32.sum (map (\\%x -> ${s x}) $v)"] * 3,
    "i32.sum (map (\\%l -> ${s l}) (iota $w))",
    "reduce (\\x y -> x * y + x + y) 0 $v",
    "i32.i64 (length $v)",
    "i32.bool (all (\\%x -> ${s x} < $a) $v)",
    "let (%x, %y) = reduce (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) "
    "(map (\\%z -> (%z, ${s z})) $v) in ${s x y}",
    "let %xs = $v in if null %xs then $a else %xs[0] - %xs[length %xs - 1]",
    "let %xs = $v in if null %xs then $a else %xs[i64.i32 ($a & 7) %% length %xs]",
    # loops whose number of iterations differs
    "loop %x = $a for %l < $w do ${s x l}",
    "loop %x = $a for %l < $w do i32.sum (map (\\%y -> ${s x l y}) $v)",
    "(loop (%x, %k) = ($a, $w) while %k > 0 do (${s x}, %k / 2)).0",
    "(loop (%x, %k) = ($a, $w) while %k > 0 do (%x + i32.sum $v, %k - 1)).0",
    "(loop (%x, %t) = ($a, [$a, $a, $a]) for %l < $w do "
    "(%x ^ %t[1], map (\\%y -> ${s x y l}) %t)).0",
    "loop %x = $a for %y in $v do %x * 3 - %y",
    "(loop (%x, %j) = ($a, 0) while %j < $w && %x < 50 do (${s x}, %j + 1)).0",
    "loop %x = $a for %y in $v do if %y < 0 then %x else ${s x y}",
    "if $a < $a then $s else $s", "if $a < $a then i32.sum $v else $a",
    "match $a case 0 -> $s case %x -> ${s x}",
    "let %xs = $v in i32.sum (map2 (*) [1, 2, 3] (reduce_by_index (replicate 3 0) $fold "
    "(map (\\x -> i64.i32 (x & 3)) %xs) %xs))",
    "let %xs = $v in ${s xs}", "let %xs = $v in i32.sum (map2 (*) %xs (reverse %xs))",
    # a number, a pair and a row of one statement
    "let (%x, p, %xs) = if $a < $a then ($s, [$s, $a], $v) else ($a, [$a, $s], $v) "
    "in ${s x xs} + p[0] * 3 - p[1]",
    "let (%x, p, %xs) = match $a & 3 case 0 -> ($s, [$a, $a], $v) case 1 -> ($a, [$s, $a], []) "
    "case %y -> (%y, [%y, %y], ${v y}) in ${s x xs} ^ (p[0] - p[1])",
    "let (%x, p, %xs) = loop (%x, p, %xs) = ($a, [$a, 1], $v :> []i32) for %l < $w do "
    "(${s x l}, [p[1], ${s x}], ${v x xs l}) in ${s x xs} + p[0] * p[1]",
    "let (%xs, m) = (loop (%xs: []i32, k) = ($v, 4i32) while k > 0 && length %xs > 1 do "
    "(filter (> $a) ${v xs}, k - 1)) in m + i32.sum %xs",
    "match ((if $a < $a then #num $s else if $a < 0 then #pair ($a, $s) else #no) : "
    "#num i32 | #pair (i32, i32) | #no) "
    "case #num %x -> ${s x} case #pair (%x, %y) -> ${s x y} case #no -> $a",
    # all pairs of a row
    "let %xs = $v in i32.sum (map (\\%x -> i32.sum (map (\\%y -> ${s x y}) %xs)) %xs)",
)

_VECTORS = (
    "$n", *["map (\\%x -> ${s x}) $v"] * 3, "map (\\%l -> ${s l}) (iota $w)", "replicate $w $s",
    "scan $fold $v", "scan (\\x y -> x * y + x + y) 0 $v",
    "map (\\(x, y) -> x - y) (scan (\\(a, x) (b, y) -> (a + b, i32.max x y)) (0, i32.lowest) "
    "(map (\\%x -> (%x, ${s x})) $v))",
    "filter (\\%x -> ${s x} < $a) $v", "filter (\\%x -> %x & 3 != $a) $v",
    "let (%xs, %ys) = partition (\\%x -> %x < $a) $v in ${v xs} ++ %ys",
    "reverse $v", "rotate 1 $v", "$v ++ $v",
    "let %xs = $v in take (i64.min $w (length %xs)) %xs",
    "let %xs = $v in drop (i64.min $w (length %xs)) %xs",
    "if $a < $a then $v else $v",
    "loop (%xs: []i32) = $v for %l < 2 do ${v xs l}",
    "loop (%xs: []i32) = $v for %l < $w do map (\\%x -> ${s x l}) %xs",
    "let %xs = $v in loop %ys = copy %xs for %j < length %xs do "
    "%ys with [%j] = %ys[length %xs - 1 - %j] + $a",
    "let %xs = $v in loop %ys = %xs for %l < 2 do map (\\%x -> ${s x l} + %ys[0]) %ys",
    "let %xs = $v in loop %ys = %xs for %l < $w do scan (+) 0 (map (\\%x -> ${s x l}) %ys)",
    "let %xs = $v in (loop (%ys, %k) = (%xs, 0) while %k < $w && i32.sum %ys < 99 do "
    "(reverse (map (\\%x -> ${s x} + $a) %ys), %k + 1)).0",
    "let %xs = copy $v in if length %xs > 1 then %xs with [1] = $s else %xs",
    "let %xs = $v in scatter (copy %xs) (map (\\j -> j * 2 - 1) (indices %xs)) "
    "(map (\\%x -> ${s x}) %xs)",
    "let %xs = $v in map2 (\\%x %y -> ${s x y}) %xs (reverse %xs)",
    "let %xs = $v in map (\\%x -> %x - i32.sum %xs) %xs",
    "let %xs = $v in reduce_by_index (replicate $w 1) $fold (map (\\x -> i64.i32 (x & 7)) %xs) %xs",
    # rows made of rows, whose lengths are computed
    "(flatmap' (\\%x -> replicate (i64.i32 (%x & 3)) ${s x}) $v).3",
    "(flatmap' (\\%x -> filter (> %x) ${v x}) $v).3",
    # regular inside of a row
    "flatten (map (\\%x -> [%x, ${s x}]) $v)",
    "map i32.sum (map (\\%x -> map (\\%l -> ${s x l}) (iota 3)) $v)",
    "let k = $w in reduce (map2 (+)) (replicate k 0) "
    "(map (\\%x -> map (\\%l -> ${s x l}) (iota k)) $v)",
)

_POINT = "\\%o %l -> let %xs = data[%o:%o + %l] in"
_RESULTS = (
    *[f"map2 ({_POINT} ${{s xs l}}) start len"] * 3,
    f"unzip (map2 ({_POINT} (${{s xs l}}, ${{s xs l}})) start len)",
    f"map2 ({_POINT} [${{s xs l}}, $c, ${{s xs l}}]) start len",
    f"map2 ({_POINT} let t = ${{v xs l}} in "
    "map (\\j -> if j < length t then t[j] else -1) (iota 4)) start len",
    "map2 (\\%o %l -> let %xs = data[%o:%o + %l] in i32.sum (map (\\%x -> ${s xs x}) %xs)) "
    "start len",
    "map (\\%l -> ${s l}) len", "tabulate n (\\%l -> ${s l})",
    "map (\\%x -> let %xs = filter (> %x) data in ${s x xs}) data",
    # rows that name rows
    f"map2 (\\%o %l -> i32.sum (map2 ({_POINT.replace('%o', 'p').replace('%l', '%m')} "
    "${s xs m}) (map (\\j -> start[i64.i32 j % n]) data[%o:%o + %l]) "
    "(map (\\j -> len[i64.i32 j % n]) data[%o:%o + %l]))) start len",
    f"i32.sum (map2 ({_POINT} ${{s xs l}}) start len)",
    f"scan $fold (map2 ({_POINT} ${{s xs l}}) start len)",
    f"filter (> $c) (map2 ({_POINT} ${{s xs l}}) start len)",
    # the host's loops: the rows stay, or become shorter
    "loop %t = map i32.i64 start for _i < 2 do\n"
    "    map3 (\\%o %l %x -> let %xs = data[%o:%o + %l] in ${s xs l x}) start len %t",
    "(loop (t, now) = (map i32.i64 start, len) for _i < 3 do\n"
    "    (map3 (\\%o %l %x -> let %xs = data[%o:%o + %l] in ${s xs l x}) start now t,\n"
    "     map (/ 2) now))",
    f"if c > 0 then map2 ({_POINT} ${{s xs l}}) start len else replicate n c",
)

GRAMMAR = {
    "program": Kind((
        "entry main [n][k] (start: [n]i64) (len: [n]i64) (data: [k]i32) (c: i32) =\n"
        "  $results\n",), plain=True),
    "results": Kind((), _RESULTS, plain=True),
    "s": Kind(("$a", "$a $op $a", "i32.sum $n"), _SCALARS),
    "v": Kind(("$n", "map i32.i64 (iota $w)"), _VECTORS),
    "n": Kind(("map i32.i64 (iota $w)", "replicate $w $a"), named=1),
    "a": Kind(("0", "1", "2", "3", "5", "(-1)", "(-4)", "c", "i32.i64 $w"), named=0.7),
    "c": Kind(("0", "3", "c"), plain=True),
    # a small width
    "w": Kind(("i64.i32 ($a & 3)", "i64.i32 ($a & 7)", "length $n", "2", "0"), named=0.5),
    "op": Kind(("+", "-", "*", "`i32.max`", "`i32.min`", "&", "^"), plain=True),
    "fold": Kind(("(+) 0", "(+) 0", "(*) 1", "i32.max i32.lowest", "i32.min i32.highest",
                  "(^) 0"), plain=True),
}

SMALL = ((1, 3), (2, 2), (3, 5), (5, 3), (7, 6), (9, 2))
"""Numbers of rows, and their greatest lengths."""
LARGE = ((0, 3), (33, 9), (300, 2), (2, 300), (40, 70), (1, 513))


def _with_zeros(lengths: Lengths, rng: np.random.Generator) -> Lengths:
    """Lengths as given, or with 0 at the first, last, both, some or a run of places."""
    kept = np.ones(len(lengths), np.int64)
    match rng.integers(8):
        case 0:
            kept[:1] = 0
        case 1:
            kept[-1:] = 0
        case 2:
            kept[:1] = kept[-1:] = 0
        case 3:
            kept[len(kept) // 4:len(kept) // 4 * 3 + 1] = 0
        case 4:
            kept = rng.integers(0, 2, len(kept))
    return lengths * kept


def arguments(seed: int, shapes: Sequence[tuple[int, int]]) -> list[list[Any]]:
    """Two times: starts and lengths of rows, the elements, and a number."""
    found = []
    for each in (2 * seed, 2 * seed + 1):
        rng = np.random.default_rng(each)
        n, cap = shapes[rng.integers(len(shapes))]
        lengths = _with_zeros(draw(n, [*SHAPES][each % len(SHAPES)], cap, each), rng)
        starts, most = np.cumsum(lengths) - lengths, int(lengths.sum())
        if rng.random() < 0.3:  # rows overlap, and do not cover all
            most = max(int(lengths.max(initial=0)), most // 2) + 1
            starts = rng.integers(0, most - lengths + 1)
        found.append([starts, lengths, rng.integers(-9, 9, most).astype(np.int32),
                      np.int32(rng.integers(-9, 9))])
    return found


def ragged(shapes: Sequence[tuple[int, int]] = SMALL, depth: int = 5) -> Family:
    """The family on rows of given numbers and lengths; each fourth program nests more deeply."""
    return Family(GRAMMAR, {"c": "a"}, lambda seed: depth + (seed % 4 == 0),
                  lambda seed: arguments(seed, shapes), settings=True)


RAGGED = ragged()
