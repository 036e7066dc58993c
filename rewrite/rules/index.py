"""Indexing and layout: an index of a view is an index of what it views."""

from __future__ import annotations

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    AtomExp,
    Const,
    Copy,
    Dim,
    Exp,
    Index,
    Iota,
    Rearrange,
    Replicate,
    Reshape,
    SliceDim,
    Stm,
    i64,
    shape_of,
)
from runelift.rewrite.rule import Defs, RuleBook, rule


def _definition(name: VName, defs: Defs) -> Exp | None:
    stm = defs.get(name)
    return stm.exp if stm is not None else None


@rule(Index)
def index_iota(exp: Exp, defs: Defs) -> Exp | None:
    """(iota n)[i] ⇒ i    (an i64 iota from 0 by 1)"""
    match exp:
        case Index(array, (index,)) if not isinstance(index, SliceDim):
            match _definition(array, defs):
                case Iota(_, Const(0), Const(1), Prim.I64) if not exp.checked:
                    return AtomExp(index)
    return None


@rule(Index)
def index_replicate(exp: Exp, defs: Defs) -> Exp | None:
    """(replicate n x)[i] ⇒ x"""
    match exp:
        case Index(array, dims, False) if all(not isinstance(d, SliceDim) for d in dims):
            match _definition(array, defs):
                case Replicate(shape, value) if len(shape) == len(dims):
                    return AtomExp(value)
    return None


@rule(Index)
def index_view(exp: Exp, defs: Defs) -> Exp | None:
    """xs[i, :][j] ⇒ xs[i, j]    (where the inner slices are whole)"""
    match exp:
        case Index(array, dims, checked):
            match _definition(array, defs):
                case Index(origin, outer, False):
                    given = iter(dims)
                    merged: list[Dim] = []
                    for dim in outer:
                        if not isinstance(dim, SliceDim):
                            merged.append(dim)
                        elif dim.start == i64(0) and dim.stride == i64(1):
                            merged.append(next(given))
                        else:
                            return None
                    if checked and any(isinstance(d, SliceDim) and not _whole(d, defs, origin, k)
                                       for k, d in enumerate(outer)):
                        return None
                    return Index(origin, tuple(merged), checked)
    return None


def _whole(dim: SliceDim, defs: Defs, array: VName, position: int) -> bool:
    stm = defs.get(array)
    if stm is None:
        return False
    type_ = next(p.type for p in stm.pat if p.name == array)
    return shape_of(type_)[position] == dim.count


@rule(Index)
def index_rearrange(exp: Exp, defs: Defs) -> Exp | None:
    """(rearrange p xs)[i] ⇒ xs[p⁻¹ i]    (a single element)"""
    match exp:
        case Index(array, dims, checked) if all(not isinstance(d, SliceDim) for d in dims):
            match _definition(array, defs):
                case Rearrange(perm, origin):
                    back = tuple(dims[perm.index(k)] for k in range(len(perm)))
                    return Index(origin, back, checked)
    return None


@rule(Rearrange)
def rearrange_twice(exp: Exp, defs: Defs) -> Exp | None:
    """Rearrange p (rearrange q xs) ⇒ rearrange (q ∘ p) xs"""
    match exp:
        case Rearrange(perm, array):
            match _definition(array, defs):
                case Rearrange(inner, origin):
                    return Rearrange(tuple(inner[k] for k in perm), origin)
    return None


@rule(Rearrange)
def rearrange_nothing(exp: Exp, defs: Defs) -> Exp | None:
    """Rearrange id xs ⇒ xs"""
    match exp:
        case Rearrange(perm, array) if perm == tuple(range(len(perm))):
            return AtomExp(array)
    return None


@rule(Reshape)
def reshape_twice(exp: Exp, defs: Defs) -> Exp | None:
    """Reshape s (reshape t xs) ⇒ reshape s xs"""
    match exp:
        case Reshape(shape, array):
            match _definition(array, defs):
                case Reshape(_, origin):
                    return Reshape(shape, origin)
    return None


@rule(Reshape)
def reshape_nothing(exp: Exp, defs: Defs) -> Exp | None:
    """Reshape s xs ⇒ xs    (xs has the shape s)"""
    match exp:
        case Reshape(shape, array):
            type_ = _type(array, defs)
            if type_ is not None and shape_of(type_) == shape:
                return AtomExp(array)
    return None


def _type(name: VName, defs: Defs):  # type: ignore[no-untyped-def]
    stm: Stm | None = defs.get(name)
    return None if stm is None else next(p.type for p in stm.pat if p.name == name)


@rule(Copy)
def copy_fresh(exp: Exp, defs: Defs) -> Exp | None:
    """Copy (copy xs) ⇒ copy xs    (meaning is by value)"""
    match exp:
        case Copy(array):
            match _definition(array, defs):
                case Copy(origin):
                    return Copy(origin)
    return None


INDEX = RuleBook([index_iota, index_replicate, index_view, index_rearrange, rearrange_twice,
                  rearrange_nothing, reshape_twice, reshape_nothing, copy_fresh])
