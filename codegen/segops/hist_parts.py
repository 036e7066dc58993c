"""Parts of histograms: updates of a bin, sub-histograms, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan.views import View, all_of, flat_index, lit, op, unflat_index, within
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import HistOp, Operator, SegDim, SegHist

LOCK_BYTES = 4
"""The bytes of a lock."""
LEAST_WIDTH, MOST_WIDTH = 8, 32
"""The bins of a group that combines: the words that one access of global memory brings."""
ATOMIC_OPERATIONS = frozenset({"add", "min", "max", "and", "or", "xor"})


def prims_of(op_: HistOp) -> list[Prim]:
    """The types of the components of an operator on scalars."""
    return [launches.require_scalar(t) for t in op_.op.lam.ret]


def destinations(lowering: launches.Lowering, exp: SegHist) -> list[View]:
    """The destinations before the histogram: views without memory, or the results' memory."""
    arrays = [d for op_ in exp.ops for d in op_.dests]
    return [old if (old := lowering.view(array)).mem is None else out
            for array, out in zip(arrays, lowering.results, strict=True)]


def by_operator(ops: Sequence[HistOp], views: Sequence[View]) -> Iterator[list[View]]:
    """Views of all components, divided among the operators."""
    rest = iter(views)
    return ([next(rest) for _ in op_.dests] for op_ in ops)


def element_update(k: KernelBuilder, exp: SegHist, segment: Sequence[Exp],
                   change: Callable[[int, Exp, list[Value]], None]) -> Callable[[Exp], None]:
    """The action for an element of a segment: ``change`` gets operator, bin and values."""
    def element(index: Exp) -> None:
        launches.bind_point(k, exp.space, [*segment, index])
        values = k.body(exp.body)
        bins, rest = values[: len(exp.ops)], values[len(exp.ops):]
        for number, (op_, bin_) in enumerate(zip(exp.ops, bins, strict=True)):
            assert not isinstance(bin_, View)
            change(number, bin_, rest[: len(op_.dests)])
            rest = rest[len(op_.dests):]

    return element


@dataclass(frozen=True, slots=True)
class Parts:
    """Partial results: per operator and component a buffer [segment][part][bin]."""

    per_segment: VName
    buffers: list[list[VName]]

    def view(self, k: KernelBuilder, op_: HistOp, mem: VName, prim: Prim, segment: Exp,
             part: Exp) -> View:
        """The sub-histogram of a part of a segment."""
        bins, per = k.scalar(op_.bins), k.scalar(self.per_segment)
        return View(prim, (bins,), mem, lambda ix: op("add", op(
            "mul", op("add", op("mul", segment, per), part), bins), ix[0]))

    def views(self, k: KernelBuilder, exp: SegHist, number: int, segment: Exp,
              part: Exp) -> list[View]:
        """The components of an operator in a part of a segment."""
        op_ = exp.ops[number]
        return [self.view(k, op_, buffer, prim, segment, part)
                for buffer, prim in zip(self.buffers[number], prims_of(op_), strict=True)]


def allocate_parts(lowering: launches.Lowering, exp: SegHist, per_segment: VName) -> Parts:
    """Allocate buffers for the partial results of a histogram."""
    count = launches.total(lowering, exp.space[:-1]) * Size.var(per_segment)
    return Parts(per_segment, [
        [lowering.temporary("part", prim, count * lowering.size(o.bins)) for prim in prims_of(o)]
        for o in exp.ops])


def add_to_destination(k: KernelBuilder, op_: HistOp, old: Sequence[View], outs: Sequence[View],
                       where: Sequence[Exp], found: Sequence[Value]) -> None:
    """Store the destination's value combined with what has been found for its bin."""
    prims = prims_of(op_)
    before = [k.declare("old", p, view.read(where)) for view, p in zip(old, prims, strict=True)]
    new = k.apply(op_.op.lam, [*before, *found])
    kept = [k.declare("new", p, v) for p, v in zip(prims, new, strict=True)
            if not isinstance(v, View)]
    k.emit(*(out.write(where, value) for out, value in zip(outs, kept, strict=True)))


_Alike: TypeAlias = Sequence[tuple[int, list[View], list[View]]]
"""Numbers of operators with the same bins, and their destinations and results."""


def combine_parts(lowering: launches.Lowering, exp: SegHist, parts: Parts) -> None:
    """Combine the destinations with all parts: one launch for operators with the same bins."""
    views = zip(range(len(exp.ops)), by_operator(exp.ops, destinations(lowering, exp)),
                by_operator(exp.ops, lowering.results), strict=True)
    combine = _combine_by_groups if lowering.interleave else _combine_by_items
    for _, alike in groupby(views, key=lambda each: exp.ops[each[0]].bins):
        combine(lowering, exp, parts, list(alike))


def _combine_by_items(lowering: launches.Lowering, exp: SegHist, parts: Parts,
                      alike: _Alike) -> None:
    """Add a kernel in which a work-item per segment and bin combines all parts."""
    k = lowering.builder()
    space = (*exp.space[:-1], SegDim(lowering.names.fresh("bin"), exp.ops[alike[0][0]].bins))
    shape = launches.widths(k, exp.space[:-1])

    def point(where: list[Exp]) -> None:
        segment = k.declare("segment", Prim.I64, flat_index(where[:-1], shape))
        for number, old, outs in alike:
            totals = _fold(k, exp, parts, number, (segment, where[-1]), (lit(0), lit(1)))
            add_to_destination(k, exp.ops[number], old, outs, where, totals)

    launches.each_point(lowering, k, space, point, "seghist_final")


def _combine_by_groups(lowering: launches.Lowering, exp: SegHist, parts: Parts,
                       alike: _Alike) -> None:
    """Add a kernel whose groups combine neighbouring bins; several work-items share a bin."""
    bins = exp.ops[alike[0][0]].bins
    segments = launches.total(lowering, exp.space[:-1])
    width = lowering.scalar("width", least(lowering.group, greatest(Size.of(LEAST_WIDTH), least(
        Size.of(MOST_WIDTH), ceil_div(
            segments * lowering.size(bins), lowering.groups * LEAST_WIDTH) * LEAST_WIDTH))))
    tiles = lowering.scalar("tiles", ceil_div(lowering.size(bins), Size.var(width)))
    lanes = lowering.scalar("lanes", greatest(Size.of(1), ceil_div(
        lowering.group - Size.var(width) + 1, Size.var(width))))  # rounds down
    k = lowering.builder()
    arrays = launches.local_arrays(k, [exp.ops[number].op for number, *_ in alike], lowering.group)
    segment, tile = (k.declare(each, Prim.I64, op(word, launches.GROUP_ID, k.scalar(tiles)))
                     for each, word in (("segment", "quot"), ("tile", "rem")))
    lane, column = (k.declare(each, Prim.I64, op(word, launches.LID, k.scalar(width)))
                    for each, word in (("lane", "quot"), ("column", "rem")))
    bin_ = k.declare("bin", Prim.I64, op("add", op("mul", tile, k.scalar(width)), column))
    where = [*unflat_index(segment, launches.widths(k, exp.space[:-1])), bin_]
    here = op("lt", bin_, k.scalar(bins))
    with k.block() as code:
        with k.block() as folded:
            for (number, *_), mems in zip(alike, arrays, strict=True):
                totals = _fold(k, exp, parts, number, (segment, bin_), (lane, k.scalar(lanes)))
                k.emit(*launches.stores(mems, launches.LID, totals, prims_of(exp.ops[number])))
        fits = op("lt", lane, k.scalar(lanes))
        k.emit(imp.If(all_of(here, fits), tuple(folded)))
        with k.block() as written:
            for (number, old, outs), mems in zip(alike, arrays, strict=True):
                op_ = exp.ops[number]
                totals = launches.scalars(k.neutral(op_.op))

                def add(each: Exp, op_: HistOp = op_, mems: Sequence[VName] = mems,
                        totals: Sequence[imp.Var] = totals) -> None:
                    place = op("add", op("mul", each, k.scalar(width)), column)
                    k.accumulate(op_.op, totals, launches.loaded(
                        k, "held", mems, place, prims_of(op_)))

                k.loop(k.scalar(lanes), add)
                add_to_destination(k, op_, old, outs, where, totals)
        first = op("eq", lane, lit(0))
        k.emit(imp.If(all_of(here, first), tuple(written)))
    k.emit(*insert_barriers(code))
    lowering.launch(k, "seghist_final", segments * Size.var(tiles))


def _fold(k: KernelBuilder, exp: SegHist, parts: Parts, number: int, place: tuple[Exp, Exp],
          lane: tuple[Exp, Exp]) -> list[imp.Var]:
    """Combine a bin of a segment: the parts from the start of a lane on, by a step."""
    op_, (segment, bin_), (start, step) = exp.ops[number], place, lane
    totals = launches.scalars(k.neutral(op_.op))
    k.loop(k.scalar(parts.per_segment), lambda part: k.accumulate(op_.op, totals, [
        k.declare("part", view.prim, view.read([bin_]))
        for view in parts.views(k, exp, number, segment, part)]),
        start=start, step=step, base="part")
    return totals


def _native_operation(op_: Operator, space: imp.Space) -> str | None:
    """The atomic instruction that computes an operator, if there is one."""
    match op_.primitive:
        case name, prim if name in ATOMIC_OPERATIONS and prim.is_int and prim.bits >= 32:
            return name
        case "add", prim if prim.is_float and prim.bits >= 32 and space is imp.Space.GLOBAL:
            return "add"
    return None


def atomic_update(k: KernelBuilder, op_: Operator, out: View, indices: Sequence[Exp], value: Value,
                  space: imp.Space) -> None:
    """Emit an update that other work-items may do to the same element at the same time."""
    assert not isinstance(value, View)
    assert out.mem is not None
    (type_,) = op_.lam.ret
    prim, place = launches.require_scalar(type_), out.at(indices)
    with k.when(within(indices[-1], out.shape[-1])):
        if (native := _native_operation(op_, space)) is not None:
            k.emit(imp.Atomic(native, prim, out.mem, place, value, space))
        else:
            old = k.names.fresh("old")
            with k.block() as body:
                (new,) = k.apply(op_.lam, [imp.Var(old), value])
            assert not isinstance(new, View)
            k.emit(imp.AtomicUpdate(out.mem, place, prim, space, old, tuple(body), new))


@dataclass(frozen=True, slots=True)
class Shared:
    """Bins that several work-items update at once: their memory space, and locks if any."""

    space: imp.Space
    locks: VName | None
    lock: Callable[[Sequence[Exp]], Exp]
    """The number of the lock of the bin with these indices."""

    def update(self, k: KernelBuilder, op_: Operator, views: Sequence[View],
               indices: Sequence[Exp], values: Sequence[Value]) -> None:
        """Combine a bin with values, if it is inside."""
        if op_.is_word:
            atomic_update(k, op_, views[0], indices, values[0], self.space)
            return
        assert self.locks is not None
        inside = within(indices[-1], views[0].shape[-1])
        with k.block() as code:
            k.combine_inside(op_, views[0].shape[-1], views, indices, values)
        guarded = tuple(view.mem for view in views if view.mem is not None)
        k.emit(imp.If(inside, (imp.Locked(
            self.locks, self.lock(indices), self.space, guarded, _without_check(code, inside)),)))


def _without_check(code: Sequence[imp.Stm], inside: Exp) -> tuple[imp.Stm, ...]:
    """The body of the check that a bin is in range, if ``code`` is such a check."""
    match code:
        case [*before, imp.If(cond, then_, ())] if cond == inside:
            return (*before, *then_)
    return tuple(code)
