"""Slabs: the version of a map of ragged rows that runs over its points in parts, for memory.

Segments are cut into runs, one after the other, that have about as many elements and points as the
runtime has memory for (:class:`~runelift.ir.syntax.SlabSize`)::

    map f (a ++ b) = map f a ++ map f b

Place i + off[i] belongs to point i, so places of points grow.  A run are the points whose places
are within a window.  All windows have one size, so the host knows how many there are.  A kernel
finds all runs by search; the host reads the ends of each.  A point is never cut.  Runs get shorter
if sizes that a run makes inside of its segments need more memory than there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import IN_SLABS, SCRATCH
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import PARTS_OF_LONGEST
from runelift.ir.traverse import binders, statements_at_host
from runelift.ir.types import ArrayType, Atom, array_of, elem_of, i64, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, Segments
from runelift.rewrite.flatten.rules.common import zeros
from runelift.rewrite.flatten.segments import by_number, with_offsets
from runelift.rewrite.flatten.walk import Walk

Flat: TypeAlias = Callable[[Nest, Mapping[VName, Segments]], ir.Body]
"""Flattens the body of the map under the nest of a run, whose widths have these descriptors."""


class _Runs(NamedTuple):
    """The runs of segments: their number, the places of a window, and arrays of the host.

    Run r begins at point ``firsts[r]``, whose elements of each width begin at ``begins[r]``.
    """

    number: VName
    size: VName
    firsts: VName
    begins: tuple[VName, ...]


def stores_elements(body: ir.Body, found: Iterable[Segments]) -> bool:
    """True if a flat body stores arrays with a value for each element of segments."""
    totals = {each.total for each in found}
    return any(not totals.isdisjoint(array.shape) for array in _stored(body))


def in_slabs(walk: Walk, nest: Nest, pat: Sequence[ir.Param], like: ir.Body, flat: Flat) -> ir.Body:
    """The statements of the host that compute ``pat`` in runs, as ``flat`` computes each run.

    ``like`` computes all points at once.
    """
    host = Walk(walk.flattener, nest)
    widths = tuple(nest.segments)
    found = [with_offsets(host, width) for width in widths]
    runs = _runs(host, found, like)
    count, outer = found[0].count, len(nest.space)
    whole_arrays = [walk.fresh(p.name, array_of(
        (count, *shape_of(p.type)[outer:]), elem_of(p.type))) for p in pat]
    starts = [host.emitted(p.name.base, p.type, zeros(p.type), (SCRATCH,)) for p in whole_arrays]
    carried = [host.fresh(p.name.base, p.type) for p in whole_arrays]
    run = host.fresh("run", Prim.I64).name
    body = _run(host, run, runs, dict(zip(widths, found, strict=True)), carried, flat)
    loop = ir.Loop(tuple(map(ir.LoopParam, carried, starts)), ir.ForLoop(run, runs.number), body)
    host.emit(ir.Stm(tuple(whole_arrays), loop, (IN_SLABS,)))
    results = tuple(p.name for p in whole_arrays) if outer == 1 else tuple(
        host.emitted(p.name.base, p.type, ir.Reshape(shape_of(p.type), array.name))
        for p, array in zip(pat, whole_arrays, strict=True))
    return host.as_body(*results)


def _stored(body: ir.Body) -> list[ArrayType]:
    """The types of the arrays that a body stores."""
    return [p.type for stm in statements_at_host(body) if not isinstance(stm.exp, ir.VIEWS)
            for p in stm.pat if isinstance(p.type, ArrayType)]


def _sum(walk: Code, first: Atom, *others: Atom) -> Atom:
    for each in others:
        first = walk.computed("add", first, each)
    return first


def _runs(host: Walk, found: Sequence[Segments], like: ir.Body) -> _Runs:
    """Emit the kernel that finds all runs.

    Sizes that ``like`` computes are not known here, and count as 1.
    """
    each: Atom = i64(0)
    unknown = {*binders(like)}
    for array in _stored(like):
        bytes_: Atom = i64(array.elem.bytes)
        for size in (size for size in array.shape[1:] if size not in unknown):
            bytes_ = host.computed("mul", bytes_, size)
        each = _sum(host, each, bytes_)
    longest = _sum(host, found[0].known.longest, *(other.known.longest for other in found[1:]))
    places = _sum(host, found[0].count, *(other.total for other in found))
    size = host.computed("max", host.emitted("slab", Prim.I64, ir.SlabSize(each, longest)),
                    host.computed("quot", longest, i64(PARTS_OF_LONGEST)), base="size")
    count = host.computed("add", host.computed("quot", places, size), i64(1), base="runs")
    ends = host.computed("add", count, i64(1), base="ends")
    run = host.fresh("run", Prim.I64).name
    firsts, *begins = (host.fresh(base, array_of((ends,), Prim.I64))
                       for base in ("first", *("begin" for _ in found)))
    kernel = ir.SegMap(host.level, (ir.SegDim(run, ends),), _search(host, run, size, found),
                       (Prim.I64,) * (1 + len(found)))
    host.emit(ir.Stm((firsts, *begins), kernel))
    return _Runs(count, size, firsts.name, tuple(begin.name for begin in begins))


def _search(host: Walk, run: VName, size: VName, found: Sequence[Segments]) -> ir.Body:
    """The first point at or behind the begin of the window of a run, and where its elements begin.

    It is the number of points if there is none.
    """
    low, high, more = (host.fresh(base, prim) for base, prim in (
        ("low", Prim.I64), ("high", Prim.I64), ("more", Prim.BOOL)))
    out = [host.fresh(p.name.base, p.type) for p in (low, high, more)]
    inside, start = Code(host.flattener), Code(host.flattener)
    target = start.computed("mul", run, size, base="target")
    some = start.holds("lt", i64(0), found[0].count, base="some")
    middle = inside.computed("quot", inside.computed("add", low.name, high.name), i64(2))
    offsets = [each.starts for each in found]
    place = _sum(inside, middle, *(inside.read(off, middle) for off in offsets))
    below = inside.holds("lt", place, target, base="below")
    following = inside.computed("add", middle, i64(1))
    after, before = inside.chosen(below, ir.Body((), (following, high.name)),
                                  ir.Body((), (low.name, middle)), (Prim.I64, Prim.I64), "bound")
    last = inside.holds("lt", after, before, base="more")
    params = tuple(map(ir.LoopParam, (low, high, more), (i64(0), found[0].count, some)))
    start.emit(ir.Stm(tuple(out), ir.Loop(
        params, ir.WhileLoop(more.name), inside.as_body(after, before, last))))
    begins = [start.read(off, out[0].name, base="begin") for off in offsets]
    return start.as_body(out[0].name, *begins)


def _run(host: Walk, run: VName, runs: _Runs, found: Mapping[VName, Segments],
         carried: Sequence[ir.Param], flat: Flat) -> ir.Body:
    """The iteration of a run, which puts its results into the arrays of all results."""
    inner = Code(host.flattener)
    after = inner.computed("add", run, i64(1))
    first, last, *ends = (
        inner.read(array, at)
        for array in (runs.firsts, *runs.begins) for at in (run, after))

    def between(begin: VName, end: VName, most: Atom, other: Atom) -> VName:
        """A difference that is read, which is below what the host knows."""
        bound = inner.computed("min", most, other)
        return inner.computed("min", inner.computed("sub", end, begin), bound, base="here")

    count = next(iter(found.values())).count
    points = between(first, last, runs.size, count)
    number, nest = by_number(host)
    index = inner.fresh("q", Prim.I64).name
    nest = Nest((ir.SegDim(index, points),), nest.defs).define([ir.Stm(
        (ir.Param(number, Prim.I64),), ir.PrimOp("add", Prim.I64, (first, index)))])
    parts = dict[VName, Segments]()
    for (width, each), begin, end in zip(found.items(), ends[::2], ends[1::2], strict=True):
        most = inner.computed("add", runs.size, each.known.longest)
        parts[width] = Segments(
            points, _part(inner, each.lengths, first, points, i64(0)),
            between(begin, end, each.total, most), each.facts,
            _part(inner, each.starts, first, inner.computed("add", points, i64(1)), begin))
    made = flat(nest, parts)
    inner.emit(*made.stms)
    place = ir.SliceDim(first, points, i64(1))
    results = [inner.emitted(array.name.base, array.type, ir.Update(
        array.name, (place, *map(whole, shape_of(array.type)[1:])), value))
        for array, value in zip(carried, made.result, strict=True)]
    return inner.as_body(*results)


def _part(inner: Code, array: VName, first: VName, count: VName, less: Atom) -> VName:
    """Elements of an array from ``first`` on, each without ``less``."""
    index, code = inner.fresh("q", Prim.I64).name, Code(inner.flattener)
    value = code.computed("sub", code.read(array, code.computed("add", first, index)), less)
    kernel = ir.SegMap(ir.Level.GRID, (ir.SegDim(index, count),), code.as_body(value), (Prim.I64,))
    return inner.emitted(array.base, array_of((count,), Prim.I64), kernel)
