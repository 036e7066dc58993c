"""What people are told of sizes that the compiler has named."""

import pytest

from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards, described
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.versions.forest import Forests, forest_of
from runelift.runtime.versions.size_guards import SizeTable

HALVES = """
entry main [n] (xs: [n]i32) (k: i64): [][]i32 =
  let m = (n + 31) / 32 - k
  in map (\\i -> map (\\x -> x + i32.i64 i) xs) (iota m)

entry nested [n] (xs: [n]i32) (k: i64): [][]i32 =
  let m = (if k > 5 then k * 2 else 7) * 2
  in map (\\i -> map (\\x -> x + i32.i64 i) xs) (iota m)
"""


WIDTHS = """
entry main [n] (a: [n]i64) (b: [n]i64): [n]i64 =
  map2 (\\x y -> i64.sum (map (% 7) (iota x)) + i64.maximum (map (% 5) (iota y))) a b
"""


def test_facts_about_several_lengths_are_told_apart() -> None:
    forest = forest_of(compile_source(Source("widths", WIDTHS)).versioned).entry("main")
    first = next(iter(forest.guards().values()))
    assert forest.compared(first) == (
        "ceil((n + total(a) + total(b))/(1 + longest(a) + longest(b)))")


@pytest.fixture(scope="module")
def forests() -> Forests:
    return forest_of(compile_source(Source("halves", HALVES)).versioned)


def test_sizes_are_shown_as_they_were_computed(forests: Forests) -> None:
    forest = forests.entry("main")
    first = next(iter(forest.guards().values()))
    assert forest.compared(first) == "(n + 31)/32 - k"
    assert f"{first.name} ≤ (n + 31)/32 - k [4:6]" in forest.render()


def test_of_what_is_no_arithmetic_the_place_is_told(forests: Forests) -> None:
    forest = forests.entry("nested")
    assert forest.compared(next(iter(forest.guards().values()))) == "(the size at 7:12)*2"


def test_finer_guards_say_the_same() -> None:
    """Names that would be the same for people stay what they are."""
    guard = SizeTable(("n_1", "t_7"), {(5, 6): 0})
    refined = ConfirmedSizeGuards("main", SizeGuardKind.MEMO, {"main.versions_0": guard},
                                  versions={"main.versions_0": ["V1", "V2"]},
                                  titles={"main.versions_0": "main.versions_0 [3:4]"},
                                  sizes={"t_7": "(n + 31)/32"})
    assert list(described(refined)) == ["main.versions_0 [3:4], before its thresholds:",
                                        "  n = 5, (n + 31)/32 = 6: V1"]
    alike = ConfirmedSizeGuards("main", SizeGuardKind.MEMO,
                                {"s": SizeTable(("n_1", "n_7"), {(5, 6): 1})},
                                versions={"s": ["V1", "V2"]}, titles={"s": "s"})
    assert list(described(alike)) == ["s, before its thresholds:", "  n_1 = 5, n_7 = 6: V2"]
