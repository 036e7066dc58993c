"""Quotients by roots, as in distances and norms of vectors.

A root is made from an approximation of its reciprocal, and so is a quotient.  A device may compute
both together more quickly (``div_sqrt_near_f32`` of the prelude).  The result is equal for most
operands (``div_sqrt_easy_f32``); for other operands, the root is computed first and then the
quotient.  To check each quotient costs as much as is gained.  So only work-items with several
points do it, with one check for all (:mod:`~runelift.codegen.segops.coarsen`).  A root that does
not change in a loop is computed before it, and left there.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import (
    blocks,
    map_blocks,
    map_parts,
    map_statement,
    variables,
)
from runelift.ir.names import VName
from runelift.ir.prim import Prim


def is_by_root(stm: Stm) -> bool:
    """True if a statement computes a quotient by a root."""
    return isinstance(stm, imp.Declare) and isinstance(stm.init, imp.Apply) and (
        stm.init.op == "div_sqrt")


def with_roots(code: Sequence[Stm]) -> tuple[Stm, ...]:
    """The code with quotients by roots of f32 that are computed in the same block."""
    return _Joiner(assigned(code)).block(code)


class _Joiner:
    def __init__(self, assigned: set[VName]) -> None:
        self.assigned = assigned

    def block(self, code: Sequence[Stm]) -> tuple[Stm, ...]:
        """The statements of a block; ``roots`` has the roots that the block has computed so far."""
        roots: dict[VName, Exp] = {}
        found: list[Stm] = []
        for stm in code:
            match stm:
                case imp.Declare(name, Prim.F32, imp.Apply("sqrt", _, (arg,))) if (
                        name not in self.assigned and self.assigned.isdisjoint(variables(arg))
                        and isinstance(arg, imp.Var)):
                    roots[name] = arg
            found.append(self._statement(stm, roots))
        return tuple(found)

    def _statement(self, stm: Stm, roots: dict[VName, Exp]) -> Stm:
        def change(exp: Exp) -> Exp:
            match exp:
                case imp.Apply("div", Prim.F32, (left, imp.Var(name))) if name in roots:
                    return imp.Apply("div_sqrt", Prim.F32, (change(left), roots[name]))
            return map_parts(exp, change)

        return map_blocks(stm, self.block) if blocks(stm) else map_statement(
            stm, change, lambda inner: inner)
