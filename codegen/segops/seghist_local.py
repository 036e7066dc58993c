"""Histograms whose work-groups have sub-histograms in local memory.

A work-group takes a part of a segment.  It clears its copies of the bins, updates them by its
elements, and merges them.  If it is the only one of its segment, it adds them to the destination.
Otherwise it stores them, and they are combined in one of two ways:

- the last group of the segment adds all parts to its copies, as if they were elements, and these
  to the destination.  The device must show it the writes of the others, and there must be few
  parts;
- another launch has a group for each bin.

Source: Henriksen, Hellfritzsch, Sadayappan and Oancea, "Compiling generalized histograms for GPU",
SC 2020, and for the last group Larsen and Henriksen 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, lit, op, unflat_index
from runelift.codegen.segops.hist_parts import (
    Parts,
    add_to_destination,
    allocate_parts,
    atomic_update,
    by_operator,
    combine_parts,
    destinations,
    element_update,
    prims_of,
)
from runelift.codegen.segops.segred import is_last_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import HistOp, SegHist
from runelift.ir.types import i64

PARTS_PER_ITEM = 16
"""The most parts that a work-item of the last group adds; more take longer than a launch."""
MERGING_ITEMS = 16
"""The most work-items that share the copies of a bin: the root of the usual number of copies."""


@dataclass(slots=True)
class _LocalHistogram:
    """A kernel under construction whose groups have copies of all bins in local memory."""

    lowering: launches.Lowering
    exp: SegHist
    k: KernelBuilder
    copies: VName
    atomic: bool
    """True if several work-items share a copy."""
    count: Exp = field(init=False)
    mine: Exp = field(init=False)
    """The number of the copy that a work-item updates."""
    held: list[list[VName]] = field(init=False)
    """Local memory [bin][copy] for each component of each operator."""

    def __post_init__(self) -> None:
        k, exp = self.k, self.exp
        self.count = k.scalar(self.copies)
        self.mine = k.declare("copy", Prim.I64, op("rem", launches.LID, self.count))
        self.held = [launches.local_arrays(
            k, [o.op], self.lowering.size(o.bins) * Size.var(self.copies))[0] for o in exp.ops]

    def _copy(self, op_: HistOp, mem: VName, prim: Prim, number: Exp) -> View:
        return View(prim, (self.k.scalar(op_.bins),), mem,
                    lambda ix: op("add", op("mul", ix[0], self.count), number))

    def _copies(self, number: int, copy: Exp) -> list[View]:
        """The components of an operator in one of the copies."""
        op_ = self.exp.ops[number]
        return [self._copy(op_, mem, prim, copy)
                for mem, prim in zip(self.held[number], prims_of(op_), strict=True)]

    def clear(self) -> None:
        """Make all copies neutral: the work-items of a group share the cells."""
        k = self.k
        for op_, mems in zip(self.exp.ops, self.held, strict=True):
            cells = list(zip(mems, launches.scalars(k.neutral(op_.op)), prims_of(op_), strict=True))

            def cell(i: Exp, cells: Sequence[tuple[VName, Exp, Prim]] = cells) -> None:
                k.emit(*(imp.Store(mem, i, value, prim) for mem, value, prim in cells))

            k.loop(op("mul", k.scalar(op_.bins), self.count), cell, start=launches.LID,
                   step=launches.LSIZE, base="clear")

    def change(self, number: int, bin_: Exp, values: list[Value]) -> None:
        """Combine a bin of the work-item's copy with values."""
        k, op_ = self.k, self.exp.ops[number]
        views = self._copies(number, self.mine)
        if self.atomic:
            atomic_update(k, op_.op, views[0], [bin_], values[0], imp.Space.LOCAL)
        else:
            k.combine_inside(op_.op, k.scalar(op_.bins), views, [bin_], values)

    def merge(self, take: Callable[[int, Exp, Sequence[Exp]], None]) -> None:
        """Combine the copies of each bin; ``take`` gets operator, bin and values.

        If there are few bins, several work-items share one: each combines every so-many-th copy,
        then the first combines what they have found.
        """
        k = self.k
        for number, op_ in enumerate(self.exp.ops):
            bins = k.scalar(op_.bins)
            shared = imp.Apply("min", Prim.I64, (lit(MERGING_ITEMS), op(
                "quot", launches.LSIZE, imp.Apply("max", Prim.I64, (bins, lit(1))))))
            items = k.declare("items", Prim.I64, imp.Apply("min", Prim.I64, (
                self.count, imp.Apply("max", Prim.I64, (shared, lit(1))))))

            def share(each: Exp, number: int = number, items: Exp = items) -> None:
                bin_ = k.declare("bin", Prim.I64, op("quot", each, items))
                first = k.declare("first", Prim.I64, op("rem", each, items))
                totals = self._total(number, bin_, first, self.count, items)
                for view, value in zip(self._copies(number, first), totals, strict=True):
                    k.emit(view.write([bin_], value))

            k.loop(op("mul", bins, items), share, start=launches.LID, step=launches.LSIZE,
                   base="each")

            def whole(bin_: Exp, number: int = number, items: Exp = items) -> None:
                take(number, bin_, self._total(number, bin_, lit(0), items, lit(1)))

            k.loop(bins, whole, start=launches.LID, step=launches.LSIZE, base="bin")

    def _total(self, number: int, bin_: Exp, first: Exp, bound: Exp,
               step: Exp) -> Sequence[imp.Var]:
        """The combination of copies first, first + step, ... of a bin."""
        k, op_ = self.k, self.exp.ops[number]
        totals = launches.scalars(k.neutral(op_.op))

        def copy(place: Exp) -> None:
            k.accumulate(op_.op, totals, [k.declare("copied", view.prim, view.read([bin_]))
                                          for view in self._copies(number, place)])

        k.loop(bound, copy, start=first, step=step, base="copy")
        return totals


def in_local_memory(lowering: launches.Lowering, exp: SegHist, copies: VName, *,
                    atomic: bool) -> None:
    """Groups with ``copies`` sub-histograms each; without ``atomic`` one per work-item."""
    segments, length = launches.total(lowering, exp.space[:-1]), lowering.size(exp.space[-1].width)
    most_bins = greatest(lowering.group * launches.LEAST_ELEMENTS,
                         *(lowering.size(o.bins) * 2 for o in exp.ops))
    per = lowering.scalar("per_segment", greatest(Size.of(1), least(
        ceil_div(length, most_bins), ceil_div(lowering.groups, greatest(Size.of(1), segments)))))
    parts = allocate_parts(lowering, exp, per)

    def apart() -> None:
        _launch(lowering, exp, parts, copies, atomic=atomic, together=False)
        final = launches.branch(lowering, lambda: combine_parts(lowering, exp, parts))
        alone = lowering.names.fresh("alone")
        lowering.steps += [plan.Compute(alone, "le", Prim.I64, (per, i64(1))),
                           plan.Branch(alone, (), final)]

    if not lowering.coherent:
        apart()
        return
    together = launches.branch(lowering, lambda: _launch(
        lowering, exp, parts, copies, atomic=atomic, together=True), "the last group combines")
    separate = launches.branch(lowering, apart, "a group per bin combines")
    chosen, few = lowering.scalar("few", _are_few(lowering, exp, per)), lowering.names.fresh("few")
    lowering.steps.append(plan.Compute(few, "eq", Prim.I64, (chosen, i64(1))))
    launches.choose(lowering, few, together, separate)


def _are_few(lowering: launches.Lowering, exp: SegHist, per: VName) -> Size:
    """1 if a segment has several parts, and the last group can combine them quickly; else 0."""
    cells = Size.of(0)
    for op_ in exp.ops:
        cells = cells + lowering.size(op_.bins) * len(op_.dests)
    room = lowering.group * PARTS_PER_ITEM + 1
    quick = least(Size.of(1), ceil_div(room, greatest(Size.of(1), cells * Size.var(per))) - 1)
    return quick * (least(Size.of(2), Size.var(per)) - 1)


def _launch(lowering: launches.Lowering, exp: SegHist, parts: Parts, copies: VName, *,
            atomic: bool, together: bool) -> None:
    """The kernel that counts the elements of each part; ``together``: and combines the parts."""
    k = lowering.builder()
    per = k.scalar(parts.per_segment)
    segment = k.declare("segment", Prim.I64, op("quot", launches.GROUP_ID, per))
    part = k.declare("part", Prim.I64, op("rem", launches.GROUP_ID, per))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    local = _LocalHistogram(lowering, exp, k, copies, atomic)
    old = list(by_operator(exp.ops, destinations(lowering, exp)))
    outs = list(by_operator(exp.ops, lowering.results))

    def stored(number: int, bin_: Exp, values: Sequence[Exp]) -> None:
        views = _part(k, exp, parts, number, segment, part)
        k.emit(*(view.write([bin_], value) for view, value in zip(views, values, strict=True)))

    def added(number: int, bin_: Exp, values: Sequence[Exp]) -> None:
        add_to_destination(k, exp.ops[number], old[number], outs[number], [*outer, bin_], values)

    with k.block() as counted:
        local.clear()
        item = op("add", op("mul", part, launches.LSIZE), launches.LID)
        k.loop(k.scalar(exp.space[-1].width), element_update(k, exp, outer, local.change),
               start=item, step=op("mul", per, launches.LSIZE), base="e")
        if together:
            local.merge(stored)
        else:
            local.merge(lambda number, bin_, values: _either(
                k, imp.Apply("le", Prim.I64, (per, lit(1))), number, bin_, values,
                (added, stored)))
    k.emit(*insert_barriers(counted))
    if together:
        k.emit(imp.Barrier(imp.Space.GLOBAL))  # the first work-item's fence is for the parts of all
        last = is_last_group(k, segment, per)
        with k.block() as combined:
            local.clear()
            for number in range(len(exp.ops)):
                _add_parts(k, exp, parts, number, segment, local)
            local.merge(added)
        k.emit(*insert_barriers((imp.If(last, tuple(combined)),)))
    groups = launches.total(lowering, exp.space[:-1]) * Size.var(parts.per_segment)
    lowering.launch(k, "seghist_local", groups, fits=not together)


def _either(k: KernelBuilder, cond: Exp, number: int, bin_: Exp, values: Sequence[Exp],
            takes: Sequence[Callable[[int, Exp, Sequence[Exp]], None]]) -> None:
    """Hand the values of a bin to the first of two if ``cond`` holds, else to the second."""
    sides = []
    for take in takes:
        with k.block() as code:
            take(number, bin_, values)
        sides.append(tuple(code))
    k.emit(imp.If(cond, *sides))


def _part(k: KernelBuilder, exp: SegHist, parts: Parts, number: int, segment: Exp,
          part: Exp) -> list[View]:
    """The components of an operator in a part of a segment."""
    op_ = exp.ops[number]
    return [parts.view(k, op_, buffer, prim, segment, part)
            for buffer, prim in zip(parts.buffers[number], prims_of(op_), strict=True)]


def _add_parts(k: KernelBuilder, exp: SegHist, parts: Parts, number: int, segment: Exp,
               local: _LocalHistogram) -> None:
    """Update the copies by the parts of all groups of a segment."""
    per = k.scalar(parts.per_segment)

    def each(index: Exp) -> None:
        bin_ = k.declare("bin", Prim.I64, op("quot", index, per))
        part = k.declare("from", Prim.I64, op("rem", index, per))
        views = _part(k, exp, parts, number, segment, part)
        local.change(number, bin_, [k.declare("part", view.prim, view.read([bin_]))
                                    for view in views])

    k.loop(op("mul", k.scalar(exp.ops[number].bins), per), each, start=launches.LID,
           step=launches.LSIZE, base="each")
