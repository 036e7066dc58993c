"""The point that reduces tile by tile, outside of the maps around the reduction."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.accumulators import accumulated
from runelift.rewrite.lift.points.nests import Nest
from runelift.rewrite.lift.points.reductions import reduction_in
from runelift.rewrite.lift.points.reordered import Part, Reordered
from runelift.rewrite.lift.points.views import number


@point(ir.Map, ir.Redomap, needs_reductions=True)
def tile_map_reduce(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """map (λa → map (λb → redomap ⊕ e g (a, b)) bs) as ⇒
    redomap (map (map ⊕)) (replicate (n, m) e)
    (λ(as', bs') → map (λa → map (λb → redomap ⊕ e g (a, b)) bs') as') (tiles of as, tiles of bs)

    Provided: the tile divides the length of the reduction, which has one length for all elements.
    The operator and its neutral element do not depend on the element.
    Because: a tile of rows can be stored where it is read often.
        There may be any number of maps, also none, and any number of inputs, which vary with any
        of them.  The operator is known here, as reductions keep it apart from the function.
        With copies the tiles come one after the other, in a loop that carries the sums.  Then a
        work-item that has elements of the maps goes through a tile alone.
    Source: Mogers 2023, section 6.2.5.3.
    """
    found = reduction_in(scope, stm)
    if isinstance(found, str):
        return found
    copies = str(given["copies"])
    place = len(found.nest.loops) - 1
    nest = found.nest if copies == "none" or not place else _sequential(found.nest)
    order = (Part(place), *(Part(k) for k in range(place)), Part(place, 1))
    new = Reordered(scope, found.sums, nest, order, "tile_map_reduce",
                    {place: number(given, "tile")}, {} if copies == "none" else {0: copies})
    stms = new.rewritten()
    if isinstance(stms, str):
        return stms
    inner = new.name_at(1)
    if copies != "none":
        loops = list(stms)
        fold = next(k for k, each in enumerate(loops) if isinstance(each.exp, ir.Redomap))
        loops[fold], inner = accumulated(scope, loops[fold])
        stms = tuple(loops)
    return Rewrite((*stms, *found.after), tuple(new.views.constraints), inner)


def _sequential(nest: Nest) -> Nest:
    """The nest with its innermost reduction sequential in a work-item."""
    *loops, last = nest.loops
    return replace(nest, loops=(*loops, replace(
        last, attrs=tuple(dict.fromkeys((*last.attrs, "sequential"))))))
