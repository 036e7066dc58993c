"""Loops with truncated indices, which LLVM 14 vectorises wrongly.

LLVM treats ``(5 * i) & 15`` as a number of four bits that grows steadily.  A check before the loop
should find overflow, but the check is wrong.  So ``for (i = 0; i < 16; i++) r[i] = p[(5 * i) &
15]`` reads elements of other places.  PoCL 3 uses this LLVM or the next.  Such loops are not to be
vectorised there (``GOES_ROUND`` in ``prelude.cl``).
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import evaluated, expressions, parts, statements, subexpressions
from runelift.ir.names import VName


def has_truncation(code: Sequence[Stm]) -> bool:
    """True if code truncates any number; otherwise no loop need be inspected."""
    return any(map(_is_cut, evaluated(statements(code))))


def wraps_around(index: VName, body: Sequence[Stm]) -> bool:
    """True if a body truncates a number that is computed from the ``index`` of its loop."""
    follow = {index}
    for stm in statements(body):
        if any(_cuts(exp, follow) for exp in expressions(stm)):
            return True
        if isinstance(stm, imp.Declare | imp.Assign) and any(
                _follows(exp, follow) for exp in expressions(stm)):
            follow.add(stm.name)
    return False


def _cuts(exp: Exp, follow: set[VName]) -> bool:
    """True if a part of ``exp`` truncates a number that depends on ``follow``."""
    return any(_is_cut(part) and _follows(part, follow) for part in subexpressions(exp))


def _is_cut(exp: Exp) -> bool:
    """True if ``exp`` truncates a number to less than a limit."""
    return (isinstance(exp, imp.Apply)
            and (exp.op == "and" or (exp.op in ("mod", "rem") and not exp.prim.is_float))
            and any(map(_is_limit, exp.args)))


def _is_limit(exp: Exp) -> bool:
    """True for a whole number above 1."""
    return isinstance(exp, imp.Lit) and isinstance(exp.const.value, int) and exp.const.value > 1


def _follows(exp: Exp, follow: set[VName]) -> bool:
    """True if ``exp`` is computed from ``follow``, other than by a load."""
    if isinstance(exp, imp.Var):
        return exp.name in follow
    return not isinstance(exp, imp.Load) and any(_follows(part, follow) for part in parts(exp))
