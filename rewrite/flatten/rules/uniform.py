"""Arrays that a loop in a nest carries, and that are the same at all points of the nest.

Such are the values of a function whose derivatives along several tangents are taken at once.  The
host computes them once in each iteration, beside what differs between points.
"""

from __future__ import annotations

from dataclasses import dataclass

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    names_from_outside,
    needed_for,
    rename_body,
    statements_inside,
    substitute_body,
)
from runelift.ir.types import Atom
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.engine.scalar_code import body_may_fail
from runelift.rewrite.flatten.nest import Nest
from runelift.rewrite.flatten.walk import Walk
from runelift.rewrite.passes.dead import BackwardWalk


@dataclass(frozen=True, slots=True)
class Parted:
    """The body of a loop in two: what is the same at all points, and what differs.

    ``uniform`` are the parameters that the first part computes anew.
    """

    uniform: frozenset[VName]
    same: ir.Body
    rest: ir.Body


def parted(walk: Walk, loop: ir.Loop) -> Parted | None:
    """The parts of a for loop's body; None if no array is the same at all points.

    Provided nothing in it can fail: the first part runs even if Σ has no points.
    """
    if (walk.level is not ir.Level.GRID or not isinstance(loop.form, ir.ForLoop)
            or not any(not isinstance(p.param.type, Prim) and walk.invariant(p.init)
                       for p in loop.params)
            or body_may_fail(loop.body) or any(
                isinstance(stm.exp, ir.Loop) and isinstance(stm.exp.form, ir.WhileLoop)
                for stm in statements_inside((loop.body,)))):
        return None
    uniform = _uniform(walk, loop)
    if all(isinstance(p.param.type, Prim) for p in loop.params if p.param.name in uniform):
        return None
    is_uniform = [p.param.name in uniform for p in loop.params]
    after = pick(loop.body.result, is_uniform)
    first = _needed(walk, loop.body.stms, after)
    made = [p.name for stm in first.stms for p in stm.pat]
    renamed = rename_body(ir.Body(first.stms, (*after, *made)), walk.flattener.names)
    walk.flattener.learn_body(renamed)
    same = ir.Body(renamed.stms, renamed.result[:len(after)])
    others = substitute_body(loop.body, dict(zip(made, renamed.result[len(after):], strict=True)))
    varying = pick(others.result, [not each for each in is_uniform])
    return Parted(uniform, same, _needed(walk, others.stms, varying))


def _uniform(walk: Walk, loop: ir.Loop) -> frozenset[VName]:
    """The parameters whose values depend on nothing that differs between the points of Σ."""
    carried = {p.param.name for p in loop.params}
    needs = {p.param.name: names_from_outside(_needed(walk, loop.body.stms, (after,)))
             for p, after in zip(loop.params, loop.body.result, strict=True)
             if walk.invariant(p.init)}
    found = frozenset(needs)
    while True:
        kept = frozenset(name for name in found if all(
            each in found or (each not in carried and walk.invariant(each))
            for each in needs[name]))
        if kept == found:
            return found
        found = kept


def _needed(walk: Walk, stms: tuple[ir.Stm, ...], results: tuple[Atom, ...]) -> ir.Body:
    """The code that results need, with no further results of maps in it."""
    body = ir.Body(needed_for(stms, results), results)
    return BackwardWalk(Rewriting(walk.flattener.names)).body(body)


def flattened(walk: Walk, found: Parted) -> ir.Body:
    """The first part, outside of Σ."""
    body, _ = walk.flattener.body(Nest(), found.same)
    return body
