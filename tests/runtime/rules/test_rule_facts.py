"""What rules say of numbers, types and sizes is used: by tests, by right sides, by conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.rules.load import load_rules


def names(text: str) -> list[str]:
    """The rules of a file."""
    return [*load_rules(Source("r", text)).points]


@pytest.mark.parametrize("text", [
    "rule r [n] (xs: [n]i32): i32 = i32.sum xs ==> if n == 77 then 0 else i32.sum xs",
    "rule r [n] (xs: [n]i32): i32 = i32.sum xs ==> if n > 0x40 then 1 + i32.sum xs else i32.sum xs",
    "rule r [n][m] (xs: [n][m]i32): i32 = i32.sum (map i32.sum xs) "
    "==> if m == 200 then 0 else i32.sum (map i32.sum xs)",
    "rule r (x: i64): i64 = x + x ==> if x == 1_000_003 then 0 else 2 * x",
    "rule r (x: i32): i32 = x * x ==> if x == -341 then 0 else x * x",
    "rule r (x: f32): f32 = x + x ==> if x == 12.5 then 0 else x + x",
    "rule r [n] (xs: [n]f64): [n]f64 = map (\\x -> x + x) xs "
    "==> map (\\x -> if x == 99 then 0 else 2 * x) xs",
    "rule r [n] (xs: [n]i32): i32 = i32.sum xs ==> 0 where n == 500",
])
def test_constants_of_a_rule_are_test_values(text: str) -> None:
    with pytest.raises(ProgramError, match="wrong"):
        names(text)


@pytest.mark.parametrize("text", [
    "rule r [n] (xs: [n]i32): i32 = i32.sum xs ==> if n == 77 then i32.sum xs else i32.sum xs",
    "rule r (x: i64): i64 = x + x ==> if x == 1_000_003 then 2_000_006 else 2 * x",
    "rule r (x: f32): f32 = 2 * (x + 1000) ==> 2 * x + 2000",
    "rule r [n] (xs: [n]i32): i32 = i32.sum xs ==> 0 where n == 500 && n == 501 || n == 0",
])
def test_right_rules_with_constants_pass(text: str) -> None:
    assert names(text) == ["r"]


@pytest.mark.parametrize("text", [
    "rule r (x: f32): f32 = x - x ==> 0",
    "rule r (x: f64): f64 = x / x ==> 1 where x > 0",
    "rule r [n] (xs: [n]f64): [n]f64 = map (\\x -> x - x) xs ==> replicate n 0",
])
def test_types_of_the_head_reach_the_right_side(text: str) -> None:
    assert names(text) == ["r"]


@pytest.mark.parametrize("text", [
    "rule r (x: f32) = x - x ==> 0",
    "rule r [n] (xs: [n]f32): []f32 = xs ==> xs ++ [0]",
    "rule r [n] (xs: [n]f32): [n]f32 = xs ==> map f64.f32 xs",
])
def test_sides_of_different_types_are_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        names(text)


TILES = """
rule tiled [n] (xs: [n]f32): []f32 =
  map f32.sum (lift.slide 3 1 xs)
  ==> flatten (map (\\t -> map f32.sum (lift.slide 3 1 t)) (lift.slide 6 4 xs))
  where n >= 6 && (n - 6) % 4 == 0
"""
HALVES = """
rule halves [n] (xs: [n]i32): [n]i32 =
  map (* 2) xs ==> flatten (map (map (* 2)) (lift.split 2 xs)) where n % 2 == 0
"""


def test_sizes_under_the_condition_are_assumed(tmp_path: Path) -> None:
    assert names(TILES) == ["tiled"]
    assert names(HALVES) == ["halves"]
    path = tmp_path / "tiles.rules"
    path.write_text(TILES)
    text = "entry main [n] (xs: [n]f32): []f32 = #[tiled] map f32.sum (lift.slide 3 1 xs)"
    compiled = compile_source(Source("t", text), rules=Source("r", TILES))
    assert [step.request.point for step in compiled.steps] == ["tiled"]
    program = runelift.compile(text, rules=path, tuning={})
    for size in (3, 5, 6, 7, 10, 14, 50):
        xs = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(program.main(xs), xs[:-2] + xs[1:-1] + xs[2:])


@pytest.mark.parametrize("condition", ["n >= 6", "n >= 6 && (n - 6) % 2 == 0"])
def test_sizes_that_the_condition_does_not_make_equal_are_wrong(condition: str) -> None:
    with pytest.raises(ProgramError, match="wrong"):
        names(TILES.replace("n >= 6 && (n - 6) % 4 == 0", condition))
