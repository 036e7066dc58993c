"""The point that tiles two maps together."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir.syntax import Map, Stm
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import maps_of
from runelift.rewrite.lift.points.reordered import Part, Reordered
from runelift.rewrite.lift.points.views import number


@point(Map, needs_reductions=True)
def ab_tile(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
    """map (λa → map (λb → f a b) bs) as ⇒ map join (join (map transpose
    (map (λt → map (λu → map (λa → map (λb → f a b) u) t) (split columns bs)) (split rows as))))

    Provided: the tiles divide the lengths of as and bs, and bs has one length for all a.  What
    else the outer map computes is cheap to repeat.
    Because: elements of two tiles are used often within a tile.
        Transposition stands before the joins; the thesis leaves it out, and so gets another shape.
    Source: Mogers 2023, section 6.2.5.2.
    """
    nest = maps_of(stm, 2).nest(2)
    if isinstance(nest, str):
        return nest
    tiles = {0: number(given, "rows"), 1: number(given, "columns")}
    copies = {0: str(given["copies"]), 1: str(given["copies"])}
    order = (Part(0), Part(1), Part(0, 1), Part(1, 1))
    new = Reordered(scope, stm, nest, order, "ab_tile", tiles,
                    {} if given["copies"] == "none" else copies)
    return new.rewrite(2)
