"""Layout operations under a nest: rule G5."""

from __future__ import annotations

from runelift.ir.syntax import Exp, Index, Rearrange, Reshape, SliceDim, Stm
from runelift.ir.types import array_of, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import is_whole
from runelift.rewrite.flatten.walk import Walk


@flattening("G5", Rearrange, Reshape)
def layout_under_nest(walk: Walk, stm: Stm, exp: Rearrange | Reshape) -> str | None:
    """Σ ⊢ rearrange p xs ⇒ rearrange (id, p) xs'      xs := xs'[i...]

    Provided xs' is known outside of Σ.  The outer dimensions that Σ fixes stay in front.  The rule
    also takes reshape.
    """
    (param,) = stm.pat
    definition = walk.nest.defs.get(exp.array)
    match definition:
        case Stm(_, Index(array, dims)) if walk.invariant(array):
            depth = next((k for k, d in enumerate(dims) if isinstance(d, SliceDim)), len(dims))
            if not all(is_whole(dim) for dim in dims[depth:]):
                return "its operand is a part of an array"
        case _:
            return Unlike("its operand is made inside of the nest")
    if not walk.regular(param.type):
        return "its shape differs between points of the nest"
    outer = shape_of(walk.flattener.types[array])[:depth]
    host = walk.fresh(param.name, array_of(outer, param.type))
    layout: Exp
    match exp:
        case Rearrange(perm):
            layout = Rearrange((*range(depth), *(depth + k for k in perm)), array)
        case Reshape(shape):
            layout = Reshape((*outer, *shape), array)
    walk.emit(Stm((host,), layout, stm.attrs, stm.loc))
    dims = (*dims[:depth], *map(whole, shape_of(param.type)))
    walk.nest = walk.nest.define([Stm((param,), Index(host.name, dims))])
    walk.flattener.derivation.fired("G5", stm, "once, outside of the nest")
    return None
