"""Simplification: a forward walk with rules, a backward walk for unused code, repeated."""

from __future__ import annotations

from functools import cache

from runelift.ir.base.plugins import Plugin
from runelift.ir.syntax import Program
from runelift.rewrite.engine.forward import copy_propagation, rewrite_forward
from runelift.rewrite.engine.rule import Rewriting, Rule, RuleBook
from runelift.rewrite.passes.dead import remove_unused
from runelift.rewrite.rules.algebra import ALGEBRA
from runelift.rewrite.rules.commutativity import COMMUTATIVITY
from runelift.rewrite.rules.control import CONTROL
from runelift.rewrite.rules.flat_places import FLAT_PLACES
from runelift.rewrite.rules.guarded_reads import GUARDED_READS
from runelift.rewrite.rules.index import INDEX
from runelift.rewrite.rules.installed import installed_rules
from runelift.rewrite.rules.joined_views import JOINED_VIEWS
from runelift.rewrite.rules.loop_sums import LOOP_SUMS
from runelift.rewrite.rules.nested_reductions import NESTED_REDUCTIONS
from runelift.rewrite.rules.soac import SOAC
from runelift.rewrite.rules.soac_inputs import SOAC_INPUTS
from runelift.rewrite.rules.special_sizes import SPECIAL_SIZES
from runelift.rewrite.rules.unused import UNUSED, UNUSED_INPUTS
from runelift.rewrite.rules.vector_operators import VECTOR_OPERATORS
from runelift.rewrite.rules.views import VIEWS
from runelift.rewrite.rules.windows import WINDOWS

FORWARD: RuleBook = (ALGEBRA + FLAT_PLACES + INDEX + CONTROL + LOOP_SUMS + COMMUTATIVITY + WINDOWS
                     + GUARDED_READS + SOAC + SOAC_INPUTS + SPECIAL_SIZES + VIEWS + JOINED_VIEWS
                     + NESTED_REDUCTIONS + VECTOR_OPERATORS)
"""The rules of the forward walk."""

SIMPLIFICATION: RuleBook = RuleBook([copy_propagation]) + FORWARD + UNUSED + UNUSED_INPUTS
"""All rules of simplification."""

_NAMES = frozenset(rule.name for rule in SIMPLIFICATION.rules)

SETTLED = frozenset({"unused_statement"})
"""The rule of the backward walk after which a forward walk finds nothing new.

A forward walk sees what its own rules enable: they look at operands, which are settled by then.
"""

MOST_WALKS = 8
"""The most walks over a program; what is left then is no worse than before."""


def further_rules() -> dict[str, tuple[Plugin, Rule]]:
    """The rules that installed packages add to the forward walk, by name."""
    return installed_rules(_NAMES)


def _forward() -> RuleBook:
    """The rules of the forward walk, with the rules of installed packages."""
    further = further_rules()
    return _with(tuple(rule for _, rule in further.values())) if further else FORWARD


@cache
def _with(further: tuple[Rule, ...]) -> RuleBook:
    return FORWARD + RuleBook(further)


def simplify(program: Program, rewriting: Rewriting) -> Program:
    """``program`` with the rules of :data:`SIMPLIFICATION` applied wherever they apply."""
    forward = _forward()
    for _ in range(MOST_WALKS):
        program = rewrite_forward(program, forward, rewriting)
        before = rewriting.fired.copy()
        program = remove_unused(program, rewriting)
        if (rewriting.fired - before).keys() <= SETTLED:
            break
    return program
