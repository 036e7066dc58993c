"""Intra-group versions: one work-group runs a body together.

Scalars are computed by every work-item alike, so control flow is uniform; the elements of arrays
are shared out.  An array that operations make element by element stays in private memory, a
chunk for each work-item (:mod:`runelift.codegen.shares`), also around loops; it is copied to local
memory where work-items need each other's elements.  Other arrays live in local memory.  Barriers
are not written here: :mod:`runelift.codegen.barriers` finds where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from runelift.codegen import plan
from runelift.codegen.access import exchanged_arrays, own_elements, scanned_spaces
from runelift.codegen.barriers import insert_barriers
from runelift.codegen.builder import Value
from runelift.codegen.collectives import group_scan, group_total, row_total, truth
from runelift.codegen.histograms import atomic_update, is_lockable
from runelift.codegen.launches import (
    GROUP_ID,
    IS_FIRST,
    LID,
    LSIZE,
    Lowering,
    Part,
    bind_point,
    local_arrays,
    require_scalar,
    reset,
    run_point,
    scalars,
    share,
    store_results,
    total,
    widths,
)
from runelift.codegen.local_memory import CELL_BYTES, cells_of, places, share_local_memory
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.parameters import Quantity
from runelift.codegen.shares import Point, Share, SharingBuilder, Spread
from runelift.codegen.teams import may_team, only_if
from runelift.codegen.views import View, lit, op, unflat_index, volume
from runelift.ir import imp
from runelift.ir.errors import CompilerLimitation
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, product
from runelift.ir.syntax import (
    SOACS,
    AtomExp,
    Body,
    Copy,
    If,
    Index,
    Loop,
    LoopParam,
    Operator,
    Param,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SliceDim,
    Space,
    Stm,
    Update,
)
from runelift.ir.traverse import free_vars
from runelift.ir.types import ArrayType, Atom, Type, i64

Reducing: TypeAlias = Callable[[Sequence[Exp], Part, Exp | None], list[list[imp.Var]]]
"""Reduces a part of the segment with given indices, every n-th element; its totals."""


def lower_group(lowering: Lowering, exp: SegMap) -> None:
    """A kernel with one work-group per point of ``exp.space``."""
    k = GroupBuilder(lowering.names, lowering, loc=lowering.stm.loc)
    k.contiguous = {k.count(space) for space in scanned_spaces(exp.body)}
    outs = lowering.results
    held = k.declare("point", Prim.I64, GROUP_ID)
    indices: list[Exp] = [k.declare("g", Prim.I64, i)
                          for i in unflat_index(held, widths(k, exp.space))]
    bind_point(k, exp.space, indices)
    for out, value in zip(outs, k.body(exp.body), strict=True):
        if isinstance(value, View):
            k.copy(out.row(*indices), value)
        else:
            k.alone(lambda out=out, value=value: k.emit(out.write(indices, value)))  # type: ignore[misc]
    k.locals = share_local_memory(k.code, k.locals)
    groups = total(lowering, exp.space)
    chunk = lowering.setting(Quantity.CHUNK) if k.shares else i64(0)
    shares = k.share_out(groups, (lowering.setting(Quantity.LANES), chunk), teams=False)
    k.constants = list(shares.names())
    k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], k.independent,
                                  places(k.locals), k.constants))
    teams = bool(exp.space) and not k.scratch and may_team(k.code)
    apart = len(exp.space) if _apart(k) else 0
    lowering.steps.append(replace(shares, teams=teams, apart=apart))
    if teams:
        _side_by_side(k, lowering, exp.space, groups, apart)
    lowering.launch(k, "intragroup", groups, Size.var(k.group))


def _apart(k: GroupBuilder) -> bool:
    """Whether the work-items of a group hand nothing to each other."""
    return not k.locals and not any(isinstance(s, imp.Barrier | imp.Shuffle)
                                    for s in statements(k.code))


def _side_by_side(k: GroupBuilder, lowering: Lowering, space: Space, groups: Size,
                  apart: int) -> None:
    """Let groups of the device be several of these groups."""
    k.teams, k.even = lowering.names.fresh("teams"), lowering.names.fresh("even")
    k.constants += [k.teams, k.even]
    need = Size.of(0)
    for array in k.locals:
        if array.within is None:
            need = need + cells_of(array) * CELL_BYTES
    lowering.steps.append(plan.Teams(k.teams, k.even, k.group, groups, need,
                                     lowering.setting(Quantity.TEAMS), apart))
    present = imp.Var(k.names.fresh("present"))
    surely = imp.Apply("eq", Prim.I64, (imp.Var(k.even), lit(1)))
    exists = imp.Apply("lt", Prim.I64, (GROUP_ID, volume(widths(k, space))))
    k.code = [imp.Declare(present.name, Prim.BOOL, imp.Apply("or", Prim.BOOL, (surely, exists))),
              *only_if(present, k.code)]


@dataclass(slots=True)
class GroupBuilder(SharingBuilder):
    """Lowers statements that a work-group runs together."""

    loaded: dict[tuple[VName, tuple[Atom | SliceDim, ...]], Spread] = field(default_factory=dict)

    def alone(self, work: Callable[[], None]) -> None:
        """What one work-item does for the group."""
        with self.block() as code:
            work()
        self.emit(imp.If(IS_FIRST, tuple(code)))

    def count(self, space: Space) -> Size:
        """The number of points of a space."""
        return product([self.host_size(dim.width) for dim in space])

    # What differs from sequential code

    def store(self, target: View, indices: Sequence[Exp], value: Value) -> None:
        """Write an element or row."""
        if self.cooperative and not isinstance(value, View):
            self.alone(lambda: self.emit(target.write(indices, value)))
        else:
            SharingBuilder.store(self, target, indices, value)

    def update(self, param: Param, exp: Update) -> None:
        """``array with [dims] <- value``; one work-item writes a single element."""
        value = self.any(exp.value)
        if not self.cooperative or isinstance(value, View):
            SharingBuilder.update(self, param, exp)
            return
        out = self.writable(param, exp.array)
        dims = [d for d in self.selection(exp, out) if not isinstance(d, tuple)]
        self.alone(lambda: self.emit(out.write(dims, value)))
        self.bind(param, out)

    def index(self, param: Param, exp: Index) -> None:
        """``array[dims]``; an element that is loaded already comes from private memory."""
        if not self.cooperative and (loaded := self.loaded.get((exp.array, exp.dims))) is not None:
            assert self.point is not None
            self.bind_scalar(param, loaded.read(self.point.indices))
        else:
            SharingBuilder.index(self, param, exp)

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
                if self.cooperative and isinstance(stm.exp, SOACS):
                    self._exchange(free_vars(stm))
                SharingBuilder.statement(self, stm)

    # Branches and loops

    def branch(self, pat: tuple[Param, ...], exp: If) -> None:
        """``if``, for the whole group."""
        if self.cooperative:
            for k, param in enumerate(pat):
                self._spread_if(param, all(self._made_by_elements(body, body.result[k])
                                           for body in (exp.then_, exp.else_)))
        SharingBuilder.branch(self, pat, exp)

    def iterate(self, pat: tuple[Param, ...], exp: Loop) -> None:
        """A loop of the whole group; carried arrays stay shared out where the body allows it."""
        if self.cooperative:
            self._exchange(exchanged_arrays(exp.body) & free_vars(exp.body)
                           - {p.param.name for p in exp.params})
            for param, result in zip(pat, exp.body.result, strict=True):
                self._spread_if(param, self._made_by_elements(exp.body, result))
        SharingBuilder.iterate(self, pat, exp)

    def reusable(self, out: Param, param: LoopParam, init: View) -> bool:
        """Whether a loop may keep its values in the memory of ``init``."""
        if not SharingBuilder.reusable(self, out, param, init):
            return False
        wanted = self.spreading.get(out.name) if self.cooperative else None
        if wanted != (init.share if isinstance(init, Spread) else None):
            return False
        assert init.mem is not None
        self.exchanged.pop(init.mem, None)
        return True

    def _spread_if(self, param: Param, possible: bool) -> None:
        if possible and isinstance(param.type, ArrayType):
            self.spreading[param.name] = self.share(self.points(param.type))

    def _made_by_elements(self, body: Body, atom: Atom) -> bool:
        """Whether the array ``atom`` is made so that each work-item computes its own elements."""
        made = next((s for s in body.stms if any(p.name == atom for p in s.pat)), None)
        if made is None:
            return True
        position = [p.name for p in made.pat].index(atom)  # type: ignore[arg-type]
        match made.exp:
            case SegMap(_, _, _, ret):
                return isinstance(ret[position], Prim)
            case SegScan():
                return True
            case SegRed(_, space, ops, _, _):
                return (len(space) > 1 and position < sum(len(o.neutral) for o in ops)) or (
                    position >= sum(len(o.neutral) for o in ops)
                    and isinstance(made.exp.ret[position], Prim))
            case If(_, then_, else_):
                return all(self._made_by_elements(b, b.result[position]) for b in (then_, else_))
            case Loop(_, _, inner):
                return self._made_by_elements(inner, inner.result[position])
            case AtomExp(inner):
                return self._made_by_elements(body, inner)
            case Copy(array):
                return self._made_by_elements(body, array)
        return False

    def _exchange(self, names: frozenset[VName] | set[VName]) -> None:
        """Bring shared-out arrays to local memory."""
        for name in sorted(names, key=lambda n: n.tag):
            if isinstance(value := self.env.get(name), Spread):
                self.exchange(value)

    # Points

    @contextmanager
    def reading(self, body: Body, space: Space, share_: Share | None) -> Iterator[None]:
        """Make what a body reads reachable from its points.

        Elements that belong to the work-item are read from private memory: those of shared-out
        arrays, and those of global arrays whose chunks are better loaded together.
        """
        own = own_elements(body, space)
        kept: dict[VName, Value] = {}
        for name in sorted(free_vars(body), key=lambda n: n.tag):
            value = self.env.get(name)
            if isinstance(value, Spread) and (value.share != share_ or name not in own):
                kept[name] = value
                self.env[name] = self.exchange(value)
        if share_ is not None and share_.contiguous:
            self._load_chunks(body, space, share_)
        yield
        self.env.update(kept)
        self.loaded.clear()

    def _load_chunks(self, body: Body, space: Space, share_: Share) -> None:
        own, free = tuple(dim.index for dim in space), free_vars(body)
        for stm in body.stms:
            match stm.exp:
                case Index(array, dims, False) if (
                        array in free and dims[-len(own):] == own
                        and not any(isinstance(d, SliceDim) for d in dims)
                        and all(d in free or not isinstance(d, VName)
                                for d in dims[:-len(own)])):
                    view = KernelBuilder.array(self, array)
                    if self._is_global(view) and (array, dims) not in self.loaded:
                        outer = [self.scalar(d) for d in dims[:-len(own)]
                                 if not isinstance(d, SliceDim)]
                        row = self.spread("own", view.prim, widths(self, space), share_)
                        self.copy(row, view.row(*outer))
                        self.loaded[array, dims] = row

    def each_point(self, exp: SegMap | SegScan | SegRed | SegScatter | SegHist, share_: Share,
                   work: Callable[[Point], None]) -> None:
        """``work`` at all points of a space, with their indices bound."""
        def point(here: Point) -> None:
            self._bind_indices(exp.space, here.indices)
            work(here)

        with self.reading(exp.body, exp.space, share_):
            self.each(share_, widths(self, exp.space), point)

    def _bind_indices(self, space: Space, indices: Sequence[Exp]) -> None:
        """Bind the indices of a space to variables that exist."""
        for dim, index in zip(space, indices, strict=True):
            self.bind(Param(dim.index, Prim.I64), index)

    def _everywhere(self, exp: SegRed | SegScatter | SegHist,
                    work: Callable[[Sequence[Exp]], None]) -> None:
        """``work`` at all points, in any order and however many, if nothing keeps elements."""
        own = own_elements(exp.body, exp.space)
        if any(isinstance(self.env.get(name), Spread) for name in own):
            share_ = self.share(self.count(exp.space))
            self.each_point(exp, share_, lambda here: work(here.indices))
            return

        def point(indices: Sequence[Exp]) -> None:
            self._bind_indices(exp.space, indices)
            work(indices)

        self.loops.append(self.count(exp.space))
        with self.reading(exp.body, exp.space, None):
            self.shared(widths(self, exp.space), point)

    def _points(self, stm: Stm, exp: SegMap) -> None:
        share_ = self.share(self.count(exp.space))
        outs: list[View] = [
            self.spread(p.name, t, widths(self, exp.space), share_) if isinstance(t, Prim)
            else self.allocate(p.name, p.type) for p, t in zip(stm.pat, exp.ret, strict=True)]
        self.each_point(exp, share_, lambda here: run_point(self, exp.body, outs, here.indices))
        self.bind_all(stm.pat, outs)

    # Reductions

    def _reduction(self, stm: Stm, exp: SegRed) -> None:
        count = sum(len(o.neutral) for o in exp.ops)
        more = self._more_results(stm.pat[count:], exp.ret[count:], exp.space)
        if len(exp.space) > 1:
            self._segments(stm, exp, more)
            return
        arrays = local_arrays(self, exp.ops, Size.var(self.group))
        totals = [scalars(self.neutral(o)) for o in exp.ops]
        self._fold(exp, totals, more)
        found: list[Value] = []
        for op_, mems, total_ in zip(exp.ops, arrays, totals, strict=True):
            with self.alone_in(None) as code:
                found += group_total(self, op_, total_, mems, self.subgroup)
            self.emit(*code)
        self.bind_all(stm.pat, [*found, *more])

    def _more_results(self, pat: Sequence[Param], ret: Sequence[Type],
                      space: Space) -> list[View]:
        """Memory for what a reduction's map also makes."""
        return [self.spread(p.name, t, widths(self, space), self.share(self.count(space)))
                if len(space) == 1 and isinstance(t, Prim) else self.allocate(p.name, p.type)
                for p, t in zip(pat, ret, strict=True)]

    def _fold(self, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
              more: Sequence[View]) -> None:
        """Each work-item reduces its elements, which may be any number if nothing keeps them."""
        def element(indices: Sequence[Exp]) -> None:
            self._take(exp, totals, more, indices)

        points = self.count(exp.space)
        if any(isinstance(out, Spread) for out in more):
            self.each_point(exp, self.share(points), lambda here: element(here.indices))
            return
        if all(o.comm for o in exp.ops) or any(isinstance(self.env.get(name), Spread)
                                               for name in own_elements(exp.body, exp.space)):
            self._everywhere(exp, element)
            return
        self.loops.append(points)
        with self.reading(exp.body, exp.space, None), self.alone_in(None) as code:
            def point(position: Exp) -> None:
                self._bind_indices(exp.space, [position])
                element([position])

            part = share(self, widths(self, exp.space)[0], LID, LSIZE)
            self.loop(part.end, point, start=part.start, base="e")
        self.emit(*code)

    def _take(self, exp: SegRed, totals: Sequence[Sequence[imp.Var]], more: Sequence[View],
              indices: Sequence[Exp]) -> None:
        """Take one element, whose indices are bound, into the totals."""
        values = self.body(exp.body)
        store_results(self, more, indices, values[sum(len(t) for t in totals):])
        self.accumulate_all(exp.ops, totals, values)

    def _segments(self, stm: Stm, exp: SegRed, more: Sequence[View]) -> None:
        """A work-item reduces a segment alone, or several do, in a row of a sub-group."""
        outer, length = exp.space[:-1], self.scalar(exp.space[-1].width)
        shape, share_ = widths(self, outer), self.share(self.count(outer))
        self.rows.append((self.count(outer), self.host_size(exp.space[-1].width)))
        types = [require_scalar(t) for o in exp.ops for t in o.lam.ret]
        outs = [self.spread(p.name, t, shape, share_)
                for p, t in zip(stm.pat, types, strict=False)]

        def elements(indices: Sequence[Exp], part: Part, step: Exp | None
                     ) -> list[list[imp.Var]]:
            self._bind_indices(outer, indices)
            totals = [scalars(self.neutral(o)) for o in exp.ops]

            def element(index: Exp) -> None:
                self._bind_indices(exp.space[-1:], [index])
                self._take(exp, totals, more, [*indices, index])

            self.loop(part.end, element, start=part.start, step=step, base="e")
            return totals

        def alone(here: Point) -> None:
            totals = elements(here.indices, Part(lit(0), length), None)
            for out, value in zip(outs, chain(*totals), strict=True):
                self.emit(out.write(here.indices, value))

        with self.reading(exp.body, exp.space, None):
            several = self._together(exp, outs, length, elements)
            with self.block() as code:
                self.each(share_, shape, alone)
            self.emit(imp.If(imp.Apply("not", Prim.BOOL, (several,)), tuple(code)))
        self.bind_all(stm.pat, [*outs, *more])

    def _together(self, exp: SegRed, outs: Sequence[View], length: Exp, elements: Reducing
                  ) -> Exp:
        """Reduce each segment by several work-items if there are enough; whether there are.

        These are in a row of a sub-group, a power of two of them, so that they need no barriers to
        put their totals together.
        """
        shape, arrays = widths(self, exp.space[:-1]), local_arrays(
            self, exp.ops, Size.var(self.group))
        several = self.declare("several", Prim.BOOL, truth(False))
        with self.block() as code:
            segments = self.declare("segments", Prim.I64, _at_least_one(volume(shape)))
            most = _at_least_one(imp.Apply("min", Prim.I64, (op("quot", LSIZE, segments), length)))
            lanes = self.declare("lanes", Prim.I64, imp.Apply("min", Prim.I64, (
                imp.Var(self.subgroup), imp.Apply("shl", Prim.I64, (
                    lit(1), op("sub", lit(63), imp.Apply("clz", Prim.I64, (most,))))))))
            self.emit(imp.Assign(several.name, imp.Apply("lt", Prim.I64, (lit(1), lanes))))
            with self.block() as together:
                self._by_rows(exp, shape, length, lanes, arrays, elements)
                self.each(self.share(self.count(exp.space[:-1])), shape, lambda here: self.emit(*(
                    out.write(here.indices, imp.Load(mem, here.position, out.prim))
                    for out, mem in zip(outs, chain(*arrays), strict=True))))
            self.emit(imp.If(several, tuple(together)))
        # settled when a kernel is built: PoCL is slow where barriers are in branches that are not
        some = imp.Apply("lt", Prim.I64, (lit(1), imp.Var(self.subgroup)))
        self.emit(imp.If(some, tuple(code)))
        return imp.Apply("and", Prim.BOOL, (some, several))

    def _by_rows(self, exp: SegRed, shape: Sequence[Exp], length: Exp, lanes: Exp,
                 arrays: Sequence[Sequence[VName]], elements: Reducing) -> None:
        """Bring the totals of all segments to local memory; ``lanes`` work-items reduce each."""
        with self.alone_in(None) as code:
            segment = self.declare("segment", Prim.I64, op("quot", LID, lanes))
            lane = self.declare("lane", Prim.I64, op("rem", LID, lanes))
            exists = self.declare("exists", Prim.BOOL, imp.Apply("lt", Prim.I64, (
                segment, volume(shape))))
            totals = [scalars(self.neutral(o)) for o in exp.ops]
            with self.block() as inside:
                indices = [self.declare("i", Prim.I64, i) for i in unflat_index(segment, shape)]
                part, step = (Part(lane, length), lanes) if all(o.comm for o in exp.ops) else (
                    share(self, length, lane, lanes), None)
                found = elements(indices, part, step)
                for total_, value in zip(chain(*totals), chain(*found), strict=True):
                    self.emit(imp.Assign(total_.name, value))
            self.emit(imp.If(exists, tuple(inside)))
            rows = [row_total(self, o, t, lanes, self.subgroup)
                    for o, t in zip(exp.ops, totals, strict=True)]
            with self.block() as publish:
                for o, mems, row in zip(exp.ops, arrays, rows, strict=True):
                    for mem, value, type_ in zip(mems, row, o.lam.ret, strict=True):
                        self.emit(imp.Store(mem, segment, value, require_scalar(type_)))
            self.emit(imp.If(imp.Apply("and", Prim.BOOL, (
                exists, imp.Apply("eq", Prim.I64, (lane, lit(0))))), tuple(publish)))
        self.emit(*code)

    # Scans

    def _scan(self, stm: Stm, exp: SegScan) -> None:
        """Each work-item scans its chunk, the group scans the totals, then chunks take those in."""
        shape, share_ = widths(self, exp.space), self.share(self.count(exp.space))
        if not all(isinstance(t, Prim) for t in exp.ret):
            raise CompilerLimitation("a scan with rows inside of a work-group")
        outs: list[View] = [self.spread(p.name, require_scalar(t), shape, share_)
                            for p, t in zip(stm.pat, exp.ret, strict=True)]
        totals = [scalars(self.neutral(o)) for o in exp.ops]
        fresh = self.declare("fresh", Prim.BOOL, truth(False)) if len(shape) > 1 else None

        def element(here: Point) -> None:
            if fresh is not None:
                with self.block() as begin:
                    reset(self, exp.ops, totals)
                    self.emit(imp.Assign(fresh.name, truth(True)))
                self.emit(imp.If(_starts(here, shape), tuple(begin)))
            self._scan_element(exp, totals, outs, here)

        self.each_point(exp, share_, element)
        with self.alone_in(None) as code:
            carries = [group_scan(self, o, t, Size.var(self.group), fresh, self.subgroup)
                       for o, t in zip(exp.ops, totals, strict=True)]
            self._add_carries(exp, share_, shape, outs, carries, fresh)
        self.emit(*code)
        self.bind_all(stm.pat, outs)

    def _scan_element(self, exp: SegScan, totals: Sequence[Sequence[imp.Var]],
                      outs: Sequence[View], here: Point) -> None:
        values = self.body(exp.body)
        count = sum(len(t) for t in totals)
        store_results(self, outs[count:], here.indices, values[count:])
        self.accumulate_all(exp.ops, totals, values)
        for out, t in zip(outs, (t for ts in totals for t in ts), strict=False):
            self.emit(out.write(here.indices, t))

    def _add_carries(self, exp: SegScan, share_: Share, shape: tuple[Exp, ...],
                     outs: Sequence[View], carries: Sequence[Sequence[imp.Var]],
                     fresh: imp.Var | None) -> None:
        """Take the carries into the elements before the chunk's first start of a segment."""
        with self.block() as code:
            going = self.declare("going", Prim.BOOL, truth(True)) if fresh is not None else None

            def element(here: Point) -> None:
                with self.block() as combine:
                    place = iter(outs)
                    for op_, carry in zip(exp.ops, carries, strict=True):
                        self._combine(op_, carry, [next(place) for _ in carry], here)
                if going is None:
                    self.emit(*combine)
                    return
                with self.block() as stop:
                    self.emit(imp.Assign(going.name, truth(False)))
                self.emit(imp.If(_starts(here, shape), tuple(stop)),
                          imp.If(going, tuple(combine)))

            self.each(share_, shape, element)
        self.emit(imp.If(imp.Apply("lt", Prim.I64, (lit(0), LID)), tuple(code)))

    def _combine(self, op_: Operator, carry: Sequence[imp.Var], targets: Sequence[View],
                 here: Point) -> None:
        held: list[Value] = [self.declare("x", t.prim, t.read(here.indices)) for t in targets]
        for target, value in zip(targets, self.apply(op_.lam, [*carry, *held]), strict=True):
            assert not isinstance(value, View)
            self.emit(target.write(here.indices, value))

    # Scatters and histograms

    def _scatter_points(self, stm: Stm, exp: SegScatter) -> None:
        read = free_vars(exp.body)
        outs = [self.writable(p, d.array, read) for p, d in zip(stm.pat, exp.dests, strict=True)]
        self._everywhere(exp, lambda _: self.write_inside(
            outs, [d.rank for d in exp.dests], self.body(exp.body)))
        self.bind_all(stm.pat, outs)

    def _histogram(self, stm: Stm, exp: SegHist) -> None:
        """Atomic updates in local memory, or one work-item per segment where there are none."""
        dests, read = [d for o in exp.ops for d in o.dests], free_vars(exp.body)
        outs = [self.writable(p, d, read) for p, d in zip(stm.pat, dests, strict=True)]
        if all(map(is_lockable, exp.ops)):
            self._everywhere(exp, lambda indices: self._count(exp, outs, indices[:-1], atomic=True))
        else:
            shape = widths(self, exp.space)

            def segment(outer: list[Exp]) -> None:
                def element(index: Exp) -> None:
                    self._bind_indices(exp.space, [*outer, index])
                    self._count(exp, outs, outer, atomic=False)
                self.loop(shape[-1], element, base="e")

            with self.reading(exp.body, exp.space, None):
                self.shared(shape[:-1], segment)
        self.bind_all(stm.pat, outs)

    def _count(self, exp: SegHist, outs: Sequence[View], segment: Sequence[Exp], *,
               atomic: bool) -> None:
        """Take the values of a point into their bins."""
        values = self.body(exp.body)
        bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
        for op_, bin_ in zip(exp.ops, bins, strict=True):
            count = len(op_.dests)
            assert not isinstance(bin_, View)
            if atomic:
                atomic_update(self, op_, place[0], [*segment, bin_], rest[0],
                              imp.Space.LOCAL if self.is_local(place[0]) else imp.Space.GLOBAL)
            else:
                self.combine_inside(op_.op, self.scalar(op_.bins), place[:count],
                                    [*segment, bin_], rest[:count])
            rest, place = rest[count:], place[count:]


def _starts(here: Point, shape: tuple[Exp, ...]) -> Exp:
    """Whether an element is the first of its segment."""
    return imp.Apply("eq", Prim.I64, (op("rem", here.position, shape[-1]), lit(0)))


def _at_least_one(count: Exp) -> Exp:
    return imp.Apply("max", Prim.I64, (count, lit(1)))
