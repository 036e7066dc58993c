"""Derivatives of reductions."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import (
    Reduction,
    interchanged,
    is_plain,
    is_plain_extreme,
    is_plain_sum,
    is_plain_vector,
    sequential,
    split,
)
from runelift.rewrite.derive.walk import Back, Entry, Forward, Reverse, forward, transposed
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@rule(ir.Redomap, ir.Scanomap, ir.Hist, ir.Scatter)
def forward_parts(walk: Forward, stm: ir.Stm, exp: Reduction | ir.Scatter) -> bool:
    """redomap ⊕ ⊗ f xs ⇒ reduce ⊕ (map f xs), reduce ⊗ (map f xs), each derived

    Because: fusion joins them again.
    """
    return not is_plain(exp) and walk.instead(split(walk.emit, stm))


@rule(ir.Redomap, ir.Scanomap, ir.Hist, ir.Scatter)
def reverse_parts(walk: Reverse, stm: ir.Stm, exp: Reduction | ir.Scatter) -> Back | None:
    """redomap ⊕ ⊗ f xs ⇒ reduce ⊕ (map f xs), reduce ⊗ (map f xs), each derived

    Because: fusion joins them again.
    """
    return None if is_plain(exp) else walk.instead(split(walk.emit, stm))


@forward(ir.Redomap, provided=is_plain_sum)
def forward_sum(walk: Forward, stm: ir.Stm, exp: ir.Redomap) -> None:
    """r = reduce (+) 0 xs ⇒ ṙ = reduce (+) 0 ẋs

    Because: a sum is linear.  Vectors are summed likewise.
    """
    walk.emit.add(stm)
    op = walk.emit.again(exp.ops[0])
    (param,) = stm.pat
    walk.tan[param.name] = walk.emit.one(
        ir.Redomap(exp.width, (op,), walk.emit.copied(exp.lam), (walk.array(exp.arrays[0]),)),
        param.type, param.name.base + "_tan")


@transposed(ir.Redomap, provided=is_plain_sum)
def reverse_sum(walk: Reverse, stm: ir.Stm, exp: ir.Redomap, adjoint: Atom) -> None:
    """r = reduce (+) 0 xs ⇒ x̄s += replicate n r̄

    Because: the transposition of forward_sum.
    """
    type_ = array_of((exp.width,), walk.emit.type(adjoint))
    walk.add(exp.arrays[0], walk.emit.one(ir.Replicate((exp.width,), adjoint), type_))


def winner(emit: Emitter, xs: VName, best: Atom) -> Atom:
    """The least index of an element that equals ``best``; the length if there is none."""
    width, prim = shape_of(emit.types[xs])[0], elem_of(emit.types[xs])

    def place(i: VName, x: VName) -> tuple[Atom]:
        return (emit.select(emit.op("eq", prim, x, best), i, width),)

    places = emit.map([emit.counting(width), xs], place, "places")[0]
    return emit.fold("min", Prim.I64, places, width)


@forward(ir.Redomap, provided=is_plain_extreme)
def forward_extreme(walk: Forward, stm: ir.Stm, exp: ir.Redomap) -> None:
    """r = reduce min ∞ xs ⇒ ṙ = ẋs[k], where k is the least with xs[k] = r; 0 without a k

    Because: of equal elements the first wins.  The maximum likewise.
    """
    walk.emit.add(stm)
    (param,), (xs,) = stm.pat, exp.arrays
    tangents = walk.array(xs)
    place = winner(walk.emit, xs, param.name)
    inside = walk.emit.size_op("lt", place, exp.width)
    walk.tan[param.name] = walk.emit.choice(
        inside, lambda: (walk.emit.index(tangents, place),),
        lambda: (walk.emit.zeros(param.type),))[0]


@transposed(ir.Redomap, provided=is_plain_extreme)
def reverse_extreme(walk: Reverse, stm: ir.Stm, exp: ir.Redomap, adjoint: Atom) -> None:
    """r = reduce min ∞ xs ⇒ x̄s[k] += r̄, where k is the least with xs[k] = r

    Because: the transposition of forward_extreme; one sparse entry.
    """
    (param,), (xs,) = stm.pat, exp.arrays
    walk.add_at(xs, Entry((winner(walk.emit, xs, param.name),), adjoint, sure=False))


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def forward_columns(walk: Forward, stm: ir.Stm, exp: Reduction) -> bool:
    """reduce (map2 ⊕) (replicate m e) xss ⇒ map (reduce ⊕ e) (transpose xss), derived

    Because: each column is reduced by itself.  Scans and histograms likewise.
    """
    return is_plain_vector(exp) and walk.instead(interchanged(walk.emit, stm))


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def reverse_columns(walk: Reverse, stm: ir.Stm, exp: Reduction) -> Back | None:
    """reduce (map2 ⊕) (replicate m e) xss ⇒ map (reduce ⊕ e) (transpose xss), derived

    Because: each column is reduced by itself.  Scans and histograms likewise.
    """
    return walk.instead(interchanged(walk.emit, stm)) if is_plain_vector(exp) else None


def paired(walk: Forward, op: ir.Operator, active: Sequence[bool]
           ) -> tuple[ir.Operator, list[bool]]:
    """An operator on values and the tangents of some; True for each value with a tangent."""
    count = len(op.neutral)
    derived, wanted = walk.fixed_point(op.lam, active, operands=2)
    stms, results = walk.filled(derived, op.lam.ret, wanted)
    tangents = [[p for p in part if p is not None]
                for part in (derived.tangents[:count], derived.tangents[count:])]
    lam = ir.Lambda(
        (*op.lam.params[:count], *tangents[0], *op.lam.params[count:], *tangents[1]),
        ir.Body(stms, (*op.lam.body.result, *results)),
        (*op.lam.ret, *pick(op.lam.ret, wanted)))
    zeros = (walk.emit.zeros(walk.emit.type(a)) for a in pick(op.neutral, wanted))
    return ir.Operator(lam, (*op.neutral, *zeros), op.comm), wanted


@forward(ir.Redomap, ir.Scanomap, provided=is_plain)
def forward_pairs(walk: Forward, stm: ir.Stm, exp: ir.Redomap | ir.Scanomap) -> None:
    """reduce ⊕ e xs ⇒ reduce (λ(a, ȧ) (b, ḃ) → (a ⊕ b, ∂₁⊕ · ȧ + ∂₂⊕ · ḃ)) (e, 0) (zip xs ẋs)

    Because: pairs are associative if the values are.  Scans likewise.
    """
    op, wanted = paired(walk, exp.ops[0], [walk.tangent(a) is not None for a in exp.arrays])
    arrays = (*exp.arrays, *map(walk.array, pick(exp.arrays, wanted)))
    tangents = walk.pattern(stm, wanted)
    walk.add_both(stm, tangents, replace(exp, ops=(op,), lam=walk.emit.same(arrays),
                                         arrays=arrays))


@rule(ir.Redomap)
def reverse_reduction(walk: Reverse, stm: ir.Stm, exp: ir.Redomap) -> Back | None:
    """r = reduce ⊕ e xs ⇒ x̄s = map (λl x r → x̄ of l ⊕ x ⊕ r by r̄) ls xs rs

    Provided: elements and results are scalars, and the operator has no varying free names.  ls and
    rs are exclusive scans, from the left and from the right.
    Source: Paszke et al. 2021, "Parallelism-preserving automatic differentiation".
    """
    if not (is_plain(exp) and walk.is_scalar(exp.ops[0])):
        return None
    walk.emit.add(stm)
    return lambda: _by_scans(walk, exp, [walk.take(p.name) for p in stm.pat])


def flipped(emit: Emitter, op: ir.Operator) -> ir.Operator:
    """The operator with its operands exchanged."""
    lam, count = emit.copied(op.lam), len(op.neutral)
    return replace(op, lam=replace(lam, params=(*lam.params[count:], *lam.params[:count])))


def scanned(emit: Emitter, op: ir.Operator, arrays: Sequence[VName]) -> tuple[VName, ...]:
    """``scan op`` of arrays."""
    width = shape_of(emit.types[arrays[0]])[0]
    node = ir.Scanomap(width, (op,), emit.same(arrays), tuple(arrays))
    return emit.bind(node, [array_of((width,), row) for row in node.lam.ret], "scan")


def beside(emit: Emitter, i: Atom, there: Atom, arrays: Sequence[VName], otherwise: Sequence[Atom]
           ) -> tuple[VName, ...]:
    """Elements at ``there``; where the index ``i`` is negative, other values."""
    inside = emit.size_op("le", i64(0), i)
    return emit.choice(inside, lambda: [emit.index(a, there) for a in arrays], lambda: otherwise)


def chain(emit: Emitter, op: ir.Operator, times: int) -> ir.Lambda:
    """The operator so many times, from the left: ``λ a b ... → a ⊕ b ⊕ ...``."""
    types = [*op.lam.ret, *(t for _ in range(times) for t in op.lam.ret)]
    count = len(op.neutral)

    def run(*values: Atom) -> Sequence[Atom]:
        total: Sequence[Atom] = values[:count]
        for place in range(count, len(values), count):
            total = emit.inline(op.lam, (*total, *values[place:place + count]))
        return total

    return emit.lam(types, run)


def _by_scans(walk: Reverse, exp: ir.Redomap, seeds: Sequence[Atom | None]) -> None:
    emit, (op,), others = walk.emit, exp.ops, [False] * len(exp.arrays)
    active = list(map(walk.varies, exp.arrays))
    lefts = scanned(emit, emit.again(op), exp.arrays)
    rights = scanned(emit, flipped(emit, op), [emit.reversed(a) for a in exp.arrays])
    last = emit.size_op("sub", exp.width, i64(1))

    def element(i: VName, *xs: VName) -> list[Atom]:
        before = emit.size_op("sub", i, i64(1))
        behind = emit.size_op("sub", emit.size_op("sub", last, i), i64(1))
        left = beside(emit, before, before, lefts, op.neutral)
        right = beside(emit, behind, behind, rights, op.neutral)
        return walk.applied(chain(emit, op, 2), (*left, *xs, *right), seeds,
                            [*others, *active, *others])

    walk.add_each(exp.arrays, emit.map([emit.counting(exp.width), *exp.arrays], element, "adjs"))


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def reverse_sequential(walk: Reverse, stm: ir.Stm, exp: Reduction) -> Back:
    """reduce ⊕ e xs ⇒ loop r = e for i < n do r ⊕ xs[i], derived

    Because: an operator on arrays, or with varying free names, has no parallel rule.  Without
    reverse_parts several operators become loops one after the other.
    """
    return walk.instead(sequential(walk.emit, stm))
