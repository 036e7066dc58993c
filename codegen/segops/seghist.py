"""Generalised histograms over the grid.

Many updates of few bins collide.  So each work-group updates *sub-histograms*, which are combined
at the end, by one group per bin.  The number of copies of the bins that fit into local memory
decides the strategy at run time:

- a copy for each work-item, if these fit: no update meets another;
- fewer copies, with atomic updates, for operators on one value of 32 or 64 bits;
- no copy of the bins of all operators: a pass over the elements for each of them;
- no copy at all: atomic updates of the result in global memory, for the same operators;
- otherwise every work-item has a sub-histogram in global memory, and there are as many work-items
  as a limit on memory allows.

Kernels: ``seghist_local`` or ``seghist_global`` fill sub-histograms, ``seghist_final`` combines
them.  ``seghist`` updates the result, a work-item per element.  Operators on arrays run
sequentially (``seghist_sequential``), a work-item per segment.

Destinations that are not in memory, such as ``replicate k 0``, are not stored first.  The kernel
that combines computes their elements.  Only kernels that update the result have it filled before
(``seghist_fill``).

Source: Henriksen, Hellfritzsch, Sadayappan and Oancea, "Compiling generalized histograms for GPU",
SC 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, op, unflat_index, volume
from runelift.codegen.segops.hist_parts import (
    allocate_parts,
    atomic_update,
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
from runelift.ir.syntax import Body, HistOp, SegDim, SegHist
from runelift.ir.traverse import needed_for
from runelift.ir.types import Atom, i64, shape_of

ELEMENTS_PER_GLOBAL_COPY = 64
"""Elements per work-item that has a sub-histogram in global memory."""
GLOBAL_COPIES_BYTES = 1 << 26
"""The bytes of global memory that all sub-histograms of one operation may take."""
LOCAL_MEMORY = Size.var(plan.LOCAL_BYTES)


def seghist(lowering: launches.Lowering, exp: SegHist) -> None:
    """A histogram per segment; the strategy depends on the operators and the number of bins."""
    if not all(isinstance(t, Prim) for o in exp.ops for t in o.op.lam.ret):
        _sequential(lowering, exp)
        return
    room = _bytes(lowering, exp.ops)
    copies = lowering.scalar("copies", least(lowering.group, _fitting(room)))
    private = launches.branch(lowering,
                              lambda: in_local_memory(lowering, exp, copies, atomic=False),
                              "a copy per work-item")
    if all(op_.op.is_word for op_ in exp.ops):
        other = launches.branch(lowering, lambda: _atomic(lowering, exp, copies), "atomic updates")
    else:
        other = launches.branch(lowering, lambda: _in_global_memory(lowering, exp, room),
                                "copies in global memory")
    _choose(lowering, lowering.group_size, copies, private, other)


def _bytes(lowering: launches.Lowering, ops: Sequence[HistOp]) -> Size:
    """The bytes of a copy of all bins."""
    bytes_ = Size.of(0)
    for op_ in ops:
        for prim in prims_of(op_):
            bytes_ = bytes_ + lowering.size(op_.bins) * prim.bytes
    return bytes_


def _fitting(bytes_: Size) -> Size:
    """The number of copies that fit into local memory."""
    room = greatest(Size.of(1), bytes_)
    return ceil_div(LOCAL_MEMORY - room + 1, room)  # rounds down


def _atomic(lowering: launches.Lowering, exp: SegHist, copies: VName) -> None:
    """Copies that work-items share; without room for one, each operator by itself, or in place."""
    shared = launches.branch(lowering, lambda: in_local_memory(lowering, exp, copies, atomic=True),
                             "shared copies")
    if len(exp.ops) == 1:
        other = launches.branch(lowering, lambda: _in_place(lowering, exp), "in place")
    else:
        other = launches.branch(lowering, lambda: _one_by_one(lowering, exp), "one by one")
    _choose(lowering, i64(1), copies, shared, other)


def _one_by_one(lowering: launches.Lowering, exp: SegHist) -> None:
    """A pass over the elements for each operator; the first one makes all checks."""
    whole, results = lowering.stm, iter(lowering.stm.pat)
    values = iter(exp.body.result[len(exp.ops):])
    for number, (op_, bin_) in enumerate(zip(exp.ops, exp.body.result, strict=False)):
        own = (bin_, *(next(values) for _ in op_.dests))
        body = Body(needed_for(exp.body.stms, own) if number else exp.body.stms, own)
        alone = replace(exp, ops=(op_,), body=body)
        lowering.stm = replace(whole, pat=tuple(next(results) for _ in op_.dests), exp=alone)
        _atomic(lowering, alone, lowering.scalar("copies", least(
            lowering.group, _fitting(_bytes(lowering, alone.ops)))))
    lowering.stm = whole


def _choose(lowering: launches.Lowering, least_: Atom, copies: VName, enough: tuple[plan.Step, ...],
            else_: tuple[plan.Step, ...]) -> None:
    cond = lowering.names.fresh("enough")
    lowering.steps.append(plan.Compute(cond, "le", Prim.I64, (least_, copies)))
    launches.choose(lowering, cond, enough, else_)


def _in_global_memory(lowering: launches.Lowering, exp: SegHist, bytes_: Size) -> None:
    """Every work-item has a sub-histogram in global memory."""
    segments, length = launches.total(lowering, exp.space[:-1]), lowering.size(exp.space[-1].width)
    room = greatest(Size.of(1), bytes_ * segments)
    per = lowering.scalar("per_segment", greatest(Size.of(1), least(
        ceil_div(length, Size.of(ELEMENTS_PER_GLOBAL_COPY)),
        ceil_div(Size.of(GLOBAL_COPIES_BYTES), room),
        ceil_div(lowering.groups * lowering.group, greatest(Size.of(1), segments)))))
    parts = allocate_parts(lowering, exp, per)
    k = lowering.builder()
    point = k.declare("point", Prim.I64, launches.GID)
    with k.block() as code:
        segment = k.declare("segment", Prim.I64, op("quot", point, k.scalar(per)))
        part = k.declare("part", Prim.I64, op("rem", point, k.scalar(per)))
        outer = [k.declare("o", Prim.I64, i)
                 for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
        views = [[parts.view(k, o, b, launches.require_scalar(t), segment, part)
                  for b, t in zip(buffers, o.op.lam.ret, strict=True)]
                 for o, buffers in zip(exp.ops, parts.buffers, strict=True)]
        for op_, outs in zip(exp.ops, views, strict=True):
            _clear_alone(k, op_, outs)

        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            op_ = exp.ops[number]
            k.combine_inside(op_.op, k.scalar(op_.bins), views[number], [bin_], values)

        k.loop(k.scalar(exp.space[-1].width), element_update(k, exp, outer, change), start=part,
               step=k.scalar(per), base="e")
    count = op("mul", k.scalar(per), volume(launches.widths(k, exp.space[:-1])))
    k.emit(imp.If(op("lt", point, count), tuple(code)))
    lowering.launch(k, "seghist_global", ceil_div(segments * Size.var(per), lowering.group))
    combine_parts(lowering, exp, parts)


def _clear_alone(k: KernelBuilder, op_: HistOp, outs: Sequence[View]) -> None:
    """The sub-histogram of a work-item is neutral."""
    neutral = launches.scalars(k.neutral(op_.op))
    k.loop(k.scalar(op_.bins), lambda bin_: k.emit(
        *(out.write([bin_], n) for out, n in zip(outs, neutral, strict=True))), base="clear")


# Updates of the result itself


def _fill(lowering: launches.Lowering, exp: SegHist) -> None:
    """Store the destinations that are not in memory, those of the same shape by one kernel."""
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


def _in_place(lowering: launches.Lowering, exp: SegHist) -> None:
    """Atomic updates of the destinations by a work-item per element."""
    _fill(lowering, exp)
    k = lowering.builder()
    outs = lowering.results

    def point(indices: Sequence[Exp]) -> None:
        segment = list(indices[:-1])

        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            atomic_update(k, exp.ops[number].op, outs[number], [*segment, bin_], values[0],
                          imp.Space.GLOBAL)

        element_update(k, exp, segment, change)(indices[-1])

    launches.each_point(lowering, k, exp.space, point, "seghist")


def _sequential(lowering: launches.Lowering, exp: SegHist) -> None:
    """A work-item per segment."""
    _fill(lowering, exp)
    k = lowering.builder()
    outs = lowering.results

    def segment(outer: list[Exp]) -> None:
        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            op_ = exp.ops[number]
            before = sum(len(o.dests) for o in exp.ops[:number])
            k.combine_inside(op_.op, k.scalar(op_.bins), outs[before: before + len(op_.dests)],
                             [*outer, bin_], values)

        k.loop(k.scalar(exp.space[-1].width), element_update(k, exp, outer, change), base="e")

    if len(exp.space) > 1:
        launches.each_point(lowering, k, exp.space[:-1], segment, "seghist_sequential", busy=True)
    else:
        segment([])
        lowering.launch(k, "seghist_sequential", Size.of(1), Size.of(1))


