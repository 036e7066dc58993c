"""Histograms whose work-groups have sub-histograms in local memory.

A work-group takes a part of a segment, and a range of the bins if not all of them fit.  It clears
its copies of the bins, updates them by its elements, and merges them.  If it is the only one of its
segment, it adds them to the destination.  Otherwise it stores them, and they are combined in one of
two ways:

- the last group of the segment adds all parts to its copies, as if they were elements, and these to
  the destination.  The device must show it the writes of the other groups, and there must be few
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
    Shared,
    add_to_destination,
    allocate_parts,
    by_operator,
    combine_parts,
    destinations,
    element_update,
    prims_of,
)
from runelift.codegen.segops.seghist_choice import LocalChoice, last_group_combines
from runelift.codegen.segops.segred import is_last_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest
from runelift.ir.syntax import SegHist
from runelift.ir.types import Const, i64

MERGING_ITEMS = 16
"""The most work-items that share the copies of a bin: the root of the usual number of copies."""


@dataclass(slots=True)
class _LocalHistogram:
    """A kernel under construction whose groups have copies of bins in local memory."""

    lowering: launches.Lowering
    exp: SegHist
    k: KernelBuilder
    choice: LocalChoice
    atomic: bool
    """True if several work-items share a copy."""
    chunk: Exp
    """The number of the range of bins that a group has."""
    count: Exp = field(init=False)
    mine: Exp = field(init=False)
    """The number of the copy that a work-item updates."""
    held: list[list[VName]] = field(init=False)
    """Local memory [bin][copy] for each component of each operator."""
    locks: VName | None = field(init=False)
    """A lock for each bin of each copy, if an operator needs them."""
    ranges: list[tuple[Exp, Exp]] = field(init=False)
    """The first bin of the range, and the number of bins in it, for each operator."""

    def __post_init__(self) -> None:
        k, exp, copies = self.k, self.exp, Size.var(self.choice.copies)
        self.count = k.scalar(self.choice.copies)
        self.mine = k.declare("copy", Prim.I64, op("rem", launches.LID, self.count))
        self.held, self.ranges, cells = [], [], Size.of(0)
        for op_ in exp.ops:
            length = ceil_div(self.lowering.size(op_.bins), Size.var(self.choice.chunks)) * copies
            cells = greatest(cells, length)
            self.held += launches.local_arrays(k, [op_.op], length)
            size = self.lowering.scalar("range", ceil_div(
                self.lowering.size(op_.bins), Size.var(self.choice.chunks)))
            first = k.declare("first", Prim.I64, op("mul", self.chunk, k.scalar(size)))
            bins = op("min", k.scalar(size), op("sub", k.scalar(op_.bins), first))
            self.ranges.append((first, k.declare("bins", Prim.I64, bins)))
        self.locks = None
        if self.atomic and not all(op_.op.is_word for op_ in exp.ops):
            self.locks = k.names.fresh("locks")
            k.locals.append(imp.LocalArray(self.locks, Prim.I32, cells))

    def _place(self, bin_: Exp, copy: Exp) -> Exp:
        """The cell of a bin of the range in a copy."""
        return op("add", op("mul", bin_, self.count), copy)

    def _copies(self, number: int, copy: Exp) -> list[View]:
        """The components of an operator in one of the copies, by bins of the range."""
        bins = self.ranges[number][1]
        return [View(prim, (bins,), mem, lambda ix: self._place(ix[0], copy))
                for mem, prim in zip(self.held[number], prims_of(self.exp.ops[number]),
                                     strict=True)]

    def clear(self) -> None:
        """Make all copies neutral, and open locks: the work-items of a group share the cells."""
        k = self.k
        for op_, mems, (_, bins) in zip(self.exp.ops, self.held, self.ranges, strict=True):
            neutral = launches.scalars(k.neutral(op_.op))
            cells = list[tuple[VName, Exp, Prim]](zip(mems, neutral, prims_of(op_), strict=True))
            if self.locks is not None and not op_.op.is_word:
                cells.append((self.locks, imp.Lit(Const(0, Prim.I32)), Prim.I32))

            def cell(i: Exp, cells: Sequence[tuple[VName, Exp, Prim]] = cells) -> None:
                k.emit(*(imp.Store(mem, i, value, prim) for mem, value, prim in cells))

            k.loop(op("mul", bins, self.count), cell, start=launches.LID, step=launches.LSIZE,
                   base="clear")

    def change(self, number: int, bin_: Exp, values: list[Value]) -> None:
        """Combine a bin of the work-item's copy with values, if the bin is in the range."""
        k, op_, (first, bins) = self.k, self.exp.ops[number], self.ranges[number]
        views = self._copies(number, self.mine)
        place = k.declare("place", Prim.I64, op("sub", bin_, first))
        if self.atomic:
            Shared(imp.Space.LOCAL, self.locks, lambda ix: self._place(ix[-1], self.mine)).update(
                k, op_.op, views, [place], values)
        else:
            k.combine_inside(op_.op, bins, views, [place], values)

    def merge(self, take: Callable[[int, Exp, Sequence[Exp]], None]) -> None:
        """Combine the copies of each bin of the range; ``take`` gets operator, bin and values.

        If there are few bins, several work-items share one: each combines every so-many-th copy,
        then the first combines what they have found.
        """
        k = self.k
        for number in range(len(self.exp.ops)):
            begin, bins = self.ranges[number]
            per_bin = op("quot", launches.LSIZE, op("max", bins, lit(1)))
            shared = op("max", op("min", lit(MERGING_ITEMS), per_bin), lit(1))
            items = k.declare("items", Prim.I64, op("min", self.count, shared))

            def share(each: Exp, number: int = number, items: Exp = items) -> None:
                bin_ = k.declare("bin", Prim.I64, op("quot", each, items))
                first = k.declare("first", Prim.I64, op("rem", each, items))
                totals = self._total(number, bin_, first, self.count, items)
                for view, value in zip(self._copies(number, first), totals, strict=True):
                    k.emit(view.write([bin_], value))

            k.loop(op("mul", bins, items), share, start=launches.LID, step=launches.LSIZE,
                   base="each")

            def whole(bin_: Exp, number: int = number, items: Exp = items,
                      begin: Exp = begin) -> None:
                take(number, op("add", begin, bin_),
                     self._total(number, bin_, lit(0), items, lit(1)))

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


def in_local_memory(lowering: launches.Lowering, exp: SegHist, choice: LocalChoice, *,
                    atomic: bool) -> None:
    """Add kernels with sub-histograms in local memory, of groups or (not ``atomic``) work-items."""
    per = choice.per_segment
    parts = allocate_parts(lowering, exp, per)

    def apart() -> None:
        _launch(lowering, exp, parts, choice, atomic=atomic, together=False)
        final = launches.branch(lowering, lambda: combine_parts(lowering, exp, parts))
        alone = lowering.names.fresh("alone")
        lowering.steps += [plan.Compute(alone, "le", Prim.I64, (per, i64(1))),
                           plan.Branch(alone, (), final)]

    if not lowering.coherent:
        apart()
        return
    together = launches.branch(lowering, lambda: _launch(
        lowering, exp, parts, choice, atomic=atomic, together=True), "the last group combines")
    separate = launches.branch(lowering, apart, "a group per bin combines")
    chosen, few = last_group_combines(lowering, exp, choice), lowering.names.fresh("few")
    lowering.steps.append(plan.Compute(few, "eq", Prim.I64, (chosen, i64(1))))
    launches.choose(lowering, few, together, separate)


def _launch(lowering: launches.Lowering, exp: SegHist, parts: Parts, choice: LocalChoice, *,
            atomic: bool, together: bool) -> None:
    """Add the kernel that counts the elements of each part; ``together``: adds the parts too."""
    k = lowering.builder_of_groups()
    per, chunks = k.scalar(parts.per_segment), k.scalar(choice.chunks)
    above = k.declare("above", Prim.I64, op("quot", launches.GROUP_ID, chunks))
    chunk = k.declare("chunk", Prim.I64, op("rem", launches.GROUP_ID, chunks))
    segment = k.declare("segment", Prim.I64, op("quot", above, per))
    part = k.declare("part", Prim.I64, op("rem", above, per))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    local = _LocalHistogram(lowering, exp, k, choice, atomic, chunk)
    old = list(by_operator(exp.ops, destinations(lowering, exp)))
    outs = list(by_operator(exp.ops, lowering.results))

    def stored(number: int, bin_: Exp, values: Sequence[Exp]) -> None:
        views = parts.views(k, exp, number, segment, part)
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
                k, op("le", per, lit(1)), number, bin_, values, (added, stored)))
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
    lowering.launch_groups(k, "seghist_local", groups * Size.var(choice.chunks),
                           Size.var(choice.items), fits=True)


def _either(k: KernelBuilder, cond: Exp, number: int, bin_: Exp, values: Sequence[Exp],
            takes: Sequence[Callable[[int, Exp, Sequence[Exp]], None]]) -> None:
    """Hand the values of a bin to the first of two if ``cond`` holds, else to the second."""
    sides = []
    for take in takes:
        with k.block() as code:
            take(number, bin_, values)
        sides.append(tuple(code))
    k.emit(imp.If(cond, *sides))


def _add_parts(k: KernelBuilder, exp: SegHist, parts: Parts, number: int, segment: Exp,
               local: _LocalHistogram) -> None:
    """Update the copies by the parts of all groups of a segment, whose range has all bins."""
    bins = k.scalar(exp.ops[number].bins)

    def each(index: Exp) -> None:
        part = k.declare("from", Prim.I64, op("quot", index, bins))
        bin_ = k.declare("bin", Prim.I64, op("rem", index, bins))
        views = parts.views(k, exp, number, segment, part)
        local.change(number, bin_, [k.declare("part", view.prim, view.read([bin_]))
                                    for view in views])

    k.loop(op("mul", bins, k.scalar(parts.per_segment)), each, start=launches.LID,
           step=launches.LSIZE, base="each")
