"""The meaning of the built-in names whose types :mod:`runelift.frontend.prelude` lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from runelift.frontend.elaborate.arrays import Arrays
from runelift.frontend.elaborate.builder import Builder
from runelift.frontend.elaborate.values import (
    Dynamic,
    Function,
    TupleValue,
    Value,
    leaves,
    outer_size,
)
from runelift.frontend.prelude import OPERATORS
from runelift.ir import failures
from runelift.ir.prim import OPS, SAME_BITS, Prim
from runelift.ir.source import Span
from runelift.ir.syntax import Assert
from runelift.ir.types import TRUE, Atom, Const, i64, shape_of


class Evaluator(Protocol):
    """What the intrinsics need of the evaluator."""

    builder: Builder
    arrays: Arrays

    def apply(self, function: Value, args: tuple[Value, ...], span: Span) -> Value:
        """``function`` applied to ``args``."""


Run = Callable[[Evaluator, tuple[Value, ...], Span], Value]


def intrinsic(evaluator: Evaluator, quals: tuple[str, ...], name: str) -> Value | None:
    """The value of a built-in name; None if it is not built in."""
    if quals:
        return _member(evaluator, Prim(quals[0]), name)
    if name in _TABLE:
        arity, run = _TABLE[name]
        return Function(arity, partial(run, evaluator))
    return None


def arithmetic(evaluator: Evaluator, op: str, left: Value, right: Value, span: Span) -> Value:
    """``left op right`` for an operator of the source."""
    if op in ("==", "!="):
        return _equality(evaluator, op, left, right, span)
    name, _, _ = OPERATORS[op]
    a, b = _scalar(left), _scalar(right)
    prim = _prim(a)
    if name in ("gt", "ge"):
        name, a, b = {"gt": "lt", "ge": "le"}[name], b, a
    if name == "pow" and prim.is_signed:
        _check_exponent(evaluator, b.atom, prim, span)
    result = evaluator.builder.op(name, prim, (a.atom, b.atom), span)
    return Dynamic(result, OPS[name].result(prim))


def _check_exponent(evaluator: Evaluator, exponent: Atom, prim: Prim, span: Span) -> None:
    """Fail at run time if an integer is raised to a negative power."""
    natural = evaluator.builder.op("le", prim, (Const(0, prim), exponent), span)
    if natural != TRUE:
        wide = evaluator.builder.convert(prim, Prim.I64, exponent, span)
        evaluator.builder.emit_stm((), Assert(natural, failures.EXPONENT, (wide,)), span)


def _equality(evaluator: Evaluator, op: str, left: Value, right: Value, span: Span) -> Value:
    builder = evaluator.builder
    total: Atom = Const(True, Prim.BOOL)
    left, right = evaluator.arrays.aligned([left, right], span)
    for a, b in zip(leaves(left), leaves(right), strict=True):
        total = builder.op("and", Prim.BOOL, (total, _equal(evaluator, a, b, span)), span)
    if op == "!=":
        total = builder.op("not", Prim.BOOL, (total,), span)
    return Dynamic(total, Prim.BOOL)


def _equal(evaluator: Evaluator, a: Dynamic, b: Dynamic, span: Span) -> Atom:
    builder, arrays = evaluator.builder, evaluator.arrays
    if isinstance(a.type, Prim):
        return builder.op("eq", a.type, (a.atom, b.atom), span)
    arrays.require_equal(shape_of(a.type)[0], shape_of(b.type)[0], span)
    same = arrays.map(lambda args: Dynamic(_equal(evaluator, _leaf(args[0]), _leaf(args[1]), span),
                                           Prim.BOOL), [a, b], span)
    return _leaf(_fold(evaluator, "and", Prim.BOOL, same, span)).atom


def _leaf(value: Value) -> Dynamic:
    (leaf,) = leaves(value)
    return leaf


def _scalar(value: Value) -> Dynamic:
    assert isinstance(value, Dynamic)
    return value


def _prim(value: Dynamic) -> Prim:
    assert isinstance(value.type, Prim)
    return value.type


def _i64(value: Value) -> Atom:
    return _scalar(value).atom


def _apply1(e: Evaluator, f: Value, span: Span) -> Callable[[tuple[Value, ...]], Value]:
    return lambda args: e.apply(f, args, span)


# Second-order functions


def _map(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, *arrays = args
    return e.arrays.map(_apply1(e, f, span), arrays, span)


def _reduce(comm: bool) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        f, neutral, array = args
        return e.arrays.reduce(_apply1(e, f, span), neutral, array, comm, span)
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


def _scatter(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    dest, indices, values = args
    return e.arrays.scatter(dest, list(leaves(indices)), values, span)


def _reduce_by_index(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    dest, f, neutral, bins, values = args
    return e.arrays.hist(dest, _apply1(e, f, span), neutral, _leaf(bins), values, span)


def _hist(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, neutral, count, bins, values = args
    dest = e.arrays.replicate(_i64(count), neutral, span)
    return e.arrays.hist(dest, _apply1(e, f, span), neutral, _leaf(bins), values, span)


def _tabulate(rank: int) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        *sizes, f = args

        def level(depth: int, indices: tuple[Value, ...]) -> Value:
            if depth == rank:
                return e.apply(f, indices, span)
            return e.arrays.map(lambda args: level(depth + 1, (*indices, *args)),
                                [iotas[depth]], span)

        iotas = [e.arrays.iota(_i64(size), i64(0), i64(1), Prim.I64, span) for size in sizes]
        return level(0, ())
    return run


def _fold(e: Evaluator, op: str, prim: Prim, array: Value, span: Span) -> Value:
    row = OPS[op]
    assert row.neutral is not None
    start = row.neutral(prim)
    value = bool(start) if prim is Prim.BOOL else float(start) if prim.is_float else int(start)

    def combine(args: tuple[Value, ...]) -> Value:
        left, right = _scalar(args[0]).atom, _scalar(args[1]).atom
        return Dynamic(e.builder.op(op, prim, (left, right), span), prim)

    return e.arrays.reduce(combine, Dynamic(Const(value, prim), prim), array, True, span)


def _quantified(op: str) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        *predicate, array = args
        holds = _map(e, args, span) if predicate else array
        return _fold(e, op, Prim.BOOL, holds, span)
    return run


# Arrays


def _iota(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.iota(_i64(args[0]), i64(0), i64(1), Prim.I64, span)


def _indices(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.iota(outer_size(args[0]), i64(0), i64(1), Prim.I64, span)


def _replicate(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.replicate(_i64(args[0]), args[1], span)


def _length(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return Dynamic(outer_size(args[0]), Prim.I64)


def _null(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return Dynamic(e.builder.op("eq", Prim.I64, (outer_size(args[0]), i64(0)), span), Prim.BOOL)


def _copy(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.copy(args[0], span)


def _head(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.index(args[0], [i64(0)], span)


def _less(e: Evaluator, size: Atom, by: Atom, span: Span) -> Atom:
    return e.builder.op("sub", Prim.I64, (size, by), span)


def _last(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.index(args[0], [_less(e, outer_size(args[0]), i64(1), span)], span)


def _tail(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.slice(args[0], i64(1), _less(e, outer_size(args[0]), i64(1), span), span)


def _init(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.slice(args[0], i64(0), _less(e, outer_size(args[0]), i64(1), span), span)


def _take(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.slice(args[1], i64(0), _i64(args[0]), span)


def _drop(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    count, array = args
    return e.arrays.slice(array, _i64(count), _less(e, outer_size(array), _i64(count), span), span)


def _reverse(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    size = outer_size(args[0])
    return e.arrays.slice(args[0], _less(e, size, i64(1), span), size, span, stride=i64(-1),
                          checked=False)


def _rotate(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    """Element i of the result is element (i + by) mod n."""
    by, array = args
    size = outer_size(array)
    one_at_least = e.builder.op("max", Prim.I64, (size, i64(1)), span)
    start = e.builder.op("mod", Prim.I64, (_i64(by), one_at_least), span)
    front = e.arrays.slice(array, start, _less(e, size, start, span), span, checked=False)
    back = e.arrays.slice(array, i64(0), start, span, checked=False)
    joined = e.arrays.concat(front, back, span)
    return e.arrays.reshape(1, (size,), joined, span)


def _concat(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.concat(args[0], args[1], span)


def _transpose(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.arrays.rearrange((1, 0), args[0], span)


def _flatten(rank: int) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        total: Atom = i64(1)
        for size in shape_of(next(leaves(args[0])).type)[:rank]:
            total = e.builder.op("mul", Prim.I64, (total, size), span)
        return e.arrays.reshape(rank, (total,), args[0], span)
    return run


def unflatten(e: Evaluator, sizes: Sequence[Atom | None], array: Value, span: Span) -> Value:
    """``array`` as one of outer shape ``sizes``, whose product must be its length.

    At most one size is None: as many as there are in the array.
    """
    def op(name: str, left: Atom, right: Atom) -> Atom:
        return e.builder.op(name, Prim.I64, (left, right), span)

    known = [size for size in sizes if size is not None]
    total: Atom = i64(1)
    for size in known:
        total = op("mul", total, size)
    found = known
    if len(known) < len(sizes):
        missing = op("quot", outer_size(array), op("max", total, i64(1)))
        found = [missing if size is None else size for size in sizes]
        total = op("mul", total, missing)
    e.arrays.require_equal(total, outer_size(array), span)
    return e.arrays.reshape(1, tuple(found), array, span)


def _zip(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    for other in args[1:]:
        e.arrays.require_equal(outer_size(args[0]), outer_size(other), span)
    return TupleValue(args)


def _first(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return args[0]


def _flip(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, x, y = args
    return e.apply(f, (y, x), span)


def _curry(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, x, y = args
    return e.apply(f, (TupleValue((x, y)),), span)


def _uncurry(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, pair = args
    assert isinstance(pair, TupleValue)
    return e.apply(f, pair.items, span)


def _not(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return Dynamic(e.builder.op("not", Prim.BOOL, (_scalar(args[0]).atom,), span), Prim.BOOL)


def _pipe(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.apply(args[1], (args[0],), span)


def _apply_operator(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    return e.apply(args[0], (args[1],), span)


def _compose(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, g, x = args
    return e.apply(g, (e.apply(f, (x,), span),), span)


def _compose_back(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
    f, g, x = args
    return e.apply(f, (e.apply(g, (x,), span),), span)


_TABLE: dict[str, tuple[int, Run]] = {
    "map": (2, _map), "map1": (2, _map), "map2": (3, _map), "map3": (4, _map),
    "map4": (5, _map), "map5": (6, _map),
    "reduce": (3, _reduce(False)), "reduce_comm": (3, _reduce(True)), "scan": (3, _scan),
    "filter": (2, _filter), "partition": (2, _partition), "partition2": (3, _partition),
    "scatter": (3, _scatter), "scatter_2d": (3, _scatter), "scatter_3d": (3, _scatter),
    "reduce_by_index": (5, _reduce_by_index), "hist": (5, _hist),
    "tabulate": (2, _tabulate(1)), "tabulate_2d": (3, _tabulate(2)),
    "tabulate_3d": (4, _tabulate(3)),
    "all": (2, _quantified("and")), "any": (2, _quantified("or")),
    "and": (1, _quantified("and")), "or": (1, _quantified("or")),
    "iota": (1, _iota), "indices": (1, _indices), "replicate": (2, _replicate),
    "length": (1, _length), "null": (1, _null), "copy": (1, _copy),
    "head": (1, _head), "last": (1, _last), "tail": (1, _tail), "init": (1, _init),
    "take": (2, _take), "drop": (2, _drop), "reverse": (1, _reverse), "rotate": (2, _rotate),
    "concat": (2, _concat), "++": (2, _concat), "transpose": (1, _transpose),
    "flatten": (1, _flatten(2)), "flatten_3d": (1, _flatten(3)), "flatten_4d": (1, _flatten(4)),
    "zip": (2, _zip), "zip2": (2, _zip), "zip3": (3, _zip), "zip4": (4, _zip), "zip5": (5, _zip),
    "unzip": (1, _first), "unzip2": (1, _first), "unzip3": (1, _first), "unzip4": (1, _first),
    "unzip5": (1, _first),
    "id": (1, _first), "opaque": (1, _first), "manifest": (1, _first), "trace": (1, _first),
    "break": (1, _first), "const": (2, _first), "flip": (3, _flip), "curry": (3, _curry),
    "uncurry": (2, _uncurry), "not": (1, _not),
    "|>": (2, _pipe), "<|": (2, _apply_operator), ">->": (3, _compose), "<-<": (3, _compose_back),
}


# Members of the numeric modules

_PRIMS = frozenset(prim.value for prim in Prim)

_CONSTANTS: dict[str, float] = {
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan,
}


def _member(e: Evaluator, prim: Prim, name: str) -> Value | None:
    """``prim.name``."""
    def scalar(value: int | float) -> Dynamic:
        return Dynamic(Const(float(value) if prim.is_float else int(value), prim), prim)

    def op(row: str) -> Function:
        def run(args: tuple[Value, ...], span: Span) -> Value:
            atoms = tuple(_scalar(arg).atom for arg in args)
            return Dynamic(e.builder.op(row, prim, atoms, span), OPS[row].result(prim))
        return Function(OPS[row].arity, run)

    def fold(row: str) -> Function:
        return Function(1, lambda args, span: _fold(e, row, prim, args[0], span))

    if name in _PRIMS:
        def conversion(args: tuple[Value, ...], span: Span) -> Value:
            atom, from_ = _scalar(args[0]).atom, Prim(name)
            if from_.is_signed and prim.is_unsigned:  # the bits, with zeros in front
                bits = Prim(f"u{from_.bits}")
                atom, from_ = e.builder.convert(from_, bits, atom, span), bits
            return Dynamic(e.builder.convert(from_, prim, atom, span), prim)
        return Function(1, conversion)
    if name in OPERATORS or name in ("==", "!="):
        return Function(2, lambda args, span: arithmetic(e, name, args[0], args[1], span))
    if name in _CONSTANTS:
        return scalar(prim.nearest(_CONSTANTS[name]))
    match name:
        case "highest":
            return scalar(prim.greatest)
        case "lowest":
            return scalar(prim.least)
        case "epsilon":
            return scalar(2.0 ** (-23 if prim is Prim.F32 else -52))
        case "num_bits":
            return Dynamic(Const(prim.bits, Prim.I32), Prim.I32)
        case "sum" | "product" | "maximum" | "minimum":
            return fold({"sum": "add", "product": "mul", "maximum": "max", "minimum": "min"}[name])
        case "popc" | "clz" | "ctz":
            def count(args: tuple[Value, ...], span: Span) -> Value:
                bits = e.builder.op(name, prim, (_scalar(args[0]).atom,), span)
                return Dynamic(e.builder.convert(prim, Prim.I32, bits, span), Prim.I32)
            return Function(1, count)
        case "get_bit" | "set_bit":
            return _bit_access(e, prim, name)
        case "lerp":
            def lerp(args: tuple[Value, ...], span: Span) -> Value:
                a, b, t = (_scalar(arg).atom for arg in args)
                step = e.builder.op("sub", prim, (b, a), span)
                part = e.builder.op("mul", prim, (step, t), span)
                return Dynamic(e.builder.op("add", prim, (a, part), span), prim)
            return Function(3, lerp)
        case "mad":
            return op("fma")
        case "from_fraction":
            def fraction(args: tuple[Value, ...], span: Span) -> Value:
                a, b = (e.builder.convert(Prim.I64, prim, _scalar(arg).atom, span) for arg in args)
                return Dynamic(e.builder.op("div", prim, (a, b), span), prim)
            return Function(2, fraction)
        case "to_i64" | "to_f64":
            wide = Prim.I64 if name == "to_i64" else Prim.F64
            return Function(1, lambda args, span: Dynamic(
                e.builder.convert(prim, wide, _scalar(args[0]).atom, span), wide))
        case "to_bits" | "from_bits":
            from_ = prim if name == "to_bits" else SAME_BITS[prim]
            return Function(1, lambda args, span: Dynamic(
                e.builder.op("bits", from_, (_scalar(args[0]).atom,), span), SAME_BITS[from_]))
        case "recip":
            return Function(1, lambda args, span: Dynamic(e.builder.op(
                "div", prim, (Const(1.0, prim), _scalar(args[0]).atom), span), prim))
        case "ldexp":
            def ldexp(args: tuple[Value, ...], span: Span) -> Value:
                power = e.builder.convert(Prim.I32, prim, _scalar(args[1]).atom, span)
                return Dynamic(e.builder.op("ldexp", prim, (_scalar(args[0]).atom, power), span),
                               prim)
            return Function(2, ldexp)
        case "mad_hi":
            def mad_hi(args: tuple[Value, ...], span: Span) -> Value:
                a, b, c = (_scalar(arg).atom for arg in args)
                high = e.builder.op("mul_hi", prim, (a, b), span)
                return Dynamic(e.builder.op("add", prim, (high, c), span), prim)
            return Function(3, mad_hi)
    return op(name) if name in OPS else None


def _bit_access(e: Evaluator, prim: Prim, name: str) -> Function:
    """``get_bit i x`` and ``set_bit i x bit`` of a number; a float by way of its bits."""
    bits = SAME_BITS[prim] if prim.is_float else prim

    def op(row: str, span: Span, *args: Atom) -> Atom:
        return e.builder.op(row, bits, args, span)

    def pattern(x: Value, span: Span) -> Atom:
        atom = _scalar(x).atom
        return e.builder.op("bits", prim, (atom,), span) if prim.is_float else atom

    def get_bit(args: tuple[Value, ...], span: Span) -> Value:
        place = e.builder.convert(Prim.I32, bits, _scalar(args[0]).atom, span)
        moved = op("lshr", span, pattern(args[1], span), place)
        bit = op("and", span, moved, Const(1, bits))
        return Dynamic(e.builder.convert(bits, Prim.I32, bit, span), Prim.I32)

    def set_bit(args: tuple[Value, ...], span: Span) -> Value:
        place = e.builder.convert(Prim.I32, bits, _scalar(args[0]).atom, span)
        others = op("not", span, op("shl", span, Const(1, bits), place))
        kept = op("and", span, pattern(args[1], span), others)
        bit = e.builder.convert(Prim.I32, bits, _scalar(args[2]).atom, span)
        changed = op("or", span, kept, op("shl", span, bit, place))
        return Dynamic(op("bits", span, changed) if prim.is_float else changed, prim)

    return Function(2, get_bit) if name == "get_bit" else Function(3, set_bit)
