"""Generalised histograms over the grid.

Many updates of few bins collide.  So each work-group updates *sub-histograms*, which are combined
at the end, by one group per bin.  The number of copies of the bins that fit into local memory
decides the strategy at run time:

- a copy for each work-item, if these fit: no update meets another;
- fewer copies, with atomic updates, for operators on one value of 32 or 64 bits;
- no copy: atomic updates of the result in global memory, for the same operators;
- otherwise every work-item has a sub-histogram in global memory, and there are as many work-items
  as a limit on memory allows.

Kernels: ``seghist_local`` or ``seghist_global`` fill sub-histograms, ``seghist_final`` combines
them.  ``seghist`` updates the result, a work-item per element.  Operators on arrays run
sequentially (``seghist_sequential``), a work-item per segment.

Source: Henriksen, Hellfritzsch, Sadayappan and Oancea, "Compiling generalized histograms for GPU",
SC 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.barriers import IS_FIRST
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, op, unflat_index, volume, within
from runelift.codegen.segops.segred import total_of_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import HistOp, Operator, Param, PrimOp, SegHist
from runelift.ir.types import Atom, i64

ATOMIC_OPERATIONS = frozenset({"add", "min", "max", "and", "or", "xor"})
ELEMENTS_PER_GLOBAL_COPY = 64
"""Elements per work-item that has a sub-histogram in global memory."""
GLOBAL_COPIES_BYTES = 1 << 26
"""The bytes of global memory that all sub-histograms of one operation may take."""
LOCAL_MEMORY = Size.var(plan.LOCAL_BYTES)


def _native_operation(op_: Operator) -> str | None:
    """The atomic instruction that computes an operator, if there is one."""
    if len(op_.lam.ret) != 1 or len(op_.lam.body.stms) != 1:
        return None
    (stm,) = op_.lam.body.stms
    match stm.exp:
        case PrimOp(name, prim, args):
            if (name in ATOMIC_OPERATIONS and prim.is_int and prim.bits >= 32
                    and set(args) == {p.name for p in op_.lam.params}
                    and op_.lam.body.result == (stm.pat[0].name,)):
                return name
    return None


def is_lockable(op_: HistOp) -> bool:
    """True if an atomic update of one word performs the operator."""
    types = op_.op.lam.ret
    return len(types) == 1 and isinstance(types[0], Prim) and types[0].bits >= 32


def seghist(lowering: launches.Lowering, exp: SegHist) -> None:
    """A histogram per segment; the strategy depends on the operators and the number of bins."""
    if not all(isinstance(t, Prim) for o in exp.ops for t in o.op.lam.ret):
        _sequential(lowering, exp)
        return
    atomic = all(map(is_lockable, exp.ops))
    bytes_ = Size.of(0)
    for op_ in exp.ops:
        for type_ in op_.op.lam.ret:
            bytes_ = bytes_ + lowering.size(op_.bins) * launches.require_scalar(type_).bytes
    room = greatest(Size.of(1), bytes_)
    fitting = ceil_div(LOCAL_MEMORY - room + 1, room)  # rounds down
    copies = lowering.scalar("copies", least(lowering.group, fitting))
    private = launches.branch(lowering,
                              lambda: _in_local_memory(lowering, exp, copies, atomic=False))
    if atomic:
        shared = launches.branch(lowering,
                                 lambda: _in_local_memory(lowering, exp, copies, atomic=True))
        direct = launches.branch(lowering, lambda: _in_place(lowering, exp))
        other = launches.branch(lowering, lambda: _choose(lowering, i64(1), copies, shared, direct))
    else:
        other = launches.branch(lowering, lambda: _in_global_memory(lowering, exp, bytes_))
    _choose(lowering, lowering.group_size, copies, private, other)


def _choose(lowering: launches.Lowering, least_: Atom, copies: VName, enough: tuple[plan.Step, ...],
            else_: tuple[plan.Step, ...]) -> None:
    cond = lowering.names.fresh("enough")
    lowering.steps += [plan.Compute(cond, "le", Prim.I64, (least_, copies)),
                       plan.Branch(cond, enough, else_)]


def _update(k: KernelBuilder, exp: SegHist, segment: Sequence[Exp],
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


# Sub-histograms


@dataclass(frozen=True, slots=True)
class _Parts:
    """Partial results: per operator and component a buffer [segment][bin][part]."""

    per_segment: VName
    buffers: list[list[VName]]

    def view(self, k: KernelBuilder, op_: HistOp, mem: VName, prim: Prim, segment: Exp,
             part: Exp) -> View:
        """The sub-histogram of a part of a segment."""
        bins, per = k.scalar(op_.bins), k.scalar(self.per_segment)
        return View(prim, (bins,), mem, lambda ix: op("add", op(
            "mul", op("add", op("mul", segment, bins), ix[0]), per), part))


def _parts(lowering: launches.Lowering, exp: SegHist, per_segment: VName) -> _Parts:
    count = launches.total(lowering, exp.space[:-1]) * Size.var(per_segment)
    return _Parts(per_segment, [
        [lowering.temporary("part", launches.require_scalar(t), count * lowering.size(o.bins))
         for t in o.op.lam.ret] for o in exp.ops])


def _in_local_memory(lowering: launches.Lowering, exp: SegHist, copies: VName, *,
                     atomic: bool) -> None:
    """Groups with ``copies`` sub-histograms each; without ``atomic`` one per work-item."""
    segments, length = launches.total(lowering, exp.space[:-1]), lowering.size(exp.space[-1].width)
    most_bins = greatest(lowering.group * launches.LEAST_ELEMENTS,
                         *(lowering.size(o.bins) * 2 for o in exp.ops))
    per = lowering.scalar("per_segment", greatest(Size.of(1), least(
        ceil_div(length, most_bins), ceil_div(lowering.groups, greatest(Size.of(1), segments)))))
    parts = _parts(lowering, exp, per)
    k = lowering.builder()
    count = k.scalar(copies)
    segment = k.declare("segment", Prim.I64, op("quot", launches.GROUP_ID, k.scalar(per)))
    part = k.declare("part", Prim.I64, op("rem", launches.GROUP_ID, k.scalar(per)))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, launches.widths(k, exp.space[:-1]))]
    mine = k.declare("copy", Prim.I64, op("rem", launches.LID, count))
    held = [_local_copies(lowering, k, o, copies) for o in exp.ops]
    for op_, mems in zip(exp.ops, held, strict=True):
        _clear(k, op_, mems, op("mul", k.scalar(op_.bins), count))
    k.emit(imp.Barrier(imp.Space.LOCAL))
    views = [[_copy(k, o, m, launches.require_scalar(t), count, mine)
              for m, t in zip(mems, o.op.lam.ret, strict=True)]
             for o, mems in zip(exp.ops, held, strict=True)]

    def change(number: int, bin_: Exp, values: list[Value]) -> None:
        op_ = exp.ops[number]
        if atomic:
            atomic_update(k, op_.op, views[number][0], [bin_], values[0], imp.Space.LOCAL)
        else:
            k.combine_inside(op_.op, k.scalar(op_.bins), views[number], [bin_], values)

    item = op("add", op("mul", part, launches.LSIZE), launches.LID)
    k.loop(k.scalar(exp.space[-1].width), _update(k, exp, outer, change), start=item,
           step=op("mul", k.scalar(per), launches.LSIZE), base="e")
    k.emit(imp.Barrier(imp.Space.LOCAL))
    for op_, mems, buffers in zip(exp.ops, held, parts.buffers, strict=True):
        _merge_copies(k, op_, mems, count, [
            parts.view(k, op_, b, launches.require_scalar(t), segment, part)
            for b, t in zip(buffers, op_.op.lam.ret, strict=True)])
    lowering.launch(k, "seghist_local", segments * Size.var(per), fits=True)
    _combine(lowering, exp, parts)


def _local_copies(lowering: launches.Lowering, k: KernelBuilder, op_: HistOp,
                  copies: VName) -> list[VName]:
    """Local memory [bin][copy] for each component of an operator."""
    (mems,) = launches.local_arrays(k, [op_.op], lowering.size(op_.bins) * Size.var(copies))
    return mems


def _copy(k: KernelBuilder, op_: HistOp, mem: VName, prim: Prim, copies: Exp, copy: Exp) -> View:
    return View(prim, (k.scalar(op_.bins),), mem,
                lambda ix: op("add", op("mul", ix[0], copies), copy))


def _clear(k: KernelBuilder, op_: HistOp, mems: Sequence[VName], count: Exp) -> None:
    """All copies are neutral: the work-items of a group share the cells."""
    neutral = launches.scalars(k.neutral(op_.op))
    prims = [launches.require_scalar(t) for t in op_.op.lam.ret]
    k.loop(count, lambda i: k.emit(*(imp.Store(m, i, value, prim) for m, value, prim in zip(
        mems, neutral, prims, strict=True))), start=launches.LID, step=launches.LSIZE, base="clear")


def _clear_alone(k: KernelBuilder, op_: HistOp, outs: Sequence[View]) -> None:
    """The sub-histogram of a work-item is neutral."""
    neutral = launches.scalars(k.neutral(op_.op))
    k.loop(k.scalar(op_.bins), lambda bin_: k.emit(
        *(out.write([bin_], n) for out, n in zip(outs, neutral, strict=True))), base="clear")


def _merge_copies(k: KernelBuilder, op_: HistOp, mems: Sequence[VName], copies: Exp,
                  outs: Sequence[View]) -> None:
    """The work-items share the bins and combine the copies of each."""
    prims = [launches.require_scalar(t) for t in op_.op.lam.ret]

    def one(bin_: Exp) -> None:
        totals = launches.scalars(k.neutral(op_.op))

        def copy(number: Exp) -> None:
            k.accumulate(op_.op, totals, [
                k.declare("copied", prim, _copy(k, op_, m, prim, copies, number).read([bin_]))
                for m, prim in zip(mems, prims, strict=True)])

        k.loop(copies, copy, base="copy")
        for out, value in zip(outs, totals, strict=True):
            k.emit(out.write([bin_], value))

    k.loop(k.scalar(op_.bins), one, start=launches.LID, step=launches.LSIZE, base="bin")


def _in_global_memory(lowering: launches.Lowering, exp: SegHist, bytes_: Size) -> None:
    """Every work-item has a sub-histogram in global memory."""
    segments, length = launches.total(lowering, exp.space[:-1]), lowering.size(exp.space[-1].width)
    room = greatest(Size.of(1), bytes_ * segments)
    per = lowering.scalar("per_segment", greatest(Size.of(1), least(
        ceil_div(length, Size.of(ELEMENTS_PER_GLOBAL_COPY)),
        ceil_div(Size.of(GLOBAL_COPIES_BYTES), room),
        ceil_div(lowering.groups * lowering.group, greatest(Size.of(1), segments)))))
    parts = _parts(lowering, exp, per)
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

        k.loop(k.scalar(exp.space[-1].width), _update(k, exp, outer, change), start=part,
               step=k.scalar(per), base="e")
    count = op("mul", k.scalar(per), volume(launches.widths(k, exp.space[:-1])))
    k.emit(imp.If(op("lt", point, count), tuple(code)))
    lowering.launch(k, "seghist_global", ceil_div(segments * Size.var(per), lowering.group))
    _combine(lowering, exp, parts)


def _combine(lowering: launches.Lowering, exp: SegHist, parts: _Parts) -> None:
    """The destinations take in all parts."""
    results = list(lowering.stm.pat)
    for op_, buffers in zip(exp.ops, parts.buffers, strict=True):
        _combine_one(lowering, exp, parts, op_, buffers, results[: len(buffers)])
        results = results[len(buffers):]


def _combine_one(lowering: launches.Lowering, exp: SegHist, parts: _Parts, op_: HistOp,
                 buffers: Sequence[VName], results: Sequence[Param]) -> None:
    """One group per segment and bin combines the destination's value with all parts."""
    k = lowering.builder_of_groups()
    outs = [lowering.view(p.name) for p in results]
    (arrays,) = launches.local_arrays(k, [op_.op], lowering.group)
    prims = [launches.require_scalar(t) for t in op_.op.lam.ret]
    segment = k.declare("segment", Prim.I64, op("quot", launches.GROUP_ID, k.scalar(op_.bins)))
    bin_ = k.declare("bin", Prim.I64, op("rem", launches.GROUP_ID, k.scalar(op_.bins)))
    where = [*unflat_index(segment, launches.widths(k, exp.space[:-1])), bin_]
    totals = launches.scalars(k.neutral(op_.op))
    k.loop(k.scalar(parts.per_segment), lambda part: k.accumulate(op_.op, totals, [
        k.declare("part", p, parts.view(k, op_, b, p, segment, part).read([bin_]))
        for b, p in zip(buffers, prims, strict=True)]), start=launches.LID, step=launches.LSIZE,
           base="part")
    found = total_of_group(k, op_.op, arrays, totals)
    with k.block() as write:
        old = [k.declare("old", p, out.read(where)) for out, p in zip(outs, prims, strict=True)]
        new = k.apply(op_.op.lam, [*old, *found])
        kept = [k.declare("new", p, v) for p, v in zip(prims, new, strict=True)
                if not isinstance(v, View)]
        k.emit(*(out.write(where, value) for out, value in zip(outs, kept, strict=True)))
    k.emit(imp.If(IS_FIRST, tuple(write)))
    lowering.launch_groups(k, "seghist_final",
                           launches.total(lowering, exp.space[:-1]) * lowering.size(op_.bins))


# Updates of the result itself


def _in_place(lowering: launches.Lowering, exp: SegHist) -> None:
    """Atomic updates of the destinations by a work-item per element."""
    k = lowering.builder()
    outs = lowering.results

    def point(indices: Sequence[Exp]) -> None:
        segment = list(indices[:-1])

        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            atomic_update(k, exp.ops[number].op, outs[number], [*segment, bin_], values[0],
                          imp.Space.GLOBAL)

        _update(k, exp, segment, change)(indices[-1])

    launches.each_point(lowering, k, exp.space, point, "seghist")


def _sequential(lowering: launches.Lowering, exp: SegHist) -> None:
    """A work-item per segment."""
    k = lowering.builder()
    outs = lowering.results

    def segment(outer: list[Exp]) -> None:
        def change(number: int, bin_: Exp, values: list[Value]) -> None:
            op_ = exp.ops[number]
            before = sum(len(o.dests) for o in exp.ops[:number])
            k.combine_inside(op_.op, k.scalar(op_.bins), outs[before: before + len(op_.dests)],
                             [*outer, bin_], values)

        k.loop(k.scalar(exp.space[-1].width), _update(k, exp, outer, change), base="e")

    if len(exp.space) > 1:
        launches.each_point(lowering, k, exp.space[:-1], segment, "seghist_sequential", busy=True)
    else:
        segment([])
        lowering.launch(k, "seghist_sequential", Size.of(1), Size.of(1))


def atomic_update(k: KernelBuilder, op_: Operator, out: View, indices: Sequence[Exp], value: Value,
                  space: imp.Space) -> None:
    """An update that other work-items may do to the same element at the same time."""
    assert not isinstance(value, View)
    assert out.mem is not None
    (type_,) = op_.lam.ret
    prim, place = launches.require_scalar(type_), out.at(indices)
    with k.block() as code:
        if (native := _native_operation(op_)) is not None:
            k.emit(imp.Atomic(native, prim, out.mem, place, value, space))
        else:
            old = k.names.fresh("old")
            with k.block() as body:
                (new,) = k.apply(op_.lam, [imp.Var(old), value])
            assert not isinstance(new, View)
            k.emit(imp.AtomicUpdate(out.mem, place, prim, space, old, tuple(body), new))
    k.emit(imp.If(within(indices[-1], out.shape[-1]), tuple(code)))
