"""The point ``split_join``: a map in tiles."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir.constraints import divides
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Lambda, Map, Param, PrimOp, Reshape, Stm
from runelift.ir.types import ArrayType, Atom, array_of, elem_of, shape_of
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.conditions import size_at
from runelift.rewrite.lift.point import Arguments, Rewrite, point


@point(Map)
def split_join(scope: Scope, stm: Stm, given: Arguments) -> Rewrite | str:
    """map f xs ⇒ join (map (map f) (split tile xs))

    Provided: tile divides the length of xs.
    Source: Mogers 2023, section 6.2.5.
    """
    assert isinstance(stm.exp, Map)
    soac, tile = stm.exp, given["tile"]
    assert not isinstance(tile, str)
    if not soac.arrays:
        return "the map reads no array"
    count = scope.fresh("tiles", Prim.I64)
    stms = [Stm((count,), PrimOp("div", Prim.I64, (soac.width, tile)), loc=stm.loc)]
    split: list[Param] = []
    for array in soac.arrays:
        type_ = scope.type(array)
        parts = scope.fresh(array, ArrayType(
            elem_of(type_), (count.name, tile, *shape_of(type_)[1:])))
        stms.append(Stm((parts,), Reshape(shape_of(parts.type), array), loc=stm.loc))
        split.append(parts)

    def tiled(param: Param, *outer: Atom) -> Param:
        return scope.fresh(param.name, array_of(
            (*outer, tile, *shape_of(param.type)[1:]), elem_of(param.type)))

    rows = tuple(tiled(Param(p.name, scope.type(a)))
                 for p, a in zip(soac.lam.params, soac.arrays, strict=True))
    inner = tuple(map(tiled, stm.pat))
    parts_ = tuple(tiled(p, count.name) for p in stm.pat)
    row = Stm(inner, replace(soac, width=tile, arrays=tuple(p.name for p in rows)), stm.attrs,
              stm.loc)
    lam = Lambda(rows, Body((row,), tuple(p.name for p in inner)), tuple(p.type for p in inner))
    stms.append(Stm(parts_, Map(count.name, lam, tuple(p.name for p in split)), stm.attrs, stm.loc))
    stms += [Stm((p,), Reshape(shape_of(p.type), part.name), loc=stm.loc)
             for p, part in zip(stm.pat, parts_, strict=True)]
    whole = divides(size_at(scope, tile), size_at(scope, soac.width), "split_join", span=stm.loc)
    return Rewrite(tuple(stms), (whole,), parts_[0].name)
