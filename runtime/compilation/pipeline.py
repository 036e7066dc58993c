"""The pipeline of compilation: all steps from source text to a compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from runelift.codegen.plan.interface import interface
from runelift.frontend.elaborate import NO_PARAMETERS, elaborate, parameters_of
from runelift.frontend.elaborate.points import free_names, warn_of_names
from runelift.frontend.load import checked
from runelift.frontend.signatures import signatures
from runelift.frontend.syntax import ast
from runelift.ir.base.deep import deeply
from runelift.ir.base.policies import disabled_rules, ignores_attributes
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.ir.points import numbers, with_rules
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import named_policy
from runelift.rewrite.lift.points import LATE
from runelift.rewrite.lift.schedule import check_entries, read_schedule
from runelift.rewrite.registry import require_dispensable
from runelift.runtime.compilation.compiled import Compiled, Stages
from runelift.runtime.compilation.numbers import start_values
from runelift.runtime.rules.load import load_rules


@deeply
def compile_source(source: Source, *, policy: str = "all",
                   rewriting: Rewriting | None = None,
                   parameters: Mapping[str, int] = NO_PARAMETERS,
                   schedule: Source | None = None, rules: Source | None = None) -> Compiled:
    """Compile a program; ProgramError if it is wrong, CompilerLimitation if it is not supported.

    ``rewriting`` limits and watches the rules of the optimiser; ``parameters`` are values for
    expressions with the attribute ``#[param(name)]`` and for numbers of rewrite points.  A
    ``schedule`` replaces the rewrite points of the program.  ``rules`` is a file of rules from
    outside.
    """
    with with_rules(load_rules(rules).points):
        return compile_module(source, checked(source), policy=policy,
                              rewriting=rewriting or Rewriting(Names()), parameters=parameters,
                              schedule=schedule, rules=rules)


@deeply
def compile_module(source: Source, module: ast.Flat, *, policy: str, rewriting: Rewriting,
                   parameters: Mapping[str, int] = NO_PARAMETERS,
                   schedule: Source | None = None, rules: Source | None = None) -> Compiled:
    """Compile a checked program from ``source``, as :func:`compile_source` does."""
    core = elaborate(module, rewriting.names, parameters,
                     steered=not ignores_attributes(policy))
    named_policy(policy)
    require_dispensable(disabled_rules(policy), load_rules(rules).points)
    known, free = parameters_of(module), free_names(module)
    warn_of_names(module)
    if schedule is not None:
        steps = read_schedule(schedule, LATE)
        free = steps.numbers.keys() - (known.keys() - free)
        known = steps.numbers | known
        check_entries(steps, [fun.name for fun in core.funs])
    values = numbers(known, parameters)
    if free := free - parameters.keys():
        values |= start_values(core, rewriting.names, schedule, values, free, rules)
    found = Compiled(source, module.imports, Stages(core), policy, copy(rewriting.names),
                     {fun.name: interface(fun) for fun in core.funs}, signatures(module),
                     {p: parameters.get(p) for p in known}, rules=rules,
                     numbers=values, schedule=schedule)
    if len(core.funs) == 1 or rewriting.is_watched:
        for fun in core.funs:
            found.make_entry(fun.name, rewriting)
    return found
