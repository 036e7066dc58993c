r"""``flatmap``: a map whose rows may differ in size, and which joins them to one array.

An element of a row that a map makes is computed where it stands in the result::

    let rows = scan max 0 (scatter (replicate m 0) offsets (iota n))
    in map2 (\row p -> (f as[row])[p - offsets[row]]) rows (iota m)

Of maps that make a row, the function of one element is left.  Other rows are made twice: a map
finds their lengths, then each point writes its row to its place::

    scatter_stream (replicate m 0) (\acc (a, o) ->
      let row = f a in loop acc for j < length row do write acc (o + j) row[j]) (zip as offsets)

Few points come in turn, as they may have long rows.  So do points whose rows need memory that
nothing bounds.  So do calls of a function that calls itself: f is applied once for each point.  An
iteration appends its row to a buffer that grows twofold, so each element is copied a bounded
number of times on average::

    loop (room = 0, used = 0, data = [], ...) for i < n do
      let row = f as[i]
      let data = if used + length row <= room then data else data ++ blank
      in (..., used + length row, data with [used :+ length row] = row, ...)

If all rows have one size, ``flatmap`` is a map and a reshape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from runelift.frontend.elaborate.arrays import Apply, Arrays
from runelift.frontend.elaborate.builder import Scope
from runelift.frontend.elaborate.scalars import Evaluator
from runelift.frontend.elaborate.values import (
    UNIT,
    Accumulator,
    Dynamic,
    TupleValue,
    Value,
    leaves,
    outer_size,
    rebuild,
)
from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import APPENDS
from runelift.ir.analysis.unbounded import unbounded_size
from runelift.ir.base import failures
from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, rename_lambda, statements_inside
from runelift.ir.types import TRUE, Atom, Type, array_of, i64, row_of, shape_of


class Joined(NamedTuple):
    """The rows of all points, one after the other, and where each of them is."""

    lengths: Dynamic
    flags: Dynamic
    offsets: Dynamic
    data: Value
    values: Value | None


FEW = 32
"""So many points come in turn: a launch takes about as long as 1000 steps of a work-item."""


class _Made(NamedTuple):
    """The arrays with a row or value for each point, as :class:`Joined` has them.

    There are ``offsets`` if rows were put to them.
    """

    lengths: Dynamic
    data: list[Dynamic]
    values: list[Dynamic]
    offsets: Dynamic | None = None


class Point:
    """The function of a ``flatmap``; ``valued``: it returns a pair of a row and a value."""

    def __init__(self, f: Apply, *, valued: bool) -> None:
        self._f = f
        self._valued = valued

    def parts(self, args: tuple[Value, ...]) -> tuple[Value, Value | None]:
        """The row, and the value if there is one."""
        found = self._f(args)
        if not self._valued:
            return found, None
        assert isinstance(found, TupleValue)
        row, value = found.items
        return row, value

    def row(self, args: tuple[Value, ...]) -> Value:
        """The row."""
        return self.parts(args)[0]

    def length(self, args: tuple[Value, ...]) -> Value:
        """The length of the row."""
        return Dynamic(outer_size(self.row(args)), Prim.I64)

    def values(self, arrays: Arrays, array: Value, span: Span) -> list[Dynamic]:
        """The values of all points, if there are any."""
        if not self._valued:
            return []
        return list(leaves(arrays.map(lambda args: self.parts(args)[1] or UNIT, [array], span)))


def flatmap(e: Evaluator, f: Point, array: Value, span: Span) -> Joined:
    """``flatmap f array``."""
    arrays = e.arrays
    inputs = [arrays.name(leaf, span) for leaf in leaves(array)]
    width = shape_of(inputs[0].type)[0]
    builder = arrays.builder
    with builder.scope() as scope:
        index = builder.names.fresh("i")
        scope.bound.add(index)
        given = arrays.index(rebuild(array, iter(inputs)), [index], span, checked=False)
        row, value = f.parts((given,))
    rows, kept = list(leaves(row)), [] if value is None else list(leaves(value))
    count = shape_of(rows[0].type)[0]
    inner = [size for leaf in rows for size in shape_of(leaf.type)[1:]]
    for size in (*inner, *(size for leaf in kept for size in shape_of(leaf.type))):
        if not builder.release(size, scope):
            raise ProgramError(Diagnostic(
                "irregular-array", span, "The size of an element or value of this flatmap is known "
                "only inside of it, so it might be another one for each."))
    turns = _Turns(arrays, scope, index, width, span)
    calls = any(isinstance(stm.exp, ir.Call | ir.Recursion)
                for stm in statements_inside((ir.Body(tuple(scope.stms), ()),)))
    if builder.release(count, scope):
        made = turns.regular(rows, kept, count)
    elif calls or unbounded_size(scope.stms) is not None:
        made = turns.growing(rows, kept, count)
    elif all(_is_elementwise(leaf, scope) for leaf in rows):
        made = _by_element(arrays, f, array, span)
    else:
        made = _by_point(e, f, array, turns, rows, kept)
    offsets = made.offsets or _offsets(arrays, made.lengths, span)
    data = rebuild(row, iter(made.data))
    return Joined(made.lengths, _flags(arrays, made.lengths, offsets, outer_size(data), span),
                  offsets, data, None if value is None else rebuild(value, iter(made.values)))


def _is_elementwise(leaf: Dynamic, scope: Scope) -> bool:
    """True if an element of a row can be computed alone.

    A map makes the row, or views show it; :class:`_Alone` looks for maps behind slices only.
    """
    made = {p.name: stm.exp for stm in scope.stms for p in stm.pat}
    todo: list[tuple[Atom, bool]] = [(leaf.atom, True)]
    while todo:
        name, alone = todo.pop()
        match made.get(name) if isinstance(name, VName) else None:
            case None | ir.Iota() | ir.Replicate() | ir.ArrayLit():
                pass
            case ir.Map() if alone:
                pass
            case ir.AtomExp(array) | ir.Index(array, (ir.SliceDim(),), False):
                todo.append((array, alone))
            case ir.Index(array) | ir.Rearrange(_, array) | ir.Reshape(_, array):
                todo.append((array, False))
            case _:
                return False
    return True


def _by_element(arrays: Arrays, f: Point, array: Value, span: Span) -> _Made:
    """``flatmap`` where an element of the result is computed alone."""
    builder = arrays.builder
    lengths, offsets, total = _places(arrays, f, array, span)
    points = arrays.iota(outer_size(array), i64(0), i64(1), Prim.I64, span)
    heads = arrays.scatter(arrays.blank(array_of((total,), Prim.I64), span),
                           [_heads(arrays, lengths, offsets, span)], points, span)
    rows = arrays.scan(_operation(arrays, "max", span), Dynamic(i64(0), Prim.I64), heads, span)
    places = arrays.iota(total, i64(0), i64(1), Prim.I64, span)

    def element(args: tuple[Value, ...]) -> Value:
        (point,), (place,) = leaves(args[0]), leaves(args[1])
        (start,) = leaves(arrays.index(offsets, [point.atom], span, checked=False))
        inside = builder.op("sub", Prim.I64, (place.atom, start.atom), span)
        scope = builder.scopes[-1]
        begin = len(scope.stms)
        row = f.row((arrays.index(array, [point.atom], span, checked=False),))
        return _Alone(arrays, scope, begin, span).element(row, inside)

    data = list(leaves(arrays.map(element, [rows, places], span)))
    return _Made(lengths, data, f.values(arrays, array, span), offsets)


class _Alone:
    """An element of a row, without the row.

    Statements of the scope from ``begin`` on make the row.  Maps among them are left out, as every
    element of the row is computed at its own place, where it fails if it does.
    """

    def __init__(self, arrays: Arrays, scope: Scope, begin: int, span: Span) -> None:
        self.arrays, self.builder, self.span = arrays, arrays.builder, span
        self.scope, self.begin = scope, begin
        self.made = {p.name: stm for stm in scope.stms[begin:] for p in stm.pat}
        self.taken = set[int]()
        self.found = dict[tuple[Atom, Atom], Atom]()

    def element(self, row: Value, index: Atom) -> Value:
        """The element of a row."""
        kinds = [row_of(leaf.type) for leaf in leaves(row)]
        atoms = [self._at(leaf.atom, leaf.type, index) for leaf in leaves(row)]
        used, kept = set(atoms), list[ir.Stm]()
        for stm in reversed(self.scope.stms[self.begin:]):
            if id(stm) not in self.taken or not used.isdisjoint(p.name for p in stm.pat):
                used |= free_vars(stm)
                kept.append(stm)
        self.scope.stms[self.begin:] = reversed(kept)
        return rebuild(row, map(Dynamic, atoms, kinds))

    def _at(self, array: Atom, type_: Type, index: Atom) -> Atom:
        """The element of an array of the row."""
        stm = self.made.get(array) if isinstance(array, VName) else None
        match stm:
            case ir.Stm((_,), ir.AtomExp(same)):
                self.taken.add(id(stm))
                return self._at(same, type_, index)
            case ir.Stm((_,), ir.Index(origin, (ir.SliceDim(start, _, stride),), False)):
                self.taken.add(id(stm))
                steps = self.builder.op("mul", Prim.I64, (index, stride), self.span)
                place = self.builder.op("add", Prim.I64, (start, steps), self.span)
                return self._at(origin, type_, place)
            case ir.Stm(pat, ir.Map(width, lam, inputs)) if (array, index) not in self.found:
                self.taken.add(id(stm))
                lam = rename_lambda(lam, self.builder.names)
                for param, given in zip(lam.params, inputs, strict=True):
                    value = self._at(given, array_of((width,), param.type), index)
                    self.builder.emit_stm((param,), ir.AtomExp(value), self.span)
                self.scope.stms += lam.body.stms
                self.scope.bind(p for each in lam.body.stms for p in each.pat)
                self.found |= {(p.name, index): atom for p, atom in zip(
                    pat, lam.body.result, strict=True)}
        if (known := self.found.get((array, index))) is not None:
            return known
        (found,) = leaves(self.arrays.index(Dynamic(array, type_), [index], self.span,
                                            checked=False))
        return found.atom


def _by_point(e: Evaluator, f: Point, array: Value, turns: _Turns, rows: Sequence[Dynamic],
              kept: Sequence[Dynamic]) -> _Made:
    """``flatmap`` where each point writes its row, unless there are few points on the host."""
    arrays, span = turns.arrays, turns.span
    if arrays.lambdas:
        return _written(arrays, f, array, rows, span)
    count = shape_of(rows[0].type)[0]
    few = Dynamic(arrays.builder.op("le", Prim.I64, (turns.width, i64(FEW)), span), Prim.BOOL)

    def joined(made: _Made) -> Value:
        return TupleValue((made.lengths, TupleValue(tuple(made.data)),
                           TupleValue(tuple(made.values))))

    found = e.branch(few, lambda: joined(turns.growing(rows, kept, count)),
                     lambda: joined(_written(arrays, f, array, rows, span)), span)
    assert isinstance(found, TupleValue)
    lengths, data, values = found.items
    assert isinstance(lengths, Dynamic)
    return _Made(lengths, list(leaves(data)), list(leaves(values)))


def _written(arrays: Arrays, f: Point, array: Value, rows: Sequence[Dynamic],
             span: Span) -> _Made:
    """The rows, each of which its point writes to its place."""
    builder = arrays.builder
    lengths, offsets, total = _places(arrays, f, array, span)
    blanks = tuple(arrays.blank(array_of((total,), row_of(leaf.type)), span) for leaf in rows)

    def write(args: tuple[Value, ...]) -> Value:
        acc, point = args
        assert isinstance(acc, Accumulator)
        assert isinstance(point, TupleValue)
        item, start = point.items
        row = TupleValue(tuple(leaves(f.row((item,)))))
        (offset,) = leaves(start)
        with builder.scope() as scope:
            index = builder.names.fresh("j")
            scope.bound.add(index)
            token = builder.fresh("acc", Prim.BOOL)
            place = builder.op("add", Prim.I64, (offset.atom, index), span)
            element = arrays.index(row, [index], span, checked=False)
            inside = replace(acc, token=Dynamic(token.name, Prim.BOOL))
            after = arrays.write(inside, place, element, span)
        ((before,), (last,)) = leaves(acc), leaves(after)
        loop = ir.Loop((ir.LoopParam(token, before.atom),),
                       ir.ForLoop(index, outer_size(row)), builder.body(scope, (last.atom,)))
        return replace(acc, token=Dynamic(builder.emit1(loop, Prim.BOOL, "acc", span), Prim.BOOL))

    data = arrays.accumulate(TupleValue(blanks), None, write, TupleValue((array, offsets)), span)
    return _Made(lengths, list(leaves(data)), f.values(arrays, array, span), offsets)


def _places(arrays: Arrays, f: Point, array: Value, span: Span) -> tuple[Dynamic, Dynamic, Atom]:
    """The lengths and offsets of all rows, and the sum of the lengths."""
    lengths = arrays.map(f.length, [array], span)
    assert isinstance(lengths, Dynamic)
    offsets = _offsets(arrays, lengths, span, checked=True)
    (total,) = leaves(arrays.reduce(_operation(arrays, "add", span), Dynamic(i64(0), Prim.I64),
                                    lengths, span))
    return lengths, offsets, total.atom


class _Turns:
    """The points of a ``flatmap``: the body of one, built as ``scope``, for ``index < width``."""

    def __init__(self, arrays: Arrays, scope: Scope, index: VName, width: Atom, span: Span) -> None:
        self.arrays, self.builder = arrays, arrays.builder
        self.scope, self.index, self.width, self.span = scope, index, width, span

    def regular(self, rows: Sequence[Dynamic], kept: Sequence[Dynamic], count: Atom) -> _Made:
        """Rows of one size, which is known outside of the body: a map over the points."""
        arrays, builder, span = self.arrays, self.builder, self.span
        points = arrays.iota(self.width, i64(0), i64(1), Prim.I64, span)
        every = (*rows, *kept)
        body = builder.body(self.scope, tuple(leaf.atom for leaf in every))
        lam = ir.Lambda((ir.Param(self.index, Prim.I64),), body, tuple(leaf.type for leaf in every))
        assert isinstance(points.atom, VName)
        types = tuple(array_of((self.width,), leaf.type) for leaf in every)
        names = builder.emit(ir.Map(self.width, lam, (points.atom,)), types,
                             ("rows",) * len(rows) + ("values",) * len(kept), span)
        made = list(map(Dynamic, names, types))
        total = builder.op("mul", Prim.I64, (self.width, count), span)
        data = [leaf for array in made[:len(rows)]
                for leaf in leaves(arrays.reshape(2, (total,), array, span))]
        lengths = arrays.replicate(self.width, Dynamic(count, Prim.I64), span)
        assert isinstance(lengths, Dynamic)
        return _Made(lengths, data, made[len(rows):])

    def growing(self, rows: Sequence[Dynamic], kept: Sequence[Dynamic], count: Atom) -> _Made:
        """Rows of any size: a loop over the points that appends to a buffer."""
        builder, span = self.builder, self.span
        per_point = [Dynamic(count, Prim.I64), *kept]
        types = [array_of((self.width,), leaf.type) for leaf in per_point]
        starts = [self.arrays.blank(type_, span) for type_ in types]
        empty = [self.arrays.blank(array_of((i64(0),), row_of(leaf.type)), span) for leaf in rows]
        with builder.reopen(self.scope):
            room, used = (builder.fresh(base, Prim.I64) for base in ("room", "used"))
            data = [builder.fresh("data", array_of((room.name,), row_of(leaf.type)))
                    for leaf in rows]
            points = [builder.fresh("points", type_) for type_ in types]
            after = builder.op("add", Prim.I64, (used.name, count), span)
            place = ir.SliceDim(used.name, count, i64(1))
            grown = self._grown(room, data, after)
            written = [self._written(array, (place,), leaf.atom)
                       for array, leaf in zip(grown[1:], rows, strict=True)]
            noted = [self._written(array, (self.index,), leaf.atom)
                     for array, leaf in zip(points, per_point, strict=True)]
        body = builder.body(self.scope, (grown[0].name, after, *written, *noted))
        params = (room, used, *data, *points)
        inits = (i64(0), i64(0), *(each.atom for each in (*empty, *starts)))
        loop = ir.Loop(tuple(map(ir.LoopParam, params, inits)), ir.ForLoop(self.index, self.width),
                       body)
        return self._results(loop, len(rows))

    def _grown(self, room: ir.Param, data: Sequence[ir.Param], after: Atom) -> list[ir.Param]:
        """The room of a buffer for ``after`` elements, and its arrays."""
        builder, span = self.builder, self.span
        fits = builder.op("le", Prim.I64, (after, room.name), span)
        with builder.scope() as stays:
            pass
        with builder.scope() as grows:
            twice = builder.op("mul", Prim.I64, (room.name, i64(2)), span)
            most = builder.op("max", Prim.I64, (twice, after), span)
            more = builder.op("sub", Prim.I64, (most, room.name), span)
            wider = []
            for array in data:
                blank = self.arrays.blank(array_of((more,), row_of(array.type)), span)
                assert isinstance(blank.atom, VName)
                wider.append(builder.emit1(ir.Concat(0, (array.name, blank.atom), most),
                                           array_of((most,), row_of(array.type)), "data", span))
        size = builder.fresh("room", Prim.I64)
        pat = (size, *(builder.fresh("data", array_of((size.name,), row_of(array.type)))
                       for array in data))
        kept = builder.body(stays, (room.name, *(array.name for array in data)))
        node = ir.If(fits, kept, builder.body(grows, (most, *wider)), tuple(p.type for p in pat))
        builder.emit_stm(pat, node, span)
        return list(pat)

    def _written(self, array: ir.Param, dims: tuple[ir.Dim, ...], value: Atom) -> VName:
        """An array with a row or an element replaced."""
        rest = (ir.SliceDim(i64(0), size, i64(1)) for size in shape_of(array.type)[1:])
        return self.builder.emit1(ir.Update(array.name, (*dims, *rest), value), array.type,
                                  array.name.base, self.span)

    def _results(self, loop: ir.Loop, rows: int) -> _Made:
        """The results of the loop, without the room that no row takes."""
        builder, span = self.builder, self.span
        room, used = (builder.fresh(base, Prim.I64) for base in ("room", "total"))
        rest: list[ir.Param] = []
        for number, each in enumerate(loop.params[2:]):
            type_: Type = each.param.type
            if number < rows:
                type_ = array_of((room.name,), row_of(type_))
            rest.append(builder.fresh(each.param.name.base, type_))
        with builder.attribute(APPENDS):
            builder.emit_stm((room, used, *rest), loop, span)
        data = [leaf for p in rest[:rows] for leaf in leaves(self.arrays.slice(
            Dynamic(p.name, p.type), i64(0), used.name, span, checked=False))]
        lengths, *values = (Dynamic(p.name, p.type) for p in rest[rows:])
        return _Made(lengths, data, values)


def _operation(arrays: Arrays, name: str, span: Span) -> Apply:
    """An operation on i64s."""
    def run(args: tuple[Value, ...]) -> Value:
        atoms = tuple(leaf.atom for arg in args for leaf in leaves(arg))
        return Dynamic(arrays.builder.op(name, Prim.I64, atoms, span), Prim.I64)
    return run


def _offsets(arrays: Arrays, lengths: Dynamic, span: Span, *, checked: bool = False) -> Dynamic:
    """The place of each row: the sum of the lengths before it.

    It must be ``checked`` that no sum wraps around, unless the rows are in memory already.
    """
    builder, subtract = arrays.builder, _operation(arrays, "sub", span)
    ends = arrays.scan(_operation(arrays, "add", span), Dynamic(i64(0), Prim.I64), lengths, span)

    def place(args: tuple[Value, ...]) -> Value:
        if checked:
            (end,) = leaves(args[0])
            fine = builder.op("le", Prim.I64, (i64(0), end.atom), span)
            builder.emit_stm((), ir.Assert(fine, failures.ELEMENTS, ()), span)
        return subtract(args)

    found = arrays.map(place, [ends, lengths], span)
    assert isinstance(found, Dynamic)
    return found


def _heads(arrays: Arrays, lengths: Dynamic, offsets: Dynamic, span: Span) -> Dynamic:
    """The places of the first elements of rows; -1 for an empty row."""
    builder = arrays.builder

    def place(args: tuple[Value, ...]) -> Value:
        (length,), (offset,) = leaves(args[0]), leaves(args[1])
        some = builder.op("min", Prim.I64, (length.atom, i64(1)), span)
        after = builder.op("add", Prim.I64, (offset.atom, i64(1)), span)
        scaled = builder.op("mul", Prim.I64, (some, after), span)
        return Dynamic(builder.op("sub", Prim.I64, (scaled, i64(1)), span), Prim.I64)

    places = arrays.map(place, [lengths, offsets], span)
    assert isinstance(places, Dynamic)
    return places


def _flags(arrays: Arrays, lengths: Dynamic, offsets: Dynamic, total: Atom, span: Span) -> Dynamic:
    """True for the first element of each row; an empty row has none."""
    true = arrays.replicate(outer_size(lengths), Dynamic(TRUE, Prim.BOOL), span)
    blank = arrays.blank(array_of((total,), Prim.BOOL), span)
    found = arrays.scatter(blank, [_heads(arrays, lengths, offsets, span)], true, span)
    assert isinstance(found, Dynamic)
    return found
