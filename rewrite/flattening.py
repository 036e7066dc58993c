"""Incremental flattening: one nested program, several guarded flat versions.

A GPU offers two levels of parallelism (work-groups, and the work-items of a group); a nested
program has any number.  The best use of these levels depends on the sizes, which are known only
when the program runs.  So if a map contains more parallelism, flattening keeps *several* versions.
They are guarded by how much parallelism each can use.  The tuner sets the thresholds of the guards.

Read :mod:`~runelift.rewrite.flatten.nest` (the context Σ), then
:mod:`~runelift.rewrite.flatten.rules` (G0 to G23), then :mod:`~runelift.rewrite.flatten.walk`
(which performs G0 and G6).
"""

from __future__ import annotations

from runelift.ir.base.policies import disabled_rules
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.flatten.book import FlatteningRule
from runelift.rewrite.flatten.derivation import Derivation, Step
from runelift.rewrite.flatten.extents import bound_extents
from runelift.rewrite.flatten.flattener import Flattener, flatten_fun
from runelift.rewrite.flatten.policy import policy as named_policy
from runelift.rewrite.flatten.rules import FLATTENING, RULES

__all__ = [
    "FLATTENING", "Derivation", "FlatteningRule", "Step", "derive", "flatten", "named_policy"]


def flatten(program: Program, names: Names, *, policy: str = "all") -> Program:
    """``program`` in versioned form; ``policy`` decides which candidate versions stay."""
    return derive(program, names, policy=policy)[0]


def derive(program: Program, names: Names, *, policy: str = "all"
           ) -> tuple[Program, tuple[Derivation, ...]]:
    """As :func:`flatten`, with the derivation of each entry point."""
    funs, derivations = [], []
    for fun in program.funs:
        derivation = Derivation(fun.name)
        flattener = Flattener(fun.name, names, named_policy(policy), derivation, RULES,
                              disabled=disabled_rules(policy))
        funs.append(bound_extents(flatten_fun(fun, flattener), flattener))
        derivations.append(derivation)
    return Program(tuple(funs)), tuple(derivations)
