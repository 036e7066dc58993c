"""Random loops that compute parts of a matrix from other parts and put them into it.

Which parts meet decides what may be made in place; every version must give what the interpreter
gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_programs.writer import Family, Kind

SIDE = 5

_LOOP = "loop xs = copy xs for j < n do xs with [j] = xs[j] * 2 + xs[(j + n - 1) % n]"

_GRAMMAR = {
    # in ``loop a for i < n - 1``, with ``rest`` rows behind row i
    "program": Kind((
        "entry main [n] (k: i32) (xss: [n][n]i32): [n][n]i32 =\n"
        "  loop a = copy xss for i < n - 1 do\n"
        "    let rest = n - 1 - i\n    $writes\n    in a\n",), plain=True),
    "writes": Kind((
        "let %v = $column\n    let a[$place] = %v", "let %b = $block\n    let a[$rows] = %b",
    ), (
        "let %v = $column\n    let a[$place] = %v\n    ${writes v}",
        "let %b = $block\n    let a[$rows] = %b\n    ${writes b}",
        "let %v = $column\n    ${writes v}\n    let a[$place] = %v",
        "let %b = $block\n    ${writes b}\n    let a[$rows] = %b",
        "let %v = $column\n    let %b = ${block v}\n    ${writes v b}\n"
        "    let a[$place] = %v\n    let a[$rows] = %b",
        "let %b = $block\n    let a[$rows] = %b\n    let %bs = ${block b}\n    let a[$rows] = %bs",
        "let %b = $block\n    let %bs = ${block b}\n    let a[$rows] = %b\n    let a[$rows] = %bs",
        "let %b = $block\n    let %v = ${column b}\n    ${writes v b}\n"
        "    let a[$rows] = %b\n    let a[$place] = %v",
    ), plain=True),
    "at": Kind(("i", "i + 1", "0", "n - 1", "(i * 2 + 1) % n"), plain=True),
    "place": Kind(("$at, :", "$at, :", ":, $at"), plain=True),
    "rows": Kind(("i + 1:i + 1 + rest", "i + 1:i + 1 + rest", "i:i + rest", "0:0 + rest"),
                 plain=True),
    # a row or a column of the matrix, or a vector
    "row": Kind(("a[$at]", "a[$at]", "a[:, $at]", "$one"), plain=True),
    "one": Kind(("a[$at]",), named=1, plain=True),
    # elements by elements, or from other places
    "column": Kind((
        "map (\\x -> x * 3 + k) $row", "map2 (\\x y -> x - y * k) $row $row",
        "let xs = $row in map (\\j -> xs[n - 1 - j] + i32.i64 j) (iota n)",
        "let ys = $row in map2 (\\x j -> x + ys[j]) $row (iota n)",
        "map (\\j -> i32.i64 (i * j) - k) (iota n)"), plain=True),
    # the rows behind row i, in ways that differ in what a row's elements look at
    "block": Kind((
        "map (map2 (\\y x -> x * 2 - y) $row) $below", f"map (\\xs -> {_LOOP}) $below",
        "map (\\xs -> map (\\j -> xs[n - 1 - j] + xs[j] * 2) (iota n)) $below",
        "map2 (\\x xs -> map (+ x) xs) (take rest $row) $below",
        "transpose (map (\\xs -> loop xs = copy xs for j < rest do xs with [j] = xs[j] - "
        "(if j > 0 then xs[j - 1] else k)) (transpose $below))"), plain=True),
    "below": Kind(("(a[i + 1:] :> [rest][n]i32)", "(a[i + 1:] :> [rest][n]i32)",
                   "(a[:n - 1 - i] :> [rest][n]i32)", "$some"), plain=True),
    "some": Kind(("(a[i + 1:] :> [rest][n]i32)",), named=1, plain=True),
}


def _inputs(seed: int) -> list[list[Any]]:
    """A number and a square matrix."""
    return [[np.int32(3),
             np.random.default_rng(seed).integers(-9, 9, (SIDE, SIDE)).astype(np.int32)]]


UPDATES = Family(_GRAMMAR, {}, lambda seed: 2 + seed % 2, _inputs)
