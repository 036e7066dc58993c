"""Whole programs without a device: each version of a host plan, with interpreted kernels.

The programs are those of ``tests/golden``: maps, reductions, scans, histograms, loops, branches,
updates in place, transpositions and copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir.base.files import read_source
from runelift.ir.imp import Lit
from runelift.ir.names import VName
from runelift.ir.types import Const
from runelift.runtime.compilation.pipeline import compile_source
from tests.codegen.harness import DEVICE, ModelMachine

RANDOM = np.random.default_rng(7)
MATRIX = RANDOM.integers(1, 9, (5, 6))
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "all_pairs": (MATRIX.astype(np.float32), MATRIX[0].astype(np.float32)),
    "branch": (np.int32(5), MATRIX.astype(np.int32)),
    "histogram": (np.int64(4), RANDOM.integers(-1, 6, 23)),
    "in_place": (MATRIX.reshape(-1).astype(np.int32),),
    "loop_of_maps": (np.int64(3), MATRIX.astype(np.float32)),
    "rotation": (MATRIX,),
    "row_scans": (MATRIX.astype(np.int32),),
    "row_sums": (MATRIX.astype(np.float32),),
    "saxpy": (np.float32(2), *MATRIX[:2].astype(np.float32)),
}
GOLDEN = Path(__file__).parents[1] / "golden"


@dataclass(slots=True)
class Choices:
    """Which version every choice takes, and how many there were to take.

    With ``kind``, the one that has a kernel of this kind.
    """

    number: int
    most: int = 1
    kind: str = ""


class ProgramMachine(ModelMachine):
    """Executes the plan of an entry point."""

    def __init__(self, choices: Choices, scalars: dict[VName, Any],
                 device: Mapping[VName, int]) -> None:
        self.choices = choices
        self.promised: set[VName] = set()
        super().__init__(scalars, {**DEVICE, **device})

    def choose(self, versions: Sequence[plan.PlanVersion]) -> plan.PlanVersion:
        self.choices.most = max(self.choices.most, len(versions))
        version = versions[min(self.choices.number, len(versions) - 1)]
        if self.choices.kind:
            version = next(v for v in versions if any(
                kernel.name.startswith(self.choices.kind) for kernel in plan.kernels(v.steps)))
        assert version.infeasible is None
        for need in version.needs:
            assert any(launch.shaped is None or self.scalars[launch.shaped]
                       for launch in need.launches)
        return version

    def control(self, step: plan.Step) -> None:
        match step:
            case plan.Bind(target, source) if source in self.buffers:
                assert isinstance(source, VName)
                self.buffers[target] = self.buffers[source]
            case plan.Bind(target, source):
                self.scalars[target] = self.atom(source)
            case plan.LazyCopy(name):
                self.buffers[name] = np.zeros(0)
                self.promised.add(name)
            case plan.Fill(name, steps):
                if name in self.promised:
                    self.promised.remove(name)
                    self.run(steps)
            case plan.Check(cond, message, args):
                assert self.atom(cond), message.format(*map(self.atom, args))
            case plan.CountedLoop(index, bound, body):
                for i in range(self.atom(bound)):
                    self.scalars[index] = i
                    self.run(body)
            case plan.CopyBuffer(target, source, _, count, plan.FROM_START):
                number = self.size(count)
                self.buffers[target][:number] = self.buffers[source][:number]
            case plan.Read(name, _, buffer, Lit(index)):
                self.scalars[name] = self.buffers[buffer][int(index.value)].item()
            case _:
                super().control(step)


def modelled(code: plan.Plan, args: Sequence[Any], choices: Choices,
             device: Mapping[VName, int] | None = None) -> np.ndarray[Any, Any]:
    """The result of a plan with one result, an array."""
    scalars: dict[VName, Any] = {}
    for spec, arg in zip(code.params, args, strict=True):
        if spec.shape is None:
            scalars[spec.name] = arg
        else:
            scalars |= {size: n for size, n in zip(spec.shape, arg.shape, strict=True)
                        if isinstance(size, VName)}
    machine = ProgramMachine(choices, scalars, device or {})
    for spec, arg in zip(code.params, args, strict=True):
        if spec.shape is not None:
            machine.put(spec.name, arg)
    machine.run(code.steps)
    assert machine.failure is None
    (result,) = code.results
    assert result.shape is not None
    shape = tuple(int(n.value) if isinstance(n, Const) else int(machine.scalars[n])
                  for n in result.shape)
    return machine.get(result.name, result.prim, shape)


@pytest.mark.parametrize("name", [path.stem for path in sorted(GOLDEN.glob("*.fut"))])
def test_every_version(name: str) -> None:
    path, args = GOLDEN / f"{name}.fut", ARGUMENTS[name]
    expected = np.asarray(runelift.compile(path, device="interpreter", tuning={}).main(
        *(np.copy(arg) for arg in args)))
    code = compile_source(read_source(path), policy="all").plan("main")
    choices = Choices(0)
    while choices.number < choices.most:
        np.testing.assert_allclose(modelled(code, args, choices), expected, rtol=1e-5)
        choices.number += 1
