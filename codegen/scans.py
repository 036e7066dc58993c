"""Segmented scans over the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runelift.codegen import plan
from runelift.codegen.barriers import insert_barriers
from runelift.codegen.builder import Value
from runelift.codegen.collectives import group_scan, truth
from runelift.codegen.launches import (
    GID,
    GROUP,
    GROUPS,
    GSIZE,
    LID,
    LSIZE,
    Lowering,
    WithScalar,
    bind_point,
    branch,
    choose_by_length,
    each_point,
    require_scalar,
    reset,
    scalars,
    store_results,
    total,
    widths,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, lit, op, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import SegScan


def segscan(lowering: Lowering, exp: SegScan) -> None:
    """Small segments by work-items, all others by passes over equal shares of the elements."""
    if len(exp.space) == 1:
        _segscan_passes(lowering, exp)
        return
    length = lowering.size(exp.space[-1].width)
    short = branch(lowering, lambda: _segscan_items(lowering, exp))
    long = branch(lowering, lambda: _segscan_passes(lowering, exp))
    choose_by_length(lowering, length, short, long)


def scan_element(k: KernelBuilder, exp: SegScan, totals: Sequence[Sequence[imp.Var]],
                 outs: Sequence[View], indices: Sequence[Exp]) -> None:
    """Take one element into the running totals and store them, and the map's other results."""
    bind_point(k, exp.space, indices)
    values = k.body(exp.body)
    count = sum(len(t) for t in totals)
    store_results(k, outs[count:], indices, values[count:])
    rest, place = values, iter(outs)
    for op_, total_ in zip(exp.ops, totals, strict=True):
        k.accumulate(op_, total_, rest[: len(total_)])
        rest = rest[len(total_):]
        for t in total_:
            k.store(next(place), indices, t)


def _segscan_items(lowering: Lowering, exp: SegScan) -> None:
    """One work-item per segment."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]

    def segment(outer: list[Exp]) -> None:
        totals = [scalars(k.neutral(o)) for o in exp.ops]
        k.loop(k.scalar(exp.space[-1].width),
               lambda i: scan_element(k, exp, totals, outs, [*outer, i]), base="e")

    each_point(lowering, k, exp.space[:-1], segment, "segscan_small")


@dataclass(slots=True)
class ScanShape:
    """How work-items share a flat index space: contiguous chunks, and where segments start."""

    shape: tuple[Exp, ...]
    chunk: Exp
    start: Exp
    end: Exp

    def starts_segment(self, position: Exp) -> Exp:
        """Whether ``position`` is the first of its segment."""
        return imp.Apply("eq", Prim.I64, (op("rem", position, self.shape[-1]), lit(0)))


def share(k: KernelBuilder, shape: tuple[Exp, ...], item: Exp, items: Exp) -> ScanShape:
    """The chunk of a work-item."""
    points: Exp = lit(1)
    for size in shape:
        points = op("mul", points, size)
    chunk = k.declare("chunk", Prim.I64, op("quot", op("sub", op("add", points, items), lit(1)),
                                            items))
    start = k.declare("start", Prim.I64, op("mul", item, chunk))
    end = k.declare("end", Prim.I64, imp.Apply("min", Prim.I64, (op("add", start, chunk), points)))
    return ScanShape(shape, chunk, start, end)


def scan_chunk(k: KernelBuilder, exp: SegScan, part: ScanShape,
               outs: Sequence[View]) -> tuple[list[list[imp.Var]], imp.Var]:
    """Scan a chunk on its own: its totals, and whether a segment starts inside of it."""
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, truth(False))

    def element(position: Exp) -> None:
        with k.block() as begin:
            reset(k, exp.ops, totals)
            k.emit(imp.Assign(fresh.name, truth(True)))
        k.emit(imp.If(part.starts_segment(position), tuple(begin)))
        indices = [k.declare("p", Prim.I64, i) for i in unflat_index(position, part.shape)]
        scan_element(k, exp, totals, outs, indices)

    k.loop(part.end, element, start=part.start, base="p")
    return totals, fresh


def add_carry(k: KernelBuilder, exp: SegScan, part: ScanShape, outs: Sequence[View],
              carry: Sequence[Sequence[Value]]) -> None:
    """Take the carry into the elements before the first segment start of the chunk."""
    going = k.declare("going", Prim.BOOL, truth(True))
    position = k.declare("position", Prim.I64, part.start)
    with k.block() as step:
        with k.block() as stop:
            k.emit(imp.Assign(going.name, truth(False)))
        with k.block() as combine:
            indices = [k.declare("p", Prim.I64, i) for i in unflat_index(position, part.shape)]
            place = iter(outs)
            for op_, values in zip(exp.ops, carry, strict=True):
                targets = [next(place) for _ in values]
                held: list[Value] = [k.declare("x", t.prim, t.read(indices)) for t in targets]
                results = k.apply(op_.lam, [*values, *held])
                for target, value in zip(targets, results, strict=True):
                    k.store(target, indices, value)
        k.emit(imp.If(part.starts_segment(position), tuple(stop), tuple(combine)))
        k.emit(imp.Assign(position.name, op("add", position, lit(1))))
    inside = imp.Apply("lt", Prim.I64, (position, part.end))
    k.emit(imp.While(imp.Apply("and", Prim.BOOL, (going, inside)), tuple(step)))


def _segscan_passes(lowering: Lowering, exp: SegScan) -> None:
    """Three kernels: chunks on their own, a scan of the chunks' totals, the carries added."""
    groups = _scan_groups(lowering, exp)
    items = groups * GROUP
    prims = [[require_scalar(t) for t in o.lam.ret] for o in exp.ops]
    sums = [[lowering.temporary("sum", p, items) for p in ps] for ps in prims]
    flags = lowering.temporary("flag", Prim.BOOL, items)
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    part = share(k, widths(k, exp.space), GID, GSIZE)
    totals, fresh = scan_chunk(k, exp, part, outs)
    for mems, total_, ps in zip(sums, totals, prims, strict=True):
        for mem, t, p in zip(mems, total_, ps, strict=True):
            k.emit(imp.Store(mem, GID, t, p))
    k.emit(imp.Store(flags, GID, fresh, Prim.BOOL))
    lowering.launch(k, "segscan_chunks", groups)
    _scan_totals(lowering, exp, sums, flags, prims, items)
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    part = share(k, widths(k, exp.space), GID, GSIZE)
    before = op("sub", GID, lit(1))
    with k.block() as code:
        carry: list[list[Value]] = [[k.declare("carry", p, imp.Load(m, before, p))
                                     for m, p in zip(mems, ps, strict=True)]
                                    for mems, ps in zip(sums, prims, strict=True)]
        add_carry(k, exp, part, outs, carry)
    k.emit(imp.If(imp.Apply("lt", Prim.I64, (lit(0), GID)), tuple(code)))
    lowering.launch(k, "segscan_carry", groups)


def _scan_groups(lowering: Lowering, exp: SegScan) -> Size:
    """As many groups as the device wants, but none without elements.

    One group scans the totals of all work-items, so those that have nothing to do cost time.
    """
    useful = greatest(Size.of(1), ceil_div(total(lowering, exp.space), GROUP))
    groups = lowering.names.fresh("groups")
    lowering.steps.append(plan.ComputeSize(groups, least(useful, GROUPS)))
    lowering.env = WithScalar(lowering.env, groups)
    return Size.var(groups)


def _scan_totals(lowering: Lowering, exp: SegScan, sums: list[list[VName]], flags: VName,
                 prims: list[list[Prim]], items: Size) -> None:
    """One group scans the chunks' totals in place: per-item runs, then a scan of the runs."""
    k = lowering.builder()
    number = lowering.names.fresh("items")
    lowering.steps.append(plan.ComputeSize(number, items))
    lowering.env = WithScalar(lowering.env, number)
    k.types[number] = Prim.I64
    part = share(k, (imp.Var(number),), LID, LSIZE)
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, truth(False))

    def run(position: Exp) -> None:
        flag = k.declare("flag", Prim.BOOL, imp.Load(flags, position, Prim.BOOL))
        with k.block() as begin:
            reset(k, exp.ops, totals)
            k.emit(imp.Assign(fresh.name, truth(True)))
        k.emit(imp.If(flag, tuple(begin)))
        for op_, total_, mems, ps in zip(exp.ops, totals, sums, prims, strict=True):
            values = [k.declare("x", p, imp.Load(m, position, p))
                      for m, p in zip(mems, ps, strict=True)]
            k.accumulate(op_, total_, values)
            for m, t, p in zip(mems, total_, ps, strict=True):
                k.emit(imp.Store(m, position, t, p))

    k.loop(part.end, run, start=part.start, base="p")
    with k.block() as exchange:
        carry = [group_scan(k, o, t, GROUP, fresh) for o, t in zip(exp.ops, totals, strict=True)]
    k.emit(*insert_barriers(exchange))
    going = k.declare("going", Prim.BOOL, imp.Apply("lt", Prim.I64, (lit(0), LID)))
    position = k.declare("position", Prim.I64, part.start)
    with k.block() as step:
        with k.block() as stop:
            k.emit(imp.Assign(going.name, truth(False)))
        with k.block() as combine:
            for op_, values, mems, ps in zip(exp.ops, carry, sums, prims, strict=True):
                held: list[Value] = [k.declare("x", p, imp.Load(m, position, p))
                                     for m, p in zip(mems, ps, strict=True)]
                for m, p, v in zip(mems, ps, k.apply(op_.lam, [*values, *held]), strict=True):
                    assert not isinstance(v, View)
                    k.emit(imp.Store(m, position, v, p))
        k.emit(imp.If(imp.Load(flags, position, Prim.BOOL), tuple(stop), tuple(combine)))
        k.emit(imp.Assign(position.name, op("add", position, lit(1))))
    k.emit(imp.While(imp.Apply("and", Prim.BOOL, (
        going, imp.Apply("lt", Prim.I64, (position, part.end)))), tuple(step)))
    lowering.launch(k, "segscan_totals", Size.of(1))
