"""Sizes of the rows of a map that are computed where the rows are made."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramError, ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.runtime.versions.forest import plans

HEAD = """
def tab = [2i64, 1]
def at (xs: []i64) (k: i64) = assert (k >= 0) xs[k]
def total (xs: []i64) = let ys = iota (xs[0] + 1) in loop s = 0 for y in ys do s + y * xs[0]
def least (n: i64) (x: i64): [i64.max n 1]i64 = replicate (i64.max n 1) x
def first (xs: []i64) (x: i64): [xs[0]]i64 = replicate xs[0] x
def longer (xs: []i64) (k: i64) (ys: [xs[k]]i64): [xs[k] + 1]i64 = ys ++ [length ys]
def constant (x: i64): [tab[0]]i64 = replicate tab[0] x
"""
ROWS = {
    "index": ("\\i -> replicate xs[0] i", 2),
    "call": ("\\i -> replicate (at xs 0) i", 2),
    "loop": ("\\i -> replicate (total xs) i", 6),
    "quotient": ("\\i -> replicate (11 / k) i", 3),
    "shift": ("\\i -> replicate (1 << k) i", 8),
    "power": ("\\i -> let n = 2 ** k in replicate n i", 8),
    "both branches": ("\\i -> if i > 1 then replicate xs[0] i else replicate xs[0] 0", 2),
    "quotient in branches": ("\\i -> if i > 1 then replicate (11 / k) i else replicate (11 / k) 0",
                             3),
    "rounds": ("\\i -> loop row = replicate xs[0] i for j < 3 do map (+ j) row", 2),
    "unrelated check": ("\\i -> assert (i < 9 || k > 9) (replicate xs[0] i)", 2),
    "built-in": ("least k", 3),
    "argument's element": ("first xs", 2),
    "argument's element inside": ("\\i -> map2 (+) (first xs i) (replicate xs[0] 1)", 2),
    "piped": ("\\i -> i |> first xs", 2),
    "argument of that size": ("\\i -> longer xs 1 (map (+ i) (iota xs[1]))", 5),
    "constant's element": ("\\i -> map2 (+) (constant i) (replicate tab[0] 1)", 2),
    "slice down": ("\\i -> map (+ i) xs[k - 2::-1]", 2),
    "every other": ("\\i -> map (+ i) xs[::2]", 1),
    "from an element": ("\\i -> map (+ i) xs[tab[1]:]", 1),
    "condition": ("\\i -> replicate (if k > 2 then k else 2) i", 3),
    "asserted": ("\\i -> replicate (assert (k > 2) k) i", 3),
    "local function": ("let f (x: i64): [xs[0]]i64 = replicate xs[0] x in f", 2),
}


def text(row: str) -> str:
    return f"{HEAD} def main (xs: []i64) (k: i64) (ys: []i64) = map ({row}) ys"


@pytest.mark.parametrize("name", ROWS)
def test_all_rows_have_it(name: str, simulator: str) -> None:
    row, size = ROWS[name]
    program = runelift.compile(text(row), device=simulator)
    for ys in (np.array([1, 2, 3]), np.array([], np.int64)):
        args = [np.array([2, 4]), 3, ys]
        (*_, expected) = interpret(program.compiled.core, "main", args)
        assert np.asarray(expected).shape == (len(ys), size)
        for force in plans(program.tree.entry("main")):
            (found, *_), _ = program.run("main", args, force=force)
            np.testing.assert_array_equal(found, expected, err_msg=str(force))


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
@pytest.mark.parametrize("row", [ROWS["index"][0], ROWS["loop"][0], ROWS["argument's element"][0]])
def test_it_is_computed_for_no_rows_too(row: str, device: str) -> None:
    program = runelift.compile(text(row), device=device)
    nothing = np.array([], np.int64)
    with pytest.raises(ProgramFailure, match="out of bounds"):
        program.main(nothing, 3, nothing)


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_only_sizes_are_computed_for_no_rows(device: str) -> None:
    nothing = np.array([], np.int64)
    summed = runelift.compile(text("\\i -> i64.sum (replicate xs[0] i)"), device=device)
    assert np.asarray(summed.main(nothing, 3, nothing)).shape == (0,)
    checked = runelift.compile(text("\\i -> assert (k > 3) (replicate xs[0] i)"), device=device)
    assert np.asarray(checked.main(np.array([2]), 3, nothing)).shape == (0, 2)


@pytest.mark.parametrize("row", [
    "\\i -> iota xs[i]", "\\i -> replicate (10 / i) k", "\\i -> first (filter (> i) xs) i",
    "\\i -> let zs = copy xs in let zs[0] = i in replicate zs[0] i",
    "\\i -> longer xs i (iota xs[i])",
])
def test_it_depends_on_nothing_inside(row: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load(Source("t", text(row)), Names())
    assert caught.value.diagnostics[0].code == "irregular-array"
