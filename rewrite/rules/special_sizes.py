"""Special sizes: dimensions without elements, and with one."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, elem_of, i64, row_of, shape_of, zero
from runelift.rewrite.engine.pick import let
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, whole


@rule(*ir.SOACS)
def width_zero(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f [] ⇒ [],  redomap ⊕ e f [] ⇒ e,  scatter d f [] ⇒ d"""
    soac = stm.exp
    if not isinstance(soac, ir.Soac) or soac.width != i64(0):
        return None
    match soac:
        case ir.Scatter(dests=dests):
            return let(stm.pat, [d.array for d in dests])
        case ir.Hist(ops=hist_ops):
            return let(stm.pat, [d for op in hist_ops for d in op.dests])
        case ir.Redomap(ops=ops):
            neutral = [a for op in ops for a in op.neutral]
            return (*let(stm.pat[: len(neutral)], neutral),
                    *(_empty(p) for p in stm.pat[len(neutral):]))
    return tuple(_empty(p) for p in stm.pat)


def _empty(param: ir.Param) -> ir.Stm:
    return ir.Stm((param,), ir.Replicate(shape_of(param.type), zero(elem_of(param.type))))


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def width_one(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f [x] ⇒ [f x],  redomap ⊕ e f [x] ⇒ e ⊕ f x

    Provided: it stands in a lambda, or works on arrays alone; outside, a scalar would travel from
    device to host.
    """
    match stm.exp:
        case (ir.Map() | ir.Redomap() | ir.Scanomap()) as soac if (
                soac.width == i64(1) and (scope.depth or _on_arrays(soac))):
            elements = tuple(
                ir.Stm((p,), ir.Index(a, (i64(0), *map(whole, shape_of(p.type)))), loc=stm.loc)
                for p, a in zip(soac.lam.params, soac.arrays, strict=True))
            rest, out = list(soac.lam.body.result), list(stm.pat)
            stms: list[ir.Stm] = [*elements, *soac.lam.body.stms]
            if isinstance(soac, ir.Redomap):
                for op in soac.ops:
                    count = len(op.neutral)
                    stms += _applied(op, rest[:count], out[:count])
                    rest, out = rest[count:], out[count:]
            stms += [ir.Stm((p,), ir.ArrayLit((a,), row_of(p.type)), loc=stm.loc)
                     for p, a in zip(out, rest, strict=True)]
            return tuple(stms)
    return None


def _applied(op: ir.Operator, right: list[Atom], out: list[ir.Param]) -> tuple[ir.Stm, ...]:
    """``out = neutral ⊕ right``."""
    args = (*op.neutral, *right)
    return (*let(op.lam.params, args), *op.lam.body.stms, *let(out, op.lam.body.result))


def _on_arrays(soac: ir.Soac) -> bool:
    """True if a lambda computes no scalars but sizes and the results of reductions."""
    return isinstance(soac, ir.Map) and not any(
        isinstance(p.type, Prim) for p in soac.lam.params) and all(
            isinstance(stm.exp, ir.Soac | ir.Rearrange | ir.Reshape | ir.Replicate | ir.Iota
                       | ir.ArrayLit)
            or (isinstance(stm.exp, ir.Index) and not isinstance(stm.pat[0].type, Prim))
            for stm in soac.lam.body.stms)


@rule(ir.ArrayLit)
def literal_of_array(scope: Scope, stm: ir.Stm) -> Replacement:
    """[xs] ⇒ reshape (1, n) xs

    Provided: nothing consumes either.
    """
    match stm.exp:
        case ir.ArrayLit((VName() as array,), row) if shape_of(row) and not (
                scope.consumes(array) or scope.consumes(stm.pat[0].name)):
            return ir.Reshape((i64(1), *shape_of(row)), array)
    return None


@rule(ir.Index)
def index_unit(scope: Scope, stm: ir.Stm) -> Replacement:
    """(reshape (1, n) xs)[0, i] ⇒ xs[i],  (reshape n xs)[i] ⇒ xs[0, i] for xs of the sizes 1 and n

    Provided: both shapes are alike apart from sizes of 1, and indices there are known to be 0.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims, checked), ir.Reshape(shape, origin):
            before = shape_of(scope.type(origin))
            if _others(before) != _others(shape) or len(before) == len(shape):
                return None
            if not all(n != i64(1) or dim == i64(0)
                       or not (checked or isinstance(dim, ir.SliceDim))
                       for dim, n in zip(dims, shape, strict=True)):
                return None
            kept = iter([d for d, n in zip(dims, shape, strict=True) if n != i64(1)])
            return ir.Index(origin, tuple(i64(0) if n == i64(1) else next(kept)
                                          for n in before), checked)
    return None


@rule(ir.Rearrange)
def rearrange_unit(scope: Scope, stm: ir.Stm) -> Replacement:
    """transpose xs ⇒ reshape (n, 1) xs for xs of the sizes 1 and n

    Provided: dimensions of more than one element keep their order.
    """
    match stm.exp:
        case ir.Rearrange(perm, array):
            shape = shape_of(scope.type(array))
            moved = [k for k in perm if shape[k] != i64(1)]
            if moved == sorted(moved) and len(moved) < len(shape):
                return ir.Reshape(tuple(shape[k] for k in perm), array)
    return None


def _others(shape: tuple[Atom, ...]) -> list[Atom]:
    """The sizes that are not known to be 1."""
    return [size for size in shape if size != i64(1)]


SPECIAL_SIZES = RuleBook([width_zero, width_one, literal_of_array, index_unit, rearrange_unit,])
