"""Derivatives of histograms."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, elem_of, i64, row_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import is_plain, is_plain_extreme, is_plain_sum
from runelift.rewrite.derive.reductions import paired
from runelift.rewrite.derive.walk import Forward, Reverse, forward, transposed
from runelift.rewrite.engine.pick import pick


@forward(ir.Hist, provided=is_plain_sum)
def forward_hist_sum(walk: Forward, stm: ir.Stm, exp: ir.Hist) -> None:
    """h = hist (+) d is vs ⇒ ḣ = hist (+) ḋ is v̇s, or ḋ if v̇s = 0

    Because: a sum is linear.
    """
    walk.emit.add(stm)
    (hist,), (bins, values), (param,) = exp.ops, exp.arrays, stm.pat
    if walk.tangent(values) is None:
        if (before := walk.tangent(hist.dests[0])) is not None:
            walk.tan[param.name] = before
        return
    op = walk.emit.again(hist.op)
    node = ir.Hist(exp.width, (replace(hist, dests=(walk.array(hist.dests[0]),), op=op),),
                   walk.emit.copied(exp.lam), (bins, walk.array(values)))
    walk.tan[param.name] = walk.emit.one(node, param.type, param.name.base + "_tan")


@transposed(ir.Hist, provided=is_plain_sum)
def reverse_hist_sum(walk: Reverse, stm: ir.Stm, exp: ir.Hist, adjoint: VName) -> None:
    """h = hist (+) d is vs ⇒ d̄ += h̄, v̄s[i] += h̄[is[i]] if is[i] is in range

    Because: the transposition of forward_hist_sum.
    """
    (hist,), (bins, values), emit = exp.ops, exp.arrays, walk.emit
    walk.add(hist.dests[0], adjoint)
    if walk.varies(values):
        row = row_of(emit.types[values])
        walk.add(values, emit.map([bins], lambda bin_: emit.choice(
            emit.inside((bin_,), (hist.bins,)), lambda: (emit.index(adjoint, bin_),),
            lambda: (emit.zeros(row),)), "adjs")[0])


def _winners(emit: Emitter, exp: ir.Hist, result: VName) -> VName:
    """For each bin -1 if the old value equals the result, else the least index of a value.

    The number of values if there is none.
    """
    (hist,), (bins, values) = exp.ops, exp.arrays
    prim = elem_of(emit.types[values])

    def before(old: VName, best: VName) -> tuple[Atom]:
        return (emit.select(emit.op("eq", prim, old, best), i64(-1), exp.width),)

    def place(i: VName, bin_: VName, value: VName) -> tuple[Atom]:
        def compared() -> tuple[Atom]:
            same = emit.op("eq", prim, value, emit.index(result, bin_))
            return (emit.select(same, i, exp.width),)

        inside = emit.inside((bin_,), (hist.bins,))
        return (emit.choice(inside, compared, lambda: (exp.width,))[0],)

    start = emit.map([hist.dests[0], result], before, "winners")[0]
    places = emit.map([emit.counting(exp.width), bins, values], place, "places")[0]
    lam = emit.lam([Prim.I64] * 2, lambda x, y: (emit.size_op("min", x, y),))
    least = ir.Operator(lam, (i64(int(Prim.I64.greatest)),), True)
    node = ir.Hist(exp.width, (ir.HistOp(hist.bins, (start,), least),),
                   emit.identity([Prim.I64, Prim.I64]), (bins, places))
    return emit.one(node, emit.types[start], "winners")


@forward(ir.Hist, provided=is_plain_extreme)
def forward_hist_extreme(walk: Forward, stm: ir.Stm, exp: ir.Hist) -> None:
    """h = hist min d is vs ⇒ ḣ[b] = ḋ[b] or v̇s[k], whichever has won

    Because: of equal values the old one wins, then the first.  The maximum likewise.
    """
    walk.emit.add(stm)
    emit, (param,), (_, values), (hist,) = walk.emit, stm.pat, exp.arrays, exp.ops
    tangents, old = walk.array(values), walk.array(hist.dests[0])
    elem = elem_of(param.type)

    def tangent(winner: VName, before: VName) -> tuple[VName, ...]:
        return emit.choice(
            emit.size_op("lt", winner, i64(0)), lambda: (before,),
            lambda: emit.choice(emit.size_op("lt", winner, exp.width),
                                lambda: (emit.index(tangents, winner),),
                                lambda: (emit.zeros(elem),)))

    winners = _winners(emit, exp, param.name)
    walk.tan[param.name] = emit.map([winners, old], tangent, param.name.base + "_tan")[0]


@transposed(ir.Hist, provided=is_plain_extreme)
def reverse_hist_extreme(walk: Reverse, stm: ir.Stm, exp: ir.Hist, adjoint: VName) -> None:
    """h = hist min d is vs ⇒ d̄[b] += h̄[b] if d[b] has won, v̄s[k] += h̄[is[k]] if k has won

    Because: the transposition of forward_hist_extreme, as a gather.
    """
    emit, (bins, values), (hist,) = walk.emit, exp.arrays, exp.ops
    winners = _winners(emit, exp, stm.pat[0].name)
    if walk.varies(hist.dests[0]):
        walk.keep_unwon(hist.dests[0], winners, adjoint)
    if walk.varies(values):
        walk.add_won(values, winners, adjoint, [emit.counting(exp.width), bins])


@forward(ir.Hist, provided=is_plain)
def forward_hist_pairs(walk: Forward, stm: ir.Stm, exp: ir.Hist) -> None:
    """hist ⊕ d is vs ⇒ hist (λ(a, ȧ) (b, ḃ) → (a ⊕ b, ∂₁⊕ · ȧ + ∂₂⊕ · ḃ)) (d, ḋ) is (vs, v̇s)

    Because: pairs are associative and commutative if the values are.
    """
    (hist,), (bins, *values) = exp.ops, exp.arrays
    active = [walk.tangent(v) is not None or walk.tangent(d) is not None
              for v, d in zip(values, hist.dests, strict=True)]
    op, wanted = paired(walk, hist.op, active)
    arrays = (bins, *values, *map(walk.array, pick(values, wanted)))
    dests = (*hist.dests, *map(walk.array, pick(hist.dests, wanted)))
    tangents = walk.pattern(stm, wanted)
    walk.add_both(stm, tangents, ir.Hist(
        exp.width, (ir.HistOp(hist.bins, dests, op),), walk.emit.same(arrays), arrays))
