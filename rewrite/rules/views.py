"""Views made by maps: rows that are parts of other arrays, in other orders, are never stored.

A map *looks* if it computes nothing but indices, and each result is a part of an array.  What reads
such a row reads the array itself.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, rename_lambda
from runelift.ir.types import ArrayType, Atom, array_of, i64, row_of, shape_of
from runelift.rewrite.engine.pick import bound_by_lambda
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, whole

ARITHMETIC = frozenset({"add", "sub", "mul", "min", "max", "div", "mod", "quot", "rem"})
"""Operations that index computations consist of."""


def looks(scope: Scope, stm: ir.Stm | None) -> bool:
    """True if a statement is a map that only reads arrays, which nothing consumes."""
    match stm:
        case ir.Stm(pat, ir.Map(_, lam, arrays), ()) if all(
                not isinstance(type_, Prim) for type_ in lam.ret):
            counted = all(not isinstance(p.type, Prim) or isinstance(scope.exp(a), ir.Iota)
                          for p, a in zip(lam.params, arrays, strict=True))
            return (counted and not any(scope.consumes(p.name) for p in pat)
                    and not any(map(scope.consumes, free_vars(stm)))
                    and all(_looks_inside(scope, each) for each in lam.body.stms)
                    and bound_by_lambda(lam).issuperset(lam.body.result))
    return False


def _looks_inside(scope: Scope, stm: ir.Stm) -> bool:
    """True if a statement of a map that only reads computes an index or is a view."""
    match stm.exp:
        case ir.PrimOp(op, Prim.I64):
            return op in ARITHMETIC
        case ir.Index(_, dims):
            return any(isinstance(dim, ir.SliceDim) for dim in dims)
        case ir.Rearrange() | ir.Reshape() | ir.Slide() | ir.Pad() | ir.AtomExp() | ir.Iota():
            return True
        case ir.Map(_, lam):
            return (all(not isinstance(type_, Prim) for type_ in lam.ret) and not settings(stm)
                    and all(_looks_inside(scope, each) for each in lam.body.stms))
    return False


def widens(scope: Scope, stm: ir.Stm | None) -> bool:
    """True if a statement is a map that makes integers of integers with no more bits.

    What reads its result reads no more bytes where it reads the operand.
    """
    match stm:
        case ir.Stm(pat, ir.Map(_, lam, arrays), ()):
            return (all(map(_widens_inside, lam.body.stms))
                    and {p.name for each in lam.body.stms for p in each.pat}.issuperset(
                        lam.body.result)
                    and not any(scope.consumes(p.name) for p in pat)
                    and not any(map(scope.consumes, arrays)))
    return False


def _widens_inside(stm: ir.Stm) -> bool:
    match stm.exp:
        case ir.Convert(source, target):
            return (source.is_int and target.is_int
                    and source.dtype.itemsize <= target.dtype.itemsize)
    return False


@rule(*ir.SOACS)
def input_view(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f (map g xs) ⇒ map (f ∘ g) xs

    Provided: g only looks or makes integers wider, and nothing consumes what it looks at.
    Because: reading through an index costs less than storing rows, also if several read them.
    """
    soac = ir.soac_of(stm)
    for place, (param, array) in enumerate(zip(soac.lam.params, soac.arrays, strict=True)):
        made = scope.defs.get(array)
        if made is None or scope.consumes(param.name) or not (
                looks(scope, made) or widens(scope, made)):
            continue
        assert isinstance(made.exp, ir.Map)
        if made.exp.width != soac.width:
            continue
        lam = rename_lambda(made.exp.lam, scope.names)
        result = lam.body.result[[p.name for p in made.pat].index(array)]
        params = (*soac.lam.params[:place], *soac.lam.params[place + 1:], *lam.params)
        arrays = (*soac.arrays[:place], *soac.arrays[place + 1:], *made.exp.arrays)
        copied = ir.Stm((param,), ir.AtomExp(result))
        body = ir.Body((*lam.body.stms, copied, *soac.lam.body.stms), soac.lam.body.result)
        return replace(soac, lam=ir.Lambda(params, body, soac.lam.ret), arrays=arrays)
    return None


@rule(*ir.SOACS)
def input_of_view(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f (transpose (map g xs)) ⇒ map (λi → f (transpose (map g xs))[i]) (iota n)

    Provided: g only looks.  The rule also takes slices, and windows in place of the map.
    Because: the index goes through the layout to what is looked at.
    """
    soac = ir.soac_of(stm)
    for place, (param, array) in enumerate(zip(soac.lam.params, soac.arrays, strict=True)):
        if (not isinstance(scope.exp(array), ir.Rearrange | ir.Index | ir.Slide)
                or scope.consumes(param.name) or not views_map(scope, array)
                or shape_of(scope.type(array))[0] != soac.width):
            continue

        def read(index: VName, param: ir.Param = param, array: VName = array) -> Iterable[ir.Stm]:
            element = ir.Index(array, (index, *map(whole, shape_of(param.type))))
            return (ir.Stm((param,), element),)

        return counted_input(scope, stm, place, read)
    return None


def counted_input(scope: Scope, stm: ir.Stm, place: int,
                  read: Callable[[VName], Iterable[ir.Stm]]) -> tuple[ir.Stm, ...]:
    """An array operation that counts its elements, and has ``read`` for an input of it.

    ``place`` is that of the input.  ``read`` binds the parameter for it, at a given index.
    """
    soac = ir.soac_of(stm)
    counted = scope.fresh("is", ArrayType(Prim.I64, (soac.width,)))
    index, params = scope.fresh("i", Prim.I64), soac.lam.params
    body = ir.Body((*read(index.name), *soac.lam.body.stms), soac.lam.body.result)
    lam = ir.Lambda((*params[:place], *params[place + 1:], index), body, soac.lam.ret)
    arrays = (*soac.arrays[:place], *soac.arrays[place + 1:], counted.name)
    return (ir.Stm((counted,), ir.Iota(soac.width, i64(0), i64(1), Prim.I64)),
            replace(stm, exp=replace(soac, lam=lam, arrays=arrays)))


def views_map(scope: Scope, array: VName) -> bool:
    """True if an array is windows, or a rearrangement or slice of an array that a map reads."""
    match scope.exp(array):
        case ir.Slide(array=origin):
            return not scope.consumes(origin)
        case ir.Rearrange(_, origin) | ir.Index(origin, _, False):
            return views_map(scope, origin)
    return looks(scope, scope.defs.get(array))


@rule(ir.Index)
def index_view(scope: Scope, stm: ir.Stm) -> Replacement:
    """(map g xs)[i, j] ⇒ (g xs[i])[j],  (map g xs)[a :+ m, j] ⇒ map (λx → (g x)[j]) xs[a :+ m]

    Provided: g only looks, and the first index is inside for certain or need not be checked.  An
        element also where g makes integers wider.
    """
    match stm.exp:
        case ir.Index(array, (first, *rest), checked):
            made = scope.defs.get(array)
            wider = not isinstance(first, ir.SliceDim) and widens(scope, made)
            if made is None or not (wider or looks(scope, made)):
                return None
            assert isinstance(made.exp, ir.Map)
            if checked and not scope.inside(first, made.exp.width):
                return None
            lam = rename_lambda(made.exp.lam, scope.names)
            result: Atom = lam.body.result[[p.name for p in made.pat].index(array)]
            assert isinstance(result, VName)
            picked = ir.Index(result, tuple(rest), checked) if rest else ir.AtomExp(result)
            if not isinstance(first, ir.SliceDim):
                elements = (ir.Stm((p,), ir.Index(a, (first, *map(whole, shape_of(p.type)))),
                                   loc=stm.loc)
                            for p, a in zip(lam.params, made.exp.arrays, strict=True))
                return (*elements, *lam.body.stms, replace(stm, exp=picked))
            parts = [scope.fresh("x", array_of((first.count,), p.type)) for p in lam.params]
            views = (ir.Stm((part,), ir.Index(a, (first, *map(whole, shape_of(p.type)))),
                            loc=stm.loc)
                     for part, p, a in zip(parts, lam.params, made.exp.arrays, strict=True))
            (out,) = stm.pat
            row = scope.fresh("x", row_of(out.type))
            body = ir.Body((*lam.body.stms, ir.Stm((row,), picked, loc=stm.loc)), (row.name,))
            return (*views, replace(stm, exp=ir.Map(
                first.count, ir.Lambda(lam.params, body, (row.type,)),
                tuple(p.name for p in parts))))
    return None


VIEWS = RuleBook([input_view, input_of_view, index_view])
