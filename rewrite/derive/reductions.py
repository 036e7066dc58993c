"""Derivatives of reductions."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, array_of, elem_of, i64, row_of, shape_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import (
    extreme,
    interchanged,
    is_plain,
    is_sum,
    sequential,
    split,
)
from runelift.rewrite.derive.walk import Back, Entry, Forward, Reverse
from runelift.rewrite.engine.rule import rule


def _plain(stm: ir.Stm) -> ir.Redomap | None:
    """The reduction, if it has one operator and no map."""
    exp = stm.exp
    assert isinstance(exp, ir.Redomap)
    return exp if is_plain(exp) else None


@rule(ir.Redomap, ir.Scanomap, ir.Hist, ir.Scatter)
def forward_parts(walk: Forward, stm: ir.Stm) -> bool:
    """redomap ⊕ ⊗ f xs ⇒ reduce ⊕ (map f xs), reduce ⊗ (map f xs), each derived

    Because: fusion joins them again.
    """
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist | ir.Scatter)
    if is_plain(exp):
        return False
    walk.statements(split(walk.emit, stm))
    return True


@rule(ir.Redomap, ir.Scanomap, ir.Hist, ir.Scatter)
def reverse_parts(walk: Reverse, stm: ir.Stm) -> Back | None:
    """redomap ⊕ ⊗ f xs ⇒ reduce ⊕ (map f xs), reduce ⊗ (map f xs), each derived

    Because: fusion joins them again.
    """
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist | ir.Scatter)
    return None if is_plain(exp) else walk.instead(split(walk.emit, stm))


@rule(ir.Redomap)
def forward_sum(walk: Forward, stm: ir.Stm) -> bool:
    """r = reduce (+) 0 xs ⇒ ṙ = reduce (+) 0 ẋs

    Because: a sum is linear.  Vectors are summed likewise.
    """
    exp = _plain(stm)
    if exp is None or not is_sum(exp.ops[0]):
        return False
    walk.emit.add(stm)
    op = replace(exp.ops[0], lam=walk.emit.copied(exp.ops[0].lam))
    (param,) = stm.pat
    walk.tan[param.name] = walk.emit.one(
        ir.Redomap(exp.width, (op,), walk.emit.copied(exp.lam), (walk.array(exp.arrays[0]),)),
        param.type, param.name.base + "_tan")
    return True


@rule(ir.Redomap)
def reverse_sum(walk: Reverse, stm: ir.Stm) -> Back | None:
    """r = reduce (+) 0 xs ⇒ x̄s += replicate n r̄

    Because: the transposition of forward_sum.
    """
    exp = _plain(stm)
    if exp is None or not is_sum(exp.ops[0]):
        return None
    walk.emit.add(stm)

    def back() -> None:
        adjoint = walk.take(stm.pat[0].name)
        assert adjoint is not None
        type_ = array_of((exp.width,), walk.emit.type(adjoint))
        walk.add(exp.arrays[0], walk.emit.one(ir.Replicate((exp.width,), adjoint), type_))

    return back


def winner(emit: Emitter, xs: VName, best: Atom) -> Atom:
    """The least index of an element that equals ``best``; the length if there is none."""
    width, prim = shape_of(emit.types[xs])[0], elem_of(emit.types[xs])

    def place(i: VName, x: VName) -> tuple[Atom]:
        same = emit.op("eq", prim, x, best)
        return (emit.choice(same, lambda: (i,), lambda: (width,))[0],)

    places = emit.map([emit.counting(width), xs], place, "places")[0]
    return emit.fold("min", Prim.I64, places, width)


@rule(ir.Redomap)
def forward_extreme(walk: Forward, stm: ir.Stm) -> bool:
    """r = reduce min ∞ xs ⇒ ṙ = ẋs[k], where k is the least with xs[k] = r; 0 without a k

    Because: of equal elements the first wins.  The maximum likewise.
    """
    exp = _plain(stm)
    if exp is None or extreme(exp.ops[0]) is None:
        return False
    walk.emit.add(stm)
    (param,), (xs,) = stm.pat, exp.arrays
    tangents = walk.array(xs)
    place = winner(walk.emit, xs, param.name)
    inside = walk.emit.size_op("lt", place, exp.width)
    walk.tan[param.name] = walk.emit.choice(
        inside, lambda: (walk.emit.index(tangents, place),),
        lambda: (walk.emit.zeros(param.type),))[0]
    return True


@rule(ir.Redomap)
def reverse_extreme(walk: Reverse, stm: ir.Stm) -> Back | None:
    """r = reduce min ∞ xs ⇒ x̄s[k] += r̄, where k is the least with xs[k] = r

    Because: the transposition of forward_extreme; one sparse entry.
    """
    exp = _plain(stm)
    if exp is None or extreme(exp.ops[0]) is None:
        return None
    walk.emit.add(stm)

    def back() -> None:
        (param,), (xs,) = stm.pat, exp.arrays
        adjoint = walk.take(param.name)
        assert adjoint is not None
        walk.add_at(xs, Entry((winner(walk.emit, xs, param.name),), adjoint, sure=False))

    return back


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def forward_columns(walk: Forward, stm: ir.Stm) -> bool:
    """reduce (map2 ⊕) (replicate m e) xss ⇒ map (reduce ⊕ e) (transpose xss), derived

    Because: each column is reduced by itself.  Scans and histograms likewise.
    """
    if not _is_vector(stm):
        return False
    walk.statements(interchanged(walk.emit, stm))
    return True


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def reverse_columns(walk: Reverse, stm: ir.Stm) -> Back | None:
    """reduce (map2 ⊕) (replicate m e) xss ⇒ map (reduce ⊕ e) (transpose xss), derived

    Because: each column is reduced by itself.  Scans and histograms likewise.
    """
    return walk.instead(interchanged(walk.emit, stm)) if _is_vector(stm) else None


def _is_vector(stm: ir.Stm) -> bool:
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist)
    op = exp.ops[0].op if isinstance(exp, ir.Hist) else exp.ops[0]
    return is_plain(exp) and op.vector is not None


def paired(walk: Forward, op: ir.Operator, active: Sequence[bool]
           ) -> tuple[ir.Operator, list[bool]]:
    """An operator on values and the tangents of some; True for each value with a tangent."""
    count, wanted = len(op.neutral), list(active)
    while True:
        derived = walk.lam(op.lam, wanted * 2)
        after = [a or t is not None for a, t in zip(wanted, derived.results, strict=True)]
        if after == wanted:
            break
        wanted = after
    stms, results = walk.filled(derived, op.lam.ret, wanted)
    tangents = [[p for p in part if p is not None]
                for part in (derived.tangents[:count], derived.tangents[count:])]
    types = tuple(t for t, want in zip(op.lam.ret, wanted, strict=True) if want)
    lam = ir.Lambda(
        (*op.lam.params[:count], *tangents[0], *op.lam.params[count:], *tangents[1]),
        ir.Body(stms, (*op.lam.body.result, *results)), (*op.lam.ret, *types))
    zeros = tuple(walk.emit.zeros(walk.emit.type(a))
                  for a, want in zip(op.neutral, wanted, strict=True) if want)
    return ir.Operator(lam, (*op.neutral, *zeros), op.comm), wanted


@rule(ir.Redomap, ir.Scanomap)
def forward_pairs(walk: Forward, stm: ir.Stm) -> bool:
    """reduce ⊕ e xs ⇒ reduce (λ(a, ȧ) (b, ḃ) → (a ⊕ b, ∂₁⊕ · ȧ + ∂₂⊕ · ḃ)) (e, 0) (zip xs ẋs)

    Because: pairs are associative if the values are.  Scans likewise.
    """
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap)
    if not is_plain(exp):
        return False
    op, wanted = paired(walk, exp.ops[0], [walk.tangent(a) is not None for a in exp.arrays])
    arrays = (*exp.arrays, *(walk.array(a) for a, want in zip(exp.arrays, wanted, strict=True)
                             if want))
    pat = walk.pattern(stm, wanted)
    identity = walk.emit.identity([row_of(walk.emit.types[a]) for a in arrays])
    node = replace(exp, ops=(op,), lam=identity, arrays=arrays)
    walk.emit.stms.append(replace(stm, pat=(*stm.pat, *pat), exp=node))
    return True


@rule(ir.Redomap)
def reverse_reduction(walk: Reverse, stm: ir.Stm) -> Back | None:
    """r = reduce ⊕ e xs ⇒ x̄s = map (λl x r → x̄ of l ⊕ x ⊕ r by r̄) ls xs rs

    Provided: elements and results are scalars, and the operator has no varying free names.  ls and
    rs are exclusive scans, from the left and from the right.
    Source: Paszke et al. 2021, "Parallelism-preserving automatic differentiation".
    """
    exp = _plain(stm)
    if exp is None or not _is_scalar(walk, exp.ops[0]):
        return None
    walk.emit.add(stm)

    def back() -> None:
        seeds = [walk.take(p.name) for p in stm.pat]
        _by_scans(walk, exp, seeds)

    return back


def _is_scalar(walk: Reverse, op: ir.Operator) -> bool:
    return (all(isinstance(type_, Prim) for type_ in op.lam.ret)
            and walk.varied.isdisjoint(free_vars(op.lam)))


def flipped(emit: Emitter, op: ir.Operator) -> ir.Operator:
    """The operator with its operands exchanged."""
    lam, count = emit.copied(op.lam), len(op.neutral)
    return replace(op, lam=replace(lam, params=(*lam.params[count:], *lam.params[:count])))


def scanned(emit: Emitter, op: ir.Operator, arrays: Sequence[VName]) -> tuple[VName, ...]:
    """``scan op`` of arrays."""
    width = shape_of(emit.types[arrays[0]])[0]
    rows = [row_of(emit.types[a]) for a in arrays]
    node = ir.Scanomap(width, (op,), emit.identity(rows), tuple(arrays))
    return emit.bind(node, [array_of((width,), row) for row in rows], "scan")


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
    emit, (op,), count = walk.emit, exp.ops, len(exp.arrays)
    active = [walk.varies(a) for a in exp.arrays]
    lefts = scanned(emit, replace(op, lam=emit.copied(op.lam)), exp.arrays)
    rights = scanned(emit, flipped(emit, op), [emit.reversed(a) for a in exp.arrays])
    last = emit.size_op("sub", exp.width, i64(1))

    def element(i: VName, *xs: VName) -> list[Atom]:
        before = emit.size_op("sub", i, i64(1))
        behind = emit.size_op("sub", emit.size_op("sub", last, i), i64(1))
        left = beside(emit, before, before, lefts, op.neutral)
        right = beside(emit, behind, behind, rights, op.neutral)
        found = walk.applied(chain(emit, op, 2), (*left, *xs, *right), seeds,
                             [*[False] * count, *active, *[False] * count])
        names = list(found)[count:2 * count]
        return [walk.dense(n, found[n]) for n, has in zip(names, active, strict=True) if has]

    results = emit.map([emit.counting(exp.width), *exp.arrays], element, "adjs")
    for array, result in zip((a for a, has in zip(exp.arrays, active, strict=True) if has),
                             results, strict=True):
        walk.add(array, result)


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def reverse_sequential(walk: Reverse, stm: ir.Stm) -> Back:
    """reduce ⊕ e xs ⇒ loop r = e for i < n do r ⊕ xs[i], derived

    Because: an operator on arrays, or with varying free names, has no parallel rule.  Without
    reverse_parts several operators become loops one after the other.
    """
    return walk.instead(sequential(walk.emit, stm))


REDUCTION_FORWARD = (forward_parts, forward_sum, forward_extreme, forward_columns)
REDUCTION_REVERSE = (reverse_parts, reverse_sum, reverse_extreme, reverse_columns)
