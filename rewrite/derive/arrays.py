"""Derivatives of nodes that only move values: they are linear."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.analysis.operands import CONSTANT, LINEAR, operands, with_operands
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of, zero
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.walk import (
    Back,
    Entry,
    Forward,
    Reverse,
    View,
    forward,
    transposed,
)
from runelift.rewrite.engine.rule import rule
from runelift.rewrite.engine.scope import is_whole, whole


@forward(*LINEAR)
def forward_linear(walk: Forward, stm: ir.Stm, exp: ir.Exp) -> None:
    """y = f(x, ...) ⇒ ẏ = f(ẋ, ...)

    Provided: f is linear: an index, an update, a layout, a literal, a copy or a replication.
    Because: places and sizes have no tangents.
    """
    walk.emit.add(stm)
    if all(tangent is None for tangent in walk.tangents(operands(exp))):
        return

    def full(atom: Atom) -> Atom:
        found = walk.full(atom)
        return walk.emit.name(found) if shape_of(walk.emit.type(atom)) else found

    (param,) = stm.pat
    walk.tan[param.name] = walk.emit.one(with_operands(exp, full), param.type,
                                         param.name.base + "_tan")


@forward(*CONSTANT)
def forward_constant(walk: Forward, stm: ir.Stm, exp: ir.Exp) -> None:
    """is = iota n ⇒ no tangent

    Because: sizes and conditions have no derivative.
    """
    walk.emit.add(stm)


@transposed(ir.AtomExp, ir.Copy)
def reverse_copy(walk: Reverse, stm: ir.Stm, exp: ir.AtomExp | ir.Copy, adjoint: Atom) -> None:
    """y = copy x ⇒ x̄ += ȳ"""
    (source,) = operands(exp)
    walk.add(source, adjoint)


@rule(ir.Index)
def reverse_index(walk: Reverse, stm: ir.Stm, exp: ir.Index) -> Back:
    """y = xs[i] ⇒ x̄s[i] += ȳ, ys = xs[slice] ⇒ x̄s = x̄s with [slice] <- x̄s[slice] + ȳs

    Because: an index that stands before whole dimensions makes a sparse adjoint, so that no array
    is written for an element.  An index that failed adds nothing.
    """
    walk.emit.add(stm)
    sizes = shape_of(walk.emit.types[exp.array])
    places = tuple(dim for dim in exp.dims if not isinstance(dim, ir.SliceDim))
    is_front = bool(places) and all(map(is_whole, exp.dims[len(places):], sizes[len(places):]))
    if is_front:
        walk.views[stm.pat[0].name] = View(exp.array, places, not exp.checked)

    def back() -> None:
        emit, adjoint = walk.emit, walk.take(stm.pat[0].name)
        assert adjoint is not None
        if is_front:
            walk.add_at(exp.array, Entry(places, adjoint, sure=not exp.checked))
            return
        if walk.is_outside(exp.array) and (listed := _places(emit, exp, sizes)):
            walk.loops_over(exp.array, shape_of(emit.type(listed[0]))[0])
            walk.add_at(exp.array, Entry(listed, adjoint, sure=True))
            return
        total = emit.name(walk.take(exp.array) or emit.zeros(emit.types[exp.array]))
        sum_ = emit.plus(emit.index(total, *exp.dims, checked=exp.checked), adjoint)
        walk.add(exp.array, emit.update(total, exp.dims, sum_, checked=exp.checked))

    return back


def _places(emit: Emitter, exp: ir.Index, sizes: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The places of a slice of one dimension, which whole dimensions may follow; else none.

    Each is an array of as many elements as the slice has.
    """
    depth = max((k + 1 for k, (dim, size) in enumerate(zip(exp.dims, sizes, strict=True))
                 if not is_whole(dim, size)), default=0)
    slices = [dim for dim in exp.dims[:depth] if isinstance(dim, ir.SliceDim)]
    if len(slices) != 1:
        return ()
    count = slices[0].count
    type_ = array_of((count,), Prim.I64)
    return tuple(emit.one(
        ir.Iota(count, dim.start, dim.stride, Prim.I64) if isinstance(dim, ir.SliceDim)
        else ir.Replicate((count,), dim), type_, "places") for dim in exp.dims[:depth])


@transposed(ir.Update)
def reverse_update(walk: Reverse, stm: ir.Stm, exp: ir.Update, adjoint: VName) -> None:
    """r = a with [d] <- v ⇒ v̄ += r̄[d], ā += r̄ with [d] <- 0

    Because: the old cells do not matter for the result.
    """
    emit = walk.emit
    if walk.varies(exp.value):
        walk.add(exp.value, emit.index(adjoint, *exp.dims, checked=exp.checked))
    if walk.varies(exp.array):
        walk.add(exp.array, emit.update(adjoint, exp.dims, _nothing(emit, exp),
                                        checked=exp.checked))


def _nothing(emit: Emitter, exp: ir.Update) -> Atom:
    """Zeros for all the cells of an update."""
    kept = tuple(d.count for d in exp.dims if isinstance(d, ir.SliceDim))
    return emit.zeros(array_of(kept, elem_of(emit.types[exp.array])))


@transposed(ir.ArrayLit)
def reverse_literal(walk: Reverse, stm: ir.Stm, exp: ir.ArrayLit, adjoint: VName) -> None:
    """xs = [a, b, ...] ⇒ ā += x̄s[0], b̄ += x̄s[1], ..."""
    for place, elem in enumerate(exp.elems):
        if walk.varies(elem):
            walk.add(elem, walk.emit.index(adjoint, i64(place)))


@transposed(ir.Concat)
def reverse_concat(walk: Reverse, stm: ir.Stm, exp: ir.Concat, adjoint: VName) -> None:
    """zs = xs ++ ys ⇒ x̄s += z̄s[:n], ȳs += z̄s[n:]"""
    emit = walk.emit
    front = [whole(size) for size in shape_of(emit.types[adjoint])[:exp.dim]]
    start: Atom = i64(0)
    for array in exp.arrays:
        count = shape_of(emit.types[array])[exp.dim]
        if walk.varies(array):
            walk.add(array, emit.index(adjoint, *front, ir.SliceDim(start, count, i64(1))))
        start = emit.size_op("add", start, count)


@transposed(ir.Rearrange)
def reverse_rearrange(walk: Reverse, stm: ir.Stm, exp: ir.Rearrange, adjoint: VName) -> None:
    """ys = rearrange p xs ⇒ x̄s += rearrange p⁻¹ ȳs"""
    inverse = [exp.perm.index(k) for k in range(len(exp.perm))]
    walk.add(exp.array, walk.emit.rearranged(adjoint, inverse))


@transposed(ir.Reshape)
def reverse_reshape(walk: Reverse, stm: ir.Stm, exp: ir.Reshape, adjoint: VName) -> None:
    """ys = reshape s xs ⇒ x̄s += reshape (shape xs) ȳs"""
    walk.add(exp.array, walk.emit.reshaped(adjoint, shape_of(walk.emit.types[exp.array])))


@transposed(ir.Replicate)
def reverse_replicate(walk: Reverse, stm: ir.Stm, exp: ir.Replicate, adjoint: VName) -> None:
    """ys = replicate n x ⇒ x̄ += reduce (+) 0 ȳs"""
    walk.add(exp.value, walk.emit.summed(adjoint, len(exp.shape)))


@transposed(ir.Slide)
def reverse_slide(walk: Reverse, stm: ir.Stm, exp: ir.Slide, adjoint: VName) -> None:
    """ws = slide s xs ⇒ x̄s[i * s + k] += w̄s[i, k]"""
    emit = walk.emit
    type_ = emit.types[exp.array]
    outer, dim = list(range(exp.dim)), exp.dim
    first = emit.rearranged(adjoint, [dim, dim + 1, *outer])

    def row(i: Atom) -> tuple[Atom]:
        start = emit.size_op("mul", i, exp.step)
        return (emit.one(ir.Iota(exp.size, start, i64(1), Prim.I64),
                         array_of((exp.size,), Prim.I64)),)

    places = emit.map([emit.counting(exp.count)], row, "places")[0]
    shape = shape_of(type_)
    turned = array_of((shape[dim], *shape[:dim], *shape[dim + 1:]), elem_of(type_))
    total = walk.added(emit.zeros(turned), turned, Entry((places,), first, sure=True))
    walk.add(exp.array, emit.rearranged(emit.name(total), [*range(1, dim + 1), 0]))


@transposed(ir.Pad)
def reverse_pad(walk: Reverse, stm: ir.Stm, exp: ir.Pad, adjoint: VName) -> None:
    """ys = pad a b v xs ⇒ x̄s += pad (-a) (-b) 0 ȳs, v̄ += the sum of both margins of ȳs"""
    emit = walk.emit
    before, after = (emit.size_op("sub", i64(0), size) for size in (exp.before, exp.after))
    type_ = emit.types[exp.array]
    middle = ir.Pad(exp.dim, before, after, zero(elem_of(type_)), adjoint)
    walk.add(exp.array, emit.one(middle, type_, "middle"))
    if walk.varies(exp.value):
        sizes = shape_of(emit.types[adjoint])
        front = [whole(size) for size in sizes[:exp.dim]]
        before, after = (emit.size_op("max", i64(0), size)
                         for size in (exp.before, exp.after))
        end = emit.size_op("sub", sizes[exp.dim], after)
        for start, count in ((i64(0), before), (end, after)):
            part = emit.index(adjoint, *front, ir.SliceDim(start, count, i64(1)))
            walk.add(exp.value, emit.summed(part, len(sizes)))
