"""The point that exchanges two maps."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir.syntax import Map, Stm
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import maps_of
from runelift.rewrite.lift.points.reordered import Part, Reordered


@point(Map, needs_reductions=True)
def interchange(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
    """map (λx → map (λy → f x y) ys) xs ⇒ transpose (map (λy → map (λx → f x y) xs) ys)

    Provided: ys has one length for all x.  What else the outer map computes is cheap to repeat.
    Because: the loop over ys becomes the outer one, as the level of its parallelism may ask.
        A row x that is itself mapped over is taken by columns.
    Does not handle: maps before fusion, where the pass that moves layouts exchanges them again.
    Source: Mogers 2023, section 6.2.5.7.
    """
    nest = maps_of(stm, 2).nest(2)
    if isinstance(nest, str):
        return nest
    new = Reordered(scope, stm, nest, (Part(1), Part(0)), "interchange")
    return new.rewrite(0)
