"""Forms of a host plan: the functions of ``rt`` that are written for one plan.

A run calls one form.  All forms but ``main`` are written when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from runelift.codegen.emit.host_scalars import SCALARS
from runelift.codegen.emit.python import FUNCTION, Generated, python_source, scalars_source
from runelift.codegen.plan.epilogue import split_epilogue
from runelift.codegen.plan.free_scalars import free_scalars
from runelift.codegen.plan.plan import Plan, ValueSpec
from runelift.ir.types import Atom
from runelift.runtime.devices.kernel import LateScalar
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


class FreeValues:
    """The free scalars of a plan and the scalars derived from them, in the order of late scalars.

    ``names`` are the names of the free arguments, ``specs`` their types by position.  ``places``
    are both together.  ``arrays`` are the positions of arrays.
    """

    def __init__(self, host: Plan, load: Callable[[str], Callable[..., tuple[Any, ...]]]) -> None:
        found = free_scalars(host)
        self.names = [str(name) for name in found.params]
        self.specs: dict[int, ValueSpec] = {
            n: spec for n, spec in enumerate(host.params) if spec.name in found.params}
        self.places = [(n, str(spec.name), spec) for n, spec in self.specs.items()]
        self.arrays = [n for n, spec in enumerate(host.params) if spec.shape is not None]
        self._late: Mapping[Atom, LateScalar] = {
            name: LateScalar(n) for n, name in enumerate((*found.params, *found.derived))}
        self._values = load(scalars_source(host, found)) if found.params else None

    def __len__(self) -> int:
        return len(self._late)

    def of(self, run: Any, args: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values for a run on these scalar arguments."""
        return () if self._values is None else self._values(run, args)

    def placed(self, names: Sequence[Atom], args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a launch, with late scalars in the places of these ``names``."""
        late = self._late
        first = [late.get(name, arg) for name, arg in zip(names, args, strict=False)]
        return (*first, *args[len(first):])


def filled_late(args: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Any]:
    """The arguments of a launch with values in place of late scalars."""
    return [scalars[arg.number] if isinstance(arg, LateScalar) else arg for arg in args]
