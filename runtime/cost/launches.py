"""Predicted times of single launches, whose sizes and scalars are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runelift.codegen.cost.work import argument_names, work_source
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.runtime.cost.device_costs import DeviceCosts
from runelift.runtime.cost.model import LaunchTime, launch_time
from runelift.runtime.cost.predictor import Formulas


class LaunchPredictor:
    """Predicts launches on a device of so many ``units``; formulas of kernels are kept."""

    def __init__(self, costs: DeviceCosts, units: int, formulas: Formulas) -> None:
        self.costs, self._units, self._formulas = costs, units, formulas

    def time(self, kernel: imp.Kernel, extent: tuple[int, int, int],
             scalars: Mapping[VName, Any]) -> LaunchTime:
        """The parts of the time of a launch: groups, group size and bytes of local memory.

        ``scalars`` are constants and arguments by parameter.  Teams of a group count as groups of
        the formula.
        """
        groups, group, room = extent
        teams = 1 if kernel.teams is None else max(1, scalars.get(kernel.teams, 1))
        if kernel.name not in self._formulas.texts:
            self._formulas.texts[kernel.name] = work_source(kernel)
        given = (scalars.get(name, 1) for name in argument_names(kernel))
        work = self._formulas[kernel.name](groups * teams, group // teams, *given)
        return launch_time(self.costs, self._units, groups, group, room, work)
