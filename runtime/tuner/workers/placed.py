"""Arguments on the device, which are checked and bound once for all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runelift.runtime.execution.device_array import DeviceArray

if TYPE_CHECKING:
    from runelift.codegen.plan.plan import Plan
    from runelift.runtime.programs.program import Program
    from runelift.runtime.tuner.measure.measurable import Args


class Placed(Sequence[Any]):
    """Arguments whose arrays are on the device of a ``program``, and are bound at their first run.

    They are bound once for each plan: a plan says which entry point they are for.
    """

    def __init__(self, program: Program, args: Args) -> None:
        self._program = program
        self._values = [arg if isinstance(arg, DeviceArray) or not np.ndim(arg)
                        else program.to_device(arg) for arg in args]
        self._bound: list[tuple[Plan, dict[str, Any]]] = []

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def bound(self, plan: Plan) -> dict[str, Any]:
        """A copy of the arguments by the name of their parameter: a run takes them out of it."""
        for known, bound in self._bound:
            if known is plan:
                return dict(bound)
        bound = self._program.loaded.bind(plan, self._values)
        self._bound.append((plan, bound))
        return dict(bound)


def bound(program: Program, entry: str, args: Args) -> dict[str, Any]:
    """Arguments for a run of an entry point, by the name of their parameter."""
    plan = program.loaded.plan(entry)
    return args.bound(plan) if isinstance(args, Placed) else program.loaded.bind(plan, list(args))
