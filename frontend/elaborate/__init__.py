"""Elaboration: the typed syntax tree to core IR, by partial evaluation.

Functions, tuples, records and polymorphism are evaluated away.  An environment-passing evaluator
inlines every call, and emits core statements for what only the running program can know.  That is
possible because the type checker forbids function values in arrays, branches and loops, and the
language has no recursion.
"""

from runelift.frontend.elaborate.entries import elaborate, elaborate_open
from runelift.frontend.elaborate.exps import NO_PARAMETERS
from runelift.frontend.elaborate.points import parameters_of

__all__ = ["NO_PARAMETERS", "elaborate", "elaborate_open", "parameters_of"]
