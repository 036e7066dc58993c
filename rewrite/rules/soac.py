"""Second-order array combinators: their results and operators."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import is_stored
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for, rename_lambda
from runelift.ir.types import Atom, Type, shape_of
from runelift.rewrite.engine.pick import bound_by_lambda, let, pick, pick_lambda, repeated
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import body_may_fail, is_scalar_code
from runelift.rewrite.engine.scope import Scope


def operands(soac: ir.Map | ir.Redomap | ir.Scanomap) -> int:
    """The number of the lambda's results that operators take; its further results become arrays."""
    return 0 if isinstance(soac, ir.Map) else sum(len(op.neutral) for op in soac.ops)


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → a) xs ⇒ replicate n a

    Provided: a is a constant or a name from outside of the lambda.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            bound = bound_by_lambda(soac.lam)
            count = operands(soac)
            vary = [k < count or (isinstance(a, VName) and a in bound)
                    for k, a in enumerate(soac.lam.body.result)]
            if all(vary):
                return None
            copies = tuple(
                ir.Stm((p,), ir.Replicate((soac.width,), a), loc=stm.loc)
                for p, a, v in zip(stm.pat, soac.lam.body.result, vary, strict=True) if not v)
            rest = replace(soac, lam=pick_lambda(soac.lam, vary))
            return (*copies, ir.Stm(pick(stm.pat, vary), rest, stm.attrs, stm.loc))
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_identity(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → x) xs ⇒ xs

    Provided: xs has as many elements as the map, which does not store them on purpose.
    """
    match stm.exp:
        case _ if is_stored(stm):
            return None
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            source: dict[Atom, VName] = {
                p.name: a for p, a in zip(soac.lam.params, soac.arrays, strict=True)
                if shape_of(scope.type(a))[0] == soac.width}
            count = operands(soac)
            vary = [k < count or a not in source for k, a in enumerate(soac.lam.body.result)]
            if all(vary):
                return None
            same = [not v for v in vary]
            arrays = [source[a] for a in pick(soac.lam.body.result, same)]
            rest = replace(soac, lam=pick_lambda(soac.lam, vary))
            return (*let(pick(stm.pat, same), arrays),
                    ir.Stm(pick(stm.pat, vary), rest, stm.attrs, stm.loc))
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_same_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, zs) = map (λx → (y, y)) xs ⇒ ys = map (λx → y) xs, zs = ys"""
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            count = operands(soac)
            found = repeated([k if k < count else a for k, a in enumerate(soac.lam.body.result)])
            if found is None or found.names_sizes(stm.pat):
                return None
            return found.statements(stm, replace(soac, lam=pick_lambda(soac.lam, found.keep)))
    return None


@rule(ir.Redomap, ir.Scanomap)
def without_operators(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap () f xs ⇒ map f xs"""
    match stm.exp:
        case ir.Redomap(width, (), lam, arrays) | ir.Scanomap(width, (), lam, arrays):
            return ir.Map(width, lam, arrays)
    return None


@rule(ir.Redomap)
def sum_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap (+) e (λx → a) xs ⇒ e + n × a

    Provided: the elements are integers, whose sums wrap around; a is a constant or a name from
    outside of the lambda.
    """
    soac = ir.node_of(stm, ir.Redomap)
    bound, place = bound_by_lambda(soac.lam), 0
    keep = [True] * len(soac.lam.body.result)
    ops: list[ir.Operator] = []
    sums: list[ir.Stm] = []
    for op in soac.ops:
        term = soac.lam.body.result[place]
        if term not in bound and (prim := _added(op)) is not None:
            keep[place] = False
            sums += _multiple(scope, soac.width, term, op.neutral[0], stm.pat[place], prim)
        else:
            ops.append(op)
        place += len(op.neutral)
    if not sums:
        return None
    rest = replace(soac, ops=tuple(ops), lam=pick_lambda(soac.lam, keep))
    return (*sums, ir.Stm(pick(stm.pat, keep), rest, stm.attrs, stm.loc))


def _added(op: ir.Operator) -> Prim | None:
    """The type of the integers that an operator adds, if it does that and nothing else."""
    match op.primitive:
        case "add", prim if prim.is_int:
            return prim
    return None


def _multiple(scope: Scope, count: Atom, term: Atom, neutral: Atom, out: ir.Param,
              prim: Prim) -> tuple[ir.Stm, ...]:
    """``out = neutral + count × term``."""
    number, total = (ir.Param(scope.names.fresh(base), prim) for base in ("number", "total"))
    return (ir.Stm((number,), ir.Convert(Prim.I64, prim, count)),
            ir.Stm((total,), ir.PrimOp("mul", prim, (number.name, term))),
            ir.Stm((out,), ir.PrimOp("add", prim, (neutral, total.name))))


@rule(ir.Hist)
def hist_by_component(scope: Scope, stm: ir.Stm) -> Replacement:
    """hist (d, e) (⊕ ⊗) (λx → (i, a, b)) xs ⇒ hist (d ⊕, e ⊗) (λx → (i, i, a, b)) xs

    Provided: ⊕ works on the first components alone, ⊗ on the second; both are scalar code that
    cannot fail.
    Because: an update of one word can be atomic.
    """
    match stm.exp:
        case ir.Hist(width, ops, lam, arrays):
            split = [_components(op.op, scope) for op in ops]
            if all(len(each) == 1 for each in split):
                return None
            new, bins, rets = list[ir.HistOp](), list[Atom](), list[Type]()
            for number, (op, each) in enumerate(zip(ops, split, strict=True)):
                dests = [op.dests] if len(each) == 1 else [(d,) for d in op.dests]
                new += [ir.HistOp(op.bins, d, o) for d, o in zip(dests, each, strict=True)]
                bins += [lam.body.result[number]] * len(each)
                rets += [lam.ret[number]] * len(each)
            wider = ir.Lambda(lam.params, ir.Body(
                lam.body.stms, (*bins, *lam.body.result[len(ops):])), (*rets, *lam.ret[len(ops):]))
            return ir.Hist(width, tuple(new), wider, arrays)
    return None


def _components(op: ir.Operator, scope: Scope) -> list[ir.Operator]:
    """The operators of the components of ``op``; ``op`` alone if it cannot be divided."""
    lam, count = op.lam, len(op.neutral)
    if count == 1 or not is_scalar_code(lam.body.stms) or body_may_fail(lam.body):
        return [op]
    found = []
    for k, result in enumerate(lam.body.result):
        params = lam.params[k], lam.params[count + k]
        stms = needed_for(lam.body.stms, (result,))
        others = {p.name for p in lam.params} - {p.name for p in params}
        if others & free_vars(ir.Body(stms, (result,))):
            return [op]
        part = ir.Lambda(params, ir.Body(stms, (result,)), (lam.ret[k],))
        found.append(ir.Operator(rename_lambda(part, scope.names), (op.neutral[k],), op.comm))
    return found


SOAC = RuleBook([
    map_invariant, map_identity, map_same_result, without_operators, hist_by_component,
    sum_invariant,
])
