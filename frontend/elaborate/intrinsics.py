"""The meaning of the built-in names whose types :mod:`runelift.frontend.syntax.prelude` lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from runelift.frontend.elaborate import accumulators
from runelift.frontend.elaborate.derivatives import DERIVATIVES
from runelift.frontend.elaborate.flatmap import Point, flatmap
from runelift.frontend.elaborate.numeric import member
from runelift.frontend.elaborate.scalars import Evaluator, Run, atom_of, fold, leaf
from runelift.frontend.elaborate.values import (
    Accumulator,
    Dynamic,
    Function,
    TupleValue,
    Value,
    leaves,
    outer_size,
)
from runelift.frontend.syntax.prelude import TRANSPOSES
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, i64, shape_of


def intrinsic(evaluator: Evaluator, quals: tuple[str, ...], name: str) -> Value | None:
    """The value of a built-in name; None if it is not built in."""
    if quals:
        return member(evaluator, Prim(quals[0]), name)
    if name in _TABLE:
        arity, run = _TABLE[name]
        return Function(arity, partial(run, evaluator))
    return None


def _apply1(e: Evaluator, f: Value, span: Span) -> Callable[[tuple[Value, ...]], Value]:
    return lambda args: e.apply(f, args, span)


# Second-order functions


def _map(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, *arrays = args
    return e.arrays.map(_apply1(e, f, span), arrays, span)


def _reduce(comm: bool) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        f, neutral, array = args
        return e.arrays.reduce(_apply1(e, f, span), neutral, array, span, comm=comm)
    return run


def _scan(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, neutral, array = args
    return e.arrays.scan(_apply1(e, f, span), neutral, array, span)


def _filter(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    predicate, array = args
    return e.arrays.partition([_apply1(e, predicate, span)], array, span)[0]


def _partition(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    *predicates, array = args
    return TupleValue(tuple(e.arrays.partition([_apply1(e, p, span) for p in predicates], array,
                                               span)))


def _flatmap(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, array = args
    found = flatmap(e, Point(_apply1(e, f, span), valued=True), array, span)
    return TupleValue(tuple(part for part in found if part is not None))


def _flatmap_rows(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, array = args
    found = flatmap(e, Point(_apply1(e, f, span), valued=False), array, span)
    return TupleValue((found.lengths, found.flags, found.offsets, found.data))


def _scatter(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    dest, indices, values = args
    return e.arrays.scatter(dest, list(leaves(indices)), values, span)


def _reduce_by_index(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    dest, f, neutral, bins, values = args
    return accumulators.hist(e, dest, _apply1(e, f, span), neutral, leaf(bins), values, span)


def _hist(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, neutral, count, bins, values = args
    dest = e.arrays.replicate(atom_of(count), neutral, span)
    return accumulators.hist(e, dest, _apply1(e, f, span), neutral, leaf(bins), values, span)


def _stream(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    dest, *operator, f, array = args
    given = (_apply1(e, operator[0], span), operator[1]) if operator else None
    run = _apply1(e, f, span)
    return accumulators.or_in_turn(e, lambda: e.arrays.accumulate(dest, given, run, array, span),
                                   dest, given, run, array, span)


def _write(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    acc, index, value = args
    if not isinstance(acc, Accumulator):
        raise CompilerLimitation(f"{span}: a hole cannot be an accumulator that is written to.")
    return accumulators.write(e, acc, atom_of(index), value, span)


def _tabulate(rank: int) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        *sizes, f = args

        def level(depth: int, indices: tuple[Value, ...]) -> Value:
            if depth == rank:
                return e.apply(f, indices, span)
            return e.arrays.map(lambda args: level(depth + 1, (*indices, *args)),
                                [iotas[depth]], span)

        iotas = [e.arrays.iota(atom_of(size), i64(0), i64(1), Prim.I64, span) for size in sizes]
        return level(0, ())
    return run


def _quantified(op: str) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        *predicate, array = args
        holds = _map(e, args, span) if predicate else array
        return fold(e, op, Prim.BOOL, holds, span)
    return run


# Arrays


def _counted(e: Evaluator, count: Atom, span: Span) -> Value:
    """The numbers from 0 on."""
    return e.arrays.iota(count, i64(0), i64(1), Prim.I64, span)


def _but_one(e: Evaluator, array: Value, span: Span) -> Atom:
    """The number of elements, less one."""
    return _less(e, outer_size(array), i64(1), span)


def _less(e: Evaluator, size: Atom, by: Atom, span: Span) -> Atom:
    return e.builder.op("sub", Prim.I64, (size, by), span)


def _drop(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    count, array = args
    start = atom_of(count)
    return e.arrays.slice(array, start, _less(e, outer_size(array), start, span), span)


def _reverse(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    size = outer_size(args[0])
    return e.arrays.slice(args[0], _less(e, size, i64(1), span), size, span, stride=i64(-1),
                          checked=False)


def _rotate(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    """Element i of the result is element (i + by) mod n."""
    by, array = args
    size = outer_size(array)
    one_at_least = e.builder.op("max", Prim.I64, (size, i64(1)), span)
    start = e.builder.op("mod", Prim.I64, (atom_of(by), one_at_least), span)
    front = e.arrays.slice(array, start, _less(e, size, start, span), span, checked=False)
    back = e.arrays.slice(array, i64(0), start, span, checked=False)
    joined = e.arrays.concat(front, back, span)
    return e.arrays.reshape(1, (size,), joined, span)


def _concat(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.concat(args[0], args[1], span)


def _reordered(perm: tuple[int, ...]) -> Run:
    return lambda e, args, span: e.arrays.rearrange(perm, args[0], span)


def _flatten(rank: int) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        total: Atom = i64(1)
        for size in shape_of(next(leaves(args[0])).type)[:rank]:
            total = e.builder.op("mul", Prim.I64, (total, size), span)
        return e.arrays.reshape(rank, (total,), args[0], span)
    return run


def unflatten(e: Evaluator, sizes: Sequence[Atom | None], array: Value, span: Span) -> Value:
    """``array`` as one of outer shape ``sizes``, whose product must be its length; none negative.

    At most one size is None: as many as there are in the array.
    """
    def op(name: str, left: Atom, right: Atom) -> Atom:
        return e.builder.op(name, Prim.I64, (left, right), span)

    known = [size for size in sizes if size is not None]
    total: Atom = i64(1)
    for size in known:  # the product of two negative sizes may be the length
        if not e.builder.is_length(size):
            e.arrays.require_length(size, span)
        total = op("mul", total, size)
    found = known
    if len(known) < len(sizes):
        missing = op("quot", outer_size(array), op("max", total, i64(1)))
        found = [missing if size is None else size for size in sizes]
        total = op("mul", total, missing)
    e.arrays.require_equal(total, outer_size(array), span)
    return e.arrays.reshape(1, tuple(found), array, span)


def _slide(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    size, step, array = args
    return e.arrays.slide(atom_of(size), atom_of(step), array, span)


def _pad(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    before, after, value, array = args
    return e.arrays.pad(atom_of(before), atom_of(after), value, array, span)


def _zip(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    for other in args[1:]:
        e.arrays.require_equal(outer_size(args[0]), outer_size(other), span)
    return TupleValue(args)


def _first(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return args[0]


def _uncurry(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, pair = args
    assert isinstance(pair, TupleValue)
    return e.apply(f, pair.items, span)


_TABLE: dict[str, tuple[int, Run]] = {
    "map": (2, _map), "map1": (2, _map), "map2": (3, _map), "map3": (4, _map),
    "map4": (5, _map), "map5": (6, _map),
    "reduce": (3, _reduce(False)), "reduce_comm": (3, _reduce(True)), "scan": (3, _scan),
    "filter": (2, _filter), "partition": (2, _partition), "partition2": (3, _partition),
    "flatmap": (2, _flatmap), "flatmap'": (2, _flatmap_rows),
    "scatter": (3, _scatter), "scatter_2d": (3, _scatter), "scatter_3d": (3, _scatter),
    "reduce_by_index": (5, _reduce_by_index), "hist": (5, _hist),
    "tabulate": (2, _tabulate(1)), "tabulate_2d": (3, _tabulate(2)),
    "tabulate_3d": (4, _tabulate(3)),
    "scatter_stream": (3, _stream), "intrinsics.scatter_stream": (3, _stream),
    "reduce_by_index_stream": (5, _stream), "intrinsics.hist_stream": (5, _stream),
    "write": (3, _write), "intrinsics.acc_write": (3, _write),
    **DERIVATIVES,
    "all": (2, _quantified("and")), "any": (2, _quantified("or")),
    "and": (1, _quantified("and")), "or": (1, _quantified("or")),
    "iota": (1, lambda e, args, span: _counted(e, atom_of(args[0]), span)),
    "indices": (1, lambda e, args, span: _counted(e, outer_size(args[0]), span)),
    "replicate": (2, lambda e, args, span: e.arrays.replicate(atom_of(args[0]), args[1], span)),
    "length": (1, lambda e, args, span: Dynamic(outer_size(args[0]), Prim.I64)),
    "null": (1, lambda e, args, span: Dynamic(
        e.builder.op("eq", Prim.I64, (outer_size(args[0]), i64(0)), span), Prim.BOOL)),
    "copy": (1, lambda e, args, span: e.arrays.copy(args[0], span)),
    "head": (1, lambda e, args, span: e.arrays.index(args[0], [i64(0)], span)),
    "last": (1, lambda e, args, span: e.arrays.index(args[0], [_but_one(e, args[0], span)], span)),
    "tail": (1, lambda e, args, span: e.arrays.slice(
        args[0], i64(1), _but_one(e, args[0], span), span)),
    "init": (1, lambda e, args, span: e.arrays.slice(
        args[0], i64(0), _but_one(e, args[0], span), span)),
    "take": (2, lambda e, args, span: e.arrays.slice(args[1], i64(0), atom_of(args[0]), span)),
    "drop": (2, _drop), "reverse": (1, _reverse), "rotate": (2, _rotate),
    "concat": (2, _concat), "++": (2, _concat), "transpose": (1, _reordered((1, 0))),
    "flatten": (1, _flatten(2)), "flatten_3d": (1, _flatten(3)), "flatten_4d": (1, _flatten(4)),
    "lift.slide": (3, _slide), "lift.pad": (4, _pad),
    "lift.join": (1, _flatten(2)), "lift.join_nd_2": (1, _flatten(3)),
    "lift.join_nd_3": (1, _flatten(4)),
    **{f"lift.{name}": (1, _reordered(order)) for name, order in TRANSPOSES.items()},
    "zip": (2, _zip), "zip2": (2, _zip), "zip3": (3, _zip), "zip4": (4, _zip), "zip5": (5, _zip),
    "unzip": (1, _first), "unzip2": (1, _first), "unzip3": (1, _first), "unzip4": (1, _first),
    "unzip5": (1, _first),
    "id": (1, _first), "opaque": (1, _first), "manifest": (1, _first), "trace": (1, _first),
    "break": (1, _first), "const": (2, _first), "uncurry": (2, _uncurry),
    "flip": (3, lambda e, args, span: e.apply(args[0], (args[2], args[1]), span)),
    "curry": (3, lambda e, args, span: e.apply(args[0], (TupleValue(args[1:]),), span)),
    "not": (1, lambda e, args, span: Dynamic(
        e.builder.op("not", Prim.BOOL, (atom_of(args[0]),), span), Prim.BOOL)),
    "|>": (2, lambda e, args, span: e.apply(args[1], (args[0],), span)),
    "<|": (2, lambda e, args, span: e.apply(args[0], (args[1],), span)),
    ">->": (3, lambda e, args, span: e.apply(
        args[1], (e.apply(args[0], (args[2],), span),), span)),
    "<-<": (3, lambda e, args, span: e.apply(
        args[0], (e.apply(args[1], (args[2],), span),), span)),
}
