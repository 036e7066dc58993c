"""Generalised histograms over the grid.

Many updates of few bins collide.  So work-items or groups update copies of the bins
(*sub-histograms*), which are combined at the end.  The sizes decide at run time
(:mod:`~runelift.codegen.segops.seghist_choice`).  On devices that run work-items in lockstep:

- a copy in local memory for each work-item, if these fit: no update meets another;
- copies in local memory that work-items share, each of a range of the bins if not all fit;
- updates of the result in global memory, if there are too many bins, or of copies there if updates
  take a lock.

Other devices run the work-items of a group one after the other, so that groups update side by side:

- a copy in global memory for each of a few lone work-items, if there are many more elements;
- a segment by a lone work-item, if there are many segments or few elements;
- updates of the result, if there are many bins.

Work-items that share bins update them atomically: by an instruction, by compare-and-swap of a word,
or under a lock if the operator combines several values.

Kernels: ``seghist_local`` or ``seghist_global`` fill sub-histograms, ``seghist_final`` combines
them.  ``seghist`` updates the result or copies, a work-item per element; ``seghist_sequential``
updates the result, a work-item per segment.  Operators on arrays always run like that.

Destinations that are not in memory, such as ``replicate k 0``, are not stored first.  The kernel
that combines computes their elements.  Only kernels that update the result have it filled before
(``seghist_fill``).

Source: Henriksen, Hellfritzsch, Sadayappan and Oancea, "Compiling generalized histograms for GPU",
SC 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, flat_index, lit, op, unflat_index
from runelift.codegen.segops import seghist_choice as choice
from runelift.codegen.segops.hist_parts import (
    Parts,
    Shared,
    allocate_parts,
    combine_parts,
    destinations,
    element_update,
    prims_of,
)
from runelift.codegen.segops.seghist_local import in_local_memory
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import HistOp, SegDim, SegHist
from runelift.ir.types import Atom, Const, i64, shape_of

MOST_LOCKS = 1 << 20
"""The most locks in global memory, a power of two; bins this far apart share one."""


def seghist(lowering: launches.Lowering, exp: SegHist) -> None:
    """Add a histogram per segment; operators, sizes and the device decide about the kernels."""
    if not all(isinstance(t, Prim) for o in exp.ops for t in o.op.lam.ret):
        _sequential(lowering, exp)
    elif lowering.interleave:
        _in_lockstep(lowering, exp)
    else:
        _on_processors(lowering, exp)


def _in_lockstep(lowering: launches.Lowering, exp: SegHist) -> None:
    """Add kernels with copies in local memory, or updates of the result."""
    sizes = choice.sizes_of(lowering, exp)
    private = choice.private_copies(lowering, sizes)
    shared = choice.shared_copies(lowering, sizes)
    fits = choice.fits_locally(lowering, sizes, shared.chunks)

    def elsewhere() -> None:
        _choose(lowering, i64(1), fits, {
            "shared copies": lambda: in_local_memory(lowering, exp, shared, atomic=True),
            "global memory": in_global_memory})

    def in_global_memory() -> None:
        if sizes.locked == sizes.cell:
            _in_place(lowering, exp)
        else:
            _locked_copies(lowering, exp, choice.locked_copies(lowering, sizes))

    _choose(lowering, private.items, private.copies, {
        "a copy per work-item": lambda: in_local_memory(lowering, exp, private, atomic=False),
        "atomic updates": elsewhere})


def _on_processors(lowering: launches.Lowering, exp: SegHist) -> None:
    """Add kernels with copies of lone work-items, or updates of the result."""
    sizes = choice.sizes_of(lowering, exp)
    per = choice.own_copies(lowering, sizes)
    alone = choice.is_sequential(lowering, sizes)

    def together() -> None:
        _choose(lowering, i64(1), alone, {"one after the other": lambda: _sequential(lowering, exp),
                                          "in place": lambda: _in_place(lowering, exp)})

    _choose(lowering, i64(2), per, {"own copies": lambda: _own_copies(lowering, exp, per),
                                    "together": together})


def _choose(lowering: launches.Lowering, least_: Atom, number: VName,
            sides: Mapping[str, Callable[[], None]]) -> None:
    """Add a choice: the first of ``sides`` if ``least_ <= number``, else the second."""
    cond = lowering.names.fresh("enough")
    first, second = (launches.branch(lowering, side, name) for name, side in sides.items())
    lowering.steps.append(plan.Compute(cond, "le", Prim.I64, (least_, number)))
    launches.choose(lowering, cond, first, second)


def _own_copies(lowering: launches.Lowering, exp: SegHist, per: VName) -> None:
    """Add kernels in which each work-item makes a sub-histogram of a part of a segment.

    The sub-histograms are in global memory.
    """
    parts = allocate_parts(lowering, exp, per)
    k = lowering.builder()
    segment = k.declare("segment", Prim.I64, op("quot", launches.GID, k.scalar(per)))
    part = k.declare("part", Prim.I64, op("rem", launches.GID, k.scalar(per)))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    views = [parts.views(k, exp, number, segment, part) for number in range(len(exp.ops))]
    for op_, outs in zip(exp.ops, views, strict=True):
        _clear(k, op_, outs)

    def change(number: int, bin_: Exp, values: list[Value]) -> None:
        op_ = exp.ops[number]
        k.combine_inside(op_.op, k.scalar(op_.bins), views[number], [bin_], values)

    own = launches.even_part(k, k.scalar(exp.space[-1].width), part, k.scalar(per))
    k.loop(own.end, element_update(k, exp, outer, change), start=own.start, base="e")
    groups = launches.total(lowering, exp.space[:-1]) * Size.var(per)
    lowering.launch(k, "seghist_global", groups, Size.of(1))
    combine_parts(lowering, exp, parts)


def _clear(k: KernelBuilder, op_: HistOp, outs: Sequence[View]) -> None:
    """Emit stores of the neutral element to the sub-histogram of a work-item."""
    neutral = launches.scalars(k.neutral(op_.op))
    k.loop(k.scalar(op_.bins), lambda bin_: k.emit(
        *(out.write([bin_], n) for out, n in zip(outs, neutral, strict=True))), base="clear")


# Updates of the result itself


def _fill(lowering: launches.Lowering, exp: SegHist) -> None:
    """Store the destinations that are not in memory, by one kernel for each shape."""
    by_shape: dict[tuple[Atom, ...], list[tuple[View, View]]] = {}
    for param, old, out in zip(lowering.stm.pat, destinations(lowering, exp), lowering.results,
                               strict=True):
        if old.mem is None:
            by_shape.setdefault(shape_of(param.type), []).append((old, out))
    for shape, pairs in by_shape.items():
        k = lowering.builder()

        def point(indices: Sequence[Exp], k: KernelBuilder = k,
                  pairs: Sequence[tuple[View, View]] = pairs) -> None:
            k.emit(*(out.write(indices, old.read(indices)) for old, out in pairs))

        space = tuple(SegDim(lowering.names.fresh("i"), size) for size in shape)
        launches.each_point(lowering, k, space, point, "seghist_fill")


def _outs(lowering: launches.Lowering, exp: SegHist, number: int) -> list[View]:
    """The result arrays of operator ``number``."""
    before = sum(len(o.dests) for o in exp.ops[:number])
    return lowering.results[before: before + len(exp.ops[number].dests)]


def _in_place(lowering: launches.Lowering, exp: SegHist) -> None:
    """Add a kernel with a work-item per element that updates the destinations."""
    _fill(lowering, exp)
    locked = not all(o.op.is_word for o in exp.ops)
    _update_all(lowering, exp, _open_locks(lowering, exp, None) if locked else None, None)


def _locked_copies(lowering: launches.Lowering, exp: SegHist, per: VName) -> None:
    """Add kernels with a work-item per element that updates copies, which groups take in turn."""
    parts = allocate_parts(lowering, exp, per)
    _update_all(lowering, exp, _open_locks(lowering, exp, parts), parts)
    combine_parts(lowering, exp, parts)


def _update_all(lowering: launches.Lowering, exp: SegHist, locks: VName | None,
                parts: Parts | None) -> None:
    """Update the results, or the parts, by all elements at the same time."""
    k = lowering.builder()
    shape = launches.widths(k, exp.space[:-1])

    def point(indices: Sequence[Exp]) -> None:
        segment = flat_index(indices[:-1], shape)
        copies = lit(1) if parts is None else k.scalar(parts.per_segment)
        copy = op("rem", launches.GROUP_ID, copies)

        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            bins = k.scalar(exp.ops[number].bins)
            shared = Shared(imp.Space.GLOBAL, locks, lambda ix: op("and", op("add", op("mul", op(
                "add", op("mul", segment, copies), copy), bins), ix[-1]), lit(MOST_LOCKS - 1)))
            place = [*indices[:-1], bin_] if parts is None else [bin_]
            shared.update(k, exp.ops[number].op, _outs(lowering, exp, number) if parts is None
                          else parts.views(k, exp, number, segment, copy), place, values)

        element_update(k, exp, indices[:-1], change)(indices[-1])

    launches.each_point(lowering, k, exp.space, point, "seghist")


def _open_locks(lowering: launches.Lowering, exp: SegHist, parts: Parts | None) -> VName:
    """A lock for each bin, or as many as there may be; the bins of parts are made neutral."""
    copies = Size.of(1) if parts is None else Size.var(parts.per_segment)
    rows = launches.total(lowering, exp.space[:-1]) * copies
    counts = [lowering.scalar("cells", rows * lowering.size(o.bins)) for o in exp.ops]
    cells = lowering.scalar("most", greatest(*map(Size.var, counts)))
    count = lowering.scalar("count", least(Size.of(MOST_LOCKS), Size.var(cells)))
    locks = lowering.temporary("locks", Prim.I32, Size.var(count))
    k = lowering.builder()
    k.emit(imp.If(op("lt", launches.GID, k.scalar(count)), (
        imp.Store(locks, launches.GID, imp.Lit(Const(0, Prim.I32)), Prim.I32),)))
    for op_, cells_, buffers in zip(exp.ops, counts, parts.buffers if parts else (), strict=False):
        neutral = launches.scalars(k.neutral(op_.op))
        k.emit(imp.If(op("lt", launches.GID, k.scalar(cells_)), launches.stores(
            buffers, launches.GID, neutral, prims_of(op_))))
    items = Size.var(count if parts is None else cells)
    lowering.launch(k, "seghist_locks", ceil_div(items, lowering.group))
    return locks


def _sequential(lowering: launches.Lowering, exp: SegHist) -> None:
    """Add a kernel with a work-item per segment."""
    _fill(lowering, exp)
    k = lowering.builder()

    def segment(outer: list[Exp]) -> None:
        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            op_ = exp.ops[number]
            k.combine_inside(op_.op, k.scalar(op_.bins), _outs(lowering, exp, number),
                             [*outer, bin_], values)

        k.loop(k.scalar(exp.space[-1].width), element_update(k, exp, outer, change), base="e")

    if len(exp.space) > 1:
        launches.each_point(lowering, k, exp.space[:-1], segment, "seghist_sequential", busy=True)
    else:
        segment([])
        lowering.launch(k, "seghist_sequential", Size.of(1), Size.of(1))
