"""Views that are joined: a concatenation of parts of one array need not be stored.

A library function like ``rotate`` makes such arrays.  A read of an element reads the array itself,
at an index that depends on the part.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, i64, shape_of
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, is_whole, whole
from runelift.rewrite.rules.index import IndexTerms
from runelift.rewrite.rules.views import counted_input

MOST_PARTS = 3
"""The most parts of a concatenation that reads look through: each costs a comparison."""


def _joined(scope: Scope, array: VName) -> tuple[VName, int, list[ir.SliceDim]] | None:
    """The array that a concatenation takes its parts from, its dimension, and the parts there.

    None if an array is something else, or if memory of the parts is reused.
    """
    match scope.exp(array):
        case ir.Concat(dim, parts, _) if 2 <= len(parts) <= MOST_PARTS:
            found = [_part(scope, part, dim) for part in parts]
            if len({origin for origin, _ in found}) > 1 or any(
                    scope.consumes(each) for each in (array, *parts, found[0][0])):
                return None
            return found[0][0], dim, [slice_ for _, slice_ in found]
    return None


def _part(scope: Scope, part: VName, dim: int) -> tuple[VName, ir.SliceDim]:
    """An array as a slice along a dimension of another, or of itself."""
    match scope.exp(part):
        case ir.Index(origin, dims, False) if len(dims) == len(shape_of(scope.type(part))):
            sizes = shape_of(scope.type(origin))
            slice_ = dims[dim]
            if isinstance(slice_, ir.SliceDim) and all(
                    k == dim or is_whole(each, size)
                    for k, (each, size) in enumerate(zip(dims, sizes, strict=True))):
                return origin, slice_
    return part, ir.SliceDim(i64(0), shape_of(scope.type(part))[dim], i64(1))


@rule(ir.Index)
def index_joined(scope: Scope, stm: ir.Stm) -> Replacement:
    """(xs[a :+ n] ++ xs[b :+ m])[i] ⇒ xs[if i < n then a + i else b + i - n]

    Provided: the index is inside for certain or need not be checked, and nothing reuses the memory
    of the parts.
    """
    match stm.exp:
        case ir.Index(array, dims, checked):
            if (found := _joined(scope, array)) is None:
                return None
            origin, dim, parts = found
            index = dims[dim]
            sizes = shape_of(scope.type(array))
            if isinstance(index, ir.SliceDim) or (
                    checked and not all(map(scope.inside, dims, sizes))):
                return None
            stms, place = _place(scope, stm, index, parts)
            return (*stms, replace(stm, exp=ir.Index(
                origin, (*dims[:dim], place, *dims[dim + 1:]))))
    return None


def _place(scope: Scope, stm: ir.Stm, index: Atom, parts: list[ir.SliceDim]
           ) -> tuple[list[ir.Stm], Atom]:
    """Statements in front of ``stm`` that find the place of an element, and the place."""
    first, *others = parts
    terms = IndexTerms(scope, stm)
    if not others:
        found = terms.affine(first.start, index, first.stride)
        return terms.stms, found
    inside, place = scope.fresh("inside", Prim.BOOL), scope.fresh("place", Prim.I64)
    here = terms.affine(first.start, index, first.stride)
    after = scope.fresh("i", Prim.I64)
    stms, there = _place(scope, stm, after.name, others)
    less = ir.Stm((after,), ir.PrimOp("sub", Prim.I64, (index, first.count)), loc=stm.loc)
    branch = ir.If(inside.name, ir.Body(tuple(terms.stms), (here,)),
                   ir.Body((less, *stms), (there,)), (Prim.I64,))
    return [ir.Stm((inside,), ir.PrimOp("lt", Prim.I64, (index, first.count))),
            ir.Stm((place,), branch)], place.name


@rule(*ir.SOACS)
def input_joined(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f (xs[a :+ n] ++ xs[b :+ m]) ⇒ map (λi → f xs[if i < n then …]) (iota (n + m))

    Provided: nothing reuses the memory of the parts.
    Because: comparing an index costs less than storing and loading the elements.
    """
    soac = ir.soac_of(stm)
    for place, (param, array) in enumerate(zip(soac.lam.params, soac.arrays, strict=True)):
        found = None if scope.consumes(param.name) else _joined(scope, array)
        if found is None or found[1] != 0:
            continue
        origin, _, parts = found

        def read(index: VName, param: ir.Param = param, origin: VName = origin,
                 parts: list[ir.SliceDim] = parts) -> Iterable[ir.Stm]:
            stms, there = _place(scope, stm, index, parts)
            element = ir.Index(origin, (there, *map(whole, shape_of(param.type))))
            return *stms, ir.Stm((param,), element, loc=stm.loc)

        return counted_input(scope, stm, place, read)
    return None


JOINED_VIEWS = RuleBook([index_joined, input_joined])
