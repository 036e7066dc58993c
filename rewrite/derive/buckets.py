"""Histograms with any operator in reverse mode: values are sorted by their bins."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import FALSE, TRUE, Atom, array_of, i64, row_of, shape_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import is_plain
from runelift.rewrite.derive.reductions import chain, flipped, scanned
from runelift.rewrite.derive.walk import Back, Reverse
from runelift.rewrite.derive.writes import scattered
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@rule(ir.Hist)
def reverse_buckets(walk: Reverse, stm: ir.Stm, exp: ir.Hist) -> Back | None:
    """h = hist ⊕ d is vs ⇒ v̄s = v̄ of (d[b] ⊕ l) ⊕ v ⊕ r by h̄[b], d̄[b] = d̄ of d ⊕ t by h̄[b]

    Provided: values are scalars, and the operator has no varying free names.  Values are sorted by
    their bins b.  l and r are exclusive scans within a bin, from both sides; t is all of a bin.
    Source: Bruun, Larsen, Hinnerskov and Oancea 2023, "Reverse-mode AD of multi-reduce and scan in
    Futhark".
    """
    if not (is_plain(exp) and walk.is_scalar(exp.ops[0].op)):
        return None
    walk.emit.add(stm)

    def back() -> None:
        adjoints = [walk.take(p.name) for p in stm.pat]
        seeds = [None if adjoint is None else walk.emit.name(adjoint) for adjoint in adjoints]
        _old(walk, exp, seeds)
        if any(map(walk.varies, exp.arrays[1:])):
            _values(walk, exp, seeds)

    return back


def _old(walk: Reverse, exp: ir.Hist, seeds: Sequence[VName | None]) -> None:
    """Add to the adjoints of the destinations."""
    emit, (hist,), count = walk.emit, exp.ops, len(exp.ops[0].dests)
    active = [*map(walk.varies, hist.dests), *[False] * count]
    if not any(active):
        return
    blanks = [emit.one(ir.Replicate((hist.bins,), a), array_of((hist.bins,), emit.type(a)))
              for a in hist.op.neutral]
    op = emit.again(hist.op)
    node = ir.Hist(exp.width, (ir.HistOp(hist.bins, tuple(blanks), op),),
                   emit.copied(exp.lam), exp.arrays)
    totals = emit.bind(node, map(emit.type, blanks), "totals")

    def element(*rows: VName) -> list[Atom]:
        given = iter(rows[2 * count:])
        return walk.applied(hist.op.lam, rows[:2 * count],
                            [None if seed is None else next(given) for seed in seeds], active)

    walk.add_each(hist.dests, emit.map(
        [*hist.dests, *totals, *(s for s in seeds if s is not None)], element))


def _values(walk: Reverse, exp: ir.Hist, seeds: Sequence[VName | None]) -> None:
    """Add to the adjoints of the values."""
    emit, (hist,), (bins, *values) = walk.emit, exp.ops, exp.arrays
    op, others, active = hist.op, [False] * len(values), list(map(walk.varies, values))
    order = _sorted(emit, bins, hist.bins)

    def taken(array: VName) -> VName:
        return emit.map([order], lambda i: (emit.index(array, i),), "sorted")[0]

    keys, inputs = taken(bins), [taken(v) for v in values]
    lefts = _segmented(emit, op, keys, inputs)
    rights = _segmented(emit, flipped(emit, op), emit.reversed(keys),
                        [emit.reversed(v) for v in inputs])
    last = emit.size_op("sub", exp.width, i64(1))

    def element(i: VName, bin_: VName, *xs: VName) -> list[Atom]:
        def inside() -> list[Atom]:
            behind = emit.size_op("sub", last, i)
            left = [emit.index(a, i) for a in lefts]
            right = [emit.index(a, behind) for a in rights]
            given = [None if s is None else emit.index(s, bin_) for s in seeds]
            old = [emit.index(d, bin_) for d in hist.dests]
            return walk.applied(chain(emit, op, 3), (*old, *left, *xs, *right), given,
                                [*others, *others, *active, *others])

        return list(emit.choice(emit.inside((bin_,), (hist.bins,)), inside, lambda: [
            *map(emit.zeros, pick(op.lam.ret, active))]))

    results = emit.map([emit.counting(exp.width), keys, *inputs], element, "adjs")
    for array, result in zip(pick(values, active), results, strict=True):
        blank = emit.name(emit.zeros(emit.types[result]))
        walk.add(array, scattered(emit, blank, [order], result))


def _segmented(emit: Emitter, op: ir.Operator, keys: VName, arrays: Sequence[VName]
               ) -> tuple[VName, ...]:
    """Exclusive scans of arrays, which begin anew where the key changes."""
    count = len(arrays)

    def combine(*parts: VName) -> list[Atom]:
        first, left = parts[0], parts[1:count + 1]
        second, right = parts[count + 1], parts[count + 2:]
        values = emit.choice(second, lambda: right, lambda: emit.inline(op.lam, (*left, *right)))
        return [emit.op("or", Prim.BOOL, first, second), *values]

    prims = [row_of(emit.types[a]) for a in arrays]
    lam = emit.lam([Prim.BOOL, *prims] * 2, combine)
    counting = emit.counting(shape_of(emit.types[keys])[0])

    def shifted(i: VName) -> list[Atom]:
        """True at the first value of a key, and the value before."""
        before = emit.size_op("sub", i, i64(1))

        def same() -> list[Atom]:
            equal = emit.size_op("eq", emit.index(keys, before), emit.index(keys, i))
            held = emit.choice(equal, lambda: [emit.index(a, before) for a in arrays],
                               lambda: op.neutral)
            return [emit.op("not", Prim.BOOL, equal), *held]

        return list(emit.choice(emit.size_op("le", i64(0), before), same,
                                lambda: [TRUE, *op.neutral]))

    inputs = emit.map([counting], shifted, "shifted")
    _, *sums = scanned(emit, ir.Operator(lam, (FALSE, *op.neutral)), inputs)
    return tuple(sums)


def _sorted(emit: Emitter, bins: VName, count: Atom) -> VName:
    """The indices of values in the order of their bins: a stable radix sort, a bit at a time.

    Bins out of range come last.
    """
    width = shape_of(emit.types[bins])[0]
    keys = emit.map([bins], lambda b: emit.choice(
        emit.inside((b,), (count,)), lambda: (b,), lambda: (count,)), "keys")[0]
    zeros = emit.size_op("sub", i64(64), emit.size_op("clz", count))
    order, index = emit.fresh("order", emit.types[bins]), emit.fresh("bit", Prim.I64)
    with emit.block() as stms:
        def high(i: VName) -> tuple[Atom]:
            shifted = emit.size_op("shr", emit.index(keys, i), index.name)
            return (emit.size_op("and", shifted, i64(1)),)

        bits = emit.map([order.name], high, "bits")[0]
        low = emit.map([bits], lambda b: (emit.size_op("sub", i64(1), b),), "low")[0]
        lows = scanned(emit, emit.addition(Prim.I64), [low])[0]
        highs = scanned(emit, emit.addition(Prim.I64), [bits])[0]
        total = emit.fold("add", Prim.I64, low, i64(0))

        def place(bit: VName, before: VName, after: VName) -> tuple[VName, ...]:
            last = emit.size_op("sub", before, i64(1))
            behind = emit.size_op("sub", emit.size_op("add", total, after), i64(1))
            return emit.choice(emit.size_op("eq", bit, i64(0)), lambda: (last,), lambda: (behind,))

        places = emit.map([bits, lows, highs], place, "places")[0]
        blank = emit.name(emit.zeros(order.type))
        result = scattered(emit, blank, [places], order.name)
    loop = ir.Loop((ir.LoopParam(order, emit.counting(width)),), ir.ForLoop(index.name, zeros),
                   ir.Body(tuple(stms), (result,)))
    return emit.one(loop, order.type, "order")
