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
from runelift.ir.imp.traverse import expressions, parts, statements
from runelift.ir.names import VName


def goes_round(index: VName, body: Sequence[Stm]) -> bool:
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
    return any(_cuts(part, follow) for part in parts(exp)) or (
        isinstance(exp, imp.Apply) and any(map(_is_limit, exp.args)) and _follows(exp, follow)
        and (exp.op == "and" or (exp.op in ("mod", "rem") and not exp.prim.is_float)))


def _is_limit(exp: Exp) -> bool:
    """Whether this is a whole number other than 0 and 1."""
    return isinstance(exp, imp.Lit) and isinstance(exp.const.value, int) and exp.const.value > 1


def _follows(exp: Exp, follow: set[VName]) -> bool:
    """Whether ``exp`` is computed from such numbers; what is loaded is not."""
    if isinstance(exp, imp.Var):
        return exp.name in follow
    return not isinstance(exp, imp.Load) and any(_follows(part, follow) for part in parts(exp))
