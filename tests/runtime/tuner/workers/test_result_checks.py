"""Results of versions are compared while a program is tuned, whatever the strategy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.result_checks import ResultChecks, WrongResults

ODD = """
-- ==
-- "small" input { 1000i64 }
-- "large" input { 5000i64 }
entry main (m: i64): [2]i32 =
  map (\\k -> reduce (-) 0 (map (\\j -> i32.i64 (j * k)) (iota m))) [1, 2]
"""
EVEN = """
-- ==
-- "right" input { 1000i64 } output { [499500i32, 999000i32] }
-- "wrong" input { 500i64 } output { [124750i32, 0i32] }
entry main (m: i64): [2]i32 =
  map (\\k -> i32.sum (map (\\j -> i32.i64 (j * k)) (iota m))) [1, 2]
"""
FLOATS = """
entry main [n] (xs: [n]f32): ([2]f32, [2]i64, [2]i64) =
  let sums = map (\\k -> f32.sum (map (\\x -> x * k) xs)) [1, 2]
  in (sums, map (\\s -> i64.f32 (s * 3)) sums,
      map (\\k -> length (filter (> k) xs)) [0.25, 0.5])
"""
SITE = "main.versions_0"


def tune(path: Path, text: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    path.write_text(text)
    assert main(["autotune", "--device", "pocl", "-r", "1", "--no-parameters", *options,
                 str(path)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("options", [
    (), ("--time-limit", "none"), ("--strategy", "replay"), ("--strategy", "exhaustive")],
    ids=["forced", "in this process", "replay", "exhaustive"])
def test_an_operator_that_is_not_associative(tmp_path: Path, options: tuple[str, ...],
                                             capsys: pytest.CaptureFixture[str]) -> None:
    out = tune(tmp_path / "odd.fut", ODD, capsys, *options)
    lines = [line for line in out.splitlines() if line.startswith("Not used: ")]
    assert any("differ from those of" in line for line in lines), out
    assert not any(line.startswith("Not used: V1") for line in lines), "it runs by default"


@pytest.mark.parametrize("options", [
    (), ("--strategy", "replay"), ("--strategy", "exhaustive")])
def test_an_output_that_is_not_the_expected_one(tmp_path: Path, options: tuple[str, ...],
                                                capsys: pytest.CaptureFixture[str]) -> None:
    out = tune(tmp_path / "even.fut", EVEN, capsys, *options)
    (line,) = [line for line in out.splitlines() if line.startswith("Not used: ")]
    assert "does not give the output of the dataset: the value[1] should be 0i32" in line
    assert "wrong" in line
    assert "right" not in line


def test_rounding_is_no_difference() -> None:
    program = runelift.compile(FLOATS, device="pocl", tuning={})
    measured = MeasuredProgram(program, ResultChecks())
    xs = np.random.default_rng(3).random(20_000, np.float32)
    args = measured.place([xs])
    for force in ({}, *({SITE: k} for k in range(3))):
        measured.time("main", args, force=force)
        measured.record("main", args, force=force)


def test_the_reference_is_the_default_whatever_runs_first() -> None:
    program = runelift.compile(ODD, device="pocl", tuning={})
    measured = MeasuredProgram(program, ResultChecks())
    args = measured.place([np.int64(1000)])
    for _ in range(2):
        with pytest.raises(WrongResults, match="those of the default version: 2 of 2 elements"):
            measured.time("main", args, force={SITE: 1})
    assert measured.time("main", args) > 0
    assert measured.time("main", args, force={SITE: 0}) > 0


def test_references_of_arguments_that_are_gone() -> None:
    checks = ResultChecks()
    measured = MeasuredProgram(runelift.compile(ODD, device="pocl", tuning={}), checks)
    args = measured.place([np.int64(10)])
    measured.time("main", args)
    assert len(checks._references) == 1
    checks.drop(args)
    assert not checks._references
