"""The point that stores a result in another order."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace
from math import prod

from runelift.ir import syntax as ir
from runelift.ir.types import ArrayType, Atom, i64
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.materialise import MAKERS, VIEWS
from runelift.rewrite.lift.points.storing import stored
from runelift.rewrite.lift.points.views import Views, number


@point(*MAKERS, *VIEWS)
def layout(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """e ⇒ rearrange order⁻¹ (map id (rearrange order e)),
    e ⇒ unflatten (join (rearrange order⁻¹ (map id (rearrange order (split factors (flatten e))))))

    Provided: e makes one array, with as many dimensions as order has digits.  With factors it is
    flattened and split, and the product of the factors divides its size; order has a digit more
    than there are factors.
    Because: what reads e finds the elements that it reads together beside each other.
        The map has an attribute, so that no rule removes it.
    Source: Mogers 2023, section 6.2.5.6.
    """
    order = tuple(map(int, str(given["order"])))
    factors = tuple(number(given, f"factor_{k}") for k in range(4))
    if len(stm.pat) != 1 or not isinstance(stm.pat[0].type, ArrayType):
        return "it does not make one array"
    (out,) = stm.pat
    type_ = out.type
    assert isinstance(type_, ArrayType)
    shape = type_.shape
    split = any(each != i64(1) for each in factors)
    if not split and len(order) != len(shape):
        return f"order has {len(order)} digits, and the array has {len(shape)} dimensions"
    views = Views(scope, stm, "layout")
    seen = scope.fresh(out.name, type_)
    views.stms.append(replace(stm, pat=(seen,)))
    array = seen.name
    if split:
        size: Atom = i64(1)
        for each in shape:
            size = views.compute("mul", size, each)
        count = len(order) - 1
        if any(each != i64(1) for each in factors[count:]):
            return f"order has {count + 1} digits, so that there are at most {count} factors"
        inner = prod(int(each.value) for each in factors)
        blocks = views.quotient(size, i64(inner))
        if isinstance(blocks, str):
            return blocks
        parts: tuple[Atom, ...] = (blocks, *factors[:count])
        array = views.reshape(array, parts, type_)
    else:
        parts = shape
    moved = tuple(parts[k] for k in order)
    array = views.rearrange(array, order, moved, type_)
    kept = scope.fresh(out.name, ArrayType(type_.elem, moved))
    views.stms.append(stored(scope, kept, array, "global", stm.loc))
    inverse = tuple(order.index(k) for k in range(len(order)))
    if split:
        array = views.rearrange(kept.name, inverse, parts, type_)
        views.stms.append(ir.Stm((out,), ir.Reshape(shape, array), loc=stm.loc))
    else:
        views.stms.append(ir.Stm((out,), ir.Rearrange(inverse, kept.name), loc=stm.loc))
    return Rewrite(tuple(views.stms), tuple(views.constraints))
