"""Races of kernels: what is reported, and that each barrier is needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir import imp
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.imp.interpret import Launch, Reported
from runelift.runtime.tools.races.checks import FormChecks, RaceChecks
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from runelift.runtime.tools.races.mistakes import RACE, KernelMistake, RunTooLong
from tests.runtime.tools.races.deletion import arguments, barriers_of, delete_barriers, without

EXAMPLES = Path(__file__).parents[4] / "examples"
SCANS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> let ys = scan (+) 0 xs
              in map2 (+) ys (rotate 1 ys)) xss
"""
PROGRAMS = {
    "scans": SCANS,
    "post": "entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> map2 (\\i y -> "
            "y * i32.i64 i + xs[m - 1 - i]) (iota m) (scan (+) 0 xs)) xss",
    "sums": "entry main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss",
    "bins": "entry main [n] (xs: [n]i64): [4]i32 = "
            "reduce_by_index (replicate 4 0) (+) 0 (map (& 3) xs) (map i32.i64 xs)",
    "transposed": "entry main [n][m] (xss: [n][m]f32): [m][n]f32 = "
                  "transpose (map (map (+ 1)) xss) |> map (scan (+) 0)",
    "steps": "entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> "
             "loop ys = copy xs for _i < 3 do let s = i32.sum ys in map (% 7) (map (+ s) ys)) xss",
}
SIZES = {1: [(3,), (9,), (70,)], 2: [(2, 3), (3, 20), (20, 3), (2, 70)]}
DEEP_SIZES = [(2, 3), (2, 40, 1), (2, 1, 40), (9, 2, 2), (2, 2, 17)]
WORKAROUNDS = {imp.Placement.AFTER_LOOP, imp.Placement.AFTER_BRANCH, imp.Placement.LONE_STORE}
"""Barriers for PoCL, some of which separate nothing."""


def lockstep(program: runelift.Program, entry: str = "main") -> FormChecks:
    """The entry point with kernels for devices that run work-items in lockstep."""
    (found,) = (form for form in RaceChecks(program).forms(entry) if form.form == "lockstep")
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_of_both_forms_are_right_in_their_interpreter(name: str) -> None:
    program = runelift.compile(PROGRAMS[name], tuning={}, runs=False)
    checks = RaceChecks(program)
    for sizes in SIZES[len(program.interface("main").sizes)][:2]:
        given = arguments(program.loaded.plan("main"), sizes)
        expected = runelift.compile(PROGRAMS[name], device="interpreter").main(*given)
        for form in checks.forms("main"):
            for version, force in checks.versions("main", each=True):
                (found,) = form.run(given, force, 60.0)
                np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=version)


class WithoutBarriers(InterpretedRun):
    """Runs kernels without their barriers."""

    def interpret(self, kernel: imp.Kernel, launch: Launch) -> Reported | None:
        for barrier in barriers_of(kernel):
            kernel = without(kernel, barrier)
        return super().interpret(kernel, launch)


def test_a_race_names_kernel_array_and_lines() -> None:
    program = runelift.compile(SCANS, tuning={}, runs=False)
    form = lockstep(program)
    told = list[KernelMistake]()
    for _, force in RaceChecks(program).versions("main", each=True):
        try:
            form.run([np.ones((2, 20), np.int32)], force, 60.0, WithoutBarriers)
        except KernelMistake as mistake:
            told.append(mistake)
    text = next(str(each) for each in told if "intragroup" in str(each))
    assert {each.cause for each in told} == {RACE}
    assert "in local memory (<source>:4:18 and <source>:3:24)" in text


def test_runs_that_take_too_long_are_given_up() -> None:
    program = runelift.compile(PROGRAMS["sums"], tuning={}, runs=False)
    with pytest.raises(RunTooLong, match="smaller data"):
        lockstep(program).run([np.ones((300, 300), np.int32)], {}, 0.2)


def test_failures_of_the_program_are_its_own() -> None:
    """They are no mistake of a kernel."""
    text = "entry main [n] (xs: [n]i32) (i: i64): [n]i32 = map (\\x -> x + xs[i + i64.i32 x]) xs"
    program = runelift.compile(text, tuning={}, runs=False)
    args: list[Any] = [np.zeros(3, np.int32), np.int64(3)]
    with pytest.raises(ProgramFailure, match="out of bounds"):
        lockstep(program).run(args, {}, 60.0)


def needed(text: str | Path, chosen: list[tuple[int, ...]] | None = None) -> int:
    """Assert that no barrier but those for PoCL can be left out; the number of reports.

    ``chosen``: the choices of sizes, if others than usual.
    """
    program = runelift.compile(text, tuning={}, runs=False)
    reports = 0
    for entry in program.entries:
        interface = program.loaded.plan(entry)
        sizes = chosen or SIZES.get(len(interface.sizes), DEEP_SIZES)
        found = delete_barriers(program, entry, [arguments(interface, each) for each in sizes],
                                5.0)
        reports += sum(len(each.reported) for each in found.values())
        superfluous = [(form, *missed) for form, each in found.items() for missed in each.missed()
                       if missed[2] not in WORKAROUNDS]
        assert superfluous == []
    return reports


@pytest.mark.parametrize("name", ["sums", "steps"])
def test_without_any_barrier_a_race_is_reported(name: str) -> None:
    assert needed(PROGRAMS[name], SIZES[2][:2])


def test_no_barrier_of_a_scan_is_superfluous() -> None:
    """Work-items have several elements; in shorter arrays each has one, which is its own."""
    assert needed("entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs", [(70,)]) > 9


@pytest.mark.sweep(keep=["nn"])
@pytest.mark.parametrize("name", [
    "matmul", "mapscan", "nn", "conv1d", "mri-q", "nbody", "poisson", "srad", "stencil", "syrk",
    "coulomb", "sgemm", "pathfinder", "variant", "hotspot"])
def test_no_barrier_of_an_example_is_superfluous(name: str) -> None:
    needed(EXAMPLES / f"{name}.fut")


def test_barriers_that_are_met_are_counted() -> None:
    counted = list[int]()

    class Counting(InterpretedRun):
        def interpret(self, kernel: imp.Kernel, launch: Launch) -> Reported | None:
            met = replace(launch, met=Counter())
            reported = super().interpret(kernel, met)
            counted.append(sum((met.met or {}).values()))
            return reported

    program = runelift.compile(PROGRAMS["sums"], tuning={}, runs=False)
    for _, force in RaceChecks(program).versions("main", each=True):
        lockstep(program).run([np.ones((2, 40), np.int32)], force, 60.0, Counting)
    assert max(counted) > 2
    assert min(counted) == 0
