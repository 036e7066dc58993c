"""Nested reductions: a reduction over flat places of a view goes through the view's dimensions.

A part of a matrix, read in row-major order, has its elements at quotients and remainders.  A loop
for each dimension needs neither, and shows which elements neighbouring points share.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import rename_lambda
from runelift.ir.types import Atom, Const, array_of, elem_of, i64, shape_of
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, is_counting, is_whole
from runelift.rewrite.rules.index import IndexTerms
from runelift.rewrite.rules.soac import operands
from runelift.rewrite.rules.views import looks


@rule(ir.Redomap)
def reduce_view(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap ⊕ f (reshape (n * m) xss) ⇒ redomap ⊕ (λxs → redomap ⊕ f xs) xss

    Provided: it stands in a lambda, and xss is a view whose rows do not follow each other.
    """
    redomap = _plain(scope, stm)
    if redomap is None:
        return None
    views = {array: made.array for array in redomap.arrays
             if isinstance(made := scope.exp(array), ir.Reshape) and len(made.shape) == 1}
    gaps = [view for view in views.values() if _has_gaps(scope, view)]
    if not gaps:
        return None
    shape = shape_of(scope.type(gaps[0]))
    return _nested(scope, stm, redomap, shape)


@rule(ir.Redomap)
def reduce_quotients(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap ⊕ (λp → f (p / m) (p % m)) (iota (n * m)) ⇒
    redomap ⊕ (λi → redomap ⊕ (λj → f i j) (iota m)) (iota n)

    Provided: it stands in a lambda.
    """
    redomap = _plain(scope, stm)
    if redomap is None:
        return None
    counters = {p.name for p, a in zip(redomap.lam.params, redomap.arrays, strict=True)
                if is_counting(scope.exp(a))}
    for inner in redomap.lam.body.stms:
        match inner.exp:
            case ir.PrimOp("div" | "quot" | "mod" | "rem", Prim.I64, (counter, size)) if (
                    counter in counters):
                outer = _other_factor(scope, redomap.width, size)
                if outer is not None:
                    return _nested(scope, stm, redomap, (outer, size))
    return None


def _plain(scope: Scope, stm: ir.Stm) -> ir.Redomap | None:
    """The reduction of a lambda that reduces scalars only; None for other statements."""
    redomap = stm.exp
    if isinstance(redomap, ir.Redomap) and scope.depth and len(stm.pat) == operands(redomap) and (
            all(isinstance(p.type, Prim) for p in (*stm.pat, *redomap.lam.params))):
        return redomap
    return None


def _other_factor(scope: Scope, width: Atom, size: Atom) -> Atom | None:
    """The other factor if ``width`` is a product with ``size``; else None."""
    if isinstance(width, Const) and isinstance(size, Const):
        divides = 1 < size.value < width.value and width.value % size.value == 0
        return i64(int(width.value // size.value)) if divides else None
    match scope.exp(width):
        case ir.PrimOp("mul", Prim.I64, (x, y)):
            return x if y == size else y if x == size else None
    return None


def _has_gaps(scope: Scope, view: VName) -> bool:
    """True if an array is a part of another whose elements do not follow each other in memory."""
    match scope.exp(view):
        case ir.Index(array, dims):
            sizes = shape_of(scope.type(array))
            first = next((k for k, d in enumerate(dims) if isinstance(d, ir.SliceDim)), 0)
            return not all(map(is_whole, dims[first + 1:], sizes[first + 1:]))
        case ir.Rearrange():
            return True
    return looks(scope, scope.defs.get(view))


def _nested(scope: Scope, stm: ir.Stm, redomap: ir.Redomap, shape: tuple[Atom, ...]
            ) -> tuple[ir.Stm, ...]:
    """A reduction for each of the dimensions, the last innermost."""
    before: list[ir.Stm] = []
    inside: list[ir.Stm] = []
    rows: list[ir.Param] = []
    elements: list[ir.Param] = []
    counters = [scope.fresh("i", Prim.I64) for _ in shape]
    for param, array in zip(redomap.lam.params, redomap.arrays, strict=True):
        made = scope.exp(array)
        if isinstance(made, ir.Iota):
            terms = IndexTerms(scope, stm)
            place: Atom = counters[0].name
            for size, counter in zip(shape[1:], counters[1:], strict=True):
                place = terms.plus(terms.times(place, size), counter.name)
            inside += [*terms.stms, ir.Stm((param,), ir.Index(array, (place,)))]
            continue
        elements.append(param)
        type_ = array_of(shape, elem_of(param.type))
        if isinstance(made, ir.Reshape) and shape_of(scope.type(made.array)) == shape:
            rows.append(ir.Param(made.array, type_))
        else:
            rows.append(scope.fresh("rows", type_))
            before.append(ir.Stm((rows[-1],), ir.Reshape(shape, array), loc=stm.loc))
    lam = ir.Lambda(tuple(elements), ir.Body((*inside, *redomap.lam.body.stms),
                                             redomap.lam.body.result), redomap.lam.ret)
    for number in reversed(range(len(shape))):
        arrays = rows if number == 0 else [
            scope.fresh("row", array_of(shape[number:], elem_of(p.type))) for p in rows]
        names = [p.name for p in arrays]
        if inside:
            counted = scope.fresh("is", array_of((shape[number],), Prim.I64))
            before.append(ir.Stm((counted,), ir.Iota(shape[number], i64(0), i64(1), Prim.I64)))
            names.append(counted.name)
            lam = replace(lam, params=(*lam.params, counters[number]))
        totals = tuple(scope.fresh(p.name, p.type) for p in stm.pat) if number else stm.pat
        ops = tuple(replace(op, lam=rename_lambda(op.lam, scope.names)) for op in redomap.ops)
        nest = ir.Stm(totals, ir.Redomap(shape[number], ops, lam, tuple(names)), stm.attrs, stm.loc)
        lam = ir.Lambda(tuple(arrays), ir.Body((nest,), tuple(p.name for p in totals)),
                        redomap.lam.ret)
    return (*before, *lam.body.stms)


NESTED_REDUCTIONS = RuleBook([reduce_view, reduce_quotients])
