"""Loops that go round in memory: what LLVM 14 vectorises wrongly.

It takes ``(5 * i) & 15`` for a number of four bits that grows steadily, unless a check before the
loop finds that it overflows, and gets that check wrong.  So the elements of
``for (i = 0; i < 16; i++) r[i] = p[(5 * i) & 15]`` are those of other places.  PoCL 3 has this LLVM
or the next; such loops are not to be vectorised there (``GOES_ROUND`` in ``prelude.cl``).
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import (
    evaluated,
    expressions,
    parts,
    statements,
    subexpressions,
)
from runelift.ir.names import VName


def has_truncation(code: Sequence[Stm]) -> bool:
    """Whether any number is cut off in code: where none is, no loop need be looked at."""
    return any(map(_is_cut, evaluated(statements(code))))


def wraps_around(index: VName, body: Sequence[Stm]) -> bool:
    """Whether a number that is computed from the ``index`` of a loop is cut off in its body."""
    follow = {index}
    for stm in statements(body):
        if any(_cuts(exp, follow) for exp in expressions(stm)):
            return True
        if isinstance(stm, imp.Declare | imp.Assign) and any(
                _follows(exp, follow) for exp in expressions(stm)):
            follow.add(stm.name)
    return False


def _cuts(exp: Exp, follow: set[VName]) -> bool:
    """Whether a part of ``exp`` that is computed from such numbers is cut off."""
    return any(_is_cut(part) and _follows(part, follow) for part in subexpressions(exp))


def _is_cut(exp: Exp) -> bool:
    """Whether ``exp`` is what is left of a number below a limit."""
    return (isinstance(exp, imp.Apply)
            and (exp.op == "and" or (exp.op in ("mod", "rem") and not exp.prim.is_float))
            and any(map(_is_limit, exp.args)))


def _is_limit(exp: Exp) -> bool:
    """Whether this is a whole number other than 0 and 1."""
    return isinstance(exp, imp.Lit) and isinstance(exp.const.value, int) and exp.const.value > 1


def _follows(exp: Exp, follow: set[VName]) -> bool:
    """Whether ``exp`` is computed from such numbers; what is loaded is not."""
    if isinstance(exp, imp.Var):
        return exp.name in follow
    return not isinstance(exp, imp.Load) and any(_follows(part, follow) for part in parts(exp))
