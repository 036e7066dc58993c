"""Rivals of guards: advantages of versions that follow (:class:`~runelift.ir.guards.Rival`).

A version with a work-group for each row runs wherever rows fit, because what its work-items hand to
each other stays on the chip.  There are rivals in these cases:

* In a map of rows, work-items hand on nothing.  The version saves only arithmetic of indices.
* Products are computed faster by tiles than row by row.
* Points that take long had better be spread over the device.
* Flat versions, whose groups all have one size, save launches: loops of small ones become one
  kernel (:mod:`runelift.codegen.emit.persistent`).
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.guards import Kind, Rival
from runelift.ir.traverse import bodies_of
from runelift.rewrite.engine.rule import rule
from runelift.rewrite.engine.versions import (
    Types,
    is_product,
    operations,
    operations_of_groups,
    with_guards,
)


@rule(ir.Versions)
def products_beat_rows(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows, group: row, else: p) ⇒ versions (rows product, group product: row, else: p)

    Provided: p only maps all points and chooses between versions.  The first of these is a product,
        or the last one is again like p.
    Because: work-groups that share what they load compute a product faster than row by row.
    """
    if not _computes_products(exp.alternatives[-1].body):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.PRODUCT)
                       if guard.kind is not Kind.REDOMAP else guard)


def _computes_products(body: ir.Body) -> bool:
    """True if a body does nothing but choose products, and map all points."""
    choices = [stm.exp for stm in body.stms if isinstance(stm.exp, ir.Versions)]
    others = [stm.exp for stm in body.stms if not isinstance(stm.exp, ir.Versions)]
    return bool(choices) and all(
        is_product(each.alternatives[0]) or _computes_products(each.alternatives[-1].body)
        for each in choices) and all(
        _is_straight_map(other) if isinstance(other, ir.SEGOPS) else not any(
            True for inner in bodies_of(other) for _ in operations(inner)) for other in others)


@rule(ir.Versions)
def products_beat_reductions(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (redomap: (rs, xs), else: p; rs) ⇒ versions (redomap product: (rs, xs), else: …)

    Provided: p begins with a choice between versions of which the first is a product.
    Because: what is reduced is stored in both cases, and work-groups that share what they load
        compute a product faster than one by one.
    """
    redomap, last = exp.alternatives[0], exp.alternatives[-1]
    choices = (stm.exp for stm in last.body.stms if isinstance(stm.exp, ir.Versions))
    first = next(choices, None)
    if first is None or not is_product(first.alternatives[0]) or not any(
            isinstance(op, ir.SegRed) and len(op.body.result) > sum(len(o.neutral) for o in op.ops)
            for op in operations(redomap.body)):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.PRODUCT)
                       if guard.kind is Kind.REDOMAP else guard)


@rule(ir.Versions)
def points_beat_rows(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (…, group: map of a row, else: p) ⇒ versions (… points, group points: …, else: p)

    Provided: p does nothing but choose between versions, of which the first maps all points; in a
        group, too, each point goes through loops alone.
    Because: as many work-items have as much to do, and groups need not have the size of a row.
    """
    nested = _only_choice(exp)
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    if nested is None or rows is None:
        return None
    together = list(operations_of_groups(rows))
    first = list(operations(nested.alternatives[0].body))
    if len(together) != 1 or len(first) != 1 or not all(
            isinstance(op, ir.SegMap) and not _straight(op.body) for op in (*together, *first)):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.POINTS)
                       if guard.rival is None else guard)


def _only_choice(exp: ir.Versions) -> ir.Versions | None:
    """The choice between versions that is all that the last version does; None if it is not."""
    statements = exp.alternatives[-1].body.stms
    nested = [stm.exp for stm in statements if isinstance(stm.exp, ir.Versions)]
    if len(nested) != 1 or any(isinstance(stm.exp, ir.SEGOPS) for stm in statements):
        return None
    return nested[0]


@rule(ir.Versions)
def points_differ(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: …, group: …, else: map of all) ⇒ versions (rows points, group points: …, …)

    Provided: a point goes through a ``while`` loop, also in a group, and the last version does
        nothing but map all points.
    Because: the time of a point is unknown, and many small parts of work balance the load.
    """
    if not all(len(several) == 1 and isinstance(several[0], ir.SegMap)
               and _asks_on(several[0].body) for several in _maps_of_points(exp)):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.POINTS)
                       if guard.rival is None else guard)


def _maps_of_points(exp: ir.Versions) -> list[list[ir.SegOp]]:
    """The operations of the last version, and those of the groups of an intra version."""
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    return [list(operations(exp.alternatives[-1].body)),
            [] if rows is None else list(operations_of_groups(rows))]


def _asks_on(body: ir.Body) -> bool:
    """True if something in a body is repeated until a condition says that it is enough."""
    return any((isinstance(stm.exp, ir.Loop) and isinstance(stm.exp.form, ir.WhileLoop))
               or any(map(_asks_on, bodies_of(stm.exp))) for stm in body.stms)


@rule(ir.Versions)
def columns_lie_side_by_side(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (…, group: r, else: s) ⇒ versions (…, group columns: r, else: s)

    Provided: s is a segmented reduction whose segments are columns of a matrix, maybe with a vector
        that all have in common.
    Does not handle: products, which also read rows.
    Because: a group that has a column reads far apart.
    """
    found = list(operations(exp.alternatives[-1].body))
    if len(found) != 1 or not isinstance(found[0], ir.SegRed) or len(found[0].space) < 2:
        return None
    *outer, column, row = (dim.index for dim in found[0].space)
    walked = [stm.exp.dims for stm in found[0].body.stms
              if isinstance(stm.exp, ir.Index) and row in stm.exp.dims]
    read = [dims for dims in walked if column in dims]
    shared = [dims for dims in walked if column not in dims]
    if not read or any(dims[-1] != column for dims in read) or any(
            not set(outer).isdisjoint(dims) for dims in shared):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.COLUMNS)
                       if guard.kind is Kind.INTRA and guard.rival is None else guard)


@rule(ir.Versions)
def points_need_no_rows(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (…, group: map of a row, else: map of all) ⇒ versions (…, group points: …, else: …)

    Provided: each point goes through a loop alone, in a group as in the last version, which does
        nothing but map all points.
    Because: a group of the size of a row has points for its work-items that do not come out even,
        and loops around theirs.
    """
    if not all(len(several) == 1 and isinstance(several[0], ir.SegMap)
               and not _straight(several[0].body) for several in _maps_of_points(exp)):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.POINTS)
                       if guard.kind is Kind.INTRA and guard.rival is None else guard)


@rule(ir.Versions)
def points_are_laden(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (…, group: row, else: p) ⇒ versions (…, group laden: row, else: p)

    Provided: nothing that a group does together stands in a loop, but at the points of half of it
        or more there are loops.
    Because: p has the points of few rows done by all of the device, and more launches matter less.
    """
    rows = next((v for v in exp.alternatives if v.kind is Kind.INTRA), None)
    groups = [] if rows is None else list(operations(rows.body))
    if len(groups) != 1 or not isinstance(groups[0], ir.SegMap):
        return None
    together = list(operations(groups[0].body))
    laden = sum(not _straight(op.body) for op in together)
    if not laden or 2 * laden < len(together) or any(
            isinstance(stm.exp, ir.Loop) for stm in groups[0].body.stms):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.LADEN)
                       if guard.kind is Kind.INTRA and guard.rival is None else guard)


@rule(ir.Versions)
def neighbours_map(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (rows: map, …, else: map of all) ⇒ versions (rows maps: …, else: …)

    Provided: the outer version maps the elements of a row, the last is maps of all points and of
        rows, without loops at a point.
    Because: work-items that run together then access elements that lie side by side.
    """
    if not all(map(_is_straight_map, operations(exp.alternatives[-1].body))):
        return None
    return with_guards(exp, lambda version, guard: replace(guard, rival=Rival.MAPS)
                       if guard.kind is Kind.OUTER and _only_maps(version) else guard)


def _only_maps(version: ir.Version) -> bool:
    """True if work-items do nothing but map the elements of a row each."""
    found = list(operations(version.body))
    if len(found) != 1 or not isinstance(found[0], ir.SegMap):
        return False
    soacs = [stm.exp for stm in found[0].body.stms if isinstance(stm.exp, ir.SOACS)]
    return (len(soacs) == 1 and isinstance(soacs[0], ir.Map)
            and not any(isinstance(stm.exp, ir.Loop) for stm in found[0].body.stms))


@rule(ir.Versions)
def maps_share_nothing(exp: ir.Versions, types: Types) -> ir.Exp | None:
    """versions (group: map of a row, else: map of all) ⇒ versions (group maps: …, else: …)

    Provided: a loop is around it; the last version is one map of all points, without loops at a
        point.  Rows that one index counts are lines: a group saves a division, which would be
        costly for a work-item with few elements.
    Because: a device may merge flat launches.  Points with loops in them may be few, and groups of
        the size of a row share them out more evenly.
    """
    flat = list(operations(exp.alternatives[-1].body))
    if len(flat) != 1 or not _is_straight_map(flat[0]):
        return None
    return with_guards(exp, lambda version, guard: replace(
        guard, rival=Rival.LINES if _rank(version) == 1 else Rival.MAPS)
        if _maps_rows(version) else guard)


def _is_straight_map(exp: ir.Exp) -> bool:
    """True if an operation is a map of which each point takes a few steps."""
    return isinstance(exp, ir.SegMap) and _straight(exp.body)


def _straight(body: ir.Body) -> bool:
    """True if nothing in a body is repeated."""
    return not any(isinstance(stm.exp, (ir.Loop, *ir.SOACS))
                   or not all(map(_straight, bodies_of(stm.exp))) for stm in body.stms)


def _rank(version: ir.Version) -> int:
    """The number of indices that count the points of a version's work-groups."""
    return max(len(op.space) for op in operations(version.body) if isinstance(op, ir.SegMap))


def _maps_rows(version: ir.Version) -> bool:
    """True if a work-group does nothing but map the elements of a row."""
    groups = list(operations(version.body))
    if version.kind is not Kind.INTRA or len(groups) != 1 or not isinstance(groups[0], ir.SegMap):
        return False
    row = groups[0].body
    inside = list(operations(row))
    return (len(inside) == 1 and isinstance(inside[0], ir.SegMap)
            and any(stm.exp is inside[0] for stm in row.stms))
