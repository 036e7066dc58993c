"""A compiled program with all stages of its compilation."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runelift.codegen.plan.plan import Interface, Plan, kernels
from runelift.frontend.syntax.signature import Signature
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.runtime.cache.fast_pickle import dumps

if TYPE_CHECKING:
    from runelift.ir.syntax import Program as Core
    from runelift.rewrite.flattening import Derivation


@dataclass(frozen=True, slots=True)
class Stages:
    """A program before and after optimisation, and after flattening."""

    core: Core
    optimised: Core
    versioned: Core


class PickledStages:
    """Stages that stay pickled until they are needed; runs seldom need them."""

    def __init__(self, stages: Stages | bytes) -> None:
        self._stages = stages

    def __call__(self) -> Stages:
        """The stages."""
        if isinstance(self._stages, bytes):
            self._stages = pickle.loads(self._stages)
        found: Stages = self._stages  # type: ignore[assignment]
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledStages) and self() == other()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[PickledStages], tuple[bytes]]:
        known = self._stages
        return PickledStages, (known if isinstance(known, bytes) else dumps(known),)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program with its stages, interfaces and host plans."""

    source: Source
    imports: tuple[Source, ...]
    stages: PickledStages
    policy: str
    names: Names = field(compare=False)
    interfaces: Mapping[str, Interface]
    signatures: Mapping[str, Signature]
    parameters: Mapping[str, int | None]
    """The attributes ``#[param(name)]`` with the values that they were given, if any."""
    warned: tuple[Warning, ...] = field(default=(), compare=False)
    """The warnings of the compilation."""
    plans: dict[tuple[str, bool, bool], Plan] = field(default_factory=dict, compare=False)
    """The plans made so far, by entry point, ``interleave`` and ``coherent``."""
    unchecked: set[tuple[str, bool, bool]] = field(default_factory=set, compare=False)
    """Keys of plans whose kernels have not been checked yet."""
    snapshot: str = field(default="", compare=False)
    """The snapshot on disk that this was read from (:mod:`~runelift.runtime.compilation.reuse`), if
    any."""

    @property
    def core(self) -> Core:
        """The program as it comes from the front end."""
        return self.stages().core

    @property
    def optimised(self) -> Core:
        """The program before flattening."""
        return self.stages().optimised

    @property
    def versioned(self) -> Core:
        """The program in versions."""
        return self.stages().versioned

    def plan(self, entry: str, *, interleave: bool = False, coherent: bool = False,
             checked: bool = True) -> Plan:
        """The host plan of an entry point, made at the first call.

        Its kernels are ``checked``, unless only their names and texts are needed.
        ``interleave``: neighbouring work-items should access neighbouring elements
        (:attr:`~runelift.runtime.devices.info.DeviceInfo.interleaves`).  ``coherent``: one kernel
        can run all iterations of a loop
        (:attr:`~runelift.runtime.devices.info.DeviceInfo.coherent`).  CompilerLimitation if no
        version can be compiled; the interpreter may still run the program.
        """
        key = entry, interleave, coherent
        if key not in self.plans:
            # late: start-up; plans that are kept need no compiler
            from runelift.codegen.hostplan.host import plan_fun

            (fun,) = (fun for fun in self.versioned.funs if fun.name == entry)
            self.plans[key] = plan_fun(fun, self.names, interleave=interleave,
                                       coherent=coherent)
            self.unchecked.add(key)
        if checked and key in self.unchecked:
            # late: start-up; plans that are kept have been checked
            from runelift.ir.imp.check import check

            for kernel in kernels(self.plans[key].steps):
                check(kernel)
            self.unchecked.remove(key)
        return self.plans[key]

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """The derivation of the versions of each entry point, repeated."""
        # late: start-up; a program on disk needs no compiler
        from runelift.rewrite.flattening import derive

        return derive(self.optimised, copy(self.names), policy=self.policy)[1]
