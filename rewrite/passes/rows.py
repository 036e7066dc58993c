"""Rows that are only copied: a work-item for each element, not for each row.

``map (\\i -> xss[i]) is`` has no parallelism inside, so flattening makes a work-item for each row,
which copies the row alone.  A few long rows then take as long as one work-item needs for a row.
After flattening such rows are results of a ``segmap``, and its space can have their dimensions.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, rename_body, rename_lambda
from runelift.ir.types import ArrayType, Atom, Const, elem_of, i64, shape_of
from runelift.rewrite.engine.code import Code
from runelift.rewrite.engine.outward import each_at_host, each_body
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.engine.scalar_code import (
    body_may_fail,
    is_scalar_code,
    needed_or_failing,
)


def by_element(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with a work-item for each element of rows that are only copied."""
    def changed(stm: ir.Stm) -> tuple[ir.Stm, ...]:
        new = rewriting.tried(rows_by_element, (stm,), stm, rewriting.names) if isinstance(
            stm.exp, ir.SegMap) else None
        return (stm,) if new is None else new

    return each_body(program, lambda body: each_at_host(body, changed))


@rule(ir.SegMap)
def rows_by_element(stm: ir.Stm, names: Names) -> tuple[ir.Stm, ...] | None:
    """segmap Σ (… in row) ⇒ segmap (Σ, ⟨j < m⟩) (… in row[j])

    Provided: row is a slice, a replicated value, or a branch of such; statements that it needs,
        and statements that may fail, are scalar code.
    Because: an array has the elements that are read from it.  Without elements nothing would be
        checked, so that checks of empty rows stay as they were.
    Does not handle: rows that need loops; they keep their work-item.
    """
    exp = ir.node_of(stm, ir.SegMap)
    if exp.level is not ir.Level.GRID or stm.attrs or settings(stm):
        return None
    rows, rest = dict[tuple[Atom, ...], list[int]](), list[int]()
    for place, result in enumerate(exp.body.result):
        row = _row(exp.body, result)
        (rest if row is None else rows.setdefault(shape_of(row.type), [])).append(place)
    if not rows:
        return None
    parts = [_part(stm, places, names) for places in rows.values()]
    new = [*([_part(stm, rest, names)] if rest else []),
           *(_in_elements(each, names) for each in parts)]
    if any(body_may_fail(ir.node_of(each, ir.SegMap).body) for each in parts):
        return _unless_empty(stm, new, rows, names)
    return tuple(new)


def _row(body: ir.Body, result: Atom) -> ir.Param | None:
    """The row that a body has as a result, if it is only copied."""
    row = next((p for stm in body.stms for p in stm.pat if p.name == result), None)
    copied = all(is_scalar_code((each,)) or _is_copy(each)
                 for each in needed_or_failing(body.stms, (result,)))
    return row if row is not None and isinstance(row.type, ArrayType) and copied else None


def _is_copy(stm: ir.Stm) -> bool:
    """True if a statement only copies elements of other arrays."""
    match stm.exp:
        case ir.Index() | ir.Replicate():
            return True
        case ir.If(_, then_, else_):
            return len(stm.pat) == 1 and all(_is_copy(each) or is_scalar_code((each,))
                                             for side in (then_, else_) for each in side.stms)
    return False


def _part(stm: ir.Stm, places: Sequence[int], names: Names) -> ir.Stm:
    """A map with the results at ``places`` and what they need; inner names are its own."""
    exp = ir.node_of(stm, ir.SegMap)
    result = tuple(exp.body.result[place] for place in places)
    code = ir.Lambda(tuple(ir.Param(dim.index, Prim.I64) for dim in exp.space),
                     ir.Body(needed_or_failing(exp.body.stms, result), result), ())
    own = rename_lambda(code, names)
    space = tuple(ir.SegDim(param.name, dim.extent)
                  for param, dim in zip(own.params, exp.space, strict=True))
    return replace(stm, pat=tuple(stm.pat[place] for place in places), exp=replace(
        exp, space=space, body=own.body, ret=tuple(exp.ret[place] for place in places)))


def _in_elements(stm: ir.Stm, names: Names) -> ir.Stm:
    """A map with a point for each element of its results, which are rows of one shape."""
    exp = ir.node_of(stm, ir.SegMap)
    space = tuple(ir.SegDim(names.fresh("j"), width) for width in shape_of(exp.ret[0]))
    prims = tuple(map(elem_of, exp.ret))
    body = _body_of_elements(exp.body, tuple(dim.index for dim in space), prims, names)
    return replace(stm, exp=replace(exp, space=(*exp.space, *space), ret=prims, body=replace(
        body, stms=needed_or_failing(body.stms, body.result))))


def _body_of_elements(body: ir.Body, at: tuple[VName, ...], prims: Sequence[Prim],
                      names: Names, known: Mapping[VName, VName] | None = None) -> ir.Body:
    """A body with elements of its results, which are arrays of types ``prims``.

    ``known`` are elements of rows around the body.
    """
    stms, made = list(body.stms), dict(known or {})
    for array, prim in zip(body.result, prims, strict=True):
        assert isinstance(array, VName)
        if array in made:
            continue
        element = ir.Param(names.fresh(array), prim)
        place = next((n for n, stm in enumerate(stms) if array in {p.name for p in stm.pat}), -1)
        branch = stms[place].exp if place >= 0 else None
        if isinstance(branch, ir.If):
            then_, else_ = (_body_of_elements(side, at, (prim,), names, made)
                            for side in (branch.then_, branch.else_))
            chosen = replace(stms[place], pat=(element,),
                             exp=ir.If(branch.cond, then_, else_, (prim,)))
            is_read = any(array in free_vars(each) for each in stms)
            stms[place:place + 1] = [stms[place], chosen] if is_read else [chosen]
        else:
            stms.append(ir.Stm((element,), ir.Index(array, at)))
        made[array] = element.name
    return ir.Body(tuple(stms), tuple(made[array] for array in body.result
                                      if isinstance(array, VName)))


def _unless_empty(stm: ir.Stm, new: Sequence[ir.Stm], shapes: Iterable[tuple[Atom, ...]],
                  names: Names) -> tuple[ir.Stm, ...]:
    """The map in other words, as long as its rows have elements; else as it was, for its checks."""
    code = Code(names)
    either: Atom = Const(False, Prim.BOOL)
    for size in dict.fromkeys(size for shape in shapes for size in shape):
        none = code.holds("eq", size, i64(0), base="empty")
        either = code.holds("or", either, none, Prim.BOOL, base="empty")
    result = tuple(p.name for p in stm.pat)
    before, after = (rename_body(ir.Body(each, result), names) for each in ((stm,), tuple(new)))
    choice = ir.If(either, before, after, tuple(p.type for p in stm.pat))
    return (*code.out, ir.Stm(stm.pat, choice, (), stm.loc))
