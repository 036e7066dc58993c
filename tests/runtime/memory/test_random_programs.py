"""Random programs take the memory that is foreseen, and keep within bounds."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError, VersionUnavailable
from runelift.ir.interpret import interpret
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from tests.random_programs.check import forced
from tests.random_programs.groups import GROUPS
from tests.random_programs.nests import NESTS
from tests.random_programs.updates import UPDATES

FAMILIES = {"nests": NESTS, "groups": GROUPS, "updates": UPDATES}


def measured(program: Program, args: list[Any], force: dict[str, int]) -> int | None:
    """The greatest memory of a run whose arguments are on the device; None if it cannot run."""
    gc.collect()  # arrays of other tests that would be freed meanwhile
    runner, before = MeasuredProgram(program), program.device.pool.live
    placed = runner.place(args)
    try:
        return runner.record("main", placed, force=force, samples=False).peak_bytes - before
    except (VersionUnavailable, UserError):
        return None


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_version_takes_what_is_foreseen(family: str, seed: int) -> None:
    program = runelift.compile(FAMILIES[family].text(seed), device="pocl", tuning={})
    for inputs in FAMILIES[family].inputs(seed)[:2]:
        args = [np.asarray(arg)[()] for arg in inputs]
        for force in forced(program.tree.entry("main"), seed)[:3]:
            taken = measured(program, args, dict(force))
            found = program.estimate_memory("main", args, force=force)
            if taken is None:
                continue
            assert found.bytes <= taken if found.unknown else found.bytes == taken, (
                f"seed {seed} versions {force}: {found}")


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_runs_within_a_bound_mean_the_same(family: str, seed: int) -> None:
    program = runelift.compile(FAMILIES[family].text(seed), device="pocl", tuning={})
    for inputs in FAMILIES[family].inputs(seed)[:2]:
        args = [np.asarray(arg)[()] for arg in inputs]
        expected = interpret(program.compiled.core, "main", inputs)
        alone = program.estimate_memory("main", args)
        needs = sorted({need.bytes for each in alone.encounters for need in each.needs.values()
                        if need.bytes is not None} | {alone.bytes})
        for bound in (needs[0], needs[len(needs) // 2], needs[-1]):
            program.memory = max(bound, 16)
            for _ in range(3):
                try:
                    found, _ = program.run("main", args)
                except UserError as error:
                    assert "device memory" in str(error)  # noqa: PT017
                    assert bound < needs[-1] or alone.unknown
                    continue
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one, other)
        program.memory = None
