"""Random programs of scans, and of maps that read them: each as a whole and row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_programs.writer import Family, Kind

_GRAMMAR = {
    "program": Kind((
        "def one [n] (k: i32) (%xs: [n]i32): ([n]i32, [n]i32, i32) =\n  ${lines xs}\n"
        "entry main [m][n] (xss: [m][n]i32) (k: i32) =\n"
        "  let (as, bs, cs) = unzip3 (map (one k) xss)\n"
        "  let (ds, es, f) = one k (flatten xss)\n  in (as, bs, cs, ds, es, f)\n",
    ), plain=True),
    "lines": Kind(("($map, $map, $single)", "($map, $n, $single)"), (
        *["let %xs = $scan\n  in ${lines xs}"] * 3, *["let %xs = $map\n  in ${lines xs}"] * 4,
        "let (%xs, %ys) = unzip (map2 (\\%x %y -> (${s x y}, ${s x y})) $n $n)\n"
        "  in ${lines xs ys}",
        "let (%xs, %ys) = unzip (scan (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) "
        "(zip $n $n))\n  in ${lines xs ys}",
        "let %x = $single\n  in ${lines x}",
    ), plain=True),
    "scan": Kind((
        *["scan $fold $n"] * 3, *["reverse (scan $fold (reverse $n))"] * 2,
        "scan $fold (map2 (\\%x %y -> ${s x y}) $n $n)",
        "map (.1) (scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0) "
        "(map (\\x -> (x & 3 == 0, x)) $n))"), plain=True),
    "map": Kind((
        "map (\\%x -> ${s x}) $n", *["map2 (\\%x %y -> ${s x y}) $n $n"] * 3,
        "map3 (\\%x %y %i -> ${s x y i}) $n $n (map i32.i64 (iota n))",
        "map2 (\\x i -> if x > k then x else $n[i]) $n (iota n)",
        "map2 (\\%x i -> ${s x} - $n[n - 1 - i]) $n (iota n)",
        "tabulate n (\\i -> if i == 0 then k else $n[i - 1])", "reverse $n",
        "scatter (copy $n) (map (+ 2) (iota n)) (map (\\%x -> ${s x}) $n)",
        "map (\\x -> loop x for _i < k do x * 3 - k) $n"), plain=True),
    "single": Kind(("i32.sum $n", "if n > 0 then $n[n - 1] else 3",
                    "if n > 9 then $n[n / 2] else k"), plain=True),
    "s": Kind(("$a", "$a $op $a", "$a $op $a"),
              ("$s $op $s", "if $s < $s then $s else $s", "i32.i64 (i64.i32 $s * 3)")),
    "a": Kind(("0", "1", "7", "(-4)"), named=0.8),
    "n": Kind((), named=1),
    "op": Kind(("+", "-", "*", "`i32.max`", "&", "^"), plain=True),
    "fold": Kind(("(+) 0", "(+) 0", "i32.max i32.lowest", "(^) 0",
                  "(\\x y -> x * y + x + y) 0"), plain=True),
}


def _inputs(_: int) -> list[list[Any]]:
    """Matrices whose rows are empty, short, or longer than a small work-group."""
    return [[np.random.default_rng(shape[1]).integers(-50, 50, shape).astype(np.int32), np.int32(2)]
            for shape in ((2, 0), (3, 5), (2, 37), (1, 500))]


SCANS = Family(_GRAMMAR, {"k": "a"}, lambda seed: 4 + seed % 5, _inputs, settings=True)
