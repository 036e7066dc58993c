"""Intra-group versions: one work-group runs a body together.

Scalars are computed by every work-item alike, so control flow is uniform; arrays live in local
memory, and their elements are shared out.  Work-items are virtual: each strides over as many
elements as the row has, so rows may be longer than the group.  A barrier stands wherever the
group goes from writing a memory to using it, or back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runelift.codegen.builder import Value
from runelift.codegen.kernels import (
    GROUP,
    GROUP_ID,
    LID,
    LSIZE,
    Lowering,
    add_carry,
    bind_point,
    local_arrays,
    require_scalar,
    run_point,
    scalars,
    scan_chunk,
    scan_group,
    share,
    store_results,
    total,
    tree_reduce,
    widths,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, lit, op, row_major, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import product
from runelift.ir.syntax import (
    ArrayType,
    Index,
    Param,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    Stm,
    Update,
)


def lower_group(lowering: Lowering, exp: SegMap) -> None:
    """A kernel with one work-group per point of ``exp.space``."""
    k = GroupBuilder(lowering.names, lowering, loc=lowering.stm.loc)
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    held = k.declare("point", Prim.I64, GROUP_ID)
    indices: list[Exp] = [k.declare("g", Prim.I64, i)
                          for i in unflat_index(held, widths(k, exp.space))]
    bind_point(k, exp.space, indices)
    values = k.body(exp.body)
    k.barrier()
    for out, value in zip(outs, values, strict=True):
        if isinstance(value, View):
            k.copy(out.row(*indices), value)
        else:
            k.alone(lambda out=out, value=value: k.emit(out.write(indices, value)))  # type: ignore[misc]
    lowering.launch(k, "intragroup", total(lowering, exp.space))


@dataclass(slots=True)
class GroupBuilder(KernelBuilder):
    """Lowers statements that a work-group runs together."""

    cooperative: bool = True

    def barrier(self) -> None:
        """Wait for the group, unless it has just waited."""
        if not (self.code and isinstance(self.code[-1], imp.Barrier)):
            self.emit(imp.Barrier(imp.Space.LOCAL))

    def alone(self, work: Callable[[], None]) -> None:
        """What one work-item does for the group."""
        with self.block() as code:
            work()
        self.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), tuple(code)))

    def shared(self, shape: Sequence[Exp], work: Callable[[list[Exp]], None]) -> None:
        """All points of ``shape``, shared out over the work-items."""
        points: Exp = lit(1)
        for size in shape:
            points = op("mul", points, size)

        def point(position: Exp) -> None:
            indices: list[Exp] = [self.declare("i", Prim.I64, i)
                                  for i in unflat_index(position, shape)]
            was, self.cooperative = self.cooperative, False
            self.owned.append(set())
            work(indices)
            self.owned.pop()
            self.cooperative = was

        self.loop(points, point, start=LID, step=LSIZE, base="v")

    # What differs from sequential code

    def _memory(self, name: VName, type_: ArrayType, count) -> View:  # type: ignore[no-untyped-def]
        if not self.cooperative:
            return KernelBuilder._memory(self, name, type_, count)
        mem = self.names.fresh(name)
        self.locals.append(imp.LocalArray(mem, type_.elem, count))
        return row_major(mem, type_.elem, self.shape(type_))

    def copy(self, target: View, source: View) -> None:
        """Copy all elements, together."""
        if not self.cooperative:
            KernelBuilder.copy(self, target, source)
            return
        self.barrier()
        self.shared(target.shape, lambda ix: self.emit(target.write(ix, source.read(ix))))
        self.barrier()

    def store(self, target: View, indices: Sequence[Exp], value: Value) -> None:
        """Write an element or row."""
        if self.cooperative and not isinstance(value, View):
            self.barrier()
            self.alone(lambda: self.emit(target.write(indices, value)))
            self.barrier()
        else:
            KernelBuilder.store(self, target, indices, value)

    def update(self, param: Param, exp: Update) -> None:
        """``array with [dims] <- value``; one work-item writes a single element."""
        if not self.cooperative:
            KernelBuilder.update(self, param, exp)
            return
        self.barrier()
        value = self.any(exp.value)
        if isinstance(value, View):
            KernelBuilder.update(self, param, exp)
        else:
            out = self.writable(param, exp.array)
            dims = [d for d in self.selection(exp, out) if not isinstance(d, tuple)]
            self.barrier()
            self.alone(lambda: self.emit(out.write(dims, value)))
            self.bind(param, out)
        self.barrier()

    def index(self, param: Param, exp: Index) -> None:
        """``array[dims]``: all work-items read the same element."""
        if self.cooperative:
            self.barrier()
        KernelBuilder.index(self, param, exp)

    def statement(self, stm: Stm) -> None:
        """One statement; segmented operations share their points out."""
        match stm.exp:
            case SegMap():
                self._points(stm, stm.exp)
            case SegRed():
                self._reduction(stm, stm.exp)
            case SegScan():
                self._scan(stm, stm.exp)
            case SegScatter():
                self._scatter_points(stm, stm.exp)
            case SegHist():
                self._histogram(stm, stm.exp)
            case _:
                KernelBuilder.statement(self, stm)

    # Segmented operations of the group

    def _points(self, stm: Stm, exp: SegMap) -> None:
        outs = [self.allocate(p.name, p.type) for p in stm.pat]
        self.barrier()

        def point(indices: list[Exp]) -> None:
            bind_point(self, exp.space, indices)
            run_point(self, exp.body, outs, indices)

        self.shared(widths(self, exp.space), point)
        self.barrier()
        self.bind_all(stm.pat, outs)

    def _output(self, param: Param) -> View:
        """Local memory for a result, also for a single scalar."""
        if isinstance(param.type, ArrayType):
            return self.allocate(param.name, param.type)
        mem = self.names.fresh(param.name)
        self.locals.append(imp.LocalArray(mem, require_scalar(param.type), product([])))
        return row_major(mem, require_scalar(param.type), ())

    def _bind_results(self, pat: Sequence[Param], outs: Sequence[View]) -> None:
        for param, out in zip(pat, outs, strict=True):
            self.bind(param, out if out.shape else self.declare(
                param.name, require_scalar(param.type), out.read([])))

    def _reduction(self, stm: Stm, exp: SegRed) -> None:
        outs = [self._output(p) for p in stm.pat]
        count = sum(len(o.neutral) for o in exp.ops)
        shape = widths(self, exp.space)
        self.barrier()
        if len(exp.space) > 1:
            self.shared(shape[:-1], lambda outer: self._segment(exp, outs, outer, shape[-1]))
            self.barrier()
            self._bind_results(stm.pat, outs)
            return
        arrays = local_arrays(self, exp.ops, GROUP)
        was, self.cooperative = self.cooperative, False
        part = share(self, shape, LID, LSIZE)
        totals = [scalars(self.neutral(o)) for o in exp.ops]
        self._fold(exp, totals, outs[count:], [], part.start, part.end)
        place = iter(outs)
        for op_, mems, total_ in zip(exp.ops, arrays, totals, strict=True):
            tree_reduce(self, op_, mems, total_)
            for mem, type_ in zip(mems, op_.lam.ret, strict=True):
                out, prim = next(place), require_scalar(type_)
                self.alone(lambda out=out, mem=mem, prim=prim: self.emit(  # type: ignore[misc]
                    out.write([], imp.Load(mem, lit(0), prim))))
        self.cooperative = was
        self.barrier()
        self._bind_results(stm.pat, outs)

    def _segment(self, exp: SegRed, outs: Sequence[View], outer: list[Exp], width: Exp) -> None:
        """A work-item reduces a segment alone."""
        totals = [scalars(self.neutral(o)) for o in exp.ops]
        count = sum(len(t) for t in totals)
        self._fold(exp, totals, outs[count:], outer, lit(0), width)
        for out, value in zip(outs, [t for ts in totals for t in ts], strict=False):
            self.emit(out.write(outer, value))

    def _fold(self, exp: SegRed, totals: Sequence[Sequence[imp.Var]], outs: Sequence[View],
              outer: Sequence[Exp], start: Exp, end: Exp) -> None:
        def element(index: Exp) -> None:
            bind_point(self, exp.space, [*outer, index])
            values = self.body(exp.body)
            count = sum(len(t) for t in totals)
            store_results(self, outs, [*outer, index], values[count:])
            rest = values
            for op_, total_ in zip(exp.ops, totals, strict=True):
                self.accumulate(op_, total_, rest[: len(total_)])
                rest = rest[len(total_):]

        self.loop(end, element, start=start, base="e")

    def _scan(self, stm: Stm, exp: SegScan) -> None:
        outs = [self.allocate(p.name, p.type) for p in stm.pat]
        arrays = local_arrays(self, exp.ops, GROUP)
        opened = self.names.fresh("opened")
        self.locals.append(imp.LocalArray(opened, Prim.BOOL, GROUP))
        self.barrier()
        was, self.cooperative = self.cooperative, False
        part = share(self, widths(self, exp.space), LID, LSIZE)
        totals, fresh = scan_chunk(self, exp, part, outs)
        carry = scan_group(self, exp.ops, arrays, opened, totals, fresh)
        with self.block() as code:
            add_carry(self, exp, part, outs, carry)
        self.emit(imp.If(imp.Apply("lt", Prim.I64, (lit(0), LID)), tuple(code)))
        self.cooperative = was
        self.barrier()
        self.bind_all(stm.pat, outs)

    def _scatter_points(self, stm: Stm, exp: SegScatter) -> None:
        outs = [self.writable(p, d.array) for p, d in zip(stm.pat, exp.dests, strict=True)]
        self.barrier()

        def point(indices: list[Exp]) -> None:
            bind_point(self, exp.space, indices)
            self.write_inside(outs, [d.rank for d in exp.dests], self.body(exp.body))

        self.shared(widths(self, exp.space), point)
        self.barrier()
        self.bind_all(stm.pat, outs)

    def _histogram(self, stm: Stm, exp: SegHist) -> None:
        """One work-item per segment combines its values in order."""
        dests = [d for o in exp.ops for d in o.dests]
        outs = [self.writable(p, d) for p, d in zip(stm.pat, dests, strict=True)]
        shape = widths(self, exp.space)
        self.barrier()

        def segment(outer: list[Exp]) -> None:
            def element(index: Exp) -> None:
                bind_point(self, exp.space, [*outer, index])
                values = self.body(exp.body)
                bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
                for op_, bin_ in zip(exp.ops, bins, strict=True):
                    count = len(op_.dests)
                    assert not isinstance(bin_, View)
                    self.combine_inside(op_.op, self.scalar(op_.bins), place[:count],
                                        [*outer, bin_], rest[:count])
                    rest, place = rest[count:], place[count:]
            self.loop(shape[-1], element, base="e")

        self.shared(shape[:-1], segment)
        self.barrier()
        self.bind_all(stm.pat, outs)


