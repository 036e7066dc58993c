"""Derivatives of scatters and accumulators, and of functions whose adjoint the program gives."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.errors import NoDerivative
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import statements_inside
from runelift.ir.types import FALSE, Atom, Const, array_of, elem_of, i64, row_of, shape_of
from runelift.rewrite.derive.accumulation import without_writes
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.maps import reverse_map
from runelift.rewrite.derive.operators import is_plain, is_sum
from runelift.rewrite.derive.walk import Back, Forward, Reverse, forward, transposed
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@forward(ir.Scatter, provided=is_plain)
def forward_scatter(walk: Forward, stm: ir.Stm, exp: ir.Scatter) -> None:
    """r = scatter a is vs ⇒ r, ṙ = scatter (a, ȧ) is (vs, v̇s)"""
    (dest,), (*places, values) = exp.dests, exp.arrays
    both = [*places, values, walk.array(values)]
    lam = walk.emit.lam([row_of(walk.emit.types[a]) for a in both],
                        lambda *xs: (*xs[:-2], xs[-2], *xs[:-2], xs[-1]))
    tangents = walk.pattern(stm, [True])
    walk.add_both(stm, tangents, ir.Scatter(
        exp.width, lam, tuple(both), (dest, replace(dest, array=walk.array(dest.array)))))


def scattered(emit: Emitter, dest: VName, places: Sequence[VName], values: VName) -> VName:
    """``scatter dest places values``."""
    arrays = (*places, values)
    width = shape_of(emit.types[values])[0]
    node = ir.Scatter(width, emit.same(arrays), arrays, (ir.Dest(dest, len(places)),))
    return emit.one(node, emit.types[dest], "ds")


@transposed(ir.Scatter, provided=is_plain)
def reverse_scatter(walk: Reverse, stm: ir.Stm, exp: ir.Scatter, adjoint: VName) -> None:
    """r = scatter a is vs ⇒ v̄s[k] += r̄[is[k]] if k has won there, ā += scatter r̄ is 0

    Because: one of several writers of a cell counts, so that indices are scattered too.  A cell
    that none has won keeps its value, so ā is a map over r̄ where winners are known.  Outside of
    maps winners are i32: they are read in any order.
    """
    emit, (dest,), (*places, values) = walk.emit, exp.dests, exp.arrays
    row = row_of(emit.types[values])
    sizes = shape_of(emit.types[dest.array])[:dest.rank]
    winners = None
    if walk.varies(values):
        counting = _numbered(walk, exp.width)
        prim = elem_of(emit.types[counting])
        none = emit.one(ir.Replicate(sizes, Const(-1, prim)), array_of(sizes, prim), "winners")
        winners = scattered(emit, none, places, counting)
        walk.add_won(values, winners, adjoint, [counting, *places])
    if walk.varies(dest.array) and winners is not None and dest.rank == 1:
        walk.keep_unwon(dest.array, winners, adjoint)
    elif walk.varies(dest.array):
        zeros = emit.zeros(array_of((exp.width, *shape_of(row)), elem_of(row)))
        walk.add(dest.array, scattered(emit, adjoint, places, emit.name(zeros)))


def _numbered(walk: Reverse, width: Atom) -> VName:
    """The indices of values: i32 outside of maps, where a check costs nothing."""
    emit = walk.emit
    if walk.inner is not None:
        return emit.counting(width)
    few = emit.op("le", Prim.I64, width, i64(int(Prim.I32.greatest)))
    emit.add(ir.Stm((), ir.Assert(few, failures.WINNERS, (width,)), (), emit.loc))
    node = ir.Iota(width, Const(0, Prim.I32), Const(1, Prim.I32), Prim.I32)
    return emit.one(node, array_of((width,), Prim.I32), "is")


@forward(ir.Accumulate)
def forward_accumulate(walk: Forward, stm: ir.Stm, exp: ir.Accumulate) -> None:
    """r = accumulate a f xs ⇒ ṙ = accumulate ȧ (writes of tangents) xs ẋs

    Provided: the operator is + or there is none.
    Because: tangents have another accumulator, so that atomic updates stay.
    """
    _require_sum(exp, stm)
    walk.emit.add(stm)
    lam = walk.emit.copied(exp.lam)
    active = [walk.tangent(a) is not None for a in exp.arrays]
    arrays = tuple(map(walk.array, pick(exp.arrays, active)))
    walk.accumulators[lam.params[0].name] = bool(exp.ops)
    derived = walk.lam(lam, [False, *active])
    tangents = tuple(p for p in derived.tangents if p is not None)
    dests = tuple(walk.array(dest) for dest in exp.dests)
    ops = tuple(map(walk.emit.again, exp.ops))
    again = ir.Lambda((*lam.params, *tangents), ir.Body(derived.stms, lam.body.result), lam.ret)
    if not any(isinstance(each.exp, ir.AccWrite) for each in statements_inside((again.body,))):
        walk.tan |= {p.name: walk.tan[dest] for p, dest in zip(stm.pat, exp.dests, strict=True)
                     if dest in walk.tan}
        return
    pat = walk.pattern(stm, [True] * len(stm.pat))
    walk.emit.stms.append(replace(stm, pat=pat, exp=ir.Accumulate(
        exp.width, dests, ops, again, (*exp.arrays, *arrays))))


def _require_sum(exp: ir.Accumulate, stm: ir.Stm) -> None:
    if not all(map(is_sum, exp.ops)):
        raise NoDerivative("An accumulator has a derivative with the operator + only.", stm.loc)


@forward(ir.AccWrite)
def forward_write(walk: Forward, stm: ir.Stm, exp: ir.AccWrite) -> None:
    """write acc i v ⇒ write acc_tan i v̇, or nothing where 0 would be added"""
    if walk.accumulators[exp.acc] and not any(walk.tangent(a) for a in exp.values):
        walk.emit.let(stm.pat, [exp.token])
    else:
        values = tuple(map(walk.full, exp.values))
        walk.emit.add(replace(stm, exp=replace(exp, values=values)))


@rule(ir.Accumulate)
def reverse_accumulate(walk: Reverse, stm: ir.Stm, exp: ir.Accumulate) -> Back:
    """r = accumulate (+) a f xs ⇒ ā += r̄, and a map with v̄ += r̄[i] for each write i v

    Provided: the operator is +.
    """
    _require_sum(exp, stm)
    if not exp.ops:
        raise NoDerivative("Writes of a scatter_stream have no derivative in reverse mode.",
                           stm.loc)
    walk.emit.add(stm)

    def back() -> None:
        emit = walk.emit
        adjoints = [walk.take(p.name) for p in stm.pat]
        for dest, adjoint in zip(exp.dests, adjoints, strict=True):
            walk.add(dest, adjoint)
        lam = walk.copied(exp.lam)
        acc, *params = lam.params
        walk.accumulators[acc.name] = tuple(adjoints)
        emit.let([acc], [FALSE])
        done = emit.fresh("done", array_of((exp.width,), Prim.BOOL))
        inner = ir.Map(exp.width, ir.Lambda(tuple(params), lam.body, (Prim.BOOL,)), exp.arrays)
        with emit.block() as stms:
            again = reverse_map.apply(walk, ir.Stm((done,), inner, (), stm.loc), inner)
            stms.clear()  # the writes themselves are not repeated
            walk.varied.add(done.name)
            walk.add(done.name, emit.zeros(done.type))
            again()
        walk.adj.pop(acc.name, None)  # a token has no adjoint
        emit.stms += without_writes(stms, [acc.name])

    return back


@transposed(ir.AccWrite)
def reverse_write(walk: Reverse, stm: ir.Stm, exp: ir.AccWrite, _: Atom | None) -> None:
    """write acc i v ⇒ v̄ += r̄[i] if i is in bounds"""
    emit = walk.emit
    for value, adjoint in zip(exp.values, walk.accumulators[exp.acc], strict=True):
        if not walk.varies(value) or not isinstance(adjoint, VName):
            continue
        inside = emit.inside((exp.index,), shape_of(emit.types[adjoint]))
        type_ = emit.type(value)
        walk.add(value, emit.choice(inside, lambda a=adjoint: (  # type: ignore[misc]
            emit.index(a, exp.index),), lambda t=type_: (emit.zeros(t),))[0])  # type: ignore[misc]
    walk.add(exp.token, FALSE)


@forward(ir.WithVjp)
def forward_custom(walk: Forward, stm: ir.Stm, exp: ir.WithVjp) -> None:
    """y = with_vjp f f' x ⇒ y, ẏ = f x, derived"""
    lam = walk.emit.copied(exp.lam)
    stms = [ir.Stm((p,), ir.AtomExp(a), (), stm.loc)
            for p, a in zip(lam.params, exp.args, strict=True)]
    results = [ir.Stm((p,), ir.AtomExp(a), (), stm.loc)
               for p, a in zip(stm.pat, lam.body.result[exp.kept:], strict=True)]
    walk.statements([*stms, *lam.body.stms, *results])


@rule(ir.WithVjp)
def reverse_custom(walk: Reverse, stm: ir.Stm, exp: ir.WithVjp) -> Back:
    """y = with_vjp f f' x ⇒ y = f x, x̄ += f' y ȳ

    Because: f' is the adjoint by x.  Other varying names that f reads get none, with a warning.
    """
    emit = walk.emit
    results = emit.inline(exp.lam, exp.args)
    emit.let(stm.pat, results[exp.kept:])

    def back() -> None:
        seeds = [emit.or_zeros(walk.take(p.name), p.type) for p in stm.pat]
        adjoints = emit.inline(exp.back, [*results[:exp.kept], *seeds])
        for arg, adjoint in zip(exp.args, adjoints, strict=True):
            walk.add(arg, adjoint)

    return back
