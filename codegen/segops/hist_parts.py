"""Parts of histograms: updates of a bin, sub-histograms, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.plan.views import View, op, unflat_index, within
from runelift.codegen.segops.segred import total_of_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import HistOp, Operator, SegHist

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
    """Partial results: per operator and component a buffer [segment][bin][part]."""

    per_segment: VName
    buffers: list[list[VName]]

    def view(self, k: KernelBuilder, op_: HistOp, mem: VName, prim: Prim, segment: Exp,
             part: Exp) -> View:
        """The sub-histogram of a part of a segment."""
        bins, per = k.scalar(op_.bins), k.scalar(self.per_segment)
        return View(prim, (bins,), mem, lambda ix: op("add", op(
            "mul", op("add", op("mul", segment, bins), ix[0]), per), part))


def allocate_parts(lowering: launches.Lowering, exp: SegHist, per_segment: VName) -> Parts:
    """Buffers for the partial results."""
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


def combine_parts(lowering: launches.Lowering, exp: SegHist, parts: Parts) -> None:
    """Combine the destinations with all parts: one launch for operators with the same bins."""
    views = zip(exp.ops, by_operator(exp.ops, destinations(lowering, exp)),
                by_operator(exp.ops, lowering.results), parts.buffers, strict=True)
    for _, alike in groupby(views, key=lambda each: each[0].bins):
        _combine_alike(lowering, exp, parts, list(alike))


def _combine_alike(
        lowering: launches.Lowering, exp: SegHist, parts: Parts,
        views: Sequence[tuple[HistOp, list[View], list[View], list[VName]]]) -> None:
    """One group per segment and bin combines the destinations' values with all parts."""
    k = lowering.builder_of_groups()
    bins = views[0][0].bins
    ops = [op_.op for op_, *_ in views]
    group = launches.roomy_group(lowering, ops)
    arrays = launches.local_arrays(k, ops, group)
    segment = k.declare("segment", Prim.I64, op("quot", launches.GROUP_ID, k.scalar(bins)))
    bin_ = k.declare("bin", Prim.I64, op("rem", launches.GROUP_ID, k.scalar(bins)))
    where = [*unflat_index(segment, launches.widths(k, exp.space[:-1])), bin_]
    for (op_, old, outs, buffers), mems in zip(views, arrays, strict=True):
        totals = launches.scalars(k.neutral(op_.op))

        def fold(part: Exp, op_: HistOp = op_, buffers: Sequence[VName] = buffers,
                 totals: Sequence[imp.Var] = totals) -> None:
            k.accumulate(op_.op, totals, [
                k.declare("part", p, parts.view(k, op_, b, p, segment, part).read([bin_]))
                for b, p in zip(buffers, prims_of(op_), strict=True)])

        k.loop(k.scalar(parts.per_segment), fold, start=launches.LID, step=launches.LSIZE,
               base="part")
        found = total_of_group(k, op_.op, mems, totals)
        with k.block() as write:
            add_to_destination(k, op_, old, outs, where, found)
        k.emit(imp.If(IS_FIRST, tuple(write)))
    lowering.launch_groups(k, "seghist_final",
                           launches.total(lowering, exp.space[:-1]) * lowering.size(bins), group)


def _native_operation(op_: Operator) -> str | None:
    """The atomic instruction that computes an operator, if there is one."""
    match op_.primitive:
        case name, prim if name in ATOMIC_OPERATIONS and prim.is_int and prim.bits >= 32:
            return name
    return None


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
