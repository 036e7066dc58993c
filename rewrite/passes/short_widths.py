"""Short widths: reductions and loops of few scalars in a map are written out.

A window of five elements is then read like five neighbours that a program names, and there are no
versions that spread it over work-items.  Reductions inside of reductions stay: several points of a
convolution share their elements.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from runelift.ir import syntax as ir
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.traverse import body_of, lambda_of, map_inside, rename_lambda, stm_of
from runelift.ir.types import Atom, Const, i64, shape_of
from runelift.rewrite.engine.outward import each_body
from runelift.rewrite.engine.pick import let
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.engine.scalar_code import is_scalar
from runelift.rewrite.engine.scope import whole

MOST_ELEMENTS = 16
"""The most elements of a reduction, or iterations of a loop, that are written out."""
MOST_STATEMENTS = 96
"""The most statements that are written for one reduction or loop."""


@rule(ir.Redomap)
def reduce_few(names: Names, stm: ir.Stm) -> tuple[ir.Stm, ...] | None:
    """redomap ⊕ e f [x, y] ⇒ (e ⊕ f x) ⊕ f y

    Provided: it stands in maps, its results are scalars, and f is scalar code that may hold further
    such reductions.  There are at most :data:`MOST_ELEMENTS` elements.
    """
    soac = ir.node_of(stm, ir.Redomap)
    if not _is_short(stm):
        return None
    loads = zip(soac.lam.params, soac.arrays, strict=True)
    element = ir.Lambda((ir.Param(names.fresh("k"), Prim.I64),), soac.lam.body, soac.lam.ret)
    index = element.params[0].name
    element = replace(element, body=ir.Body((
        *(ir.Stm((p,), ir.Index(a, (index, *map(whole, shape_of(p.type)))), loc=stm.loc)
          for p, a in loads), *soac.lam.body.stms), soac.lam.body.result))
    totals: list[Atom] = [a for op in soac.ops for a in op.neutral]
    stms: list[ir.Stm] = []
    for k in range(_elements(soac.width)):
        one = rename_lambda(element, names)
        stms += [*let(one.params, (i64(k),)), *one.body.stms]
        values, done = list(one.body.result), 0
        for op in soac.ops:
            count = len(op.neutral)
            lam = rename_lambda(op.lam, names)
            here = slice(done, done + count)
            stms += [*let(lam.params, (*totals[here], *values[here])), *lam.body.stms]
            totals[here] = lam.body.result
            done += count
    return (*stms, *let(stm.pat, totals))


@rule(ir.Loop)
def loop_few(names: Names, stm: ir.Stm) -> tuple[ir.Stm, ...] | None:
    """loop p = a for i < 2 do e ⇒ let p = e[p ↦ a, i ↦ 0] in e[i ↦ 1]

    Provided: it stands in maps, its values are scalars, and e is scalar code.  There are at most
    :data:`MOST_ELEMENTS` iterations.
    """
    loop = ir.node_of(stm, ir.Loop)
    if not _is_short(stm):
        return None
    assert isinstance(loop.form, ir.ForLoop)
    step = ir.Lambda((*(p.param for p in loop.params), ir.Param(loop.form.index, Prim.I64)),
                     loop.body, ())
    values: tuple[Atom, ...] = tuple(p.init for p in loop.params)
    stms: list[ir.Stm] = []
    for k in range(_elements(loop.form.bound)):
        fresh = rename_lambda(step, names)
        stms += [*let(fresh.params, (*values, i64(k))), *fresh.body.stms]
        values = fresh.body.result
    return (*stms, *let(stm.pat, values))


SHORT_WIDTHS = (reduce_few, loop_few)
"""The rules of this pass."""


def write_out(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with short reductions and loops in maps written out."""
    return each_body(program, partial(_Walk(rewriting).body, in_map=False))


class _Walk:
    """A walk over the bodies of a program."""

    def __init__(self, rewriting: Rewriting) -> None:
        self.rewriting = rewriting

    def body(self, body: ir.Body, in_map: bool) -> ir.Body:
        """A body, in a map or outside of all array operations."""
        stms: list[ir.Stm] = []
        for stm in body.stms:
            stms += self._statement(stm, in_map)
        return body_of(body, stms, body.result)

    def _statement(self, stm: ir.Stm, in_map: bool) -> tuple[ir.Stm, ...]:
        exp = stm.exp
        if in_map and isinstance(exp, ir.Redomap | ir.Loop):
            each = reduce_few if isinstance(exp, ir.Redomap) else loop_few
            if (new := self.rewriting.tried(each, (stm,), self.rewriting.names, stm)) is not None:
                return tuple(s for inner in new for s in self._statement(inner, in_map))
        if isinstance(exp, ir.Map):
            inside = True
        elif isinstance(exp, ir.If | ir.Loop):
            inside = in_map
        else:
            return (stm,)
        return (stm_of(stm, map_inside(
            exp, lambda body: self.body(body, inside),
            lambda lam: lambda_of(lam, lam.params, self.body(lam.body, inside), lam.ret))),)


def _elements(width: Atom) -> int:
    """A constant width, or number of iterations; 0 if it is not known."""
    return int(width.value) if isinstance(width, Const) else 0


def _is_short(stm: ir.Stm) -> bool:
    """True if a reduction or loop goes through few elements, and its body is scalar code."""
    elements, statements = _extent((stm,))
    return 1 < elements <= MOST_ELEMENTS and statements <= MOST_STATEMENTS


def _extent(stms: Iterable[ir.Stm]) -> tuple[int, int]:
    """The elements of the largest reduction or loop among statements, and statements written out.

    Too many of both if some statement is not scalar code.
    """
    most, count = 1, 0
    for stm in stms:
        match stm:
            case ir.Stm(pat, ir.Redomap(width, ops, lam), ()) if all(
                    isinstance(p.type, Prim) for p in pat) and all(
                        is_scalar(each) for op in ops for each in op.lam.body.stms):
                inner, inside = _extent(lam.body.stms)
                inside += sum(len(op.lam.body.stms) for op in ops) + len(lam.params)
                elements = _elements(width)
            case ir.Stm(_, ir.Loop(params, ir.ForLoop(_, bound), body), ()) if all(
                    isinstance(p.param.type, Prim) for p in params):
                inner, inside = _extent(body.stms)
                elements = _elements(bound)
            case _ if is_scalar(stm) or _is_view(stm):
                inner, inside, elements = 1, 1, 1
            case _:
                return MOST_ELEMENTS + 1, MOST_STATEMENTS + 1
        if not elements:
            return MOST_ELEMENTS + 1, MOST_STATEMENTS + 1
        most, count = max(most, elements * inner), count + elements * inside
    return most, count


def _is_view(stm: ir.Stm) -> bool:
    """True if a statement is a view, or an array that its index computes."""
    return isinstance(stm.exp, ir.Index | ir.Rearrange | ir.Iota | ir.Reshape | ir.Replicate)
