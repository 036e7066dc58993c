"""All steps of compilation in a row, each kept for whoever wants to look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runelift.codegen.host import interface, plan_fun
from runelift.codegen.plan import Interface, Plan
from runelift.frontend.elaborate import NO_PARAMETERS, elaborate, parameters_of
from runelift.frontend.load import checked
from runelift.frontend.signature import Signature, signatures
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.ir.syntax import Program as Core
from runelift.rewrite.flatten import Derivation, derive
from runelift.rewrite.pipeline import clean, optimise
from runelift.rewrite.rule import Rewriting


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program at each stage of the way."""

    source: Source
    core: Core
    optimised: Core
    versioned: Core
    derivations: tuple[Derivation, ...]
    names: Names
    interfaces: dict[str, Interface]
    signatures: dict[str, Signature]
    parameters: frozenset[str] = frozenset()
    """The names of the attributes ``#[param(name)]``, which are given values when compiling."""
    _plans: dict[tuple[str, bool], Plan] = field(default_factory=dict, compare=False)

    def plan(self, entry: str, *, interleave: bool = False) -> Plan:
        """The host plan of an entry point, made when first asked for.

        ``interleave``: whether neighbouring work-items of the device should access neighbouring
        elements (:attr:`~runelift.runtime.device.DeviceInfo.interleaves`).  CompilerLimitation if
        no version of it can be compiled; the interpreter may still run it.
        """
        key = entry, interleave
        if key not in self._plans:
            (fun,) = (fun for fun in self.versioned.funs if fun.name == entry)
            self._plans[key] = plan_fun(fun, self.names, interleave=interleave)
        return self._plans[key]


def compile_source(source: Source, *, policy: str = "all",
                   rewriting: Rewriting | None = None,
                   parameters: Mapping[str, int] = NO_PARAMETERS) -> Compiled:
    """Compile a program; ProgramError if it is wrong, CompilerLimitation if we cannot.

    ``rewriting`` limits and watches the rules of the optimiser; ``parameters`` are values for
    expressions with the attribute ``#[param(name)]``.
    """
    rewriting = rewriting or Rewriting(Names())
    names = rewriting.names
    module = checked(source)
    core = elaborate(module, names, parameters)
    optimised = optimise(core, names, rewriting)
    versioned, derivations = derive(optimised, names, policy=policy)
    versioned = clean(versioned, names, rewriting)
    interfaces = {fun.name: interface(fun) for fun in versioned.funs}
    return Compiled(source, core, optimised, versioned, derivations, names, interfaces,
                    signatures(module), frozenset(parameters_of(module)))
