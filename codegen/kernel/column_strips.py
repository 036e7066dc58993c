"""Strips: neighbouring columns of a matrix that a work-item reduces together.

A work-item that reduces one column after the other uses a single element of each cache line.  A
strip has a total for each of its columns and goes through the rows once.  So it reads neighbouring
elements, and the compiler makes vector instructions of the loop over the columns.  The last strip
begins early enough to be as broad as every other strip.

A strip of a product has several rows of points, too.  It loads the elements of a column once for
all of them, and keeps all totals in registers.

Source: loop interchange of a map with the reduction inside of it (Allen and Kennedy 2001,
"Optimizing Compilers for Modern Architectures").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.soacs import SecondOrder
from runelift.codegen.passes.trips import with_trips
from runelift.codegen.plan.views import View, all_of, lit, op
from runelift.ir import imp
from runelift.ir.analysis.products import Reducing, dependences, is_cheap, reducing
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, If, Map, Operator
from runelift.ir.types import Atom, Const, i64

STRIP_COLUMNS = 16
"""The columns of a strip if a work-item goes through all strips."""
LANE_STATEMENTS = 24
"""Elements that take more statements are not computed for all lanes of a vector at once."""
LEAST_ROWS = 4
"""Fewer rows than this are not worth the lanes."""
CHAINS = 4
"""The lanes that keep a core busy where each is a chain of dependent instructions."""
MOST_VALUES = 4
"""The most values of an operator that all lanes keep in registers."""
SHORT_WALK = 4
"""Innermost loops of up to so many iterations, as for windows, are unrolled."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Reductions at points whose last index picks a column, in nested loops of ``lengths``.

    ``element`` writes the code for an element, given the indices of its column and of its row.
    ``finish`` writes that for the results of a column, given its totals.  Points that differ in
    index ``down`` alone, if there is one, share a column.  They combine its elements with different
    elements.  Elements of neighbouring columns may lie ``apart``.
    """

    lengths: tuple[Atom, ...]
    ops: tuple[Operator, ...]
    element: Callable[[SecondOrder, Sequence[Exp], Sequence[Exp]], Sequence[Value]]
    finish: Callable[[SecondOrder, Sequence[View], Sequence[Exp], Sequence[Exp]], None]
    down: int | None = None
    apart: bool = False

    @property
    def prims(self) -> list[Prim]:
        """The types of the totals of all operators."""
        return [t for o in self.ops for t in o.lam.ret if isinstance(t, Prim)]


def is_straight(parts: Reducing, varying: Iterable[VName]) -> bool:
    """True if elements cost little, and columns that differ in ``varying`` are alike.

    Such columns have equally many elements, and equal neutral elements.
    """
    redomap = parts.redomap
    made = {*varying, *(p.name for stm in parts.before for p in stm.pat)}
    return made.isdisjoint((redomap.width, *(a for o in redomap.ops for a in o.neutral))) and all(
        map(is_cheap, (redomap.lam.body, *(o.lam.body for o in redomap.ops))))


def columns_of_lambda(k: SecondOrder, exp: Map) -> Columns | None:
    """A map inside of a work-item as reductions down columns; None for other maps."""
    parts = reducing(exp.lam.body, exp.lam.ret)
    params = {p.name: array for p, array in zip(exp.lam.params, exp.arrays, strict=True)}
    if parts is None or not is_straight(parts, params):
        return None
    redomap, uses = parts.redomap, dependences(parts.before)
    varying = [a for a in redomap.arrays if not uses.get(a, {a}).isdisjoint(params)]
    if not varying or not all(a in params and k.array(params[a]).near == 0 for a in varying):
        return None
    needed = parts.needed([*redomap.arrays, *parts.inner_names()])

    def element(k: SecondOrder, point: Sequence[Exp], row: Sequence[Exp]) -> Sequence[Value]:
        k.bind_all(exp.lam.params, k.elements(exp.lam, exp.arrays, point[-1]))
        k.body(Body(needed, ()))
        return k.apply(redomap.lam, k.elements(redomap.lam, redomap.arrays, row[0]))

    def finish(k: SecondOrder, outs: Sequence[View], point: Sequence[Exp],
               totals: Sequence[Exp]) -> None:
        k.bind_all(exp.lam.params, k.elements(exp.lam, exp.arrays, point[-1]))
        for out, value in zip(outs, k.finish_reduction(parts, totals), strict=True):
            k.store(out, point, value)

    return Columns((redomap.width,), redomap.ops, element, finish)


def all_strips(k: SecondOrder, columns: Columns, outs: Sequence[View], width: Exp) -> None:
    """Emit a work-item that goes through all ``width`` columns, which are enough for a strip."""
    k.loop(width, lambda own: ColumnStrip(k, columns, STRIP_COLUMNS, (), own, width).whole(outs),
           step=lit(STRIP_COLUMNS), base="own")


def _is_simple(body: Body) -> bool:
    """True if a body is cheap, or makes choices between what is."""
    return all(_is_simple(stm.exp.then_) and _is_simple(stm.exp.else_) if isinstance(stm.exp, If)
               else is_cheap(Body((stm,), ())) for stm in body.stms)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The way in which a work-item of a processor folds ``count`` elements at a time.

    They are neighbours, for the lanes of a vector, or they lie ``apart``: each lane has contiguous
    elements, so operators need not commute.
    """

    count: int
    apart: bool


def lanes_of(k: SecondOrder, ops: Sequence[Operator], body: Body, *, part: bool = False
             ) -> Lanes | None:
    """The lanes that fold elements faster than a sequential loop; None if no lanes do.

    Compilers fold simple types by vectors where they can.  An operation on f16 is a chain of
    instructions, as rounding is.  Operators on several values, as for the place of the greatest
    element, are chains of choices.  ``part``: elements are many, a work-item's part of a segment.
    """
    prims = [t for o in ops for t in o.lam.ret]
    if k.host.interleave or len(body.stms) > LANE_STATEMENTS or not all(
            map(_is_simple, (body, *(o.lam.body for o in ops)))) or not all(
            isinstance(t, Prim) for t in prims):
        return None
    if any(not o.comm or len(o.lam.ret) > 1 for o in ops):
        return Lanes(CHAINS, apart=True) if len(prims) <= MOST_VALUES else None
    if part or all(t is Prim.F16 for t in prims):
        return Lanes(STRIP_COLUMNS, apart=False)
    return None


def fold_lanes(k: SecondOrder, lanes: Lanes, ops: Sequence[Operator],
               totals: Sequence[Sequence[imp.Var]], element: Callable[[Exp], Sequence[Value]],
               part: tuple[Exp, Exp], trips: imp.Trips | None = None) -> Exp:
    """Fold the elements of a part as a matrix with a column for each lane, unless there are few.

    ``element`` writes the code for an element.  A part is the first element and the end.  The
    result is the first of the remaining elements.  ``trips`` are the elements that are expected in
    parts, if these differ in length.
    """
    (start, end), count = part, lit(lanes.count)
    rows = imp.Var(k.names.fresh("rows"))
    k.emit(imp.Declare(rows.name, Prim.I64, op("quot", op("sub", end, start), count),
                       expected=None if trips is None else op("quot", usual(trips), count)),
           imp.If(op("lt", rows, lit(LEAST_ROWS)), (imp.Assign(rows.name, lit(0)),)))

    def at_place(_: SecondOrder, point: Sequence[Exp], row: Sequence[Exp]) -> Sequence[Value]:
        place = (op("add", op("mul", point[-1], rows), row[0]) if lanes.apart
                 else op("add", op("mul", row[0], count), point[-1]))
        return element(k.declare("e", Prim.I64, op("add", start, place)))

    def nothing(*_: object) -> None:
        return

    with k.block() as code:
        strip = ColumnStrip(k, Columns((i64(0),), tuple(ops), at_place, nothing), lanes.count, (),
                            lit(0), count)
        held = strip.reduce(lit(0), rows)
        k.loop(count, lambda c: k.accumulate_all(ops, totals, strip.held(held, c)), base="lane",
               unroll=lanes.apart)
    k.emit(imp.If(op("lt", lit(0), rows), tuple(code if trips is None else with_trips(
        code, trips))))
    return k.declare("start", Prim.I64, op("add", start, op("mul", rows, count)))


def usual(trips: imp.Trips) -> Exp:
    """The mean number of iterations of a run."""
    return op("quot", trips.count, op("max", lit(1), trips.among))


def beside_lanes(lanes: Lanes, trips: imp.Trips) -> imp.Trips:
    """The iterations that are left if :func:`fold_lanes` takes elements first; at least one."""
    mean = usual(trips)
    rows = op("quot", mean, lit(lanes.count))
    rest = op("sub", mean, op("mul", rows, lit(lanes.count)))
    few, all_ = op("lt", rows, lit(LEAST_ROWS)), op("max", lit(1), mean)

    def left(number: Exp) -> Exp:
        part = op("quot", op("mul", number, op("max", lit(1), rest)), all_)
        return imp.Select(few, number, part, Prim.I64)

    return imp.Trips(left(trips.count), trips.among, left(trips.longest))


def _has_vectors_by_loads(operator: Operator) -> bool:
    """True if compilers for processors make vectors of a strip's totals without being shown.

    They do for selections of floats, such as the greatest one (PoCL 3 with LLVM 14, measured).
    """
    selects = operator.primitive is None or operator.primitive[0] not in ("add", "mul")
    return selects and any(isinstance(t, Prim) and t.is_float for t in operator.lam.ret)


@dataclass(frozen=True, slots=True)
class StripRows:
    """The rows of a strip: ``count`` rows from ``own`` on, with ``cells`` points in all.

    ``width`` is the number of all rows.
    """

    count: VName
    cells: VName
    own: Exp
    width: Exp


class ColumnStrip:
    """The code for the ``breadth`` columns from ``own`` on, of ``width``, at indices ``outer``.

    With ``rows``, the strip has several points along index ``down`` of the columns.
    """

    def __init__(self, k: SecondOrder, columns: Columns, breadth: VName | int,
                 outer: Sequence[Exp], own: Exp, width: Exp, rows: StripRows | None = None) -> None:
        self.k, self.columns, self.rows = k, columns, rows
        self.length = breadth if rows is None else rows.cells
        self.breadth: Exp = lit(breadth) if isinstance(breadth, int) else imp.Var(breadth)
        self.outer, self.own = outer, own
        self.first = k.declare("first", Prim.I64, op("min", own, op("sub", width, self.breadth)))
        if rows is not None:
            last = op("sub", rows.width, imp.Var(rows.count))
            self.first_row = k.declare("first", Prim.I64, op("min", rows.own, last))

    def each(self, work: Callable[[list[Exp], Exp], None], *, unroll: bool = True) -> None:
        """Emit a loop over the points; ``work`` gets the indices of a point and its number."""
        k, rows = self.k, self.rows

        def column(outer: Sequence[Exp], c: Exp, cell: Exp) -> None:
            work([*outer, k.declare("column", Prim.I64, op("add", self.first, c))], cell)

        if rows is None:
            k.loop(self.breadth, lambda c: column(self.outer, c, c), base="c", unroll=unroll)
            return

        def row(r: Exp) -> None:
            point = list(self.outer)
            assert self.columns.down is not None
            point[self.columns.down] = k.declare("row", Prim.I64, op("add", self.first_row, r))
            k.loop(self.breadth, lambda c: column(point, c, op(
                "add", op("mul", r, self.breadth), c)), base="c", unroll=unroll)

        k.loop(imp.Var(rows.count), row, base="r", unroll=unroll)

    def each_own(self, totals: Sequence[VName],
                 work: Callable[[list[Exp], Sequence[Exp]], None]) -> None:
        """Call ``work`` with the indices and totals of each point of no previous strip.

        Where columns are read far apart, stores without conditions show compilers the vectors.
        Where they are not, loads do, and vectors need not last until the stores.  For sums and
        integers, compilers for processors want such stores nevertheless: into private arrays.
        """
        k, rows, down = self.k, self.rows, self.columns.down

        def own(name: str, column: Exp, row: Exp | None) -> Exp:
            found: Exp = imp.Apply(name, Prim.I64, (self.own, column))
            if rows is None or row is None:
                return found
            return all_of(found, imp.Apply(name, Prim.I64, (rows.own, row)))

        def plain(point: list[Exp], c: Exp) -> None:
            work(point, self.held(totals, c))

        def guarded(point: list[Exp], c: Exp) -> None:
            with k.when(own("le", point[-1], None if down is None else point[down])):
                plain(point, c)

        if not self.columns.apart:
            by_loads = k.host.interleave or any(map(_has_vectors_by_loads, self.columns.ops))
            if not by_loads:
                totals = self._kept(totals)
            self.each(guarded, unroll=by_loads)
            return
        with k.block() as all_own:
            self.each(plain)
        with k.block() as some_own:
            self.each(guarded)
        whole = own("eq", self.first, None if rows is None else self.first_row)
        k.emit(imp.If(whole, tuple(all_own), tuple(some_own)))

    def _kept(self, totals: Sequence[VName]) -> list[VName]:
        """Copies of the totals in private arrays."""
        k, prims = self.k, self.columns.prims
        copies = [k.names.fresh("kept") for _ in prims]
        k.emit(*(imp.DeclareArray(name, prim, self.length)
                 for name, prim in zip(copies, prims, strict=True)))
        self.each(lambda _, c: k.emit(*(
            imp.Store(name, c, value, prim)
            for name, value, prim in zip(copies, self.held(totals, c), prims, strict=True))))
        return copies

    def reduce(self, start: Exp, end: Exp) -> list[VName]:
        """Reduce rows, from ``start`` to ``end`` of the outermost loop; private arrays hold the
        totals.
        """
        k, ops, prims = self.k, self.columns.ops, self.columns.prims
        totals = [k.names.fresh("total") for _ in prims]
        neutral = [atom for o in ops for atom in o.neutral]
        k.emit(*(imp.DeclareArray(name, prim, self.length)
                 for name, prim in zip(totals, prims, strict=True)))
        self.each(lambda _, c: k.emit(*(imp.Store(name, c, k.scalar(atom), prim)
                                        for name, atom, prim in zip(totals, neutral, prims,
                                                                    strict=True))))

        def element(point: list[Exp], c: Exp, row: Sequence[Exp]) -> None:
            values = self.columns.element(k, point, row)
            held = [k.declare("total", prim, value)
                    for prim, value in zip(prims, self.held(totals, c), strict=True)]
            of_each = iter(held)
            k.accumulate_all(ops, [[next(of_each) for _ in o.neutral] for o in ops], values)
            k.emit(*(imp.Store(name, c, value, prim)
                     for name, value, prim in zip(totals, held, prims, strict=True)))

        def walk(outer: Sequence[Exp]) -> None:
            inner = self.columns.lengths[len(outer):]
            if not inner:
                self.each(lambda point, c: element(point, c, outer))
            else:
                short = isinstance(inner[0], Const) and inner[0].value <= SHORT_WALK
                k.loop(k.scalar(inner[0]), lambda row: walk([*outer, row]), base="row",
                       unroll=short and len(inner) == 1)

        k.loop(end, lambda row: walk([row]), start=start, base="row")
        return totals

    def held(self, totals: Sequence[VName], c: Exp) -> list[Exp]:
        """The totals of column ``c``, loaded from private arrays."""
        return [imp.Load(name, c, prim)
                for name, prim in zip(totals, self.columns.prims, strict=True)]

    def whole(self, outs: Sequence[View]) -> None:
        """Reduce whole columns and write their results."""
        totals = self.reduce(lit(0), self.k.scalar(self.columns.lengths[0]))
        self.each_own(totals, lambda point, values: self.columns.finish(
            self.k, outs, point, values))
