"""The point that stores a result in a memory."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.types import ArrayType
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.storing import storage, stored

MAKERS = (ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
"""Array operations that compute what they make."""
VIEWS = (ir.Map, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.Index, ir.Concat, ir.Copy, ir.Iota,
         ir.Replicate)
"""Expressions that may be read where they are used; a map fuses with the copy."""


@point(*MAKERS, *VIEWS)
def materialise(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """e ⇒ map id e

    Provided: e makes an array.  Local memory is that of a work-group, private that of a work-item,
    so that e stands in a map there.
    Because: what reads e often reads a copy; otherwise rules make e part of what reads it.
        The map has an attribute, so that no rule removes it or fuses it with what reads it.  A map
        is fused with its copy; another array operation has the attribute itself.
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
    if isinstance(stm.exp, MAKERS):
        attrs = tuple(dict.fromkeys((*stm.attrs, *storage(space))))
        return Rewrite((replace(stm, attrs=attrs),))
    seen = tuple(scope.fresh(p.name, p.type) for p in stm.pat)
    copies = (stored(scope, out, p.name, space, stm.loc)
              for out, p in zip(stm.pat, seen, strict=True))
    return Rewrite((replace(stm, pat=seen), *copies))
