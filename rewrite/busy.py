"""What keeps a device busy: defaults of guards that the bodies of versions tell.

A threshold that nothing has tuned asks for as many points as the device has work-items.  That is
too much for products, whose work-groups share what they load and whose work-items compute many
points each; where there are few points, long reductions are done in pieces
(:mod:`runelift.codegen.tiling`).  So it is for reductions of neighbourhoods, as in convolutions.

A version with a work-group for each row runs wherever rows fit, because what its work-items hand to
each other stays on the chip.  Where they hand on nothing, as in a map of rows, it saves no more
than the arithmetic of indices.  Flat versions, whose groups all have one size, save launches: loops
of small ones become one kernel (:mod:`runelift.codegen.persistent`).

An outer version gives a work-item a whole row.  It runs for fewer rows where groups cannot have
them, so it is told of the groups of the version beside it; and not at all where work-items that run
together had better share a product, or map elements that lie side by side.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from runelift.ir.guards import Guard, Kind, Rival
from runelift.ir.names import Names, VName
from runelift.ir.patterns import Pattern, references
from runelift.ir.prim import Prim
from runelift.ir.products import product_of, reducing
from runelift.ir.sizes import greatest, product
from runelift.ir.syntax import (
    SEGOPS,
    SOACS,
    Body,
    Dim,
    Exp,
    ForLoop,
    Fun,
    Index,
    Loop,
    Map,
    PrimOp,
    Program,
    SegMap,
    SegOp,
    SegRed,
    SliceDim,
    Stm,
    Version,
    Versions,
    WhileLoop,
)
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of, map_inside, uses
from runelift.ir.types import Type
from runelift.rewrite.flatten.nest import size_of
from runelift.rewrite.rule import Rewriting, Rule, rule

SHARED_POINTS = 4096
"""From how many points on a product, or a reduction of neighbourhoods, keeps a device busy."""

Types: TypeAlias = Mapping[VName, Type]
"""The types of names outside of kernels."""


def estimate(program: Program, names: Names, rewriting: Rewriting | None = None) -> Program:
    """``program`` with what the defaults of its guards depend on."""
    rewriting = rewriting or Rewriting(names)
    return Program(tuple(replace(fun, body=_body(fun.body, rewriting, EVERYWHERE, _types(fun)))
                         for fun in program.funs))


def _types(fun: Fun) -> Types:
    """The types of all names outside of kernels."""
    types: dict[VName, Type] = {p.name: p.type for p in fun.params}
    for stm in _outside(fun.body):
        types |= {p.name: p.type for p in stm.pat}
        if isinstance(stm.exp, Loop):
            types |= {p.param.name: p.param.type for p in stm.exp.params}
            if isinstance(stm.exp.form, ForLoop):
                types[stm.exp.form.index] = Prim.I64
    return types


def _outside(body: Body) -> Iterator[Stm]:
    for stm in body.stms:
        yield stm
        if not isinstance(stm.exp, SEGOPS):
            for inner in bodies_of(stm.exp):
                yield from _outside(inner)


def _body(body: Body, rewriting: Rewriting, laws: tuple[Rule, ...], types: Types) -> Body:
    return Body(tuple(_statement(stm, rewriting, laws, types) for stm in body.stms), body.result)


def _statement(stm: Stm, rewriting: Rewriting, laws: tuple[Rule, ...], types: Types) -> Stm:
    if isinstance(stm.exp, SEGOPS):
        return stm  # no choice is made inside of kernels
    inside = (*EVERYWHERE, maps_share_nothing) if isinstance(stm.exp, Loop) else laws
    stm = replace(stm, exp=map_inside(stm.exp, lambda body: _body(body, rewriting, inside, types),
                                      lambda lam: lam))
    for law in laws:
        if isinstance(stm.exp, Versions) and rewriting.permits(law):
            new = law.apply(stm.exp, types)
            if new is not None:
                before, stm = stm, replace(stm, exp=new)
                rewriting.record(law, (before,), (stm,))
    return stm


@rule(Versions)
def products_share(exp: Versions, types: Types) -> Exp | None:
    """versions (par ≥ device: product, …) ⇒ versions (par ≥ min device 4096: product, …)

    Provided: all operations of the version are products.
    Because: a work-item computes up to 64 points of a product.
    """
    return _with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                        if guard.default is None and _is_product(version) else guard)


@rule(Versions)
def neighbours_share(exp: Versions, types: Types) -> Exp | None:
    """versions (par ≥ device: neighbourhoods, …) ⇒ versions (par ≥ min device 4096: …, …)

    Provided: all operations of the version reduce neighbourhoods of their points.
    Because: where points are few, several work-items share one, and neighbours what they load
        (:mod:`runelift.codegen.coarse`); groups for each of them would load everything again.
    """
    return _with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                        if guard.default is None and _has_neighbourhoods(version, types) else guard)


def _has_neighbourhoods(version: Version, types: Types) -> bool:
    """Whether all operations of an outer version reduce neighbourhoods."""
    operations = list(_operations(version.body))
    return (version.kind is Kind.OUTER and bool(operations)
            and all(isinstance(o, SegMap) and reducing(o.body, o.ret) is not None
                    and any(each.pattern is Pattern.RADIUS
                            for each in references(o, types.__getitem__)) for o in operations))


@rule(Versions)
def roots_share(exp: Versions, types: Types) -> Exp | None:
    """versions (par ≥ device: quotients by roots, …) ⇒ versions (par ≥ min device 4096: …, …)

    Provided: all operations of the version reduce what is divided by roots of f32, and of arrays
        that are the same for several points.
    Because: a work-item makes the quotients of several points together
        (:mod:`runelift.codegen.roots`), and several work-items share a point where points are few.
    """
    return _with_guards(exp, lambda version, guard: replace(guard, default=SHARED_POINTS)
                        if guard.default is None and _divides_by_roots(version, types) else guard)


def _divides_by_roots(version: Version, types: Types) -> bool:
    """Whether all operations of an outer version reduce quotients by roots of shared elements."""
    operations = list(_operations(version.body))
    return version.kind is Kind.OUTER and bool(operations) and all(
        isinstance(o, SegMap) and (parts := reducing(o.body, o.ret)) is not None
        and _has_quotient(parts.redomap.lam.body)
        and any(each.pattern is not Pattern.UNKNOWN and each.points < {d.index for d in o.space}
                for each in references(o, types.__getitem__)) for o in operations)


def _has_quotient(body: Body) -> bool:
    """Whether something is divided by a root of an f32."""
    roots = {stm.pat[0].name for stm in body.stms
             if isinstance(stm.exp, PrimOp) and stm.exp.op == "sqrt" and stm.exp.prim is Prim.F32}
    return any(isinstance(stm.exp, PrimOp) and stm.exp.op == "div" and stm.exp.args[1] in roots
               for stm in body.stms)


def _is_product(version: Version) -> bool:
    """Whether all operations of an outer version are products."""
    operations = list(_operations(version.body))
    return (version.kind is Kind.OUTER and bool(operations)
            and all(isinstance(o, SegMap) and product_of(o) for o in operations))


@rule(Versions)
def products_beat_rows(exp: Versions, types: Types) -> Exp | None:
    """versions (rows, group: row, else: p) ⇒ versions (rows product, group product: row, else: p)

    Provided: p does nothing but choose between versions of which the first is a product, or the
        last chooses like that, once or several times, and map all points.
    Because: work-groups that share what they load compute a product faster than row by row.
    """
    if not _computes_products(exp.alternatives[-1].body):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.PRODUCT)
                        if guard.kind is not Kind.REDOMAP else guard)


def _computes_products(body: Body) -> bool:
    """Whether a body does nothing but choose products, and map all points."""
    choices = [stm.exp for stm in body.stms if isinstance(stm.exp, Versions)]
    others = [stm.exp for stm in body.stms if not isinstance(stm.exp, Versions)]
    return bool(choices) and all(
        _is_product(each.alternatives[0]) or _computes_products(each.alternatives[-1].body)
        for each in choices) and all(
        _is_straight_map(other) if isinstance(other, SEGOPS) else not any(
            True for inner in bodies_of(other) for _ in _operations(inner)) for other in others)


@rule(Versions)
def products_beat_reductions(exp: Versions, types: Types) -> Exp | None:
    """versions (redomap: (rs, xs), else: p; rs) ⇒ versions (redomap product: (rs, xs), else: …)

    Provided: p begins with a choice between versions of which the first is a product.
    Because: what is reduced is stored in both cases, and work-groups that share what they load
        compute a product faster than one by one.
    """
    redomap, last = exp.alternatives[0], exp.alternatives[-1]
    choices = (stm.exp for stm in last.body.stms if isinstance(stm.exp, Versions))
    first = next(choices, None)
    if first is None or not _is_product(first.alternatives[0]) or not any(
            isinstance(op, SegRed) and len(op.body.result) > sum(len(o.neutral) for o in op.ops)
            for op in _operations(redomap.body)):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.PRODUCT)
                        if guard.kind is Kind.REDOMAP else guard)


@rule(Versions)
def points_beat_rows(exp: Versions, types: Types) -> Exp | None:
    """versions (…, group: map of a row, else: p) ⇒ versions (… points, group points: …, else: p)

    Provided: p does nothing but choose between versions, of which the first maps all points; in a
        group, too, each point goes through loops alone.
    Because: as many work-items have as much to do, and groups need not have the size of a row.
    """
    nested = _only_choice(exp)
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    if nested is None or rows is None:
        return None
    together = list(_inside(rows))
    first = list(_operations(nested.alternatives[0].body))
    if len(together) != 1 or len(first) != 1 or not all(
            isinstance(op, SegMap) and not _straight(op.body) for op in (*together, *first)):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.POINTS)
                        if guard.rival is None else guard)


@rule(Versions)
def points_differ(exp: Versions, types: Types) -> Exp | None:
    """versions (rows: …, group: …, else: map of all) ⇒ versions (rows points, group points: …, …)

    Provided: a point goes through a ``while`` loop, also in a group, and the last version does
        nothing but map all points.
    Because: nobody knows how long a point takes, and many small parts of work come out even.
    """
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    maps: list[list[SegOp]] = [list(_operations(exp.alternatives[-1].body)),
                               [] if rows is None else list(_inside(rows))]
    if not all(len(several) == 1 and isinstance(several[0], SegMap)
               and _asks_on(several[0].body) for several in maps):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.POINTS)
                        if guard.rival is None else guard)


@rule(Versions)
def points_are_laden(exp: Versions, types: Types) -> Exp | None:
    """versions (…, group: row, else: p) ⇒ versions (…, group laden: row, else: p)

    Provided: nothing that a group does together stands in a loop, but at the points of half of it
        or more there are loops.
    Because: p has the points of few rows done by all of the device, and more launches matter less.
    """
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    groups = [] if rows is None else list(_operations(rows.body))
    if len(groups) != 1 or not isinstance(groups[0], SegMap):
        return None
    together = list(_operations(groups[0].body))
    laden = sum(not _straight(op.body) for op in together)
    if not laden or 2 * laden < len(together) or any(
            isinstance(stm.exp, Loop) for stm in groups[0].body.stms):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.LADEN)
                        if guard.kind is Kind.INTRA and guard.rival is None else guard)


def _asks_on(body: Body) -> bool:
    """Whether something in a body is done until a condition says that it is enough."""
    return any((isinstance(stm.exp, Loop) and isinstance(stm.exp.form, WhileLoop))
               or any(map(_asks_on, bodies_of(stm.exp))) for stm in body.stms)


def _only_choice(exp: Versions) -> Versions | None:
    """The choice between versions that is all that the last version does; None if it is not."""
    statements = exp.alternatives[-1].body.stms
    nested = [stm.exp for stm in statements if isinstance(stm.exp, Versions)]
    if len(nested) != 1 or any(isinstance(stm.exp, SEGOPS) for stm in statements):
        return None
    return nested[0]


@rule(Versions)
def rows_stream(exp: Versions, types: Types) -> Exp | None:
    """versions (rows: s, group: r, …) ⇒ versions (rows: s, group streams: r, …)

    Provided: all that a group does together is to reduce to scalars; in s, neighbouring rows read
        elements that are the same, or lie side by side.  Does not handle: neighbourhoods, whose
        rows had better be reduced together (:mod:`runelift.codegen.coarse`).
    Because: a group keeps nothing of a row, which then may have any length; and a work-item that
        has a row waits for memory no more than a group.
    """
    outer = next((v for v in exp.alternatives if v.kind is Kind.OUTER), None)
    rows = [] if outer is None else list(_operations(outer.body))
    if len(rows) != 1 or not isinstance(rows[0], SegMap) or _reads_apart(
            rows[0].body, {rows[0].space[-1].index}):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, streams=True)
                        if _reduces_rows(version) else guard)


def _reads_apart(body: Body, varying: set[VName], walking: bool = False) -> bool:
    """Whether a place in any but the last dimension of an array is another in the next row.

    In the last one, too, if the row is ``walking`` through it, which is a neighbourhood.
    ``varying`` are the names that differ from row to row; those in the body are added.
    """
    for stm in body.stms:
        exp, lambdas = stm.exp, lambdas_of(stm.exp)
        if isinstance(exp, Index) and any(varying.intersection(_named(dim)) for dim in (
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


def _named(dim: Dim) -> list[VName]:
    """The names in an index or a slice."""
    parts = (dim.start, dim.stride) if isinstance(dim, SliceDim) else (dim,)
    return [part for part in parts if isinstance(part, VName)]


def _reduces_rows(version: Version) -> bool:
    """Whether the work-items of a group do nothing together but reduce a row to scalars."""
    inside = list(_inside(version)) if version.kind is Kind.INTRA else []
    return bool(inside) and all(isinstance(op, SegRed) and len(op.space) == 1 for op in inside)


def _inside(version: Version) -> Iterator[SegOp]:
    """The operations of the groups of an intra version, if it does nothing else."""
    groups = list(_operations(version.body))
    if len(groups) == 1 and isinstance(groups[0], SegMap):
        yield from _operations(groups[0].body)


@rule(Versions)
def loops_stay_in_groups(exp: Versions, types: Types) -> Exp | None:
    """versions (…, group: loop o, else: loop p) ⇒ versions (…, group looped n: loop o, else: …)

    Provided: o and p have operations, of which the largest in o has n points.
    Because: what the work-items of a group hand on from one iteration to the next stays on the
        chip; in the last version each operation of each iteration is a launch.
    """
    if next(_in_loops(exp.alternatives[-1].body), None) is None:
        return None
    return _with_guards(exp, _looped)


def _looped(version: Version, guard: Guard) -> Guard:
    """The guard with the points of the largest operation that stands in a loop of a group."""
    if version.kind is not Kind.INTRA or guard.groups is None:
        return guard
    points = [product([size_of(dim.width) for dim in op.space])
              for group in _operations(version.body) if isinstance(group, SegMap)
              for op in _in_loops(group.body)]
    return replace(guard, looped=greatest(*points)) if points else guard


def _in_loops(body: Body) -> Iterator[SegOp]:
    """The operations of the grid, or of a group, that stand in loops."""
    for stm in body.stms:
        if not isinstance(stm.exp, SEGOPS):
            for inner in bodies_of(stm.exp):
                yield from (_operations if isinstance(stm.exp, Loop) else _in_loops)(inner)


@rule(Versions)
def neighbours_map(exp: Versions, types: Types) -> Exp | None:
    """versions (rows: map, …, else: map of all) ⇒ versions (rows maps: …, else: …)

    Provided: the outer version maps the elements of a row, the last is maps of all points and of
        rows, without loops at a point.
    Because: work-items that run together then access elements that lie side by side.
    """
    if not all(map(_is_straight_map, _operations(exp.alternatives[-1].body))):
        return None
    return _with_guards(exp, lambda version, guard: replace(guard, rival=Rival.MAPS)
                        if guard.kind is Kind.OUTER and _only_maps(version) else guard)


@rule(Versions)
def groups_beside_rows(exp: Versions, types: Types) -> Exp | None:
    """versions (rows: …, group g groups n: …) ⇒ versions (rows, group g groups n: …, …)

    Because: rows that no group can take had better have a work-item each, and so had many rows that
        neither keeps.
    """
    beside = next((v.guard for v in exp.alternatives
                   if v.guard is not None and v.guard.kind is Kind.INTRA), None)
    if beside is None:
        return None
    return _with_guards(exp, lambda version, guard: replace(
        guard, group=beside.group, groups=beside.groups,
        streams=beside.streams and guard.default is None) if guard.kind is Kind.OUTER else guard)


EVERYWHERE = (products_share, neighbours_share, roots_share, products_beat_rows,
              products_beat_reductions, points_beat_rows, points_differ, points_are_laden,
              neighbours_map, rows_stream, loops_stay_in_groups, groups_beside_rows)


def _with_guards(exp: Versions, change: Callable[[Version, Guard], Guard]) -> Exp | None:
    """The versions with changed guards; None if none is."""
    versions = tuple(v if v.guard is None else replace(v, guard=change(v, v.guard))
                     for v in exp.alternatives)
    return None if versions == exp.alternatives else replace(exp, alternatives=versions)


@rule(Versions)
def maps_share_nothing(exp: Versions, types: Types) -> Exp | None:
    """versions (group: map of a row, else: map of all) ⇒ versions (group maps: …, else: …)

    Provided: a loop is around it; the last version is one map of all points, without loops at a
        point.  Rows that one index counts are lines: a group has no division to do, of which a
        work-item that has few elements would feel the cost.
    Because: a device may merge flat launches.  Points with loops in them may be few, and groups of
        the size of a row share them out more evenly.
    """
    flat = list(_operations(exp.alternatives[-1].body))
    if len(flat) != 1 or not _is_straight_map(flat[0]):
        return None
    return _with_guards(exp, lambda version, guard: replace(
        guard, rival=Rival.LINES if _rank(version) == 1 else Rival.MAPS)
        if _maps_rows(version) else guard)


def _is_straight_map(exp: Exp) -> bool:
    """Whether an operation is a map of which each point takes a few steps."""
    return isinstance(exp, SegMap) and _straight(exp.body)


def _only_maps(version: Version) -> bool:
    """Whether work-items do nothing but map the elements of a row each."""
    operations = list(_operations(version.body))
    if len(operations) != 1 or not isinstance(operations[0], SegMap):
        return False
    soacs = [stm.exp for stm in operations[0].body.stms if isinstance(stm.exp, SOACS)]
    return (len(soacs) == 1 and isinstance(soacs[0], Map)
            and not any(isinstance(stm.exp, Loop) for stm in operations[0].body.stms))


def _straight(body: Body) -> bool:
    """Whether nothing in a body is done again and again."""
    return not any(isinstance(stm.exp, (Loop, *SOACS))
                   or not all(map(_straight, bodies_of(stm.exp))) for stm in body.stms)


def _rank(version: Version) -> int:
    """How many indices count what the work-groups of a version have."""
    return max(len(op.space) for op in _operations(version.body) if isinstance(op, SegMap))


def _maps_rows(version: Version) -> bool:
    """Whether a work-group does nothing but map the elements of a row."""
    groups = list(_operations(version.body))
    if version.kind is not Kind.INTRA or len(groups) != 1 or not isinstance(groups[0], SegMap):
        return False
    row = groups[0].body
    inside = list(_operations(row))
    return (len(inside) == 1 and isinstance(inside[0], SegMap)
            and any(stm.exp is inside[0] for stm in row.stms))


def _operations(body: Body) -> Iterator[SegOp]:
    """The operations of the grid."""
    for stm in body.stms:
        if isinstance(stm.exp, SEGOPS):
            yield stm.exp
        else:
            for inner in bodies_of(stm.exp):
                yield from _operations(inner)
