"""A compiled program with all stages of its compilation."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING

from runelift.codegen.plan.plan import Interface, Plan, kernels
from runelift.ir.base.deep import deeply
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.ir.signature import Signature
from runelift.runtime.cache.fast_pickle import dumps, loads

if TYPE_CHECKING:
    from runelift.codegen.plan.origins import Origins
    from runelift.ir.syntax import Program as Core
    from runelift.rewrite.engine.rule import Rewriting
    from runelift.rewrite.flattening import Derivation
    from runelift.rewrite.lift.alternatives import Dropped
    from runelift.rewrite.lift.schedule import Step
    from runelift.rewrite.lift.scheduling import Asked
    from runelift.runtime.compilation.entry_stages import EntryStages


class Stages:
    """A program before optimisation, and the later stages of entry points made so far.

    Stages read from a file stay pickled until they are needed; runs seldom need them.
    """

    def __init__(self, core: Core) -> None:
        self._stages: tuple[Core, dict[str, EntryStages]] | bytes = core, {}

    def __call__(self) -> tuple[Core, dict[str, EntryStages]]:
        """The program before optimisation, and the entry points made so far."""
        if isinstance(self._stages, bytes):
            self._stages = loads(self._stages)
        found: tuple[Core, dict[str, EntryStages]] = self._stages  # type: ignore[assignment]
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stages) and self()[0] == other()[0]

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> bytes:
        return self._stages if isinstance(self._stages, bytes) else dumps(self._stages)

    def __setstate__(self, pickled: bytes) -> None:
        self._stages = pickled


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program with its stages, interfaces and host plans.

    An entry point goes through the later stages when something first asks for it.  ``names`` differ
    from the names before optimisation; each entry point takes its further names from a copy.
    """

    source: Source
    imports: tuple[Source, ...]
    stages: Stages
    policy: str
    names: Names = field(compare=False)
    interfaces: Mapping[str, Interface]
    signatures: Mapping[str, Signature]
    parameters: Mapping[str, int | None]
    """The values of attributes ``#[param(name)]``; None where none is given."""
    rules: Source | None = None
    """The file of rules from outside."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The values of program parameters that rewrite points name, and values that skip a point."""
    schedule: Source | None = None
    """The schedule that replaces the program's rewrite points; None if it does not."""
    warned: tuple[Warning, ...] = field(default=(), compare=False)
    """The warnings of the compilation."""
    plans: dict[tuple[str, bool, bool], Plan] = field(default_factory=dict, compare=False)
    """The plans made so far, by entry point, ``interleave`` and ``coherent``."""
    unchecked: set[tuple[str, bool, bool]] = field(default_factory=set, compare=False)
    """Keys of plans whose kernels have not been checked yet."""
    uncosted: set[tuple[str, bool, bool]] = field(default_factory=set, compare=False)
    """Keys of plans whose choices have no costs yet."""
    snapshot: str = field(default="", compare=False)
    """The hash of the file that this was read from (:mod:`~runelift.runtime.compilation.reuse`)."""

    @property
    def core(self) -> Core:
        """The program after the front end, before optimisation."""
        return self.stages()[0]

    @property
    def optimised(self) -> Core:
        """The program after optimisation, before flattening."""
        return replace(self.core, funs=tuple(each.optimised for each in self._all_entries()))

    @property
    def versioned(self) -> Core:
        """The program after flattening, with several versions of its code."""
        return replace(self.core, funs=tuple(each.versioned for each in self._all_entries()))

    def optimised_entry(self, entry: str) -> Core:
        """The program after optimisation, of which only this entry point."""
        return replace(self.core, funs=(self._entry(entry).optimised,))

    def versioned_entry(self, entry: str) -> Core:
        """The program after flattening, of which only this entry point."""
        return replace(self.core, funs=(self._entry(entry).versioned,))

    def _all_entries(self) -> list[EntryStages]:
        return [self._entry(fun.name) for fun in self.core.funs]

    def _entry(self, entry: str) -> EntryStages:
        if entry not in self.stages()[1]:
            self.make_entry(entry)
        return self.stages()[1][entry]

    def make_entry(self, entry: str, rewriting: Rewriting | None = None) -> None:
        """Have an entry point go through the later stages, if need be with a watched optimiser."""
        (fun,) = (fun for fun in self.core.funs if fun.name == entry)
        self.stages()[1][entry] = _compiler().stages_of(fun, self.policy, copy(self.names),
                                                        rewriting, self._asked(), self.rules)

    def _asked(self) -> Asked:
        asked: Asked = _compiler().asked_of(self.schedule, self.numbers, self.rules)
        return asked

    @property
    def steps(self) -> tuple[Step, ...]:
        """The rewrite points taken, in order."""
        return tuple(step for each in self._all_entries() for step in each.steps)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The schedules that give no version, and why."""
        return tuple(found for each in self._all_entries() for found in each.dropped)

    @property
    def skips(self) -> tuple[str, ...]:
        """The names of the parameters that leave out a step."""
        steps = self.steps
        return tuple(each.skip_name(steps[:number]) for number, each in enumerate(steps)
                     if each.request.skip)

    @property
    def schedule_text(self) -> str:
        """The text of the schedule that replaces the program's points; "" if none does."""
        return "" if self.schedule is None else self.schedule.text

    def plan(self, entry: str, *, interleave: bool = False, coherent: bool = False,
             checked: bool = True, costed: bool = True) -> Plan:
        """The host plan of an entry point, made at the first call.

        Its kernels are ``checked``, unless only their names and texts are needed.  Its choices are
        ``costed``, unless only its kernels are needed.
        ``interleave``: neighbouring work-items should access neighbouring elements
        (:attr:`~runelift.runtime.devices.info.DeviceInfo.interleaves`).  ``coherent``: one kernel
        can run all iterations of a loop
        (:attr:`~runelift.runtime.devices.info.DeviceInfo.coherent`).  CompilerLimitation if no
        version can be compiled; the interpreter may still run the program.
        """
        key = entry, interleave, coherent
        if key not in self.plans:
            self.plans[key] = _compiler().plan_of(self._entry(entry), interleave=interleave,
                                                  coherent=coherent)
            self.unchecked.add(key)
            self.uncosted.add(key)
        if checked and key in self.unchecked:
            _check_kernels(self.plans[key])
            self.unchecked.remove(key)
        if costed and key in self.uncosted:
            self.plans[key] = _compiler().costed_plan(self.plans[key])
            self.uncosted.remove(key)
        return self.plans[key]

    def explained_plan(self, entry: str, *, interleave: bool = False, coherent: bool = False,
                       checked: bool = False) -> tuple[Plan, Origins]:
        """A plan of an entry point made anew, and the origins of its kernels' statements."""
        stages = self._entry(entry)
        plan, origins = _compiler().explained_plan_of(
            replace(stages, names=copy(stages.names)), interleave=interleave, coherent=coherent)
        if checked:
            _check_kernels(plan)
        return plan, origins

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """The derivation of the versions of each entry point, repeated."""
        return tuple(self.derivation(fun.name) for fun in self.core.funs)

    def derivation(self, entry: str) -> Derivation:
        """The derivation of the versions of one entry point."""
        found: Derivation = _compiler().derivation_of(self._entry(entry), self.policy)
        return found


@deeply
def _check_kernels(plan: Plan) -> None:
    # late: start-up; plans that are kept have been checked
    from runelift.ir.imp.check import check

    for kernel in kernels(plan.steps):
        check(kernel)


def _compiler() -> ModuleType:
    """The stages after the front end."""
    # late: start-up; a program on disk with its plans needs no compiler
    from runelift.runtime.compilation import entry_points

    return entry_points
