"""Boxes: the elements of arrays that a work-group needs, copied to local memory tile by tile.

Strategy: part of :mod:`~runelift.codegen.segops.segred_blocked`, for elements with a loop inside,
such as a row of a filter.  The work-items of a group need nearly the same elements there.  Each
dimension of an array is walked by one or several indices.  These are of neighbouring segments, of
elements combined at a time, of neighbouring work-items, and of the loop.

Code: the loop is cut into tiles.  Before each tile, the group copies the elements that it needs to
a box in local memory, halo included.  A side of a box is as long as the sum of the indices that
walk it.  The space is rectangular, so a box holds no element that the program would not read.
Places beyond the last work-item or iteration are clamped to the box.  A margin of a pad is tested
where the box is filled, and not where it is read.  The sides of a box are
constants of the kernel, so the loop computes no indices any more.

Source: access patterns ``RadiusPat`` and ``InnerPat``, stages 1 and 2 of the paper of
:mod:`~runelift.ir.analysis.patterns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from runelift.codegen.kernel.kernel_builder import CodeBuilder
from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.plan.shapes import Box
from runelift.codegen.plan.views import (
    PaddedLoad,
    all_of,
    as_padded,
    ceil_quot,
    lit,
    op,
    unflat_index,
    volume,
    within,
)
from runelift.codegen.segops.coarsen import Sum, as_sum, varies, varying, written_by
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import (
    expressions,
    map_parts,
    map_statement,
    memories,
    statements,
    subexpressions,
    variables,
)
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div

VECTOR_ELEMENTS = 4
"""The number of elements of the widest load.

Padded rows are odd multiples of it, so that loads of neighbouring work-items use different banks.
"""


@dataclass(frozen=True, slots=True)
class GroupIndices:
    """The indices that walk arrays in a group, and the constants that bound them.

    * Segment ``segment`` of ``points``.
    * Element ``row + step`` of ``split`` times ``steps``, where ``row`` is the work-item's first.
    * Work-item ``x`` of ``across``, and ``place`` of the segments that lie in its dimension.
      Segments up to ``last`` exist.  ``column`` is the index of a segment, ``first + place``,
      clamped to the last segment.
    * Work-item ``y`` of ``split``, which has other elements.
    * A tile has ``tile`` iterations.

    All segments are in one dimension if they are ``flat``.  Then the places are ``points`` times as
    many, else the work-items.
    """

    segment: VName
    points: VName
    step: VName
    steps: VName
    row: VName
    x: VName
    place: VName
    across: VName
    last: Exp
    first: Exp
    column: Exp
    y: VName
    split: VName
    tile: VName
    flat: bool = False

    @property
    def places(self) -> Size:
        """The number of values that ``place`` takes."""
        across = Size.var(self.across)
        return across * Size.var(self.points) if self.flat else across

    @property
    def wide(self) -> Exp:
        """The number of places, from constants of the kernel."""
        across = imp.Var(self.across)
        return op("mul", across, imp.Var(self.points)) if self.flat else across


@dataclass(frozen=True, slots=True)
class BoxedCode:
    """Code that reads boxes in local memory, and the code that fills them.

    ``before`` has the code that must run before the loop with an index.
    """

    code: list[Stm]
    before: dict[VName, list[Stm]]
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class TiledCodes:
    """Codes for an element that read boxes, and the code that fills these for a tile."""

    codes: list[list[Stm]]
    fetch: list[Stm]
    boxes: tuple[Box, ...]


def with_boxes(k: CodeBuilder, code: Sequence[Stm], changed: Set[VName],
               group: GroupIndices, chosen: int = 0) -> BoxedCode:
    """The code for an element with boxes; their memory becomes part of the kernel ``k``.

    ``changed`` are the memories that the kernel writes elsewhere.  Only the boxes ``chosen`` are
    made, a bit each in the order in which they are found, or all.  CompilerLimitation if the
    work-items go through no loop together, or have no elements in common there.
    """
    boxer = _Boxer(k, code, changed, group, chosen)
    new = boxer.stms(code)
    if not boxer.boxes:
        raise CompilerLimitation("the loops of these elements have no reads in common")
    return BoxedCode(new, boxer.before, tuple(boxer.boxes))


def with_tiles(k: CodeBuilder, codes: Sequence[Sequence[Stm]], changed: Set[VName],
               group: GroupIndices, inner: VName, count: Exp) -> TiledCodes:
    """The codes for an element of a tile with boxes; the index in the tile is ``inner``.

    The elements themselves are the loop here: a tile has ``count`` of them.  CompilerLimitation if
    the work-items of a group have no elements in common.
    """
    found, new, places = list[_Array](), list[list[Stm]](), {inner: Sum.of(inner)}
    for code in codes:
        boxer = _Boxer(k, code, changed, group, 0)
        new.append(_Inside(boxer, code, inner, places, found).body())
    if not found:
        raise CompilerLimitation("work-items read no element of an array that others read, or at "
                                 "places that only the data tells")
    fetch = _fetch(k, found, group, inner, count, lines=True)
    return TiledCodes(new, fetch, tuple(_boxes(k, found, group)))


@dataclass(frozen=True, slots=True)
class _Side:
    """A dimension of a box: the distance of its elements in the array, and the indices that walk
    it.
    """

    factor: Exp
    names: frozenset[VName]


class _Boxer:
    def __init__(self, k: CodeBuilder, code: Sequence[Stm], changed: Set[VName],
                 group: GroupIndices, chosen: int) -> None:
        self.k, self.group = k, group
        self.chosen, self.number = chosen, 0
        self.written = written_by(code) | changed
        seeds = (group.segment, group.step, group.row, group.place, group.y)
        self.varying = varying(code, (*seeds, *_own(code)))
        self.assigned = assigned(code)
        self.sums = {name: Sum.of(name) for name in (
            group.segment, group.step, group.row, group.place)}
        self.before: dict[VName, list[Stm]] = {}
        self.boxes: list[Box] = []

    def stms(self, code: Sequence[Stm]) -> list[Stm]:
        """Statements that all work-items execute together."""
        found: list[Stm] = []
        for stm in code:
            match stm:
                case imp.Declare(name, Prim.I64, init) if init is not None:
                    self._note(name, init)
                    found.append(stm)
                case imp.For() if not any(map(self._varies, expressions(stm))):
                    found.append(self._loop(stm))
                case _:
                    found.append(stm)
        return found

    def _varies(self, exp: Exp) -> bool:
        return varies(exp, self.varying, self.written)

    def _note(self, name: VName, init: Exp) -> None:
        """Note an index that varies as a sum; an index that does not vary is a plain name."""
        if name in self.varying and name not in self.assigned and (
                total := self.sum_of(init)) is not None:
            self.sums[name] = total

    def sum_of(self, exp: Exp) -> Sum | None:
        """An index as a sum of walking indices, or None."""
        if exp == self.group.column:
            return Sum(self.group.first).plus(Sum.of(self.group.place))
        return as_sum(exp, self.sums, self.varying)

    # A loop

    def _loop(self, loop: imp.For) -> imp.For:
        """A loop that all go through together, cut into tiles if it is an innermost one."""
        if any(isinstance(s, imp.For | imp.While | imp.Barrier | imp.AtomicUpdate)
               for s in statements(loop.body)):
            return replace(loop, body=tuple(self.stms(loop.body)))
        if loop.step != lit(1):
            return loop
        k, tile = self.k, imp.Var(self.group.tile)
        start, inner = k.names.fresh("tile"), k.names.fresh("i")
        inside = _Inside(self, loop.body, inner,
                         {loop.index: Sum(imp.Var(start)).plus(Sum.of(inner))}, [])
        body = inside.body()
        if not inside.found:
            return loop
        with k.block() as around:
            rest = op("sub", loop.bound, imp.Var(start))
            count = k.declare("count", Prim.I64, op("min", tile, rest))
            k.emit(imp.For(inner, lit(0), count, lit(1), (
                imp.Declare(loop.index, Prim.I64, op("add", imp.Var(start), imp.Var(inner))),
                *body)))
        self.before[inner] = _fetch(k, inside.found, self.group, inner, count)
        self.boxes += _boxes(k, inside.found, self.group)
        return imp.For(start, loop.start, loop.bound, tile, tuple(around))


def _own(code: Sequence[Stm]) -> Iterator[VName]:
    """The variables whose values differ between work-items."""
    for stm in statements(code):
        if isinstance(stm, imp.Declare | imp.Assign) and any(
                isinstance(part, imp.WorkItem) and part.kind is not imp.Id.GROUP_ID
                for part in subexpressions(*expressions(stm))):
            yield stm.name


def _fetch(k: CodeBuilder, arrays: Sequence[_Array], group: GroupIndices, inner: VName,
           count: Exp, *, lines: bool = False) -> list[Stm]:
    """The code that copies the elements of arrays, between barriers.

    With ``lines``, all work-items of a group copy what lies in one line, and lines of equal length
    together.
    """
    together = dict[frozenset[VName], list[_Array]]()
    with k.block() as fetch:
        k.emit(imp.Barrier(imp.Space.LOCAL))
        for array in arrays:
            if lines and len(array.sides) == 1:
                together.setdefault(array.sides[0].names, []).append(array)
            else:
                array.fetch(k, group, inner, count)
        for some in together.values():
            _fetch_lines(k, some, group, inner, count)
        k.emit(imp.Barrier(imp.Space.LOCAL))
    return fetch


def _boxes(k: CodeBuilder, arrays: Sequence[_Array], group: GroupIndices) -> Iterator[Box]:
    """The boxes of arrays, whose memory becomes part of the kernel."""
    for array in arrays:
        k.locals.append(imp.LocalArray(array.local, array.prim, array.size(group)))
        yield Box(array.prim.bytes, tuple(_walks(group, side) for side in array.sides))


class _Inside:
    """Code that all work-items go through together, for each ``inner`` of a tile.

    ``places`` are indices that vary with it, and ``found`` the boxes that there are already.
    """

    def __init__(self, boxer: _Boxer, code: Sequence[Stm], inner: VName,
                 places: Mapping[VName, Sum], found: list[_Array]) -> None:
        self.boxer, self.code, self.inner = boxer, code, inner
        self.found, self.left_out = found, list[_Array]()
        self.varying = {*boxer.varying, *places, inner, *varying(code, (*boxer.varying, *places))}
        self.sums = {**boxer.sums, **places}
        self.own = {s.name for s in statements(code) if isinstance(s, imp.Declare | imp.Peek)}

    def body(self) -> list[Stm]:
        """The statements, with loads from boxes where that is possible."""
        found: list[Stm] = []
        for stm in self.code:
            if isinstance(stm, imp.Declare) and stm.prim is Prim.I64 and stm.init is not None and (
                    stm.name not in self.boxer.assigned and stm.name not in self.sums):
                total = self._sum(stm.init)
                if total is not None:
                    self.sums[stm.name] = total
                    self.varying.add(stm.name)
            found += self._statement(stm)
        return found

    def _sum(self, exp: Exp) -> Sum | None:
        if exp == self.boxer.group.column:
            return self.boxer.sum_of(exp)
        found = as_sum(exp, self.sums, self.varying)
        if found is None or any(name in self.own for part in (found.same, *(
                f for f, _ in found.lanes)) for name in variables(part)):
            return None
        return found

    def _statement(self, stm: Stm) -> list[Stm]:
        """A statement, behind the indices of its loads from boxes."""
        indices: list[Stm] = []

        def change(exp: Exp) -> Exp:
            padded = as_padded(exp)
            load = padded.load if padded is not None else exp
            if isinstance(load, imp.Load) and load.mem not in self.boxer.written and (
                    array := self._array(load, padded)) is not None:
                at = self.boxer.k.names.fresh("at")
                indices.append(imp.Declare(at, Prim.I64, array.at(self.boxer.group)))
                return imp.Load(array.local, imp.Var(at), load.prim)
            match exp:
                case imp.Select() | imp.Apply("and" | "or"):
                    return exp  # may not be evaluated, so may be beyond the array
            return map_parts(exp, change)

        if isinstance(stm, imp.If):
            return [stm]
        new = map_statement(stm, change, lambda inner: inner)
        return [*indices, new]

    def _array(self, load: imp.Load, padded: PaddedLoad | None) -> _Array | None:
        """The box that a load is from, perhaps one of a pad."""
        total = self._sum(load.index)
        margin = None if padded is None else self._margin(padded)
        if total is None or not total.lanes or (margin is None) != (padded is None):
            return None
        group, seen = self.boxer.group, list[VName]()
        sides: list[_Side] = []
        for factor, names in total.lanes:
            seen += names
            sides.append(_Side(factor, frozenset(names)))
            if (group.row in names) != (group.step in names):
                return None
        if len(set(seen)) != len(seen) or self.inner not in seen:
            return None
        sides.sort(key=lambda side: (group.step in side.names, group.place in side.names))
        if margin is not None and not margin.walked <= {side.names for side in sides}:
            return None
        for each in (*self.found, *self.left_out):
            if (each.mem, each.base, each.sides, each.margin) == (
                    load.mem, total.same, tuple(sides), margin):
                return each if each in self.found else None
        array = _Array(load.mem, load.prim, total.same, tuple(sides),
                       self.boxer.k.names.fresh("box"), self.inner, margin)
        wanted = not self.boxer.chosen or self.boxer.chosen >> self.boxer.number & 1
        self.boxer.number += 1
        (self.found if wanted else self.left_out).append(array)
        return array if wanted else None

    def _margin(self, padded: PaddedLoad) -> _Margin | None:
        """The tests of a padded load as sums; None for other tests."""
        tests: list[tuple[Sum, Exp]] = []
        for index, size in padded.tests:
            total = self._sum(index)
            if total is None or self._varies(size):
                return None
            tests.append((total, size))
        return None if self._varies(padded.value) else _Margin(tuple(tests), padded.value)

    def _varies(self, exp: Exp) -> bool:
        """True if an expression may differ between the elements of a box."""
        return bool(memories(exp)) or not variables(exp).isdisjoint(
            (*self.varying, *self.own, *self.boxer.assigned))


@dataclass(frozen=True, slots=True)
class _Margin:
    """The ``value`` where one of the indices of ``tests`` is not inside of its size."""

    tests: tuple[tuple[Sum, Exp], ...]
    value: Exp

    @property
    def walked(self) -> set[frozenset[VName]]:
        """The sets of indices that walk the tested dimensions."""
        return {frozenset(names) for index, _ in self.tests for _, names in index.lanes}

    def around(self, k: CodeBuilder, load: imp.Load, places: Mapping[frozenset[VName], Exp]) -> Exp:
        """The element that is ``load`` inside, at the places that the indices walk to.

        Something is loaded in any case, so that loads need no branches.
        """
        inside: Exp | None = None
        for index, size in self.tests:
            place = index.same
            for factor, names in index.lanes:
                place = op("add", place, op("mul", places[frozenset(names)], factor))
            test = within(place, size)
            inside = test if inside is None else all_of(inside, test)
        assert inside is not None
        found = k.declare("inside", Prim.BOOL, inside)
        there = imp.Select(found, load.index, lit(0), Prim.I64)
        return imp.Select(found, k.declare("loaded", load.prim, replace(load, index=there)),
                          self.value, load.prim)


@dataclass(frozen=True, slots=True)
class _Array:
    """A box: elements ``base`` and further of ``mem`` in every dimension, the last one nearest.

    If it has a ``margin``, some of them do not exist.
    """

    mem: VName
    prim: Prim
    base: Exp
    sides: tuple[_Side, ...]
    local: VName
    inner: VName
    margin: _Margin | None = None

    def at(self, group: GroupIndices) -> Exp:
        """The place in the box of the element that a work-item needs."""
        return self.place(group, [_total([imp.Var(n) for n in sorted(
            side.names, key=lambda n: n.tag)]) for side in self.sides])

    def place(self, group: GroupIndices, indices: Sequence[Exp]) -> Exp:
        """The place of an element in the box."""
        place: Exp = lit(0)
        for side, index in zip(self.sides, indices, strict=True):
            length = _length(group, side)
            if side is self.sides[-1] and self.is_padded(group):
                length = _padded(length)
            place = op("add", op("mul", place, length), index)
        return place

    def is_padded(self, group: GroupIndices) -> bool:
        """True if neighbouring work-items load from neighbouring rows."""
        return group.step in self.sides[-1].names and any(
            group.place in side.names for side in self.sides[:-1])

    def size(self, group: GroupIndices) -> Size:
        """The number of elements of the box."""
        total = Size.of(1)
        for side in self.sides:
            walks = [Size.var(group.points), Size.var(group.steps) * Size.var(group.split),
                     group.places, Size.var(group.tile)]
            chosen = [size for size, walked in zip(walks, _walks(group, side), strict=True)
                      if walked]
            length = Size.of(1 - len(chosen))
            for size in chosen:
                length = length + size
            if side is self.sides[-1] and self.is_padded(group):
                length = _padded_size(length)
            total = total * length
        return total

    def fetch(self, k: CodeBuilder, group: GroupIndices, inner: VName, count: Exp) -> None:
        """Copy the elements that the ``count`` iterations of a tile need.

        Neighbouring work-items copy neighbours.  Each copies a column, so that several elements are
        in flight at a time.
        """
        lengths = [_length(group, side) for side in self.sides]
        near = max(range(len(lengths)), key=lambda n: (
            group.place in self.sides[n].names, inner in self.sides[n].names))
        others = [length for n, length in enumerate(lengths) if n != near]
        used = self.used(k, group, inner, count, near)

        def column(place: Exp) -> None:
            def row(number: Exp) -> None:
                own = op("add", number, imp.Var(group.y))
                places = [k.declare("o", Prim.I64, i) for i in unflat_index(own, others)]
                self._copy(k, group, inner, count, [*places[:near], place, *places[near:]])

            rows = volume(others)
            whole = op("sub", rows, op("rem", rows, imp.Var(group.split)))
            k.loop(whole, row, step=imp.Var(group.split), base="row", unroll=True)
            with k.when(op("lt", op("add", whole, imp.Var(group.y)), rows)):
                row(whole)

        k.loop(used, column, start=imp.Var(group.x), step=imp.Var(group.across), base="column")

    def used(self, k: CodeBuilder, group: GroupIndices, inner: VName, count: Exp, number: int
              ) -> Exp:
        """The length of the used part of a side."""
        length = _length(group, self.sides[number])
        if inner not in self.sides[number].names:
            return length
        return k.declare("used", Prim.I64, op("sub", length, op("sub", imp.Var(group.tile), count)))

    def _copy(self, k: CodeBuilder, group: GroupIndices, inner: VName, count: Exp,
              places: Sequence[Exp]) -> None:
        """Copy an element, or the last one if it does not exist."""
        element = self.element(k, group, inner, count, places)
        k.emit(imp.Store(self.local, self.place(group, places), element, self.prim))

    def element(self, k: CodeBuilder, group: GroupIndices, inner: VName, count: Exp,
                places: Sequence[Exp]) -> Exp:
        """The element of the array that belongs to a place in the box."""
        beyond = {group.place: op("sub", op("sub", group.wide, lit(1)), group.last),
                  inner: op("sub", imp.Var(group.tile), count)}
        source, walked = self.base, dict[frozenset[VName], Exp]()
        for side, place in zip(self.sides, places, strict=True):
            length, inside = _length(group, side), place
            if missing := [exp for name, exp in beyond.items() if name in side.names]:
                inside = op("min", place, op("sub", op("sub", length, lit(1)), _total(missing)))
            walked[side.names] = inside
            source = op("add", source, op("mul", inside, side.factor))
        load = imp.Load(self.mem, source, self.prim)
        return load if self.margin is None else self.margin.around(k, load, walked)


def _fetch_lines(k: CodeBuilder, arrays: Sequence[_Array], group: GroupIndices, inner: VName,
                 count: Exp) -> None:
    """Copy the elements of lines of equal length; all loads of a work-item are before its stores.

    So they are under way together.
    """
    def copy(place: Exp) -> None:
        found = [k.declare("copied", array.prim, array.element(k, group, inner, count, [place]))
                 for array in arrays]
        k.emit(*(imp.Store(array.local, array.place(group, [place]), element, array.prim)
                 for array, element in zip(arrays, found, strict=True)))

    k.loop(arrays[0].used(k, group, inner, count, 0), copy, start=LID, step=LSIZE, base="column")


def _walks(group: GroupIndices, side: _Side) -> tuple[int, int, int, int]:
    """Four flags: segments, elements, work-items and iterations walk a dimension."""
    known: Mapping[VName, int] = {group.segment: 0, group.step: 1, group.row: 1, group.place: 2}
    found = [0, 0, 0, 0]
    for name in side.names:
        found[known.get(name, 3)] = 1
    return found[0], found[1], found[2], found[3]


def _length(group: GroupIndices, side: _Side) -> Exp:
    """The length of a side, from constants of the kernel."""
    counts = (imp.Var(group.points), op("mul", imp.Var(group.steps), imp.Var(group.split)),
              group.wide, imp.Var(group.tile))
    chosen = [count for count, walked in zip(counts, _walks(group, side), strict=True) if walked]
    return op("sub", _total(chosen), lit(len(chosen) - 1))


def _padded(length: Exp) -> Exp:
    """The least odd multiple of :data:`VECTOR_ELEMENTS` that is no less."""
    runs = ceil_quot(length, lit(VECTOR_ELEMENTS))
    return op("mul", lit(VECTOR_ELEMENTS), op("sub", op("mul", lit(2), ceil_quot(
        op("add", runs, lit(1)), lit(2))), lit(1)))


def _padded_size(length: Size) -> Size:
    """:func:`_padded` of a number that the host computes."""
    runs = ceil_div(length, Size.of(VECTOR_ELEMENTS))
    return Size.of(VECTOR_ELEMENTS) * (Size.of(2) * ceil_div(runs + Size.of(1),
                                                             Size.of(2)) - Size.of(1))


def _total(terms: Sequence[Exp]) -> Exp:
    total: Exp = lit(0)
    for term in terms:
        total = op("add", total, term)
    return total
