"""The pipeline of compilation: all steps from source text to a compiled program."""

from __future__ import annotations

from collections.abc import Mapping

from runelift.codegen.plan.interface import interface
from runelift.frontend.elaborate import NO_PARAMETERS, elaborate, parameters_of
from runelift.frontend.load import checked
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.signature import signatures
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.compilation.compiled import Compiled, Stages


def compile_source(source: Source, *, policy: str = "all",
                   rewriting: Rewriting | None = None,
                   parameters: Mapping[str, int] = NO_PARAMETERS) -> Compiled:
    """Compile a program; ProgramError if it is wrong, CompilerLimitation if it is not supported.

    ``rewriting`` limits and watches the rules of the optimiser; ``parameters`` are values for
    expressions with the attribute ``#[param(name)]``.
    """
    return compile_module(source, checked(source), policy=policy,
                          rewriting=rewriting or Rewriting(Names()), parameters=parameters)


def compile_module(source: Source, module: ast.Flat, *, policy: str, rewriting: Rewriting,
                   parameters: Mapping[str, int] = NO_PARAMETERS) -> Compiled:
    """Compile a checked program from ``source``, as :func:`compile_source` does."""
    names = rewriting.names
    core = elaborate(module, names, parameters)
    optimised = optimise(core, names, rewriting)
    versioned = clean(flatten(optimised, names, policy=policy), names, rewriting)
    interfaces = {fun.name: interface(fun) for fun in versioned.funs}
    return Compiled(source, module.imports, Stages(core, optimised, versioned), policy, names,
                    interfaces, signatures(module),
                    {p: parameters.get(p) for p in parameters_of(module)})
