"""Deeper nests: further mappings of the loops of a perfect nest inside of a work-group.

Rule G3 gives a map three mappings of two loops; the rules inside of a group flatten all loops
there.  In a perfect nest of three loops or more, some loops of a group may run sequentially
instead.  The attributes ``sequential_outer`` and ``sequential_inner`` say so to the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.rewrite.flatten.mapping import Levels


def with_levels(lam: ir.Lambda, chain: Sequence[ir.Stm], levels: Levels) -> ir.Lambda:
    """``lam``, whose body is the perfect nest ``chain``, with its loops at these levels.

    One work-item runs the loops inside of the last local loop.  Every other sequential loop is a
    loop of the group.
    """
    last = max(place for place, level in enumerate(levels) if level is not None)
    return replace(lam, body=_marked(lam.body, chain, levels, last))


def _marked(body: ir.Body, chain: Sequence[ir.Stm], levels: Levels, left: int) -> ir.Body:
    """The body with an attribute at each loop up to the last local one, ``left`` loops inside."""
    (stm, *inner), (level, *below) = chain, levels
    if left == 0:
        marked = stm if not inner else replace(stm, attrs=(*stm.attrs, "sequential_inner"))
    else:
        assert isinstance(stm.exp, ir.Map)
        inside = _marked(stm.exp.lam.body, inner, tuple(below), left - 1)
        marked = replace(stm, exp=replace(stm.exp, lam=replace(stm.exp.lam, body=inside)))
        if level is None:
            marked = replace(marked, attrs=(*stm.attrs, "sequential_outer"))
    return replace(body, stms=tuple(marked if each is stm else each for each in body.stms))
