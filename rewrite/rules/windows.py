"""Windows and margins: slides and pads, which are looked through or joined, but never stored.

An element of a window is an element of the array.  So windows are read where they are, and a map
over them counts.  A pad stays until code is made: each read of it tests its index.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.types import ArrayType, Atom, Const, array_of, elem_of, i64, shape_of
from runelift.rewrite.engine.pick import bound_by_lambda
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.rules.index import IndexTerms


@rule(ir.Map)
def map_layouts(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → slide x) xs ⇒ slide' xs

    Provided: slide' is along the next dimension.  The rule also takes pad, rearrange, reshape, and
    several of them.
    Because: a view of the whole is a view of each row.
    """
    match stm.exp:
        case ir.Map(width, ir.Lambda((param,), ir.Body(stms, (result,))) as lam, (
                array,)) if stms and not settings(stm) and len(stm.pat) == 1:
            bound = bound_by_lambda(lam)
            at, shape = param.name, tuple(map(scope.resolve, (width, *shape_of(param.type))))
            if shape_of(scope.type(array)) != shape or [result] != [p.name for p in stms[-1].pat]:
                return None
            made: list[ir.Stm] = []
            here = array
            for each in stms:
                outer = _one_further(each.exp, at, here, width, bound)
                if outer is None or bound & {*shape_of(each.pat[0].type)}:
                    return None
                (out,) = each.pat
                at = out.name
                type_ = array_of((width, *shape_of(out.type)), elem_of(out.type))
                lifted = scope.fresh(out.name, type_)
                made.append(ir.Stm((lifted,), outer, loc=each.loc))
                here = lifted.name
            last = made[-1]
            return (*made[:-1], ir.Stm(stm.pat, last.exp, stm.attrs, last.loc))
    return None


def _one_further(exp: ir.Exp, of: VName, array: VName, width: Atom, bound: set[Atom]
                 ) -> ir.Exp | None:
    """The layout ``exp`` of ``of`` for ``width`` of such; None if it is another expression."""
    match exp:
        case ir.Slide(dim, size, step, count, same) if same == of and bound.isdisjoint(
                (size, step, count)):
            return ir.Slide(dim + 1, size, step, count, array)
        case ir.Pad(dim, before, after, value, same) if same == of and bound.isdisjoint(
                (before, after, value)):
            return ir.Pad(dim + 1, before, after, value, array)
        case ir.Rearrange(perm, same) if same == of:
            return ir.Rearrange((0, *(k + 1 for k in perm)), array)
        case ir.Reshape(shape, same) if same == of and bound.isdisjoint(shape):
            return ir.Reshape((width, *shape), array)
    return None


@rule(*ir.SOACS)
def pad_input(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → f (pad x)) xs ⇒ map f (pad' xs)

    Provided: pad' is along the next dimension, of a size that is known outside, and no array
    operation makes xs, which might be fused.
    Because: a padded array outside can be stored, and patterns of accesses to it are known.
    """
    soac = ir.soac_of(stm)
    given = {p.name: (p, array) for p, array in zip(soac.lam.params, soac.arrays, strict=True)}
    bound = bound_by_lambda(soac.lam)
    for place, each in enumerate(soac.lam.body.stms):
        if not isinstance(each.exp, ir.Pad) or each.exp.array not in given:
            continue
        param, array = given[each.exp.array]
        outer = _one_further(each.exp, param.name, array, soac.width, bound)
        if (outer is None or not bound.isdisjoint(shape_of(each.pat[0].type))
                or isinstance(scope.exp(array), ir.SOACS) or scope.consumes(array)
                or shape_of(scope.type(array))[0] != soac.width):
            continue
        (row,) = each.pat
        padded = scope.fresh(row.name, array_of((soac.width, *shape_of(row.type)),
                                                elem_of(row.type)))
        stms = soac.lam.body.stms
        lam = ir.Lambda((*soac.lam.params, row),
                        ir.Body((*stms[:place], *stms[place + 1:]), soac.lam.body.result),
                        soac.lam.ret)
        return (ir.Stm((padded,), outer, loc=each.loc), replace(stm, exp=replace(
            soac, lam=lam, arrays=(*soac.arrays, padded.name))))
    return None


@rule(ir.Index)
def index_slide(scope: Scope, stm: ir.Stm) -> Replacement:
    """(slide n s xs)[i, j] ⇒ xs[i * s + j],  (slide n s xs)[i, a :+ m] ⇒ xs[i * s + a :+ m]

    Provided: the index is inside for certain or need not be checked, and the dimension of windows
    or that of their elements has an index.
    """
    match scope.looked_at(stm):
        case ir.Index(array, dims, checked), ir.Slide(dim, _, step, _, origin) if (
                not checked or scope.selects_inside(array, dims)):
            window, place = dims[dim:dim + 2]
            terms = IndexTerms(scope, stm)
            new: ir.Dim
            if isinstance(window, ir.SliceDim):
                if isinstance(place, ir.SliceDim):
                    return None
                first = terms.affine(place, window.start, step)
                new = ir.SliceDim(first, window.count, terms.times(window.stride, step))
            elif isinstance(place, ir.SliceDim):
                first = terms.affine(place.start, window, step)
                new = ir.SliceDim(first, place.count, place.stride)
            else:
                new = terms.affine(place, window, step)
            return terms.then(ir.Index(origin, (*dims[:dim], new, *dims[dim + 2:])))
    return None


@rule(ir.Index)
def index_pad(scope: Scope, stm: ir.Stm) -> Replacement:
    """(pad a b v xs)[i + a] ⇒ xs[i]

    Provided: 0 <= i < n is known for the size n of xs, and the other indices are inside for certain
    or need not be checked.
    """
    match scope.looked_at(stm):
        case ir.Index(array, dims, checked), ir.Pad(dim, before, _, _, origin) if (
                not checked or scope.selects_inside(array, dims)):
            index, size = dims[dim], shape_of(scope.type(origin))[dim]
            if isinstance(index, ir.SliceDim):
                return None
            inner = _less(scope, index, before)
            if inner is not None and scope.below(inner, size):
                return ir.Index(origin, (*dims[:dim], inner, *dims[dim + 1:]))
    return None


def _less(scope: Scope, index: Atom, number: Atom) -> Atom | None:
    """The atom that is ``index - number``, if there is one."""
    if number == i64(0):
        return index
    match scope.exp(index):
        case ir.PrimOp("add", Prim.I64, (x, y)) if number in (x, y):
            return y if number == x else x
    return None


@rule(ir.Concat)
def concat_margins(scope: Scope, stm: ir.Stm) -> Replacement:
    """replicate a v ++ xs ++ replicate b v ⇒ pad a b v xs

    Provided: no array operation makes xs, which could write into the result, and nothing consumes
    xs or the result.  Either margin may be missing, or be written out.
    """
    match stm.exp:
        case ir.Concat(dim, arrays, _) if not scope.consumes(stm.pat[0].name):
            rims = [_same_everywhere(scope, each) for each in arrays]
            inner = [k for k, rim in enumerate(rims) if rim is None]
            values = {rim for rim in rims if rim is not None}
            if len(inner) != 1 or len(values) != 1:
                return None
            (value,), array = values, arrays[inner[0]]
            if isinstance(scope.exp(array), ir.SOACS) or scope.consumes(array):
                return None
            terms = IndexTerms(scope, stm)
            before, after = (_total(terms, [shape_of(scope.type(each))[dim] for each in side])
                             for side in (arrays[:inner[0]], arrays[inner[0] + 1:]))
            return terms.then(ir.Pad(dim, before, after, value, array))
    return None


def _same_everywhere(scope: Scope, array: VName) -> Atom | None:
    """The scalar that each element of an array is, if it was made so."""
    match scope.exp(array):
        case ir.Replicate(_, value) if not shape_of(scope.type(value)):
            return value
        case ir.ArrayLit((value, *others)) if not shape_of(scope.type(value)) and all(
                other == value for other in others):
            return value
    return None


def _total(terms: IndexTerms, numbers: Sequence[Atom]) -> Atom:
    total: Atom = i64(0)
    for number in numbers:
        total = terms.plus(total, number)
    return total


@rule(ir.Pad)
def pad_pad(scope: Scope, stm: ir.Stm) -> Replacement:
    """pad a b v (pad c d v xs) ⇒ pad (a + c) (b + d) v xs

    Provided: both are along one dimension, and c and d are not negative.
    """
    match scope.looked_at(stm):
        case ir.Pad(dim, before, after, value, _), ir.Pad(same, first, last, other, origin) if (
                dim == same and value == other
                and scope.natural(first) and scope.natural(last)):
            terms = IndexTerms(scope, stm)
            return terms.then(ir.Pad(dim, terms.plus(before, first),
                                     terms.plus(after, last), value, origin))
    return None


@rule(ir.Pad)
def pad_nothing(scope: Scope, stm: ir.Stm) -> Replacement:
    """pad 0 0 v xs ⇒ xs"""
    match stm.exp:
        case ir.Pad(_, Const(0), Const(0), _, array):
            return ir.AtomExp(array)
    return None


@rule(ir.Rearrange)
def rearrange_pad(scope: Scope, stm: ir.Stm) -> Replacement:
    """rearrange p (pad a b v xs) ⇒ pad' a b v (rearrange p xs)

    Provided: pad' is along the dimension that p makes of that of pad.
    Because: what makes xs may take the order on.
    """
    match scope.looked_at(stm):
        case ir.Rearrange(perm, array), ir.Pad(dim, before, after, value, origin):
            shape = shape_of(scope.type(origin))
            turned = scope.fresh("ts", ArrayType(elem_of(scope.type(array)),
                                                 tuple(shape[k] for k in perm)))
            pad = ir.Pad(perm.index(dim), before, after, value, turned.name)
            return (ir.Stm((turned,), ir.Rearrange(perm, origin), loc=stm.loc),
                    ir.Stm(stm.pat, pad, stm.attrs, stm.loc))
    return None


@rule(ir.Slide)
def slide_single(scope: Scope, stm: ir.Stm) -> Replacement:
    """slide 1 1 xs ⇒ reshape (n, 1) xs"""
    match stm.exp:
        case ir.Slide(_, Const(1), Const(1), _, array):
            return ir.Reshape(shape_of(stm.pat[0].type), array)
    return None


@rule(ir.Reshape)
def slide_tiling(scope: Scope, stm: ir.Stm) -> Replacement:
    """reshape (k, t) (slide n s xs) ⇒ slide' n s (slide ((t - 1) * s + n) (t * s) xs)

    Provided: the reshape splits the dimension of the windows only.
    Because: a tile of windows is a larger window, and its place needs no division.
    """
    match scope.looked_at(stm):
        case ir.Reshape(shape, array), ir.Slide(dim, size, step, _, origin):
            before = shape_of(scope.type(array))
            if (len(shape) != len(before) + 1 or shape[:dim] != before[:dim]
                    or shape[dim + 2:] != before[dim + 1:]
                    or not _splits(scope, before[dim], shape[dim:dim + 2])):
                return None
            count, tile = shape[dim:dim + 2]
            terms = IndexTerms(scope, stm)
            inner = terms.plus(terms.times(terms.plus(tile, i64(-1)), step), size)
            outer = terms.times(tile, step)
            sizes = shape_of(scope.type(origin))
            tiles = scope.fresh("tiles", ArrayType(
                elem_of(scope.type(array)),
                (*sizes[:dim], count, inner, *sizes[dim + 1:])))
            return (*terms.stms,
                    ir.Stm((tiles,), ir.Slide(dim, inner, outer, count, origin),
                           loc=stm.loc),
                    ir.Stm(stm.pat, ir.Slide(dim + 1, size, step, tile, tiles.name),
                           stm.attrs, stm.loc))
    return None


def _splits(scope: Scope, size: Atom, parts: Sequence[Atom]) -> bool:
    """True if ``size`` is known to be the product of two parts."""
    match scope.exp(size):
        case ir.PrimOp("mul", Prim.I64, args):
            return sorted(args, key=str) == sorted(parts, key=str)
    match size, parts:
        case Const(whole), (Const(one), Const(other)):
            return int(whole) == int(one) * int(other)
    return False


WINDOWS = RuleBook([map_layouts, pad_input, index_slide, index_pad, concat_margins, pad_pad,
                    pad_nothing, rearrange_pad, slide_single, slide_tiling])
