"""Points that do not depend on each other have conditions of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import runelift
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.pipeline import compile_source

TWO = """
entry main [n][m] (xs: [n]i64) (ys: [m]i64): ([n]i64, [m]i64) =
  let a = #[split_join(16)] map (\\x -> x * 2) xs
  let b = #[split_join(8)] map (\\y -> y + 2) ys
  in (a, b)
"""
THREE = """
entry main [n][m][k] (xs: [n]i64) (ys: [m]i64) (zss: [k][m]i64): ([n]i64, [m]i64, [k][m]i64) =
  let a = #[split_join(16)] #[split_join(4)] map (\\x -> x * 2) xs
  let b = #[split_join(8)] map (\\y -> y + 2) ys
  let c = #[ab_tile(2, 4)] map (map (+ 1)) zss
  in (a, b, c)
"""
LOOP = """
entry main [n][m] (xs: [n]i64) (ys: [m]i64): ([n]i64, [m]i64) =
  loop (xs, ys) for _i < 3i32 do
    (#[split_join(16)] map (* 2) xs, #[split_join(8)] map (+ 1) ys)
"""
PLAIN = TWO.replace("#[split_join(16)] ", "").replace("#[split_join(8)] ", "")


def sites(text: str, schedule: str = "") -> list[list[tuple[set[int], tuple[str, ...]]]]:
    """For each choice, the numbers that divide something in a version, and its steps."""
    source = Source("s", schedule) if schedule else None
    found = compile_source(Source("t", text), schedule=source).optimised
    return [[*_versions(stm.exp)] for stm in statements_inside([found.funs[0].body])
            if isinstance(stm.exp, ir.Versions)]


def _versions(exp: ir.Versions) -> Iterator[tuple[set[int], tuple[str, ...]]]:
    for version in exp.alternatives:
        if version.guard is not None:
            yield ({need.left.constant or 0 for need in version.guard.needs},
                   tuple(map(str, version.schedule)))


def test_points_of_two_statements_have_a_guard_each() -> None:
    assert sites(TWO) == [[({16}, ("main.a split_join(16)",))],
                          [({8}, ("main.b split_join(8)",))]]


def test_points_of_a_statement_depend_on_each_other() -> None:
    found = sites(THREE)
    assert [[needs for needs, _ in site] for site in found] == [[{16}], [{8}], [{2, 4}]]
    assert len(found[0][0][1]) == 2


@pytest.mark.parametrize("schedule", [
    "main.a split_join(16)\nmain.b split_join(8)",
    "main.b split_join(8)\nmain.a split_join(16)\nmain.b.b split_join(2)"])
def test_steps_of_a_schedule_have_a_guard_each(schedule: str) -> None:
    found = sites(PLAIN, schedule)
    assert [[needs for needs, _ in site] for site in found] == [[{16}], [{8}]]


def test_points_without_conditions_stay_where_others_fail() -> None:
    text = TWO.replace("[m]i64", "[64]i64").replace("[n][m]", "[n]").replace("[m]", "")
    assert sites(text) == [[({16}, ("main.a split_join(16)",))]]
    optimised = compile_source(Source("t", text)).optimised.funs[0]
    assert any(isinstance(stm.exp, ir.Map) and any(
        isinstance(inner.exp, ir.Map) for inner in stm.exp.lam.body.stms)
        for stm in optimised.body.stms)


def test_points_in_one_statement_have_all_combinations() -> None:
    (site,) = sites(LOOP)
    assert [needs for needs, _ in site] == [{8, 16}, {16}, {8}]


@pytest.mark.parametrize("text", [TWO, LOOP])
@pytest.mark.parametrize("sizes", [(16, 8), (16, 7), (15, 8), (3, 5), (0, 0), (32, 24)])
def test_all_sizes_compute_as_much(text: str, sizes: tuple[int, int]) -> None:
    xs, ys = np.arange(sizes[0]), np.arange(sizes[1])
    found = runelift.compile(text, tuning={}).main(xs, ys)
    times = 3 if text is LOOP else 1
    np.testing.assert_array_equal(found[0], xs * 2 ** times)
    np.testing.assert_array_equal(found[1], ys + (3 if text is LOOP else 2))
