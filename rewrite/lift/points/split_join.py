"""The point that makes a map over tiles of a map."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir.syntax import Map, Stm
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import maps_of
from runelift.rewrite.lift.points.reordered import Part, Reordered
from runelift.rewrite.lift.points.views import number


@point(Map)
def split_join(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
    """map f xs ⇒ join (map (map f) (split tile xs))

    Provided: tile divides the length of xs.
    Source: Mogers 2023, section 6.2.5.
    """
    nest = maps_of(stm, 1).nest(1)
    if isinstance(nest, str):
        return nest
    order = (Part(0), Part(0, 1))
    new = Reordered(scope, stm, nest, order, "split_join", {0: number(given, "tile")})
    return new.rewrite(0)
