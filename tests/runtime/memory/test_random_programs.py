"""Random programs take the memory that is foreseen, and keep within bounds."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError, VersionUnavailable
from runelift.ir.interpret import interpret
from tests.random_programs.check import forced
from tests.random_programs.groups import GROUPS
from tests.random_programs.nests import NESTS
from tests.random_programs.updates import UPDATES
from tests.runtime.memory.test_memory_run import measured

FAMILIES = {"nests": NESTS, "groups": GROUPS, "updates": UPDATES}


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_version_takes_what_is_foreseen(family: str, seed: int) -> None:
    program = runelift.compile(FAMILIES[family].text(seed), device="pocl", tuning={})
    for inputs in FAMILIES[family].inputs(seed)[:2]:
        args = [np.asarray(arg)[()] for arg in inputs]
        for force in forced(program.tree.entry("main"), seed)[:3]:
            found = program.estimate_memory("main", args, force=force)
            try:
                taken = measured(program, "main", args, force)
            except (VersionUnavailable, UserError):
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
