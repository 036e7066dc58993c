"""Scans and writes whose width, or whose destination, differs between the points of Σ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.operators import is_identity
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.types import Atom, Type, array_of, i64, shape_of
from runelift.rewrite.engine.checks import bounds_checks, within
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import has_parallelism, scalar_operator
from runelift.rewrite.flatten.rules.common import enter, split_lambda
from runelift.rewrite.flatten.rules.ragged import makes_arrays, unfit_fold
from runelift.rewrite.flatten.rules.reductions import map_first, operator_needs_nest
from runelift.rewrite.flatten.segments import (
    bind_packed,
    bind_parts,
    by_number,
    concat_element,
    element_of,
    elements_nest,
    over_elements,
    packed,
    ragged_nest,
    start_of,
    with_offsets,
)
from runelift.rewrite.flatten.walk import Walk


@flattening("G14", ir.Scanomap)
def scan_of_segments(walk: Walk, stm: ir.Stm, soac: ir.Scanomap) -> str | None:
    """Σ ⊢ scanomap ⊕ e f xs ⇒ segscan ⟨Σ, j < l⟩ ⊕ e f      l, the width, differs between points

    Nothing passes from one segment to the next.  Provided ⊕ and e do not depend on the point of Σ.
    """
    if why := unfit_fold(walk, soac):
        return why
    assert isinstance(soac.width, VName)
    body = soac.lam.body
    if not is_identity(soac.lam) and (has_parallelism(body) or makes_arrays(walk, body)):
        map_first(walk, stm, "G14", "scan")
        return None
    if why := walk.prepare(stm):
        return why
    walk.check_definitions(stm)
    found = with_offsets(walk, soac.width)
    nest = ragged_nest(walk, found, Sharing.FLAT).of(soac.lam, soac.arrays, walk.loc)
    space, kernel = walk.kernel(nest, body.stms, body.result)
    host = tuple(walk.fresh(p.name, array_of((found.total,), type_))
                 for p, type_ in zip(stm.pat, soac.lam.ret, strict=True))
    walk.flattener.derivation.fired("G14", stm, f"segscan over {show_nest(nest)}")
    walk.emit(ir.Stm(host, ir.SegScan(
        walk.level, space, walk.flattener.copy_operators(soac.ops), kernel, soac.lam.ret),
        stm.attrs, stm.loc))
    bind_parts(walk, stm.pat, host, soac.width)
    return None


@flattening("G18", ir.Scatter)
def scatter_of_segments(walk: Walk, stm: ir.Stm, soac: ir.Scatter) -> str | None:
    """Σ ⊢ scatter d is vs ⇒ scatter d' (off[i] + is) vs over all points      sizes differ

    d' has the destinations of all points one after the other.  A place outside of that of a point
    is ignored.
    """
    types = [walk.flattener.types[dest.array] for dest in soac.dests]
    if why := _unfit_writes(walk, [soac.width, *(shape_of(t)[0] for t in types)], types):
        return why
    if any(dest.rank != 1 for dest in soac.dests):
        return "its destination has several dimensions"
    if has_parallelism(soac.lam.body) or makes_arrays(walk, soac.lam.body):
        lam, mapped = split_lambda(walk, stm, soac)
        walk.need(p.name for p in mapped.pat)
        walk.statement(mapped)
        soac = replace(soac, lam=lam, arrays=tuple(p.name for p in mapped.pat))
        stm = replace(stm, exp=soac)
    if why := walk.prepare(stm):
        return why
    walk.check_definitions(stm)
    dests, result = [_destination(walk, dest.array) for dest in soac.dests], soac.lam.body.result
    _emit_scatter(walk, stm, _points(walk, soac.width, soac.lam, soac.arrays), [*zip(
        dests, result[::2], result[1::2], strict=True)], soac.lam.body.stms, "writes of")
    return None


def _emit_scatter(walk: Walk, stm: ir.Stm, nest: Nest,
                  writes: Sequence[tuple[_Destination, Atom, Atom]], stms: Sequence[ir.Stm],
                  note: str) -> None:
    """Emit the writes of values to indices in destinations, and bind the results.

    Each point of ``nest`` runs the statements before it writes.
    """
    code = Code(walk.flattener)
    code.emit(*stms)
    result = [atom for dest, index, value in writes for atom in (dest.place(code, index), value)]
    space, body = walk.kernel(nest, tuple(code.out), tuple(result))
    walk.flattener.derivation.fired("G18", stm, f"{note} {show_nest(nest)}")
    into = [dest.flat for dest, _, _ in writes]
    _emit_into(walk, stm, into, ir.SegScatter(
        walk.level, space, tuple(ir.Dest(flat, 1) for flat in into), body))


def _emit_into(walk: Walk, stm: ir.Stm, flat: Sequence[VName], exp: ir.Exp) -> None:
    """Emit an operation that changes flat arrays, and bind the names of ``stm`` at each point."""
    host = tuple(walk.fresh(each, walk.flattener.types[each]) for each in flat)
    walk.emit(ir.Stm(host, exp, stm.attrs, stm.loc))
    for param, array in zip(stm.pat, host, strict=True):
        bind_packed(walk, param, array.name)


@flattening("G17", ir.Hist)
def hist_of_segments(walk: Walk, stm: ir.Stm, soac: ir.Hist) -> str | None:
    """Σ ⊢ hist d ⊕ e is vs ⇒ hist d' ⊕ e (off[i] + is) vs over all points      sizes differ

    d' has the bins of all points one after the other.  Bin b of a point counts if 0 ≤ b < bins.
    """
    types = [walk.flattener.types[d] for op in soac.ops for d in op.dests]
    if why := _unfit_writes(walk, [soac.width, *(shape_of(t)[0] for t in types)], types):
        return why
    if not all(scalar_operator(op.op) for op in soac.ops):
        return "its operator works on arrays"
    if why := operator_needs_nest(walk, tuple(op.op for op in soac.ops)):
        return why
    if has_parallelism(soac.lam.body) or makes_arrays(walk, soac.lam.body):
        return "its map part has parallelism"
    if why := walk.prepare(stm):
        return why
    walk.check_definitions(stm)
    dests = [[_destination(walk, d) for d in op.dests] for op in soac.ops]
    nest, code = _points(walk, soac.width, soac.lam, soac.arrays), Code(walk.flattener)
    code.emit(*soac.lam.body.stms)
    bins, values = soac.lam.body.result[:len(dests)], soac.lam.body.result[len(dests):]
    places = [into[0].place(code, index) for into, index in zip(dests, bins, strict=True)]
    if len(nest.space) > 1:  # a histogram over several dimensions has bins for each outer point
        count, (index, nest) = walk.points_of(nest), by_number(walk, nest)
        nest = Nest((ir.SegDim(index, count),), nest.defs)
    space, body = walk.kernel(nest, tuple(code.out), (*places, *values))
    ops = tuple(ir.HistOp(into[0].total, tuple(dest.flat for dest in into),
                          walk.flattener.copy_operators((op.op,))[0])
                for op, into in zip(soac.ops, dests, strict=True))
    walk.flattener.derivation.fired("G17", stm, f"bins of {show_nest(nest)}")
    _emit_into(walk, stm, [dest.flat for into in dests for dest in into],
               ir.SegHist(walk.level, space, ops, body))
    return None


@flattening("G18", ir.Update)
def update_of_segments(walk: Walk, stm: ir.Stm, update: ir.Update) -> str | None:
    """Σ ⊢ xs with [d] <- v ⇒ scatter xs' (off[i] + d) v over Σ      lengths differ

    The bounds are the bounds of xs at a point.  A slice of l elements is written over Σ ▷ l.
    """
    (param,), (index,) = stm.pat, update.dims[:1]
    if not walk.nest.space:
        return Unlike("it is outside of all nests")
    sizes = [shape_of(param.type)[0], *([index.count] if isinstance(index, ir.SliceDim) else [])]
    if why := _unfit_writes(walk, sizes, [param.type]):
        return why
    if why := walk.prepare(stm):
        return why
    if isinstance(index, ir.SliceDim):
        walk.check_definitions(stm)
    dest, code = _destination(walk, update.array), Code(walk.flattener)
    nest, value, note = walk.nest, update.value, "an element"
    if isinstance(index, ir.SliceDim):
        nest, at = _slice_nest(walk, index.count)
        scaled = code.computed("mul", at, index.stride, base="offset")
        index, note = code.computed("add", index.start, scaled, base="index"), "a slice"
        if isinstance(value, VName):
            element = element_of(walk, nest, value, at)
            code.emit(*element.stms)
            (value,) = element.result
    if update.checked:
        code.emit(*bounds_checks(
            walk.flattener.names, update.dims, shape_of(param.type), stm.loc))
    _emit_scatter(walk, stm, nest, [(dest, index, value)], code.out, f"{note} at each point of")
    return None


def _slice_nest(walk: Walk, count: Atom) -> tuple[Nest, VName]:
    """Σ with one more dimension of a width, and the index of an element at a point of Σ."""
    if walk.differs(count):
        elements = elements_nest(walk, count)
        return elements.nest, elements.at
    index = walk.fresh("k", Prim.I64).name
    return Nest((*walk.nest.space, ir.SegDim(index, count)), walk.nest.defs), index


@flattening("G21", ir.Concat)
def concat_of_segments(walk: Walk, stm: ir.Stm, concat: ir.Concat) -> str | None:
    """Σ ⊢ concat xs ys ⇒ Σ ▷ (|xs| + |ys|) ⊢ if j < |xs| then xs[j] else ys[j − |xs|]

    Provided lengths differ between points.  A rule that only reads elements has it as a definition.
    """
    (param,) = stm.pat
    if not walk.nest.space:
        return Unlike("it is outside of all nests")
    if why := _unfit_writes(walk, [concat.size], [param.type]):
        return why
    if why := walk.prepare(stm):
        return why
    assert isinstance(concat.size, VName)
    walk.check_definitions(stm)
    walk.flattener.derivation.fired("G21", stm, f"{len(concat.arrays)} parts at each point of "
                                    f"{show_nest(walk.nest)}")
    if param.name in walk.delayed:
        walk.nest = walk.nest.define([stm])
        return None
    host = over_elements(walk, concat.size, stm.pat, lambda inner: inner.kernel_body(
        concat_element(walk, inner.nest, concat.arrays, inner.at)), stm.attrs)
    bind_parts(walk, stm.pat, host, concat.size)
    return None


def _unfit_writes(walk: Walk, widths: Sequence[Atom], types: Sequence[Type]) -> str | None:
    """The reason why writes are not into segments over the grid, if any."""
    if walk.level is not ir.Level.GRID:
        return Unlike("it stands inside of a group")
    if not walk.nest.space or all(walk.invariant(width) for width in widths):
        return Unlike("its sizes are the same at all points of the nest")
    if any(len(shape_of(type_)) != 1 for type_ in types):
        return "its elements are rows"
    return None


def _points(walk: Walk, width: Atom, lam: ir.Lambda, arrays: tuple[VName, ...]) -> Nest:
    """Σ with one more dimension, in which the parameters of ``lam`` are defined."""
    if walk.differs(width):
        return elements_nest(walk, width).of(lam, arrays, walk.loc)
    return enter(walk, width, lam, arrays)


class _Destination(NamedTuple):
    """An array at each point of Σ that is written to, from ``start`` on among all elements."""

    length: Atom
    start: VName
    flat: VName
    total: Atom

    def place(self, code: Code, index: Atom) -> VName:
        """The place of an element of the array at a point, -1 if it has none."""
        inside = within(code, index, self.length)
        moved = code.computed("add", self.start, index, base="place")
        (place,) = code.chosen(inside, ir.Body((), (moved,)), ir.Body((), (i64(-1),)),
                               (Prim.I64,), "place")
        return place


def _destination(walk: Walk, array: VName) -> _Destination:
    """The array at each point of Σ that has a name."""
    (length,) = shape_of(walk.flattener.types[array])
    return _Destination(length, start_of(walk, length), *packed(walk, array))
