"""Histograms and accumulators whose functions call themselves: loops that carry the destination.

No kernel makes such calls, so the elements come one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from runelift.frontend.elaborate.arrays import Apply, Recurs
from runelift.frontend.elaborate.scalars import Evaluator
from runelift.frontend.elaborate.values import (
    Accumulator,
    Dynamic,
    TupleValue,
    Value,
    leaves,
    outer_size,
    rebuild,
)
from runelift.ir import syntax as ir
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, i64


def or_in_turn(e: Evaluator, at_once: Callable[[], Value], dest: Value,
               operator: tuple[Apply, Value] | None, f: Apply, array: Value, span: Span) -> Value:
    """The value of ``at_once``; if that would have calls in kernels, that of a loop.

    The loop applies ``f`` to an accumulator and each element of ``array``.
    """
    lambdas = e.arrays.lambdas
    try:
        return at_once()
    except Recurs:
        e.arrays.lambdas = lambdas
        return _in_turn(e, dest, operator, f, array, span)


def _in_turn(e: Evaluator, dest: Value, operator: tuple[Apply, Value] | None, f: Apply,
             array: Value, span: Span) -> Value:
    """``loop d = dest for x in array do f (d, x)``, where a write to d is an update."""
    builder, combine = e.builder, None
    if operator is not None:
        combine, _, dest = e.arrays.combined(*operator, dest, span)
    with builder.scope() as scope:
        index = builder.names.fresh("i")
        scope.bound.add(index)
        params = [builder.fresh("dest", leaf.type) for leaf in leaves(dest)]
        carried = rebuild(dest, iter([Dynamic(p.name, p.type) for p in params]))
        (element,) = e.arrays.rows([dest])
        row = e.arrays.index(array, [index], span, checked=False)
        after = f((Accumulator(carried, None, element, combine), row))
    inits = [leaf.atom for leaf in leaves(dest)]
    loop = ir.Loop(tuple(map(ir.LoopParam, params, inits)),
                   ir.ForLoop(index, outer_size(array)),
                   builder.body(scope, tuple(leaf.atom for leaf in leaves(after))))
    types = tuple(p.type for p in params)
    names = builder.emit(loop, types, ("dest",) * len(types), span)
    return rebuild(dest, map(Dynamic, names, types))


def write(e: Evaluator, acc: Accumulator, index: Atom, value: Value, span: Span) -> Accumulator:
    """The accumulator after a write: an update, if the index is inside and arrays stand for it."""
    if acc.acc is not None:
        return e.arrays.write(acc, index, value, span)
    builder, dest = e.builder, acc.token
    value = e.arrays.complete(value, acc.element, span)
    low = builder.op("le", Prim.I64, (i64(0), index), span)
    high = builder.op("lt", Prim.I64, (index, outer_size(dest)), span)
    inside = Dynamic(builder.op("and", Prim.BOOL, (low, high), span), Prim.BOOL)

    def updated() -> Value:
        new = value
        if acc.combine is not None:
            new = acc.combine((e.arrays.index(dest, [index], span, checked=False), value))
        return e.arrays.update(dest, [index], new, span)

    return replace(acc, token=e.branch(inside, updated, lambda: dest, span))


def hist(e: Evaluator, dest: Value, f: Apply, neutral: Value, bins: Dynamic, values: Value,
         span: Span) -> Value:
    """``reduce_by_index dest f neutral bins values``."""
    def written(args: tuple[Value, ...]) -> Value:
        acc, row = args
        assert isinstance(acc, Accumulator)
        assert isinstance(row, TupleValue)
        place, value = row.items
        (index,) = leaves(place)
        return write(e, acc, index.atom, value, span)

    return or_in_turn(e, lambda: e.arrays.hist(dest, f, neutral, bins, values, span), dest,
                      (f, neutral), written, TupleValue((bins, values)), span)
