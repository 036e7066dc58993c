"""Branches whose points part: rule G19."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type, array_of, elem_of, i64, shape_of
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import show_nest, whole
from runelift.rewrite.flatten.parallelism import called_in, has_parallelism
from runelift.rewrite.flatten.restriction import (
    Partition,
    chosen_points,
    define_place,
    other_points,
    partition,
    restricted,
)
from runelift.rewrite.flatten.rules.common import Attempt, attempted, fresh_param, node_of, zeros
from runelift.rewrite.flatten.segments import computed, emitted, joined, packed, with_offsets
from runelift.rewrite.flatten.walk import Walk


class _Kind(Enum):
    """The kind of a result: a scalar, an array of one shape, or an array of any length."""

    SCALAR = 0
    REGULAR = 1
    SEGMENTS = 2


class _Branch(NamedTuple):
    """The results of a branch at its points, as results of the host, in order.

    These are scalars at their places among all points, arrays, and for segments their number of
    elements and the elements.  ``offsets`` say where segments begin, if all differ in length.
    """

    scalars: tuple[ir.Param, ...]
    arrays: tuple[ir.Param, ...]
    offsets: tuple[VName, ...] = ()


@flattening("G19", ir.If)
def branch_partition(walk: Walk, stm: ir.Stm) -> str | None:
    """Σ ⊢ if c then e else f ⇒ if k > 0 then (Σ | c ⊢ e); if k < n then (Σ | ¬c ⊢ f); gather

    The k points of Σ where c holds come first, in order.  A branch runs over its points, and only
    if it has any, so recursion ends.  Provided a branch calls a function that
    calls itself, or makes an array of any length in parallel.  In such a function, parallelism or
    length is enough.
    """
    branch = node_of(stm, ir.If)
    sides = (branch.then_, branch.else_)
    if not walk.nest.space or walk.level is not ir.Level.GRID:
        return Unlike("it stands in no nest over the grid")
    parallel, sized = any(map(has_parallelism, sides)), _has_sizes(stm)
    if not any(map(called_in, sides)) and not (parallel and sized) and not (
            walk.flattener.lifted and (parallel or sized or not all(
                walk.regular(p.type) for p in stm.pat))):
        return Unlike("each work-item can take its branch")
    kinds = [_kind(walk, stm, p.type) for p in stm.pat]
    if None in kinds:
        return "its result is an array of rows, which differ in number"
    if why := walk.make_known(free_vars(stm), checks=True):
        return why
    front = Walk(walk.flattener, walk.nest)
    note = f"each branch runs over its points of {show_nest(walk.nest)}"
    if why := attempted(walk, front, Attempt("G19", stm, note), lambda: _emit(
            front, stm, [kind for kind in kinds if kind is not None])):
        return why
    walk.nest = front.nest
    return None


def _has_sizes(stm: ir.Stm) -> bool:
    """True if results are sizes of other results."""
    own = {p.name for p in stm.pat}
    return any(size in own for p in stm.pat for size in shape_of(p.type))


def _kind(walk: Walk, stm: ir.Stm, type_: Type) -> _Kind | None:
    """The kind of a result; None if it has no form here."""
    own = {p.name for p in stm.pat}
    if isinstance(type_, Prim):
        return _Kind.SCALAR
    if walk.regular(type_) and not own.intersection(shape_of(type_)):
        return _Kind.REGULAR
    return _Kind.SEGMENTS if len(shape_of(type_)) == 1 else None


def _emit(walk: Walk, stm: ir.Stm, kinds: list[_Kind]) -> str | None:
    """Emit the partition and the branches, and bind the results; the reason if impossible."""
    branch = node_of(stm, ir.If)
    parts = partition(walk, branch.cond)
    scalars = [p for p, kind in zip(stm.pat, kinds, strict=True) if kind is _Kind.SCALAR]
    dests = [ir.Param(emitted(walk, p.name.base, type_, zeros(type_), (SCRATCH,)), type_)
        for p in scalars for type_ in [array_of((parts.count,), p.type)]]
    sides = list[_Branch]()
    for body, (points, count) in ((branch.then_, (chosen_points(walk, parts), parts.chosen)),
                                  (branch.else_, other_points(walk, parts))):
        side = _branch(walk, stm, kinds, body, (points, count), dests)
        if isinstance(side, str):
            return side
        dests = list(side.scalars)
        sides.append(side)
    for param, host in zip(scalars, dests, strict=True):
        shaped = host
        if len(walk.nest.space) > 1:
            (shaped,) = walk.expanded_pat([param])
            walk.emit(ir.Stm((shaped,), ir.Reshape(walk.nest.widths, host.name)))
        walk.bind([param], [shaped])
    _gather(walk, stm, kinds, parts, sides)
    return None


def _branch(walk: Walk, stm: ir.Stm, kinds: list[_Kind], body: ir.Body,
            over: tuple[VName, VName], dests: list[ir.Param]) -> _Branch | str:
    """Emit a branch over some points, as a branch of the host; the reason if impossible."""
    points, count = over
    flattener = walk.flattener
    found = restricted(walk, points, count)
    inner, checked = Walk(flattener, found.nest), frozenset(flattener.checked)
    inner.statements(body)
    flattener.checked.intersection_update(checked)  # at the points of the branch only
    inner.look_ahead(frozenset())
    each = list(zip(stm.pat, body.result, kinds, strict=True))
    flattener.learn_params(ir.Param(atom, p.type) for p, atom, kind in each
                           if kind is _Kind.REGULAR and isinstance(atom, VName))
    if why := inner.make_known({name for _, atom, kind in each if kind is not _Kind.SCALAR
                                and isinstance(atom, VName)
                                for name in (atom, *shape_of(flattener.types[atom]))
                                if isinstance(name, VName)}):
        return why
    results, blanks, arrays = list[Atom](), list[ir.Stm](), list[ir.Param]()

    def result(base: str, type_: Type, atom: Atom, empty: Type | None = None) -> None:
        results.append(atom)
        arrays.append(ir.Param(flattener.names.fresh(base), type_))
        none = empty or type_
        blank = ir.Param(flattener.names.fresh(base), none)
        blanks.append(ir.Stm((blank,), zeros(none), (SCRATCH,) if shape_of(none) else ()))

    for param, atom, kind in each:
        base = param.name.base
        if kind is _Kind.REGULAR:
            result(base, array_of((count,), param.type), inner.expand(atom, param.type))
        elif kind is _Kind.SEGMENTS:
            assert isinstance(atom, VName)
            data, total = packed(inner, atom)
            result("total", Prim.I64, total)
            result(base, array_of((arrays[-1].name,), elem_of(param.type)), data,
                   array_of((i64(0),), elem_of(param.type)))
    offsets = _offsets_inside(inner, [atom for _, atom, kind in each if kind is _Kind.SEGMENTS])
    ends = computed(walk, "add", count, i64(1), base="ends")
    type_ = array_of((ends,), Prim.I64)
    for array in offsets:
        result("off", type_, emitted(inner, "off", type_, ir.Reshape((ends,), array)))
    written = _written(inner, found.number, [atom for _, atom, kind in each
                                             if kind is _Kind.SCALAR], dests)
    host = _of_host(walk, count, _Taken(
        ir.Body(tuple(inner.out), (*(p.name for p in written), *results)),
        tuple(dests), tuple(blanks), tuple(arrays)))
    return host._replace(offsets=tuple(
        p.name for p in host.arrays[len(host.arrays) - len(offsets):]))


def _offsets_inside(inner: Walk, atoms: list[Atom]) -> list[VName]:
    """The offsets of arrays of a branch; none if one of them has a fixed length."""
    sizes = [size for atom in atoms if isinstance(atom, VName)
             for size in shape_of(inner.flattener.types[atom])]
    if any(inner.invariant(size) for size in sizes):
        return []
    return [found for size in sizes if isinstance(size, VName)
            and (found := with_offsets(inner, size).offsets) is not None]


def _written(inner: Walk, number: VName, atoms: list[Atom], dests: list[ir.Param]
             ) -> tuple[ir.Param, ...]:
    """The arrays over all points with the scalars of some; what waits runs in the kernel."""
    if not atoms:
        inner.flush()
        return ()
    values = tuple(a for atom in atoms for a in (number, atom))
    space, kernel = inner.flattener.fresh_kernel(
        inner.nest.space, inner.nest.kernel_body(tuple(inner.pending), values))
    inner.pending = []
    written = tuple(ir.Param(inner.flattener.names.fresh(p.name), p.type) for p in dests)
    inner.emit(ir.Stm(written, ir.SegScatter(
        inner.level, space, tuple(ir.Dest(p.name, 1) for p in dests), kernel)))
    return written


class _Taken(NamedTuple):
    """A branch as it is when it has points, and what its results are when it has none."""

    body: ir.Body
    dests: tuple[ir.Param, ...]
    blanks: tuple[ir.Stm, ...]
    arrays: tuple[ir.Param, ...]


def _of_host(walk: Walk, count: Atom, taken: _Taken) -> _Branch:
    """Emit ``if count > 0 then body else blanks``."""
    names = walk.flattener.names
    some = emitted(walk, "some", Prim.BOOL, ir.PrimOp("lt", Prim.I64, (i64(0), count)))
    scalars = tuple(ir.Param(names.fresh(p.name), p.type) for p in taken.dests)
    pat = (*scalars, *taken.arrays)
    empty = ir.Body(taken.blanks, (*(p.name for p in taken.dests),
                                   *(b.pat[0].name for b in taken.blanks)))
    walk.emit(ir.Stm(pat, ir.If(some, taken.body, empty, tuple(p.type for p in pat))))
    return _Branch(scalars, taken.arrays)


def _gather(walk: Walk, stm: ir.Stm, kinds: list[_Kind], parts: Partition,
            branches: list[_Branch]) -> None:
    """Bind array results to their parts of both branches, in the order of the partition."""
    if all(kind is _Kind.SCALAR for kind in kinds):
        return
    place = define_place(walk, parts)
    sides = [[p.name for p in branch.arrays] for branch in branches]
    offsets = iter(zip(*(branch.offsets for branch in branches), strict=False))
    for param, kind in zip(stm.pat, kinds, strict=True):
        if kind is _Kind.REGULAR:
            pair = [side.pop(0) for side in sides]
            both = joined(walk, pair, parts.count)
            walk.nest = walk.nest.define([ir.Stm((param,), ir.Index(
                both, (place, *map(whole, shape_of(param.type)))))])
        elif kind is _Kind.SEGMENTS:
            totals, data = ([side.pop(0) for side in sides] for _ in range(2))
            total = emitted(walk, "total", Prim.I64, ir.PrimOp(
                "add", Prim.I64, tuple(totals)))
            (size,) = shape_of(param.type)
            assert isinstance(size, VName)
            start = fresh_param(walk, "start", Prim.I64)
            begins = next(offsets, None)
            walk.nest = walk.nest.define([
                ir.Stm((start,), ir.Index(_offsets(walk, parts, size), (place,)) if begins is None
                       else _start(walk, parts, place, begins, totals[0])),
                ir.Stm((param,), ir.Index(joined(walk, data, total),
                                          (ir.SliceDim(start.name, size, i64(1)),)))])


def _start(walk: Walk, parts: Partition, place: VName, offsets: tuple[VName, ...],
           total: VName) -> ir.If:
    """The place where a segment begins: behind the segments before it, first of one branch."""
    before, here, behind, start = (fresh_param(walk, base, Prim.I64)
                                   for base in ("start", "place", "behind", "start"))
    first = ir.Stm((before,), ir.Index(offsets[0], (place,)))
    others = (ir.Stm((here,), ir.PrimOp("sub", Prim.I64, (place, parts.chosen))),
              ir.Stm((behind,), ir.Index(offsets[1], (here.name,))),
              ir.Stm((start,), ir.PrimOp("add", Prim.I64, (total, behind.name))))
    return ir.If(parts.cond, ir.Body((first,), (before.name,)),
                 ir.Body(others, (start.name,)), (Prim.I64,))


def _offsets(walk: Walk, parts: Partition, size: VName) -> VName:
    """The places where segments of a length begin, with points in the order of a partition."""
    ordered = Walk(walk.flattener, restricted(walk, parts.order, parts.count).nest)
    offsets = with_offsets(ordered, size).offsets
    for each in ordered.out:
        walk.emit(each)
    assert offsets is not None
    return offsets
