"""Numbers of points that have names: values with which the points match are found."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramError, ProgramWarning
from runelift.ir.base.source import Source
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.numbers import fitting_values
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tools.commands.cli import main as command

SHARED = """
entry main (xs: [{0}]f32) (ys: [{1}]f32): ([{0}]f32, [{1}]f32) =
  (#[split_join(t)] map (+ 1) xs, #[split_join(t)] map (* 2) ys)
"""
NESTED = """
entry main (xs: [720]f32): [720]f32 = #[split_join(t)] #[split_join(u)] map (* 2) xs
"""
TILED = """
entry main (yss: [48][36]f32): [48][36]f32 =
  #[ab_tile(a, b)] #[ab_tile(c, d)] map (map (+ 1)) yss
"""


def compiled(text: str, schedule: str = "", **values: int) -> Compiled:
    return compile_source(Source("t", text), parameters=values,
                          schedule=Source("s", schedule) if schedule else None)


def one(size: int) -> str:
    return (f"entry main (xs: [{size}]f32): [{size}]f32 = "
            "#[split_join(t)] map (\\x -> x * 2) xs")


@pytest.mark.parametrize(("size", "start", "fitting"), [
    (10, 2, [1, 2, 5, 10]), (16, 16, [1, 2, 4, 8, 16]), (45, 15, [1, 3, 5, 9, 15, 45]),
    (7, 7, [1, 7]), (101, 1, [1])])
def test_a_number_starts_with_what_fits(size: int, start: int, fitting: list[int]) -> None:
    found = compiled(one(size))
    assert found.numbers == {"t": start}
    assert fitting_values(found) == {"t": fitting}
    xs = np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(runelift.compile(one(size), tuning={}).main(xs), 2 * xs)


@pytest.mark.parametrize(("sizes", "start"), [((10, 15), 5), ((32, 48), 16), ((9, 10), 1)])
def test_a_name_of_several_points_fits_all_of_them(sizes: tuple[int, int], start: int) -> None:
    assert compiled(SHARED.format(*sizes)).numbers == {"t": start}


def test_numbers_depend_on_points_before() -> None:
    assert compiled(NESTED).numbers == {"t": 16, "u": 15}
    found = compiled(TILED)
    assert all(48 % found.numbers[each] == 0 for each in "a")
    assert 36 % found.numbers["b"] == 0
    assert found.numbers["a"] % found.numbers["c"] == 0
    assert found.numbers["b"] % found.numbers["d"] == 0


def test_names_in_schedules_are_found_too() -> None:
    plain = "entry main (xs: [10]f32): [10]f32 = map (\\x -> x * 2) xs"
    assert compiled(plain, "main.ys split_join(q)").numbers == {"q": 2}
    assert compiled(plain, "main.ys split_join(p)\nor\nmain.ys split_join(q)").numbers == {
        "p": 2, "q": 2}


def test_given_numbers_are_kept() -> None:
    assert compiled(one(10), t=5).numbers == {"t": 5}
    with pytest.raises(ProgramError, match="3 does not divide 10"):
        compiled(one(10), t=3)
    text = ("entry main (xs: [10]f32): [10]f32 = "
            "#[split_join(t)] map (\\x -> x * f32.i64 (#[param(t)] 3)) xs")
    with pytest.raises(ProgramError, match="3 does not divide 10"):
        compiled(text)


@pytest.mark.parametrize(("text", "name"), [
    ("entry main [n] (t: i64) (xs: [n]i64): [n]i64 = #[split_join(t)] map (+ t) xs", "t"),
    ("entry main [n] (xs: [n]i64): [n]i64 = #[split_join(n)] map (+ 1) xs", "n"),
    ("entry main [n] (xs: [n]i64): [n]i64 = let t = n / 2 in #[split_join(t)] map (+ t) xs", "t"),
])
def test_a_variable_of_the_name_is_warned_of(text: str, name: str) -> None:
    with pytest.warns(ProgramWarning, match=f"'{name}' of point"):
        compiled(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(text.replace("split_join(" + name, "split_join(other"))


def test_fitting_numbers_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nm.fut"
    path.write_text(one(10))
    command(["explain", "parameters", str(path)])
    assert "t (rewrite points): 1 [2] 5 10" in capsys.readouterr().out
    command(["explain", "parameters", "--json", str(path)])
    assert json.loads(capsys.readouterr().out)["result"]["t"] == {
        "default": 2, "values": [1, 2, 5, 10], "constraints": []}


@pytest.mark.parametrize("form", [
    "#[split_join(4)] map (+ 1) xs :> [n]i64", "#[split_join(4)] map (+ 1) xs : [n]i64",
    "#[split_join(4)] #[split_join(2)] map (+ 1) xs : [n]i64 :> [n]i64"])
def test_a_point_is_of_what_a_type_stands_behind(form: str) -> None:
    text = f"entry main [n] (xs: [n]i64): [n]i64 = {form}"
    assert [step.request.point for step in compiled(text).steps] == [
        "split_join"] * form.count("split_join")
    windows = text.replace("(+ 1) xs", "(\\w -> w[0]) (lift.slide 3 1 (lift.pad 1 1 0 xs))")
    windows = windows.replace("xs : [n]i64 :>", "xs :>")
    if ":>" in windows:
        assert compiled(windows).steps
        xs = np.arange(8)
        np.testing.assert_array_equal(runelift.compile(windows, tuning={}).main(xs),
                                      np.maximum(xs - 1, 0))
