"""Operators over vectors inside of a lambda: each element of the vectors is reduced by itself.

A work-item that reduces vectors stores each of them, and the total beside it.  A reduction of one
column needs one scalar.  Outside of lambdas rule G4 of the flattener does this, because
attributes of the reduction decide there.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.operators import identity
from runelift.ir.points import settings
from runelift.ir.types import Atom, array_of, elem_of, row_of, shape_of
from runelift.rewrite.engine.columns import columns_of, transposition, virtual_outside
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import is_scalar
from runelift.rewrite.engine.scope import Scope

MOST_REPEATED = 4
"""The most cheap statements before the map of a lambda that each column repeats."""


@rule(ir.Redomap)
def fold_columns(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap (map ⊕) (replicate k e) (λx → map f x) xs ⇒
    map (λy → redomap ⊕ e f y) (transpose xs)

    Provided: it stands in a lambda, and no map that may fuse with it makes xs.
    Does not handle: scans, whose results processors want to write row by row.
    """
    soac = ir.node_of(stm, ir.Redomap)
    if not scope.depth or settings(stm) or len(soac.ops) != 1:
        return None
    (op,) = soac.ops
    inner = op.vector
    neutral = [_element(scope, atom) for atom in op.neutral]
    if inner is None or len(soac.lam.ret) != len(neutral) or None in neutral:
        return None
    found = _rows_made(scope, soac.lam, inner.width)
    if found is None or any(isinstance(scope.exp(a), ir.Map) and scope.here(a)
                            for a in soac.arrays):
        return None
    outside, lam, made = found
    views = list[ir.Stm]()

    def column(array: VName) -> tuple[VName, ir.Param]:
        view = _transposed(scope, array, stm)
        views.append(view)
        return view.pat[0].name, scope.fresh("column", row_of(view.pat[0].type))

    turned = columns_of(replace(soac, lam=lam), made, column)
    scalar = ir.Operator(inner.lam, tuple(a for a in neutral if a is not None), op.comm)
    fold = ir.Redomap(soac.width, (scalar,), turned.lam, turned.inputs)
    folded = tuple(scope.fresh(p.name, row_of(p.type)) for p in stm.pat)
    over = ir.Lambda(turned.params, ir.Body((ir.Stm(folded, fold, loc=stm.loc),), tuple(
        p.name for p in folded)), tuple(p.type for p in folded))
    columns = ir.Map(inner.width, over, turned.arrays)
    return (*outside, *views, ir.Stm(stm.pat, columns, loc=stm.loc))


def _transposed(scope: Scope, array: VName, stm: ir.Stm) -> ir.Stm:
    """A view of the columns of an array."""
    type_ = scope.type(array)
    height, width, *inner = shape_of(type_)
    out = scope.fresh(array, array_of((width, height, *inner), elem_of(type_)))
    return ir.Stm((out,), transposition(array, type_), loc=stm.loc)


def _element(scope: Scope, neutral: Atom) -> Atom | None:
    """The element of a replicated vector; None for other atoms."""
    match scope.exp(neutral):
        case ir.Replicate((_,), value):
            return value
    return None


def _rows_made(scope: Scope, lam: ir.Lambda, width: Atom
               ) -> tuple[tuple[ir.Stm, ...], ir.Lambda, ir.Map] | None:
    """The map at the end of a lambda that makes its vectors, and the lambda.

    First come the iotas and replicates that do not depend on the lambda.  None if something else
    makes the vectors, or if the rest is not worth repeating for each element of a vector.
    """
    if lam.body.result == tuple(p.name for p in lam.params):  # the vectors are there
        element = identity(tuple(scope.fresh("x", row_of(type_)) for type_ in lam.ret))
        return (), replace(lam, body=ir.Body((), lam.body.result)), ir.Map(
            width, element, tuple(p.name for p in lam.params))
    outside, body = virtual_outside(lam.body, lam.params)
    before = body.stms[:-1]
    made_before = {p.name for stm in before for p in stm.pat}
    match body.stms[-1:]:
        case (ir.Stm(pat, ir.Map(made_width, arrays=arrays) as made) as stm,) if (
                not settings(stm) and
                made_width == width and not made_before.intersection(arrays)
                and lam.body.result == tuple(p.name for p in pat)
                and all(map(_is_cheap, before)) and len(before) <= MOST_REPEATED):
            return outside, replace(lam, body=body), made
    return None


def _is_cheap(stm: ir.Stm) -> bool:
    """True if a statement may be repeated for each column."""
    return is_scalar(stm) and isinstance(stm.exp, ir.PrimOp | ir.Convert | ir.AtomExp | ir.Index)


VECTOR_OPERATORS = RuleBook([fold_columns])
"""Reductions of vectors inside of lambdas."""
