"""Default guards: defaults that depend on the bodies of versions, and keep a device busy.

A threshold that was not tuned asks for as many points as the device has work-items.  That is too
much for products: their work-groups share what they load, and their work-items compute many points
each.  If there are few points, long reductions are split
(:mod:`runelift.codegen.segops.product_tiles`).  Reductions of neighbourhoods, as in convolutions,
are alike.

A version with a work-group for each row runs wherever rows fit, unless something speaks for
versions that follow (:mod:`~runelift.rewrite.passes.rivals`).

An outer version gives a work-item a whole row.  It runs for fewer rows if groups cannot have them,
so it knows the groups of the version beside it.  It does not run at all if work-items that run
together had better share a product, or map neighbouring elements.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import Names, VName
from runelift.ir.patterns import Pattern, references
from runelift.ir.prim import Prim
from runelift.ir.products import reducing
from runelift.ir.sizes import Size, greatest, product
from runelift.ir.traverse import (
    bodies_inside,
    bodies_of,
    body_of,
    free_vars,
    lambdas_of,
    map_inside,
    size_of,
    statements_at_host,
    statements_inside,
    stm_of,
    uses,
)
from runelift.ir.types import Const, Type, elem_of, shape_of
from runelift.rewrite.engine.rule import Rewriting, Rule, rule
from runelift.rewrite.engine.versions import (
    Types,
    is_product,
    operations,
    operations_of_groups,
    undivided,
    with_guards,
)
from runelift.rewrite.flatten.parallelism import CHEAP_OPS, left_alone, work_of_group
from runelift.rewrite.passes.rivals import (
    columns_lie_side_by_side,
    maps_share_nothing,
    neighbours_map,
    points_are_laden,
    points_beat_rows,
    points_differ,
    points_need_no_rows,
    products_beat_reductions,
    products_beat_rows,
)

FEW_STATEMENTS = 6
"""The most statements that make and reduce the numbers of a row, for each of them to be cheap."""
TRANSPOSED = 3
"""The times that a result of rows is written or read before it lies as it should."""
LONG_STEPS = 16
"""The steps that a function such as an exponential takes; other operations take one."""
SHARED_POINTS = 4096
"""Points with which a product, or a reduction of neighbourhoods, keeps a device busy."""


def estimate(program: ir.Program, names: Names, rewriting: Rewriting | None = None) -> ir.Program:
    """``program`` with guards that have what their defaults depend on."""
    rewriting = rewriting or Rewriting(names)
    return ir.Program(tuple(replace(fun, body=_body(fun.body, rewriting, EVERYWHERE, _types(fun)))
                         for fun in program.funs))


def _types(fun: ir.Fun) -> Types:
    """The types of all names outside of kernels."""
    types: dict[VName, Type] = {p.name: p.type for p in fun.params}
    for stm in statements_at_host(fun.body):
        types |= {p.name: p.type for p in stm.pat}
        if isinstance(stm.exp, ir.Loop):
            types |= {p.param.name: p.param.type for p in stm.exp.params}
            if isinstance(stm.exp.form, ir.ForLoop):
                types[stm.exp.form.index] = Prim.I64
    return types


def _body(body: ir.Body, rewriting: Rewriting, laws: tuple[Rule, ...], types: Types) -> ir.Body:
    stms = [_statement(stm, rewriting, laws, types) for stm in body.stms]
    return body_of(body, stms, body.result)


def _statement(stm: ir.Stm, rewriting: Rewriting, laws: tuple[Rule, ...], types: Types) -> ir.Stm:
    if isinstance(stm.exp, ir.SEGOPS):
        return stm  # no choice is made inside of kernels
    inside = (*EVERYWHERE, maps_share_nothing) if isinstance(stm.exp, ir.Loop) else laws
    stm = stm_of(stm, map_inside(stm.exp, lambda body: _body(body, rewriting, inside, types),
                                 lambda lam: lam))
    for law in laws:
        if (isinstance(stm.exp, ir.Versions) and not stm.exp.by_schedules
                and rewriting.permits(law)):
            new = law.apply(stm.exp, types)
            if new is not None:
                before, stm = stm, replace(stm, exp=new)
                rewriting.record(law, (before,), (stm,))
    return stm


@rule(ir.Versions)
def products_share(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (par ≥ device: product, …) ⇒ versions (par ≥ min device 4096: product, …)

    Provided: all operations of the version are products.
    Because: a work-item computes up to 64 points of a product.
    """
    return with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                       if guard.default is None and is_product(version) else guard)


@rule(ir.Versions)
def neighbours_share(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (par ≥ device: neighbourhoods, …) ⇒ versions (par ≥ min device 4096: …, …)

    Provided: all operations of the version reduce neighbourhoods of their points.
    Because: if points are few, several work-items share one, and neighbours share loads
        (:mod:`runelift.codegen.segops.segred_blocked`).  Groups for each point would load
        everything again.
    """
    return with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                       if guard.default is None and _has_neighbourhoods(version, types) else guard)


def _has_neighbourhoods(version: ir.Version, types: Types) -> bool:
    """True if all operations of an outer version reduce neighbourhoods."""
    found = list(operations(version.body))
    return (version.kind is Kind.OUTER and bool(found)
            and all(isinstance(o, ir.SegMap) and reducing(o.body, o.ret, rows=True) is not None
                    and any(each.pattern is Pattern.RADIUS
                            for each in references(o, types.__getitem__)) for o in found))


@rule(ir.Versions)
def roots_share(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (par ≥ device: quotients by roots, …) ⇒ versions (par ≥ min device 4096: …, …)

    Provided: all operations of the version reduce quotients by roots of f32, of arrays that are
        the same for several points.
    Because: a work-item makes the quotients of several points together
        (:mod:`runelift.codegen.passes.rsqrt`), and several work-items share a point where points
        are few.
    """
    return with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                       if guard.default is None and _divides_by_roots(version, types) else guard)


def _divides_by_roots(version: ir.Version, types: Types) -> bool:
    """True if all operations of an outer version reduce quotients by roots of shared elements."""
    found = list(operations(version.body))
    return version.kind is Kind.OUTER and bool(found) and all(
        isinstance(o, ir.SegMap) and (parts := reducing(o.body, o.ret, rows=True)) is not None
        and _has_quotient(parts.redomap.lam.body)
        and any(each.pattern is not Pattern.UNKNOWN and each.points < {d.index for d in o.space}
                for each in references(o, types.__getitem__)) for o in found)


def _has_quotient(body: ir.Body) -> bool:
    """True if something is divided by a root of an f32."""
    roots = {stm.pat[0].name for stm in body.stms
             if isinstance(stm.exp,
                           ir.PrimOp) and stm.exp.op == "sqrt" and stm.exp.prim is Prim.F32}
    return any(isinstance(stm.exp, ir.PrimOp) and stm.exp.op == "div" and stm.exp.args[1] in roots
               for stm in body.stms)


@rule(ir.Versions)
def rows_stream(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: s, group: r, …) ⇒ versions (rows: s, group streams: r, …)

    Provided: a group does nothing together but reduce to scalars.  In s, neighbouring rows read the
        same or neighbouring elements.  If they read none, and make each number in a few steps, the
        group is also ``made``.
    Does not handle: neighbourhoods, whose rows had better be reduced together
        (:mod:`runelift.codegen.segops.segred_blocked`).
    Because: a group keeps nothing of a row, which then may have any length.  A work-item that has a
        row waits for memory no more than a group.
    """
    rows = _rows(exp)
    if rows is None or not _reduces_rows(exp) or _reads_apart(
            rows.body, {rows.space[-1].index}):
        return None
    inside = list(statements_inside((rows.body,)))
    made = len(inside) <= FEW_STATEMENTS and not any(isinstance(s.exp, ir.Index) for s in inside)
    return with_guards(exp, lambda version, guard: replace(guard, streams=True, made=made)
                       if _decides_for_rows(guard) else guard)


@rule(ir.Versions)
def rows_take_steps(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: s, group streams: r, …) ⇒ versions (rows: s, group streams steps k: r, …)

    Provided: a work-item of s does k operations for each element of its row.  The same for rows
        that lie apart.
    Because: the longer elements take, the less does it matter what a group spends on a row besides.
    """
    rows = _rows(exp)
    if rows is None:
        return None
    steps = sum(map(_steps, _at_elements(rows.body)))
    return with_guards(exp, lambda version, guard: replace(guard, steps=max(1, steps))
                       if guard.streams or guard.apart else guard)


def _at_elements(body: ir.Body) -> Iterator[ir.Stm]:
    """The statements at the elements of rows."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.SOACS):
            yield from statements_inside(lam.body for lam in lambdas_of(stm.exp))
        else:
            for inner in bodies_of(stm.exp):
                yield from _at_elements(inner)


def _steps(stm: ir.Stm) -> int:
    """The time that a statement takes, in that of an addition."""
    match stm.exp:
        case ir.PrimOp(op, prim):
            return LONG_STEPS if prim.is_float and op not in CHEAP_OPS else 1
        case ir.Convert() | ir.Index():
            return 1
    return 0


@rule(ir.Versions)
def rows_lie_apart(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: s, group: r, …) ⇒ versions (rows: s, group apart b: r, …)

    Provided: a group does nothing together but reduce or scan rows.  In s, each row reads rows of
        arrays, and writes rows if it scans, which are transposed; b bytes for each element.
    Does not handle: scans among other operations, for which rows are transposed.
    Because: neighbours that read far apart move more of the memory than they use, if their rows
        have no room in the cache.
    """
    rows = _rows(exp)
    if rows is None or not (_reduces_rows(exp) or _scans_rows(exp)):
        return None
    read = {stm.exp.array for stm in rows.body.stms if isinstance(stm.exp, ir.Index)
            and any(rows.space[-1].index in _named(dim) for dim in stm.exp.dims[:-1])}
    bytes_ = sum(elem_of(types[array]).bytes for array in read if array in types)
    if not bytes_:
        return None
    bytes_ += TRANSPOSED * sum(elem_of(type_).bytes for type_ in rows.ret if shape_of(type_))
    return with_guards(exp, lambda version, guard: replace(guard, apart=bytes_)
                       if _decides_for_rows(guard) else guard)


def _rows(exp: ir.Versions) -> ir.SegMap | None:
    """The only operation of an outer version, which gives each row to a work-item."""
    outer = next((v for v in exp.alternatives if v.kind is Kind.OUTER), None)
    found = [] if outer is None else list(operations(outer.body))
    return found[0] if len(found) == 1 and isinstance(found[0], ir.SegMap) else None


def _reads_apart(body: ir.Body, varying: set[VName], walking: bool = False) -> bool:
    """True if a place in any but the last dimension of an array is another in the next row.

    In the last one, too, if the row is ``walking`` through it, which is a neighbourhood.
    ``varying`` are the names that differ from row to row; those in the body are added.
    """
    for stm in body.stms:
        exp, lambdas = stm.exp, lambdas_of(stm.exp)
        if isinstance(exp, ir.Index) and any(varying.intersection(_named(dim)) for dim in (
                exp.dims if walking else exp.dims[:-1])):
            return True
        if not varying.isdisjoint(uses(exp)):
            varying.update(p.name for lam in lambdas for p in lam.params)
        if any(_reads_apart(inner, varying, walking) for inner in bodies_of(exp)) or any(
                _reads_apart(lam.body, varying, True) for lam in lambdas):
            return True
        if varying & free_vars(exp):
            varying.update(p.name for p in stm.pat)
    return False


def _named(dim: ir.Dim) -> list[VName]:
    """The names in an index or a slice."""
    parts = (dim.start, dim.stride) if isinstance(dim, ir.SliceDim) else (dim,)
    return [part for part in parts if isinstance(part, VName)]


def _decides_for_rows(guard: Guard) -> bool:
    """True if the guard of a version with rows asks how they lie in memory."""
    return guard.kind is Kind.INTRA or (guard.kind is Kind.OUTER and guard.default is None)


def _groups(exp: ir.Versions) -> ir.Version | None:
    """The version with a work-group for each row."""
    return next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)


def _reduces_rows(exp: ir.Versions) -> bool:
    """True if the work-items of a group do nothing together but reduce a row to scalars."""
    groups = _groups(exp)
    inside = [] if groups is None else list(operations_of_groups(groups))
    return bool(inside) and all(isinstance(op, ir.SegRed) and len(op.space) == 1 for op in inside)


def _scans_rows(exp: ir.Versions) -> bool:
    """True if a group does nothing but scan a row, and a work-item nothing else either."""
    groups, rows = _groups(exp), _rows(exp)
    inside = [] if groups is None else list(operations_of_groups(groups))
    return rows is not None and len(inside) == 1 and isinstance(inside[0], ir.SegScan) and sum(
        isinstance(stm.exp, (*ir.SOACS, ir.Loop)) for stm in rows.body.stms) == 1


@rule(ir.Versions)
def loops_stay_in_groups(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (…, group: loop o, else: loop p) ⇒ versions (…, group looped n: loop o, else: …)

    Provided: o and p have operations, of which the largest in o has n points.
    Because: values that work-items of a group hand from one iteration to the next stay on the chip.
        In the last version each operation of each iteration is a launch.
    """
    if next(_in_loops(exp.alternatives[-1].body), None) is None:
        return None
    return with_guards(exp, _looped)


def _looped(version: ir.Version, guard: Guard) -> Guard:
    """The guard with the points of the largest operation that stands in a loop of a group."""
    if version.kind is not Kind.INTRA or guard.groups is None:
        return guard
    points = [product([size_of(dim.width) for dim in op.space])
              for group in operations(undivided(version)) if isinstance(group, ir.SegMap)
              for op in _in_loops(group.body)]
    return replace(guard, looped=greatest(*points)) if points else guard


def _in_loops(body: ir.Body) -> Iterator[ir.SegOp]:
    """The operations of the grid, or of a group, that stand in loops."""
    for stm in body.stms:
        if not isinstance(stm.exp, ir.SEGOPS):
            for inner in bodies_of(stm.exp):
                yield from (operations if isinstance(stm.exp, ir.Loop) else _in_loops)(inner)


@rule(ir.Versions)
def groups_beside_rows(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: …, group g groups n: …) ⇒ versions (rows, group g groups n: …, …)

    The version with groups may also be the last one, which has no guard.

    Because: a work-item each is better for rows that no group can take, and for many rows that
        neither version keeps.
    """
    beside = _groups(exp)
    found = [] if beside is None else list(operations(undivided(beside)))
    if beside is None or len(found) != 1 or not isinstance(found[0], ir.SegMap):
        return None
    if beside.guard is not None:
        group, groups = beside.guard.group, beside.guard.groups
    else:  # the last version, which runs without a condition
        group = work_of_group(found[0])[1]
        groups = product([size_of(dim.width) for dim in found[0].space])
    return with_guards(exp, lambda version, guard: replace(guard, group=group, groups=groups)
                       if guard.kind is Kind.OUTER else guard)


@rule(ir.Versions)
def rows_save_launches(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: s, …, else: p) ⇒ versions (rows group m groups n saves k: s, …, else: p)

    Provided: s is one operation, with neither loops at the elements of a row nor rows in loops; p
        launches k more.  s may also be a reduction of rows.
    Because: a short row takes a work-item less time than a launch.
    """
    first, saved = exp.alternatives[0], _launches(exp.alternatives[-1].body) - 1
    found = list(operations(first.body))
    if first.kind not in (Kind.OUTER, Kind.REDOMAP) or saved < 1 or len(found) != 1 or (
            not isinstance(found[0], ir.SegMap | ir.SegRed) or _loops_at_elements(found[0].body)):
        return None
    rows, outside = found[0], free_vars(found[0])
    elements = greatest(Size.of(1), *(product(list(map(size_of, widths)))
                                      for widths in left_alone(rows.body) if all(
                                          isinstance(w, Const) or w in outside for w in widths)))
    points = product([size_of(dim.width) for dim in rows.space])
    return with_guards(exp, lambda version, guard: replace(
        guard, saves=saved, group=guard.group or elements, groups=guard.groups or points)
        if version is first else guard)


def _loops_at_elements(body: ir.Body) -> bool:
    """True if a row is gone through in a loop, or a loop is at an element of a row."""
    for stm in body.stms:
        inside = list(statements_inside(bodies_inside(stm.exp)))
        soacs, loops = (any(isinstance(each.exp, kinds) for each in inside)
                        for kinds in (ir.SOACS, ir.Loop))
        if (isinstance(stm.exp, ir.SOACS) and loops) or (isinstance(stm.exp, ir.Loop) and soacs):
            return True
    return False


def _launches(body: ir.Body) -> int:
    """The least number of launches of a body; loops count once."""
    count = 0
    for stm in body.stms:
        if isinstance(stm.exp, ir.SEGOPS):
            count += 1
        else:
            inner = [_launches(each) for each in bodies_of(stm.exp)]
            count += min(inner, default=0)
    return count


EVERYWHERE = (products_share, neighbours_share, roots_share, products_beat_rows,
              products_beat_reductions, points_beat_rows, points_differ, points_need_no_rows,
              points_are_laden, columns_lie_side_by_side, neighbours_map, rows_stream,
              rows_lie_apart, rows_take_steps, loops_stay_in_groups,
              groups_beside_rows, rows_save_launches)
