"""The classes of references: a program for each of them, and for what is no class."""

from __future__ import annotations

import re

import pytest

from runelift.ir.analysis.patterns import Accesses, Pattern, accesses, render
from runelift.ir.base.source import Source
from runelift.ir.syntax import SegMap, SegRed
from runelift.runtime.compilation.pipeline import compile_source

CASES: dict[str, tuple[str, dict[str, Pattern]]] = {
    "the same element for all": (
        "def main [n] (xs: [n]f32) (ys: [n]f32) = map (\\x -> x + ys[0]) xs",
        {"xs[i]": Pattern.SINGLE, "ys[0]": Pattern.NONE}),
    "an element of one's own": (
        "def main [n][m] (xss: [n][m]f32) = map (map (\\x -> x * 2)) xss",
        {"xss[i, i]": Pattern.SINGLE}),
    "the same walk for all": (
        "def main [n][m] (xs: [n]f32) (ys: [m]f32) =\n"
        "  map (\\x -> loop a = x for k < m do a * a + ys[k]) xs",
        {"xs[i]": Pattern.SINGLE, "ys[i]": Pattern.INNER}),
    "rows": (
        "def main [n][m] (xss: [n][m]f32) =\n"
        "  map (\\xs -> loop a = 0 for k < m do a * a + xs[k]) xss",
        {"xss[i, i]": Pattern.ROW}),
    "columns": (
        "def main [n][m] (xss: [n][m]f32) =\n"
        "  map (\\xs -> loop a = 0 for k < n do a * a + xs[k]) (transpose xss)",
        {"xss[i, i]": Pattern.COLUMN}),
    "planes": (
        "def main [l][n][m] (xsss: [l][n][m]f32) =\n"
        "  tabulate_2d n m (\\i j -> loop a = 0 for k < l do a * a + xsss[k, i, j])",
        {"xsss[i, i, i]": Pattern.DEPTH}),
    "a neighbourhood": (
        "def main [n][m] (xs: [n]f32) (ys: [m]f32) =\n"
        "  tabulate (n - m + 1) (\\i -> reduce (+) 0 (map (\\k -> xs[i + k] * ys[k]) (iota m)))",
        {"xs[i + x]": Pattern.RADIUS, "ys[x]": Pattern.INNER}),
    "a neighbourhood with strides": (
        "def main [n] (m: i64) (xs: [n]f32) =\n"
        "  tabulate m (\\i -> loop a = 0 for k < n / m do a * a + xs[2 * i + k])",
        {"xs[2 * i + i]": Pattern.RADIUS}),
    "what data say": (
        "def main [n][m] (is: [m]i64) (xs: [n]f32) = map (\\i -> xs[i]) is",
        {"is[i]": Pattern.SINGLE, "xs[?]": Pattern.UNKNOWN}),
    "a product of indices": (
        "def main [n] (xs: [n]f32) = tabulate n (\\i -> loop a = 0 for k < i do a * a + xs[i * k])",
        {"xs[i * i]": Pattern.UNKNOWN}),
    "two walks at once": (
        "def main [n][m] (xsss: [n][m][m]f32) =\n"
        "  tabulate n (\\i -> loop a = 0 for k < m do loop a for l < m do a * a + xsss[i, k, l])",
        {"xsss[i, i, i]": Pattern.UNKNOWN}),
}


def outer_version(source: str) -> Accesses:
    """The kernel with a work-item for each point."""
    (fun,) = compile_source(Source("test", source)).versioned.funs
    kernels = [each for each in accesses(fun) if isinstance(each.kernel, SegMap)]
    return max(kernels, key=lambda each: (each.kernel.level.name == "GRID",
                                          len(each.kernel.space)))


@pytest.mark.parametrize("case", CASES)
def test_classes(case: str) -> None:
    source, expected = CASES[case]
    found = outer_version(source)
    assert {re.sub(r"_\d+", "", str(r)): r.pattern for r in found.references} == expected


def test_an_array_has_the_most_complex_class_of_its_references() -> None:
    found = outer_version("def main [n] (xs: [n]f32) =\n"
                          "  tabulate n (\\i -> loop a = xs[i] for k < n do a * a + xs[k])")
    assert {each.array for each in found.references} == {found.references[0].array}
    assert str(max(each.pattern for each in found.references).title) == "InnerPat"


def test_the_elements_of_a_reduction_are_walked() -> None:
    (fun,) = compile_source(Source("test", "def main [n][m] (xss: [n][m]i32) (ys: [m]i32) =\n"
                                   "  map (\\xs -> reduce (+) 0 (map2 (*) xs ys)) xss")
                            ).versioned.funs
    (found,) = (each for each in accesses(fun)
                if isinstance(each.kernel, SegRed) and each.kernel.level.name == "GRID")
    assert [r.pattern.title for r in found.references] == ["RowPat", "InnerPat"]
    assert [line.split("--")[1] for line in render([found]).splitlines()[1:]] == [
        " each work-item walks along a row", " all work-items walk the same elements"]
