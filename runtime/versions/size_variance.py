"""Names whose values change while a loop goes on, so that guards compare with other numbers.

A guard is *size-variant* if its parallelism changes in a loop around it (Munksgaard et al., TFP
2021).  One that merely stands in a loop compares with one number, again and again.
"""

from __future__ import annotations

from runelift.ir.names import VName
from runelift.ir.syntax import Exp, ForLoop, Loop, Stm
from runelift.ir.traverse import free_vars


def carried(exp: Exp) -> set[VName]:
    """The index and the parameters of a loop, without parameters that never change."""
    if not isinstance(exp, Loop):
        return set()
    names = {each.param.name for each, after in zip(exp.params, exp.body.result, strict=True)
             if each.param.name != after}
    return names | ({exp.form.index} if isinstance(exp.form, ForLoop) else set())


def computed(stm: Stm, changing: set[VName]) -> set[VName]:
    """The names that a statement binds, if it needs any that change."""
    needs = bool(changing) and not changing.isdisjoint(free_vars(stm.exp))
    return {param.name for param in stm.pat} if needs else set()
