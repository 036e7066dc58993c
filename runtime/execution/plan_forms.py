"""Forms of a host plan: the functions of ``rt`` that are written for one plan.

A run calls one form.  All forms but ``main`` are written when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

from runelift.codegen.emit.host_scalars import SCALARS
from runelift.codegen.emit.python import FUNCTION, Generated, python_source
from runelift.codegen.plan.epilogue import split_epilogue
from runelift.codegen.plan.plan import Plan
from runelift.runtime.execution.free_values import FreeValues
from runelift.runtime.records.loop_sampling import is_predictable

Main: TypeAlias = Callable[[Any, dict[str, Any]], tuple[Any, ...]]
"""A plan as a Python function of a :class:`~runelift.runtime.execution.run.Run` and its
arguments."""


class PlanForms:
    """The Python functions of a plan; ``generated`` is the form ``main`` as text."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.generated: Generated = python_source(plan)
        self.main = self._function(self.generated.source)

    @cached_property
    def replaying(self) -> Main:
        """The plan as a function that runs all versions at each choice."""
        return self._function(python_source(self._plan, replay=True).source)

    @cached_property
    def measuring_memory(self) -> Main:
        """The plan as a function that names its buffers, and runs all versions at each choice."""
        return self._function(python_source(self._plan, replay=True, named=True).source)

    @cached_property
    def tried(self) -> Generated:
        """The plan as a function whose operations can be run with other settings."""
        return python_source(self._plan, trials=True)

    @cached_property
    def main_of_trials(self) -> Main:
        """The plan for trials as a function of a run and arguments."""
        return self._function(self.tried.source)

    @cached_property
    def foreseeable(self) -> bool:
        """True if the launches depend on nothing that the device computes."""
        return is_predictable(self._plan)

    @cached_property
    def reads_nothing(self) -> bool:
        """True if the epilogue of the plan only names the results."""
        return not split_epilogue(self._plan)[1]

    @cached_property
    def free(self) -> FreeValues:
        """The scalar arguments that may have other values when a run is repeated."""
        return FreeValues(self._plan, self._function)

    def _function(self, source: str) -> Main:
        namespace = dict(SCALARS)
        exec(compile(source, f"<plan of {self._plan.entry}>", "exec"), namespace)
        main: Main = namespace[FUNCTION]
        return main
