"""The point that carries the sums of a reduction in a loop."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir.syntax import Redomap, Stm
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.accumulators import accumulated


@point(Redomap, needs_reductions=True)
def privatise(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
    """redomap ⊕ e f xs ⇒ loop (s = e) for i < n do s ⊕ f xs[i],
    redomap (map ⊕) (replicate m e) (λx → map f ys) xs ⇒
    loop (s = replicate m e) for i < n do map (λ(t, y) → t ⊕ f y) (s, ys)

    Because: the terms come one after the other, and the sums stay where they are.  These are
    registers, or the local memory of the work-group whose work-items share the map.
    Source: Mogers 2023, section 6.2.5.9.
    """
    assert isinstance(stm.exp, Redomap)
    if len(stm.pat) != sum(len(op.neutral) for op in stm.exp.ops):
        return "the reduction makes further arrays besides its sums"
    loop, inner = accumulated(scope, stm)
    return Rewrite((loop,), inner=inner)
