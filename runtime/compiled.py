"""A program at each stage of compilation, for whoever wants to look at it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runelift.codegen.plan import Interface, Plan
from runelift.frontend.signature import Signature
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.ir.syntax import Program as Core

if TYPE_CHECKING:
    from runelift.rewrite.flatten import Derivation


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program at each stage of the way."""

    source: Source
    imports: tuple[Source, ...]
    core: Core
    optimised: Core
    versioned: Core
    policy: str
    names: Names = field(compare=False)
    interfaces: Mapping[str, Interface]
    signatures: Mapping[str, Signature]
    parameters: Mapping[str, int | None]
    """The attributes ``#[param(name)]`` with the values that they were given, if any."""
    warned: tuple[Warning, ...] = field(default=(), compare=False)
    """What the program was warned of when it was compiled."""
    plans: dict[tuple[str, bool, bool], Plan] = field(default_factory=dict, compare=False)
    """Those that were asked for, by entry point, ``interleave`` and ``coherent``."""

    def plan(self, entry: str, *, interleave: bool = False, coherent: bool = False) -> Plan:
        """The host plan of an entry point, made when first asked for.

        ``interleave``: whether neighbouring work-items of the device should access neighbouring
        elements (:attr:`~runelift.runtime.device.DeviceInfo.interleaves`).  ``coherent``: whether
        one kernel can run all iterations of a loop
        (:attr:`~runelift.runtime.device.DeviceInfo.coherent`).  CompilerLimitation if
        no version of it can be compiled; the interpreter may still run it.
        """
        key = entry, interleave, coherent
        if key not in self.plans:
            from runelift.codegen.host import plan_fun

            (fun,) = (fun for fun in self.versioned.funs if fun.name == entry)
            self.plans[key] = plan_fun(fun, self.names, interleave=interleave,
                                       coherent=coherent)
        return self.plans[key]

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """How flattening came to its versions of each entry point, derived once more."""
        from runelift.rewrite.flatten import derive

        return derive(self.optimised, copy(self.names), policy=self.policy)[1]
