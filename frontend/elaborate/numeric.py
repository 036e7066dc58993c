"""The members of the numeric modules: ``f32.sqrt``, ``i64.sum``, ``u8.highest``, ``f64.i32``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from runelift.frontend.elaborate.scalars import Evaluator, arithmetic, atom_of, fold
from runelift.frontend.elaborate.values import Dynamic, Function, Value
from runelift.frontend.syntax.prelude import OPERATORS
from runelift.ir.base.source import Span
from runelift.ir.prim import OPS, SAME_BITS, Prim
from runelift.ir.types import Atom, Const

Member: TypeAlias = Callable[[Evaluator, Prim], Value]
"""A member of the module of a type."""

_PRIMS = frozenset(prim.value for prim in Prim)

_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def member(e: Evaluator, prim: Prim, name: str) -> Value | None:
    """``prim.name``; None if there is no such member."""
    if name in _PRIMS:
        return _conversion(e, Prim(name), prim)
    if name == ">>" and prim.is_unsigned:
        return _arithmetic_shift(e, prim)
    if name in OPERATORS or name in ("==", "!="):
        return Function(2, lambda args, span: arithmetic(e, name, args[0], args[1], span))
    if name in _CONSTANTS:
        return _constant(prim, prim.nearest(_CONSTANTS[name]))
    if name in _MEMBERS:
        return _MEMBERS[name](e, prim)
    return _primitive(name)(e, prim) if name in OPS else None


def _arithmetic_shift(e: Evaluator, prim: Prim) -> Function:
    """The member ``>>`` of an unsigned type, which extends the sign unlike the operator."""
    signed = Prim(f"i{prim.bits}")

    def shift(span: Span, *atoms: Atom) -> Atom:
        x, y = (e.builder.convert(prim, signed, atom, span) for atom in atoms)
        return e.builder.convert(signed, prim, e.builder.op("shr", signed, (x, y), span), span)

    return _function(2, prim, shift)


def _constant(prim: Prim, value: int | float) -> Dynamic:
    return Dynamic(Const(float(value) if prim.is_float else int(value), prim), prim)


def _function(arity: int, result: Prim, compute: Callable[..., Atom]) -> Function:
    """A function of ``arity`` scalars: ``compute(span, *atoms)`` is its value."""
    return Function(arity, lambda args, span: Dynamic(compute(span, *map(atom_of, args)), result))


def _conversion(e: Evaluator, from_: Prim, to: Prim) -> Function:
    def convert(span: Span, x: Atom) -> Atom:
        if not (from_.is_signed and to.is_unsigned):
            return e.builder.convert(from_, to, x, span)
        bits = Prim(f"u{from_.bits}")  # with zeros in front
        return e.builder.convert(bits, to, e.builder.convert(from_, bits, x, span), span)

    return _function(1, to, convert)


def _primitive(row: str) -> Member:
    """A primitive operation."""
    return lambda e, prim: _function(OPS[row].arity, OPS[row].result(prim), lambda span, *atoms: (
        e.builder.op(row, prim, atoms, span)))


def _reduction(row: str) -> Member:
    """A primitive operation over an array."""
    return lambda e, prim: Function(1, lambda args, span: fold(e, row, prim, args[0], span))


def _count(row: str) -> Member:
    """A primitive operation whose result is a number of bits, an i32."""
    return lambda e, prim: _function(1, Prim.I32, lambda span, x: (
        e.builder.convert(prim, Prim.I32, e.builder.op(row, prim, (x,), span), span)))


def _widening(to: Prim) -> Member:
    return lambda e, prim: _function(1, to, lambda span, x: e.builder.convert(prim, to, x, span))


def _lerp(e: Evaluator, prim: Prim) -> Function:
    """``lerp a b t = a + (b - a) * t``."""
    def lerp(span: Span, a: Atom, b: Atom, t: Atom) -> Atom:
        step = e.builder.op("sub", prim, (b, a), span)
        part = e.builder.op("mul", prim, (step, t), span)
        return e.builder.op("add", prim, (a, part), span)

    return _function(3, prim, lerp)


def _from_fraction(e: Evaluator, prim: Prim) -> Function:
    """``from_fraction a b``: the quotient of two i64."""
    def fraction(span: Span, *atoms: Atom) -> Atom:
        a, b = (e.builder.convert(Prim.I64, prim, atom, span) for atom in atoms)
        return e.builder.op("div", prim, (a, b), span)

    return _function(2, prim, fraction)


def _ldexp(e: Evaluator, prim: Prim) -> Function:
    """``ldexp x n = x * 2^n``, where ``n`` is an i32."""
    return _function(2, prim, lambda span, x, n: (
        e.builder.op("ldexp", prim, (x, e.builder.convert(Prim.I32, prim, n, span)), span)))


def _and_added(row: str) -> Member:
    """A product and a sum: ``mad a b c = a * b + c``, ``mad_hi a b c = mul_hi a b + c``."""
    return lambda e, prim: _function(3, prim, lambda span, a, b, c: (
        e.builder.op("add", prim, (e.builder.op(row, prim, (a, b), span), c), span)))


def _get_bit(e: Evaluator, prim: Prim) -> Function:
    """``get_bit i x``, an i32; of a float by way of its bits."""
    bits = SAME_BITS[prim] if prim.is_float else prim

    def get_bit(span: Span, i: Atom, x: Atom) -> Atom:
        place = e.builder.convert(Prim.I32, bits, i, span)
        moved = e.builder.op("lshr", bits, (_pattern(e, prim, x, span), place), span)
        bit = e.builder.op("and", bits, (moved, Const(1, bits)), span)
        return e.builder.convert(bits, Prim.I32, bit, span)

    return _function(2, Prim.I32, get_bit)


def _set_bit(e: Evaluator, prim: Prim) -> Function:
    """``set_bit i x bit``, where ``i`` and ``bit`` are i32; of a float by way of its bits."""
    bits = SAME_BITS[prim] if prim.is_float else prim

    def set_bit(span: Span, i: Atom, x: Atom, bit: Atom) -> Atom:
        def op(row: str, *atoms: Atom) -> Atom:
            return e.builder.op(row, bits, atoms, span)

        place = e.builder.convert(Prim.I32, bits, i, span)
        others = op("not", op("shl", Const(1, bits), place))
        kept = op("and", _pattern(e, prim, x, span), others)
        wide = e.builder.convert(Prim.I32, bits, bit, span)
        changed = op("or", kept, op("shl", wide, place))
        return op("bits", changed) if prim.is_float else changed

    return _function(3, prim, set_bit)


def _pattern(e: Evaluator, prim: Prim, x: Atom, span: Span) -> Atom:
    """The bits of a number, as an integer."""
    return e.builder.op("bits", prim, (x,), span) if prim.is_float else x


_MEMBERS: Mapping[str, Member] = {
    "highest": lambda e, prim: _constant(prim, prim.greatest),
    "lowest": lambda e, prim: _constant(prim, prim.least),
    "epsilon": lambda e, prim: _constant(prim, 2.0 ** (1 - prim.mantissa)),
    "num_bits": lambda e, prim: _constant(Prim.I32, prim.bits),
    "sum": _reduction("add"), "product": _reduction("mul"),
    "maximum": _reduction("max"), "minimum": _reduction("min"),
    "popc": _count("popc"), "clz": _count("clz"), "ctz": _count("ctz"),
    "get_bit": _get_bit, "set_bit": _set_bit,
    "to_bits": lambda e, prim: _function(1, SAME_BITS[prim], lambda span, x: (
        e.builder.op("bits", prim, (x,), span))),
    "from_bits": lambda e, prim: _function(1, prim, lambda span, x: (
        e.builder.op("bits", SAME_BITS[prim], (x,), span))),
    "to_i64": _widening(Prim.I64), "to_f64": _widening(Prim.F64),
    "recip": lambda e, prim: _function(1, prim, lambda span, x: (
        e.builder.op("div", prim, (Const(1.0, prim), x), span))),
    "from_fraction": _from_fraction, "lerp": _lerp, "ldexp": _ldexp,
    "mad": _and_added("mul"), "mad_hi": _and_added("mul_hi"),
}
"""The members for which there is no primitive operation of their name."""
