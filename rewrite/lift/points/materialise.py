"""The point that stores a result in a memory."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.types import ArrayType
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.storing import storage, stored

MAKERS = (ir.Map, ir.Scanomap, ir.Scatter, ir.Hist)
"""Array operations that make arrays; a reduction makes some if its sums are arrays."""
VIEWS = (ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.Index, ir.Concat, ir.Copy, ir.Iota,
         ir.Replicate)
"""Expressions that are read where they are used, or copied there."""


@point(*MAKERS, ir.Redomap, *VIEWS)
def materialise(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """e ⇒ map id e

    Provided: e makes an array.  Local memory is that of a work-group, private that of a work-item,
    so that e stands in a map there.
    Because: what reads e often reads a copy; otherwise rules make e part of what reads it.
        The map has an attribute, so that no rule removes or fuses it.  An array operation that is
        stored has it, too, and needs no copy.
        Results are in local memory where the map around them has a work-group for each element,
        and in private memory where it has a work-item.
    Source: Mogers 2023, section 6.2.5.5.
    """
    space = str(given["space"])
    if not all(isinstance(p.type, ArrayType) for p in stm.pat):
        return "it makes a number, which needs no copy"
    if space != "global" and not scope.depth:
        return (f"it does not stand in a map, and {space} memory is that of a "
                f"work-{'group' if space == 'local' else 'item'}")
    if isinstance(stm.exp, (*MAKERS, ir.Redomap)):
        attrs = tuple(dict.fromkeys((*stm.attrs, *storage(space))))
        return Rewrite((replace(stm, attrs=attrs),))
    (out,) = stm.pat
    seen = scope.fresh(out.name, out.type)
    return Rewrite((replace(stm, pat=(seen,)), stored(scope, out, seen.name, space, stm.loc)))
