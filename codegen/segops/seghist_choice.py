"""All choices of how a histogram is made, from its sizes and numbers of the device.

Updates that meet in a bin cost, as do copies of the bins, which are cleared and combined.  Bins
that do not fit into local memory cost further passes over the elements.

Source: Henriksen, Hellfritzsch, Sadayappan and Oancea, "Compiling generalized histograms for GPU",
SC 2020, sections on multi-histogramming and multi-passing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan import plan
from runelift.codegen.segops.hist_parts import LOCK_BYTES, prims_of
from runelift.ir.names import VName
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import HistOp, SegHist

MOST_CHUNKS = 4
"""Passes over the elements that take no longer than atomic updates in global memory."""
MOST_LOCKED_CHUNKS = 8
"""Passes over the elements that take no longer than updates under a lock in global memory.

The fences of such a lock take as long as 2 passes.
"""
ELEMENTS_PER_LOCK = 8
"""Updates under a lock in global memory, 3 us each, that take no longer than all else."""
MOST_LOCKED_COPIES = 16
"""Copies in global memory that are combined in less time than they save."""
LARGE_GROUP = 4
"""Groups that share copies are larger than other groups by this factor: they have fewer parts."""
PARTS_PER_ITEM = 16
"""The most parts that a work-item of the last group adds; more take longer than a launch."""
ELEMENTS_PER_CELL = 4
"""The elements of a group for each bin of a further copy, which is cleared and combined."""
CELL_BYTES = 16
"""The alignment of arrays in local memory, in bytes."""
BINS_PER_ELEMENT = 2
"""The bins of copies for each element that take no longer than an atomic update.

To clear and combine one takes a processor 1 ns, an atomic update 5 ns.
"""
GROUPS_PER_CORE = 4
"""The groups that a processor has for each core."""
FEW_ELEMENTS = 4096
"""Elements that one core counts before another one has begun."""
ONE, NONE = Size.of(1), Size.of(0)


@dataclass(frozen=True, slots=True)
class HistSizes:
    """The sizes of a histogram on which choices of kernels depend, besides the device."""

    segments: Size
    length: Size
    """The elements of a segment."""
    bins: Size
    """The bins of a segment, for the operator that has most bins."""
    cell: int
    """The bytes of a bin of all operators."""
    locked: int
    """The bytes of a bin with the locks of operators that need one."""
    arrays: int
    """The arrays of a copy, with the arrays of locks."""


def sizes_of(lowering: launches.Lowering, exp: SegHist) -> HistSizes:
    """The sizes of a histogram that choices depend on."""
    needing = sum(not op_.op.is_word for op_ in exp.ops)
    prims = [prim for op_ in exp.ops for prim in prims_of(op_)]
    cell = sum(prim.bytes for prim in prims)
    return HistSizes(launches.total(lowering, exp.space[:-1]),
                     lowering.size(exp.space[-1].width), _most_bins(lowering, exp.ops), cell,
                     cell + LOCK_BYTES * needing, len(prims) + needing)


def _most_bins(lowering: launches.Lowering, ops: Sequence[HistOp]) -> Size:
    sizes = list(dict.fromkeys(op_.bins for op_ in ops))
    return greatest(*(lowering.size(bins) for bins in sizes)) if len(sizes) > 1 else (
        lowering.size(sizes[0]))


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """Copies of the bins in local memory: numbers that the host computes.

    A group has ``copies`` of one of ``chunks`` ranges of the bins, and ``items`` work-items.  There
    are ``per_segment`` groups for each range in a segment, which divide its elements.
    """

    copies: VName
    chunks: VName
    per_segment: VName
    items: VName


def floor_div(number: Size, divisor: Size) -> Size:
    """The quotient of a number that is not negative, rounded down."""
    return ceil_div(number - divisor + 1, divisor)


def private_copies(lowering: launches.Lowering, sizes: HistSizes) -> LocalChoice:
    """A copy for each work-item.

    There are fewer ``copies`` if fewer fit, or if a segment has fewer elements.
    """
    bytes_ = greatest(ONE, sizes.bins * sizes.cell)
    fitting = floor_div(_room(sizes), bytes_)
    parts = least(ceil_div(sizes.length, greatest(lowering.group * launches.LEAST_ELEMENTS,
                                                  sizes.bins * 2)),
                  ceil_div(lowering.groups, greatest(ONE, sizes.segments)))
    return LocalChoice(lowering.scalar("copies", least(lowering.group, fitting, sizes.length)),
                       lowering.scalar("chunks", ONE),
                       lowering.scalar("per_segment", greatest(ONE, parts)),
                       lowering.scalar("items", lowering.group))


def shared_copies(lowering: launches.Lowering, sizes: HistSizes) -> LocalChoice:
    """Copies that the work-items of large groups share."""
    usual, largest = lowering.group, Size.var(plan.MAX_GROUP)
    busy = ceil_div(sizes.length, usual * launches.LEAST_ELEMENTS)
    items = lowering.scalar("items", greatest(ONE, least(
        largest, usual * greatest(ONE, least(busy, Size.of(LARGE_GROUP))))))
    room = _room(sizes)
    chunks = lowering.scalar("chunks", greatest(ONE, ceil_div(
        sizes.bins * sizes.locked, greatest(ONE, room))))
    bins = lowering.scalar("chunk", greatest(ONE, ceil_div(sizes.bins, Size.var(chunks))))
    groups = ceil_div(lowering.groups * usual, Size.var(items))
    per = lowering.scalar("per_segment", greatest(ONE, least(
        ceil_div(sizes.length, greatest(Size.var(items) * launches.LEAST_ELEMENTS, Size.var(bins))),
        ceil_div(groups, greatest(ONE, sizes.segments * Size.var(chunks))))))
    useful = ceil_div(ceil_div(sizes.length, Size.var(per)), Size.var(bins) * ELEMENTS_PER_CELL)
    copies = greatest(ONE, least(Size.var(items), useful, floor_div(
        room, Size.var(bins) * sizes.locked)))
    return LocalChoice(lowering.scalar("copies", copies), chunks, per, items)


def last_group_combines(lowering: launches.Lowering, exp: SegHist, choice: LocalChoice) -> VName:
    """1 if a segment has several parts, and the last group can combine them quickly; else 0.

    It has all bins then.
    """
    cells = Size.of(0)
    for op_ in exp.ops:
        cells = cells + lowering.size(op_.bins) * len(op_.dests)
    per = Size.var(choice.per_segment)
    most = Size.var(choice.items) * PARTS_PER_ITEM
    quick = least(ONE, floor_div(most, greatest(ONE, cells * per * Size.var(choice.chunks))))
    whole = floor_div(ONE, Size.var(choice.chunks))
    return lowering.scalar("few", quick * whole * (least(Size.of(2), per) - 1))


def _room(sizes: HistSizes) -> Size:
    """The bytes of local memory for copies: arrays begin aligned, and chunks are rounded up."""
    return greatest(ONE, Size.var(plan.LOCAL_BYTES) - (
        sizes.locked + CELL_BYTES * (sizes.arrays + 1)))


def fits_locally(lowering: launches.Lowering, sizes: HistSizes, chunks: VName) -> VName:
    """At least 1 if copies in local memory are quicker than updates of the result, else 0.

    There are few chunks.  If there are several rows, each has an element for every bin, and for
    every work-item of a group.
    """
    most = MOST_CHUNKS if sizes.locked == sizes.cell else MOST_LOCKED_CHUNKS
    few = floor_div(Size.of(most), Size.var(chunks))
    several = least(ONE, greatest(NONE, sizes.segments - 1))
    long = floor_div(sizes.length, greatest(lowering.group, sizes.bins))
    return lowering.scalar("fits", least(few, greatest(long, ONE - several)))


def locked_copies(lowering: launches.Lowering, sizes: HistSizes) -> VName:
    """The copies in global memory of bins with locks, among which groups are divided."""
    return lowering.scalar("per_segment", greatest(ONE, least(
        Size.of(MOST_LOCKED_COPIES),
        floor_div(sizes.length, greatest(ONE, sizes.bins * ELEMENTS_PER_LOCK)))))


def own_copies(lowering: launches.Lowering, sizes: HistSizes) -> VName:
    """The work-items of a processor for a segment that have copies of its bins.

    There is one for each core or more, or a single one, which needs no copy.
    """
    cores = ceil_div(lowering.groups, Size.of(GROUPS_PER_CORE))
    wanted = ceil_div(lowering.groups, greatest(ONE, sizes.segments))
    worth = floor_div(sizes.length * BINS_PER_ELEMENT, greatest(ONE, sizes.bins))
    useful = ceil_div(sizes.length, Size.of(FEW_ELEMENTS))
    parts = least(wanted, worth, useful)
    enough = least(ONE, floor_div(parts * sizes.segments, cores))
    return lowering.scalar("per_segment", greatest(ONE, parts * enough))


def is_sequential(lowering: launches.Lowering, sizes: HistSizes) -> VName:
    """1 if one work-item of a processor should compute a segment sequentially, else 0."""
    cores = ceil_div(lowering.groups, Size.of(GROUPS_PER_CORE))
    many = least(ONE, floor_div(sizes.segments, cores))
    short = least(ONE, floor_div(Size.of(FEW_ELEMENTS), greatest(ONE, sizes.length)))
    return lowering.scalar("alone", greatest(many, short))
