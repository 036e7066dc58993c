"""Random well-typed programs: the interpreter and every version on the device agree.

``random_programs/`` makes them, a module for each family.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.interpret import interpret
from runelift.runtime.devices.info import DeviceKind, find_devices
from runelift.runtime.execution import submitting
from runelift.runtime.programs.program import Program
from tests.random_programs.calls import CALLS
from tests.random_programs.check import check, forced, main, other_settings
from tests.random_programs.derived import DERIVED
from tests.random_programs.groups import GROUPS
from tests.random_programs.halves import HALVES
from tests.random_programs.nests import LARGE, NESTS, nests
from tests.random_programs.ragged import LARGE as LARGE_ROWS
from tests.random_programs.ragged import RAGGED, ragged
from tests.random_programs.scans import SCANS
from tests.random_programs.updates import UPDATES

PROGRAMS = int(os.environ.get("RUNELIFT_RANDOM_PROGRAMS", "160"))
CHUNK = 12
RAGGED_PROGRAMS = int(os.environ.get("RUNELIFT_RAGGED_PROGRAMS", "150"))
SEEDS = int(os.environ.get("RUNELIFT_RANDOM_SEEDS", "12"))


@pytest.mark.sweep(every=14)
@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_programs_mean_the_same_in_every_version(first: int, simulator: str) -> None:
    for seed in range(first, min(first + CHUNK, PROGRAMS)):
        check(NESTS, seed, simulator)


@pytest.mark.sweep(every=3)
@pytest.mark.skipif(not any(d.kind is DeviceKind.CPU and d.problem is None for d in find_devices()),
                    reason="no OpenCL for the processor is installed")
@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + PROGRAMS // 50))
def test_random_programs_on_wider_arrays(seed: int) -> None:
    device = next(d.name for d in find_devices() if d.kind is DeviceKind.CPU)
    check(nests(LARGE), seed, device)


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("seed", range(1, 1 + SEEDS // 2))
def test_random_groups(seed: int) -> None:
    check(GROUPS, seed, "pocl")


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_scans(seed: int) -> None:
    check(SCANS, seed, "pocl")


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("seed", range(58, 58 + SEEDS))  # these miss conditions of in_place.py
def test_random_updates(seed: int) -> None:
    check(UPDATES, seed, "pocl")


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("first", range(0, SEEDS * 3, 3))
def test_random_halves(first: int) -> None:
    for seed in range(first, first + 3):
        check(HALVES, seed, None)


@pytest.mark.sweep(every=30)
@pytest.mark.parametrize("seed", range(SEEDS * 5))
def test_random_derivatives(seed: int) -> None:
    check(DERIVED, seed, "pocl")


@pytest.mark.sweep(every=50)
@pytest.mark.parametrize("first", range(0, RAGGED_PROGRAMS, 3))
def test_random_rows_of_different_lengths(first: int) -> None:
    limits = 0
    for seed in range(first, first + 3):
        try:
            check(RAGGED, seed, "pocl")
        except CompilerLimitation:
            limits += 1
    assert limits < 3


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("seed", range(SEEDS * 2))
def test_random_functions_that_call_themselves(seed: int) -> None:
    check(CALLS, seed, "pocl")


def test_programs_run_with_other_parameters_too() -> None:
    program = runelift.compile(RAGGED.text(3), device="pocl")
    found = [other_settings(program, seed) for seed in range(5)]
    for settings in found:
        for space in program.spaces("main"):
            for setting in settings:
                assert space.in_force(setting) == space.chosen(setting) != space.default
        assert settings[0] == found[0][0]
    assert len({str(drawn) for _, drawn in found}) > 1


@pytest.mark.sweep(every=20)
@pytest.mark.parametrize("seed", range(RAGGED_PROGRAMS // 10))
def test_random_rows_longer_than_groups(seed: int) -> None:
    with suppress(CompilerLimitation):
        check(ragged(LARGE_ROWS, 4), seed, "pocl")


@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + PROGRAMS // 100))
def test_random_programs_are_repeated(seed: int, simulator: str,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """On arguments of two sizes in turn, with launches that are fused soon."""
    monkeypatch.setattr(submitting, "SUBMITS_BEFORE_FUSION", 2)
    compiled = runelift.compile(NESTS.text(seed), device=simulator)
    info = compiled.device_info
    program = Program(compiled.compiled, replace(info, kind=DeviceKind.GPU, handle=info.handle))
    inputs = [*NESTS.inputs(seed), *NESTS.inputs(seed + 1)]
    expected = [interpret(compiled.compiled.core, "main", args) for args in inputs]
    for force in forced(program.tree.entry("main"), seed)[:2]:
        for which in (0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1):
            found, _ = program.run("main", inputs[which], force=force)
            for a, b in zip(found, expected[which], strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"seed {seed} versions {force}")


def test_programs_that_fail_in_processes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nests", "0", "6", "nowhere,anywhere", "--processes", "2"]) == 1
    told = capsys.readouterr().out
    assert all(f"No device matches '{name}'" in told for name in ("nowhere", "anywhere"))
    assert "\n6 programs, 6 failed, " in told
    assert told.endswith("2 of 2 processes failed\n")
