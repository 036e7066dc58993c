"""All steps of compilation in a row, each kept for whoever wants to look at it."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.codegen.host import plan_fun
from runelift.codegen.plan import Plan
from runelift.frontend.load import load
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.ir.syntax import Program as Core
from runelift.rewrite.flatten import Derivation, derive
from runelift.rewrite.pipeline import clean, optimise


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program at each stage of the way."""

    source: Source
    core: Core
    optimised: Core
    versioned: Core
    derivations: tuple[Derivation, ...]
    plans: dict[str, Plan]


def compile_source(source: Source, *, policy: str = "all") -> Compiled:
    """Compile a program; ProgramError if it is wrong, CompilerLimitation if we cannot."""
    names = Names()
    core = load(source, names)
    optimised = optimise(core, names)
    versioned, derivations = derive(optimised, names, policy=policy)
    versioned = clean(versioned, names)
    plans = {fun.name: plan_fun(fun, names) for fun in versioned.funs}
    return Compiled(source, core, optimised, versioned, derivations, plans)
