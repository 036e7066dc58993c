"""Maps, reductions and rows whose width differs between the points of Σ: G10, G13 and G21."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import APPENDS
from runelift.ir.names import VName
from runelift.ir.operators import is_identity
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.traverse import free_vars, statements_inside
from runelift.ir.types import Atom, array_of, as_name, i64, shape_of
from runelift.rewrite.engine.pick import let, names_in
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import Segments, show_nest
from runelift.rewrite.flatten.parallelism import called_in, has_parallelism, scalar_operator
from runelift.rewrite.flatten.rules.common import IN_TURN, attempted
from runelift.rewrite.flatten.rules.reductions import map_first, operator_needs_nest
from runelift.rewrite.flatten.segments import (
    bind_parts,
    define_number,
    elements_nest,
    packed,
    ragged_nest,
    segments_of,
    with_offsets,
)
from runelift.rewrite.flatten.walk import Walk


@flattening("G10", ir.Map)
def map_over_segments(walk: Walk, stm: ir.Stm, soac: ir.Map) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ Σ ▷ l ⊢ e, x := xs[j]      l, the width, differs between points

    Σ ▷ l is ⟨p < m⟩ with i := own[p] and j := p − off[i].  So points keep their order, i before j.
    The result is y := y'[off[i] :+ l], where y' : [m]t holds the results of all points.
    """
    if why := unfit(walk, soac.width):
        return why
    assert isinstance(soac.width, VName)
    if why := shapes_differ(walk, soac.lam) or walk.prepare(stm):
        return why
    walk.check_definitions(stm)
    inner = elements_nest(walk, soac.width).of(soac.lam, soac.arrays, walk.loc)
    walk.flattener.derivation.fired("G10", stm, f"its points are {show_nest(inner)}")
    with walk.flattener.derivation.inside():
        flat, _ = walk.flattener.body(inner, soac.lam.body, soac.lam.ret)
    total = segments_of(walk, soac.width).total
    host = tuple(walk.fresh(p.name, array_of((total,), type_))
                 for p, type_ in zip(stm.pat, soac.lam.ret, strict=True))
    walk.emit_body(host, flat)
    bind_parts(walk, stm.pat, host, soac.width)
    return None


@flattening("G13", ir.Redomap)
def reduction_of_segments(walk: Walk, stm: ir.Stm, soac: ir.Redomap) -> str | None:
    """Σ ⊢ redomap ⊕ e f xs ⇒ segred ⟨Σ, j < l⟩ ⊕ e f      l, the width, differs between points

    Element i of the result is the fold of segment i, and e if the segment is empty.  Provided ⊕
    and e do not depend on the point of Σ.  If f has parallelism, further results, or arrays whose
    sizes differ, f is a map by itself first.
    """
    if why := unfit_fold(walk, soac):
        return why
    assert isinstance(soac.width, VName)
    count, body = sum(len(op.neutral) for op in soac.ops), soac.lam.body
    if not is_identity(soac.lam) and (
            has_parallelism(body) or len(soac.lam.ret) > count or makes_arrays(walk, body)):
        map_first(walk, stm, "G13", "reduction")
        return None
    if why := walk.prepare(stm):
        return why
    walk.check_definitions(stm)
    flattener, sharing = walk.flattener, walk.flattener.sharing
    found = (with_offsets if sharing is Sharing.MERGE else segments_of)(walk, soac.width)
    nest = ragged_nest(walk, found, sharing).of(soac.lam, soac.arrays, walk.loc)
    space, kernel = walk.kernel(nest, body.stms, body.result)
    segred = ir.SegRed(walk.level, space, flattener.copy_operators(soac.ops), kernel, soac.lam.ret)
    flattener.derivation.fired("G13", stm, f"segred over {show_nest(nest)} by {sharing.value}")
    results = tuple(flattener.fresh(p.name, array_of((found.count,), p.type)) for p in stm.pat)
    walk.emit(ir.Stm(results, segred, stm.attrs, stm.loc))
    walk.bind_flat(stm.pat, results)
    return None


def unfit(walk: Walk, width: Atom) -> str | None:
    """The reason why an operation has no segments over the grid, if any."""
    if walk.invariant(width):
        return Unlike("its width is the same at all points of the nest")
    if walk.level is not ir.Level.GRID:
        return Unlike("it stands inside of a group")
    return None


def unfit_fold(walk: Walk, soac: ir.Redomap | ir.Scanomap) -> str | None:
    """The reason why a reduction or scan has no segments over the grid, if any."""
    if why := unfit(walk, soac.width):
        return why
    if not all(scalar_operator(op) for op in soac.ops):
        return "its operator works on arrays"
    if any(called_in(op.lam.body) for op in soac.ops):
        return IN_TURN
    return operator_needs_nest(walk, soac.ops) or shapes_differ(walk, soac.lam)


def shapes_differ(walk: Walk, lam: ir.Lambda) -> str | None:
    """The reason why the results of a lambda cannot be elements of one array, if any."""
    inside = {p.name for s in lam.body.stms for p in s.pat}
    if any(size in inside or not walk.invariant(size) for type_ in lam.ret
           for size in shape_of(type_)):
        return "its results have different shapes"
    return None


def makes_arrays(walk: Walk, body: ir.Body) -> bool:
    """True if a body makes an array whose size differs between points."""
    stms = [s for s in statements_inside([body]) if not isinstance(s.exp, ir.VIEWS)]
    inside = {p.name for s in statements_inside([body]) for p in s.pat}
    return any(size in inside or not walk.invariant(size)
               for s in stms for p in s.pat for size in shape_of(p.type))


@flattening("G21", ir.Loop)
def appended_rows(walk: Walk, stm: ir.Stm, loop: ir.Loop) -> str | None:
    """Σ ⊢ loop (ys = []) for i < w do ys ++ e ⇒ Σ, ⟨i < w⟩ ⊢ e      as flatmap makes it

    The rows of all points follow each other, so they are the result of a flatmap at the host.
    Under Σ, the result at a point is a part of them.  Provided e calls a function that calls
    itself; other rows come in turn only if they are few.
    """
    if APPENDS not in stm.attrs or not called_in(loop.body) or walk.level is not ir.Level.GRID:
        return Unlike("it is no flatmap of calls over the grid")
    assert isinstance(loop.form, ir.ForLoop)
    rows = _rows_of(loop)
    if isinstance(rows, str):
        return rows
    if not walk.invariant(loop.form.bound):
        return "the number of its rows differs between points"
    if why := walk.make_known(free_vars(stm), checks=True):
        return why
    walk.flattener.learn_params([ir.Param(loop.form.index, Prim.I64)])
    nest = walk.nest.enter(loop.form.index, loop.form.bound, ())
    made = attempted(walk, "G21", stm, f"rows of {show_nest(nest)}",
                     lambda inner: _make_rows(inner, rows), nest)
    if isinstance(made, str):
        return made
    _bind_rows(walk, stm, loop.form.bound, made)
    return None


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a flatmap and what makes them; ``values`` are other results for a point."""

    stms: tuple[ir.Stm, ...]
    count: VName
    rows: tuple[VName, ...]
    values: tuple[Atom, ...]


class _RowsMade(NamedTuple):
    """The arrays of all rows, where each row begins, and the values for all points."""

    data: list[VName]
    found: Segments
    values: tuple[Atom, ...]


def _rows_of(loop: ir.Loop) -> _Rows | str:
    """The parts of a loop that appends rows; the reason if it has another form."""
    carried = {p.param.name for p in loop.params}
    room, own, defs = loop.params[0].param.name, list[ir.Stm](), dict[Atom, ir.Exp]()
    for each in loop.body.stms:
        defs.update((p.name, each.exp) for p in each.pat)
        if carried & free_vars(each):
            carried |= {p.name for p in each.pat}
        else:
            own.append(each)
    rows, counts, values = list[VName](), set[Atom](), list[Atom]()
    for given, after in zip(loop.params[2:], loop.body.result[2:], strict=True):
        match defs.get(after):
            case ir.Update(dims=(ir.SliceDim(_, count, _),), value=VName() as row) if (
                    shape_of(given.param.type) == (room,)):
                rows.append(row)
                counts.add(count)
            case ir.Update(array, (index, *_), value) if array == given.param.name and (
                    isinstance(loop.form, ir.ForLoop) and index == loop.form.index):
                values.append(value)
            case _:
                return "its rows have rows as elements"
    if carried.intersection((*rows, *values)):
        return "a row needs the rows before it"
    if len(counts) != 1 or not isinstance(count := counts.pop(), VName):
        return "its rows have one length"
    return _Rows(tuple(own), count, tuple(rows), tuple(values))


def _make_rows(inner: Walk, rows: _Rows) -> _RowsMade | str:
    """Emit the rows of all points; the reason if their lengths are not known outside."""
    wanted = (rows.count, *rows.rows, *rows.values)
    inner.statements(ir.Body(rows.stms, wanted))
    inner.look_ahead(frozenset())
    if why := inner.make_known(names_in(wanted), checks=True):
        return why
    if inner.invariant(rows.count):
        return "its rows have one length"
    data = [packed(inner, row).data for row in rows.rows]
    return _RowsMade(data, with_offsets(inner, rows.count), inner.results(rows.values))


def _bind_rows(walk: Walk, stm: ir.Stm, width: Atom, made: _RowsMade) -> None:
    """Bind the results of a flatmap at each point of Σ; they are the results if Σ is empty."""
    room, used, *rest = stm.pat
    data, values = rest[:len(made.data)], rest[len(made.data):]
    if not walk.nest.space:
        total = made.found.total
        walk.emit(*let(stm.pat, (total, total, *made.data, *made.values)))
        return
    walk.bind(values, [replace(p, name=as_name(a))
                       for p, a in zip(values, made.values, strict=True)])
    sigma = walk.definitions
    first = sigma.computed("mul", define_number(walk), width, base="first")
    behind = sigma.computed("add", first, width, base="behind")
    start = sigma.read(made.found.starts, first, base="start")
    end = sigma.read(made.found.starts, behind, base="end")
    sigma.name(used.name, ir.PrimOp("sub", Prim.I64, (end, start)))
    sigma.name(room.name, ir.AtomExp(used.name))
    sigma.emit(*(ir.Stm((p,), ir.Index(array, (ir.SliceDim(start, room.name, i64(1)),)))
                 for p, array in zip(data, made.data, strict=True)))
