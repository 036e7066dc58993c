"""Collective operations of a group: scans and totals of one value per work-item.

Work-items of a sub-group exchange values by shuffles if the device can.  Otherwise a step goes
through local memory, with a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runelift.codegen.kernel.launch_builder import (
    LSIZE,
    elements,
    loaded,
    local_arrays,
    prims_of,
    stores,
)
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import LID
from runelift.codegen.plan.views import View, all_of, lit, negated, op
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import Operator
from runelift.ir.types import FALSE, TRUE


def group_scan(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var], group: Size,
               fresh: imp.Var | None, subgroup: VName) -> list[imp.Var]:
    """The combined totals of the work-items before each one; not set for the first.

    ``fresh``: a segment starts among the elements of a work-item; earlier totals are left out then.
    The constant ``subgroup`` is the number of work-items that can exchange values, or 1.
    """
    mems = [local_arrays(k, [operator], group)[0] for _ in range(2)]
    flags = [_flags(k, group) for _ in range(2)] if fresh is not None else []
    return _choose(k, _some(subgroup), operator,
                   lambda: _Lanes(k, operator, subgroup, mems[0], flags[:1]).before(totals, fresh),
                   lambda: _scan_in_memory(k, operator, totals, fresh, mems, flags))


def group_total(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var],
                mems: Sequence[VName], subgroup: VName) -> list[imp.Var]:
    """The combined totals of a group's work-items, valid in every work-item.

    ``mems`` are local arrays with one element per work-item.
    """
    def in_memory() -> list[imp.Var]:
        _tree_reduce(k, operator, mems, totals)
        return loaded(k, "r", mems, lit(0), prims_of(operator))

    return _choose(k, _some(subgroup), operator,
                   lambda: _Lanes(k, operator, subgroup, mems, ()).total(totals), in_memory)


def team_total(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var],
               mems: Sequence[VName], count: Exp, subgroup: VName) -> list[imp.Var]:
    """As :func:`row_total`, by way of the local memory ``mems`` if sub-groups are too small.

    ``count`` depends on constants of the kernel only.  All work-items of the group take part.
    """
    def in_memory() -> list[imp.Var]:
        _tree_reduce(k, operator, mems, totals, count)
        return loaded(k, "r", mems, LID, prims_of(operator))

    enough = op("le", count, imp.Var(subgroup))
    return _choose(k, all_of(_some(subgroup), enough), operator,
                   lambda: row_total(k, operator, totals, count, subgroup), in_memory)


def row_total(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var], count: Exp,
              subgroup: VName) -> list[imp.Var]:
    """The combined totals of ``count`` neighbouring work-items, in order, valid in the first.

    ``count`` is a power of two, at most the number of work-items that can exchange values.
    """
    return _Shuffles(k, operator, subgroup).in_row(totals, count)


def _tree_reduce(k: KernelBuilder, op_: Operator, arrays: Sequence[VName],
                 totals: Sequence[imp.Var], count: Exp = LSIZE) -> None:
    """Combine the work-items' totals in local memory, in order; work-item 0 has the result.

    A power of two as ``count``: the first of each ``count`` neighbours has theirs.

    Log-step: at distance d, work-item i (a multiple of 2d) takes in the total of i + d.  The
    levels are counted because PoCL 3.0 gives wrong sums for a while loop around the barrier.
    """
    prims = prims_of(op_)
    k.emit(*stores(arrays, LID, totals, prims))
    k.emit(imp.Barrier(imp.Space.LOCAL))
    levels = _levels(count)

    def level(number: Exp) -> None:
        distance = k.declare("distance", Prim.I64, op("shl", lit(1), number))
        partner = op("add", LID, distance)
        with k.block() as active:
            mine = loaded(k, "left", arrays, LID, prims)
            other = loaded(k, "right", arrays, partner, prims)
            for mem, prim, value in zip(arrays, prims, k.apply(op_.lam, [*mine, *other]),
                                        strict=True):
                assert not isinstance(value, View)
                k.emit(imp.Store(mem, LID, value, prim))
        multiple = op("eq", op("and", LID, op("sub", op("mul", distance, lit(2)), lit(1))), lit(0))
        within = op("lt", partner, LSIZE)
        k.emit(imp.If(all_of(multiple, within), tuple(active)))
        k.emit(imp.Barrier(imp.Space.LOCAL))

    k.loop(levels, level, base="level")


def _some(subgroup: VName) -> Exp:
    """True if sub-groups have more than one work-item."""
    return op("lt", lit(1), imp.Var(subgroup))


def _choose(k: KernelBuilder, cond: Exp, operator: Operator,
            by_shuffles: Callable[[], Sequence[imp.Var]],
            in_memory: Callable[[], Sequence[imp.Var]]) -> list[imp.Var]:
    """The result by shuffles if ``cond`` holds when a kernel is built, else through memory."""
    found = [k.declare("found", p) for p in prims_of(operator)]

    def set_by(find: Callable[[], Sequence[imp.Var]]) -> tuple[imp.Stm, ...]:
        with k.block() as code:
            for target, value in zip(found, find(), strict=True):
                k.emit(imp.Assign(target.name, value))
        return tuple(code)

    k.emit(imp.If(cond, set_by(by_shuffles), set_by(in_memory)))
    return found


def combine(k: KernelBuilder, operator: Operator, left: Sequence[imp.Var],
            right: Sequence[imp.Var], into: Sequence[imp.Var] | None = None) -> None:
    """Emit ``right := op left right``, or ``into := ...``."""
    results = [k.declare("sum", p, v) for p, v in zip(
        prims_of(operator), k.apply(operator.lam, [*left, *right]), strict=True)
        if not isinstance(v, View)]
    for target, value in zip(into or right, results, strict=True):
        k.emit(imp.Assign(target.name, value))


def combined(k: KernelBuilder, ops: Sequence[Operator], left: Sequence[Sequence[imp.Var]],
             right: Sequence[Sequence[imp.Var]]) -> tuple[imp.Stm, ...]:
    """The code of ``right := op left right`` for each operator."""
    with k.block() as code:
        for op_, one, other in zip(ops, left, right, strict=True):
            combine(k, op_, one, other)
    return tuple(code)


def _scan_in_memory(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var],
                    fresh: imp.Var | None, mems: Sequence[Sequence[VName]],
                    flags: Sequence[VName]) -> list[imp.Var]:
    """Emit a log-step scan (Hillis and Steele 1986) in local memory, and return its totals.

    After step s, a work-item has the total of 2^s work-items.  Two arrays take turns, so that one
    barrier per step is enough.
    """
    prims = prims_of(operator)
    own = [k.declare("own", p, t) for p, t in zip(prims, totals, strict=True)]
    opened = k.declare("opened", Prim.BOOL, fresh) if fresh is not None else None

    def publish(side: int) -> None:
        k.emit(*stores(mems[side], LID, own, prims))
        if opened is not None:
            k.emit(imp.Store(flags[side], LID, opened, Prim.BOOL))

    def step(side: int, distance: Exp) -> None:
        before = op("sub", LID, distance)
        with k.block() as take:
            left = loaded(k, "left", mems[side], before, prims)
            combine(k, operator, left, own)
        with k.when(op("le", distance, LID)):
            if opened is None:
                k.emit(*take)
            else:
                k.emit(imp.If(negated(opened), (
                    *take, imp.Assign(opened.name, imp.Load(flags[side], before, Prim.BOOL)))))
        publish(1 - side)

    def two_steps(number: Exp) -> None:
        distance = k.declare("distance", Prim.I64, op("shl", lit(1), op("mul", number, lit(2))))
        step(0, distance)
        step(1, op("mul", distance, lit(2)))

    publish(0)
    steps = op("sub", lit(64), op("clz", op("sub", LSIZE, lit(1))))
    k.loop(op("quot", op("add", steps, lit(1)), lit(2)), two_steps, base="step")
    before = imp.Select(op("lt", lit(0), LID), op("sub", LID, lit(1)), lit(0), Prim.I64)
    return loaded(k, "carry", mems[0], before, prims)


@dataclass(slots=True)
class _Shuffles:
    """Totals of neighbouring work-items of a sub-group, which exchange values."""

    k: KernelBuilder
    operator: Operator
    subgroup: VName

    @property
    def size(self) -> Exp:
        """The number of work-items of a sub-group."""
        return imp.Var(self.subgroup)

    def in_row(self, totals: Sequence[imp.Var], count: Exp) -> list[imp.Var]:
        """The combined totals of ``count`` neighbouring work-items, valid in the first."""
        own = self._declared("own", totals)
        most = op("sub", count, lit(1))
        self._reduce(own, count, self.k.declare("place", Prim.I64, op("and", LID, most)))
        return own

    def _reduce(self, own: Sequence[imp.Var], count: Exp, place: Exp) -> None:
        """Emit a reduction of the values of ``count`` work-items in a row by the first, at 0."""
        def step(number: Exp) -> None:
            distance = self._distance(number)
            reach = op("lt", op("add", place, distance), count)
            source = self.k.declare("source", Prim.I64, imp.Select(
                reach, op("add", LID, distance), LID, Prim.I64))
            right = [self._shuffled("right", t, p, source)
                     for t, p in zip(own, self.prims, strict=True)]
            with self.k.when(reach):
                combine(self.k, self.operator, own, right, own)

        self.k.loop(_levels(count), step, base="step", unroll=count == self.size)

    # Values

    @property
    def prims(self) -> list[Prim]:
        """The types of a total."""
        return prims_of(self.operator)

    def _declared(self, base: str, values: Sequence[Exp]) -> list[imp.Var]:
        return [self.k.declare(base, p, v) for p, v in zip(self.prims, values, strict=True)]

    def _distance(self, number: Exp) -> imp.Var:
        return self.k.declare("distance", Prim.I64, op("shl", lit(1), number))

    def _shuffled(self, base: str, value: Exp, prim: Prim, source: Exp) -> imp.Var:
        name = self.k.names.fresh(base)
        self.k.emit(imp.Shuffle(name, prim, value, source, self.subgroup))
        return imp.Var(name)

    def _assign(self, targets: Sequence[imp.Var], values: Sequence[Exp]) -> None:
        self.k.emit(*(imp.Assign(t.name, v) for t, v in zip(targets, values, strict=True)))


@dataclass(slots=True)
class _Lanes(_Shuffles):
    """Totals of work-items by shuffles, within sub-groups and then among these.

    ``mems`` hold the total of each sub-group, ``flags`` tell if a segment starts there.  A
    sub-group has at least as many work-items as there are sub-groups in a group.
    """

    mems: Sequence[VName]
    flags: Sequence[VName]
    lane: imp.Var = field(init=False)

    def __post_init__(self) -> None:
        """Find the work-item's place in its sub-group."""
        most = op("sub", self.size, lit(1))
        self.lane = self.k.declare("lane", Prim.I64, op("and", LID, most))

    @property
    def several(self) -> Exp:
        """True if the group has more than one sub-group."""
        return op("lt", self.size, LSIZE)

    def before(self, totals: Sequence[imp.Var], fresh: imp.Var | None) -> list[imp.Var]:
        """The combined totals of the work-items before each one; not set for the first."""
        k = self.k
        own = self._declared("own", totals)
        opened = k.declare("opened", Prim.BOOL, fresh) if fresh is not None else None
        self._scan(own, opened, self.size)
        previous = imp.Select(op("lt", lit(0), self.lane), op("sub", LID, lit(1)), LID, Prim.I64)
        carries = [self._shuffled("carry", t, p, previous)
                   for t, p in zip(own, self.prims, strict=True)]
        begun = None if opened is None else self._shuffled("begun", opened, Prim.BOOL, previous)
        with k.when(self.several):
            self._take_in_others(own, opened, carries, begun)
        return carries

    def total(self, totals: Sequence[imp.Var]) -> list[imp.Var]:
        """The combined totals of all work-items, in order."""
        k = self.k
        own, found = self._declared("own", totals), [k.declare("r", p) for p in self.prims]
        self._reduce(own, self.size, self.lane)
        with k.block() as over_all:
            with k.when(op("eq", self.lane, lit(0))):
                self._publish(own, None)
            self._assign(found, elements(self.mems, lit(0), self.prims))

            def take(number: Exp) -> None:
                other = self._declared("other", elements(self.mems, number, self.prims))
                combine(k, self.operator, found, other, found)

            k.loop(op("quot", LSIZE, self.size), take, start=lit(1), base="part", unroll=True)
        with k.block() as alone:
            self._assign(found, [self._shuffled("first", t, p, lit(0))
                                 for t, p in zip(own, self.prims, strict=True)])
        k.emit(imp.If(self.several, tuple(over_all), tuple(alone)))
        return found

    # Steps

    def _scan(self, own: Sequence[imp.Var], opened: imp.Var | None, count: Exp) -> None:
        """Scan the values of the ``count`` work-items of a sub-group."""
        def step(number: Exp) -> None:
            distance = self._distance(number)
            reach = op("le", distance, self.lane)
            source = self.k.declare("source", Prim.I64, imp.Select(
                reach, op("sub", LID, distance), LID, Prim.I64))
            left = [self._shuffled("left", t, p, source)
                    for t, p in zip(own, self.prims, strict=True)]
            earlier = None if opened is None else self._shuffled("earlier", opened, Prim.BOOL,
                                                                 source)
            with self.k.block() as take:
                combine(self.k, self.operator, left, own)
                if opened is not None and earlier is not None:
                    self.k.emit(imp.Assign(opened.name, earlier))
            if opened is not None:
                reach = all_of(reach, negated(opened))
            self.k.emit(imp.If(reach, tuple(take)))

        self.k.loop(_levels(count), step, base="step", unroll=True)

    def _take_in_others(self, own: Sequence[imp.Var], opened: imp.Var | None,
                        carries: Sequence[imp.Var], begun: imp.Var | None) -> None:
        """Take the totals of the sub-groups before into the carries of this one."""
        k = self.k
        with k.when(op("eq", self.lane, op("sub", self.size, lit(1)))):
            self._publish(own, opened)
        others, starts = self._others(opened)
        self._scan(others, starts, op("quot", LSIZE, self.size))
        number = op("quot", LID, self.size)
        before = imp.Select(op("lt", lit(0), number), op("sub", number, lit(1)), lit(0), Prim.I64)
        source = k.declare("source", Prim.I64, op("add", op("sub", LID, self.lane), before))
        prefix = [self._shuffled("prefix", t, p, source)
                  for t, p in zip(others, self.prims, strict=True)]
        with k.block() as begin:
            self._assign(carries, prefix)
        with k.block() as go_on:
            combine(k, self.operator, prefix, carries)
        later = tuple(go_on) if begun is None else (imp.If(negated(begun), tuple(go_on)),)
        k.emit(imp.If(op("lt", lit(0), number), (
            imp.If(op("eq", self.lane, lit(0)), tuple(begin), later),)))

    def _publish(self, own: Sequence[imp.Var], opened: imp.Var | None) -> None:
        """Emit stores by which a sub-group publishes its totals to the other sub-groups."""
        number = op("quot", LID, self.size)
        self.k.emit(*stores(self.mems, number, own, self.prims))
        if opened is not None:
            self.k.emit(imp.Store(self.flags[0], number, opened, Prim.BOOL))

    def _others(self, opened: imp.Var | None) -> tuple[list[imp.Var], imp.Var | None]:
        """The totals of all sub-groups, one for each of the first work-items of this one."""
        last = op("sub", op("quot", LSIZE, self.size), lit(1))
        place = op("min", self.lane, last)
        others = self._declared("other", elements(self.mems, place, self.prims))
        return others, None if opened is None else self.k.declare(
            "starts", Prim.BOOL, imp.Load(self.flags[0], place, Prim.BOOL))


def _levels(count: Exp) -> Exp:
    """The number of doublings from 1 until ``count`` or more."""
    return op("sub", lit(64), op("clz", op("sub", count, lit(1))))


def _flags(k: KernelBuilder, group: Size) -> VName:
    name = k.names.fresh("flags")
    k.locals.append(imp.LocalArray(name, Prim.BOOL, group))
    return name


def truth(value: bool) -> Exp:
    """A literal."""
    return imp.Lit(TRUE if value else FALSE)
