"""Simplification: rules forwards, what is unused backwards, until nothing changes."""

from __future__ import annotations

from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.dead import remove_unused
from runelift.rewrite.forward import copy_propagation, rewrite_forward
from runelift.rewrite.rule import Rewriting, RuleBook
from runelift.rewrite.rules.algebra import ALGEBRA
from runelift.rewrite.rules.control import CONTROL
from runelift.rewrite.rules.index import INDEX
from runelift.rewrite.rules.soac import SOAC
from runelift.rewrite.rules.unused import UNUSED, UNUSED_INPUTS

FORWARD: RuleBook = ALGEBRA + INDEX + CONTROL + SOAC
"""The rules of the forward walk."""

SIMPLIFICATION: RuleBook = RuleBook([copy_propagation]) + FORWARD + UNUSED + UNUSED_INPUTS
"""All rules of simplification."""

SETTLED = frozenset({"copy_propagation", "check_inside", "assert_true", "unused_statement"})
"""Rules after which no walk finds anything new: what they enable the same walk has seen."""

ROUNDS = 8
"""How often a program is walked at most; what is left then is no worse than before."""


def simplify(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """``program`` with the rules of :data:`SIMPLIFICATION` applied wherever they apply."""
    rewriting = rewriting or Rewriting(names)
    for _ in range(ROUNDS):
        before = rewriting.fired.copy()
        program = rewrite_forward(program, FORWARD, rewriting)
        program = remove_unused(program, rewriting)
        if (rewriting.fired - before).keys() <= SETTLED:
            break
    return program
