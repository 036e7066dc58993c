"""Concatenations of parts of one array, read where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.versions.forest import plans

XS = np.arange(10, dtype=np.int32) ** 2
XSS = XS.reshape(2, 5)

VIEWS = {
    "neighbours": ("entry main [n] (xs: [n]i32) = "
                   "map3 (\\a b c -> a + 2 * b - c) (rotate (-1) xs) xs (rotate 1 xs)", [XS]),
    "rows": ("entry main [n][m] (xss: [n][m]i32) = map2 (map2 (-)) (rotate 1 xss) xss", [XSS]),
    "within rows": ("entry main [n][m] (xss: [n][m]i32) = "
                    "map (\\xs -> map2 (-) (rotate 2 xs) (rotate (-1) xs)) xss", [XSS]),
    "summed": ("entry main [n] (xs: [n]i32) = i32.sum (map2 (*) xs (rotate 3 xs))", [XS]),
    "three parts": ("entry main [n] (xs: [n]i32) = "
                    "map (* 2) (rotate 1 xs ++ xs)", [XS]),
    "reversed part": ("entry main [n] (xs: [n]i32) = map (* 2) (xs ++ reverse xs)", [XS]),
    "loop": ("entry main [n] (xs: [n]i32) = "
             "loop xs for _i < 5 do map2 (\\x y -> x + y % 7) xs (rotate 1 xs)", [XS]),
    "empty": ("entry main [n] (xs: [n]i32) = map2 (+) xs (rotate 1 xs)",
              [np.zeros(0, np.int32)]),
}
STORED = {
    "slices to be checked": ("entry main [n] (xs: [n]i32) = map (* 2) (xs[::2] ++ xs[1::2])", [XS]),
    "index to be checked": ("entry main [n] (xs: [n]i32) (is: [3]i64) = "
                            "map (\\i -> (rotate 2 xs)[i]) is",
                            [XS, np.array([0, 9, 4])]),
    "other arrays": ("entry main [n] (xs: [n]i32) (ys: [n]i32) = map (* 2) (xs ++ ys)", [XS, XS]),
    "overwritten": ("entry main [n] (xs: *[n]i32) = let ys = rotate 1 xs in "
                    "let xs[0] = 7 in map2 (+) xs ys", [XS]),
}


def _joins(program: Any) -> bool:
    return " concat@" in str(program.source("opt"))


@pytest.mark.parametrize(("text", "args"), [*VIEWS.values(), *STORED.values()],
                         ids=[*VIEWS, *STORED])
@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
def test_results_in_every_version(device: str, text: str, args: list[Any]) -> None:
    program = runelift.compile(text, device=device, tuning={})
    expected, _ = runelift.compile(text, device="interpreter").run("main", args)
    for force in plans(program.tree.entry("main")):
        results, _ = program.run("main", args, force=force)
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("text", [text for text, _ in VIEWS.values()], ids=list(VIEWS))
def test_parts_of_one_array_are_not_stored(text: str) -> None:
    assert not _joins(runelift.compile(text, device="interpreter"))


@pytest.mark.parametrize("text", [text for text, _ in STORED.values()], ids=list(STORED))
def test_other_concatenations_are_stored(text: str) -> None:
    assert _joins(runelift.compile(text, device="interpreter"))
