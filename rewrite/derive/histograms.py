"""Derivatives of histograms."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, elem_of, i64, row_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import extreme, is_plain, is_sum
from runelift.rewrite.derive.reductions import paired
from runelift.rewrite.derive.walk import Back, Forward, Reverse
from runelift.rewrite.engine.rule import rule


def _plain(stm: ir.Stm) -> ir.Hist | None:
    exp = stm.exp
    assert isinstance(exp, ir.Hist)
    return exp if is_plain(exp) else None


def _sum(stm: ir.Stm) -> ir.Hist | None:
    exp = _plain(stm)
    return exp if exp is not None and is_sum(exp.ops[0].op) else None


def _extreme(stm: ir.Stm) -> ir.Hist | None:
    exp = _plain(stm)
    return exp if exp is not None and extreme(exp.ops[0].op) is not None else None


def in_range(emit: Emitter, bin_: Atom, bins: Atom) -> Atom:
    """True if there is a bin of this number."""
    low = emit.size_op("le", i64(0), bin_)
    return emit.op("and", Prim.BOOL, low, emit.size_op("lt", bin_, bins))


@rule(ir.Hist)
def forward_hist_sum(walk: Forward, stm: ir.Stm) -> bool:
    """h = hist (+) d is vs ⇒ ḣ = hist (+) ḋ is v̇s, or ḋ if v̇s = 0

    Because: a sum is linear.
    """
    exp = _sum(stm)
    if exp is None:
        return False
    walk.emit.add(stm)
    (hist,), (bins, values), (param,) = exp.ops, exp.arrays, stm.pat
    if walk.tangent(values) is None:
        if (before := walk.tangent(hist.dests[0])) is not None:
            walk.tan[param.name] = before
        return True
    op = replace(hist.op, lam=walk.emit.copied(hist.op.lam))
    node = ir.Hist(exp.width, (replace(hist, dests=(walk.array(hist.dests[0]),), op=op),),
                   walk.emit.copied(exp.lam), (bins, walk.array(values)))
    walk.tan[param.name] = walk.emit.one(node, param.type, param.name.base + "_tan")
    return True


@rule(ir.Hist)
def reverse_hist_sum(walk: Reverse, stm: ir.Stm) -> Back | None:
    """h = hist (+) d is vs ⇒ d̄ += h̄, v̄s[i] += h̄[is[i]] if is[i] is in range

    Because: the transposition of forward_hist_sum.
    """
    exp = _sum(stm)
    if exp is None:
        return None
    walk.emit.add(stm)

    def back() -> None:
        (hist,), (bins, values), emit = exp.ops, exp.arrays, walk.emit
        adjoint = walk.take_array(stm)
        walk.add(hist.dests[0], adjoint)
        if walk.varies(values):
            row = row_of(emit.types[values])
            walk.add(values, emit.map([bins], lambda bin_: emit.choice(
                in_range(emit, bin_, hist.bins), lambda: (emit.index(adjoint, bin_),),
                lambda: (emit.zeros(row),)), "adjs")[0])

    return back


def _winners(emit: Emitter, exp: ir.Hist, result: VName) -> VName:
    """For each bin -1 if the old value equals the result, else the least index of a value.

    The number of values if there is none.
    """
    (hist,), (bins, values) = exp.ops, exp.arrays
    prim = elem_of(emit.types[values])

    def before(old: VName, best: VName) -> tuple[Atom]:
        same = emit.op("eq", prim, old, best)
        return (emit.choice(same, lambda: (i64(-1),), lambda: (exp.width,))[0],)

    def place(i: VName, bin_: VName, value: VName) -> tuple[Atom]:
        def compared() -> tuple[Atom]:
            same = emit.op("eq", prim, value, emit.index(result, bin_))
            return (emit.choice(same, lambda: (i,), lambda: (exp.width,))[0],)
        return (emit.choice(in_range(emit, bin_, hist.bins), compared, lambda: (exp.width,))[0],)

    start = emit.map([hist.dests[0], result], before, "winners")[0]
    places = emit.map([emit.counting(exp.width), bins, values], place, "places")[0]
    lam = emit.lam([Prim.I64] * 2, lambda x, y: (emit.size_op("min", x, y),))
    least = ir.Operator(lam, (i64(int(Prim.I64.greatest)),), True)
    node = ir.Hist(exp.width, (ir.HistOp(hist.bins, (start,), least),),
                   emit.identity([Prim.I64, Prim.I64]), (bins, places))
    return emit.one(node, emit.types[start], "winners")


@rule(ir.Hist)
def forward_hist_extreme(walk: Forward, stm: ir.Stm) -> bool:
    """h = hist min d is vs ⇒ ḣ[b] = ḋ[b] or v̇s[k], whichever has won

    Because: of equal values the old one wins, then the first.  The maximum likewise.
    """
    exp = _extreme(stm)
    if exp is None:
        return False
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
    return True


@rule(ir.Hist)
def reverse_hist_extreme(walk: Reverse, stm: ir.Stm) -> Back | None:
    """h = hist min d is vs ⇒ d̄[b] += h̄[b] if d[b] has won, v̄s[k] += h̄[is[k]] if k has won

    Because: the transposition of forward_hist_extreme, as a gather.
    """
    exp = _extreme(stm)
    if exp is None:
        return None
    walk.emit.add(stm)

    def back() -> None:
        emit, (bins, values), (hist,) = walk.emit, exp.arrays, exp.ops
        adjoint = walk.take_array(stm)
        winners = _winners(emit, exp, stm.pat[0].name)
        if walk.varies(hist.dests[0]):
            walk.keep_unwon(hist.dests[0], winners, adjoint)
        if walk.varies(values):
            walk.add_won(values, winners, adjoint, [emit.counting(exp.width), bins])

    return back


@rule(ir.Hist)
def forward_hist_pairs(walk: Forward, stm: ir.Stm) -> bool:
    """hist ⊕ d is vs ⇒ hist (λ(a, ȧ) (b, ḃ) → (a ⊕ b, ∂₁⊕ · ȧ + ∂₂⊕ · ḃ)) (d, ḋ) is (vs, v̇s)

    Because: pairs are associative and commutative if the values are.
    """
    exp = _plain(stm)
    if exp is None:
        return False
    (hist,), (bins, *values) = exp.ops, exp.arrays
    active = [walk.tangent(v) is not None or walk.tangent(d) is not None
              for v, d in zip(values, hist.dests, strict=True)]
    op, wanted = paired(walk, hist.op, active)
    more = [walk.array(v) for v, want in zip(values, wanted, strict=True) if want]
    dests = (*hist.dests, *(walk.array(d) for d, want in zip(hist.dests, wanted, strict=True)
                            if want))
    arrays = (bins, *values, *more)
    pat = walk.pattern(stm, wanted)
    identity = walk.emit.identity([row_of(walk.emit.types[a]) for a in arrays])
    node = ir.Hist(exp.width, (ir.HistOp(hist.bins, dests, op),), identity, arrays)
    walk.emit.stms.append(replace(stm, pat=(*stm.pat, *pat), exp=node))
    return True


HISTOGRAM_FORWARD = (forward_hist_sum, forward_hist_extreme)
HISTOGRAM_REVERSE = (reverse_hist_sum, reverse_hist_extreme)
