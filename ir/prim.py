"""Primitive types and primitive operations.

Every scalar operation of the language is one row of :data:`OPS`: its meaning as a NumPy
function and the laws that rewriting may use.  The meaning is Futhark's: integers wrap,
``div`` and ``mod`` round towards minus infinity, ``quot`` and ``rem`` towards zero, shifts by
the width or more give 0 (or the sign), floats follow IEEE 754 without contraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np


class Prim(Enum):
    """A primitive type; the value is its name in source and in printed IR."""

    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    F32 = "f32"
    F64 = "f64"
    BOOL = "bool"

    @property
    def is_signed(self) -> bool:
        """Whether this is i8, i16, i32 or i64."""
        return self.value[0] == "i"

    @property
    def is_unsigned(self) -> bool:
        """Whether this is u8, u16, u32 or u64."""
        return self.value[0] == "u"

    @property
    def is_int(self) -> bool:
        """Whether this is an integer type of either signedness."""
        return self.is_signed or self.is_unsigned

    @property
    def is_float(self) -> bool:
        """Whether this is f32 or f64."""
        return self.value[0] == "f"

    @property
    def bits(self) -> int:
        """The width in bits; ``bool`` is stored in a byte."""
        return 8 if self is Prim.BOOL else int(self.value[1:])

    @property
    def bytes(self) -> int:
        """The size of one element in a buffer."""
        return self.bits // 8

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type that holds values of this type."""
        return _DTYPES[self]

    @property
    def least(self) -> int | float:
        """The smallest value."""
        if self.is_float:
            return -math.inf
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def greatest(self) -> int | float:
        """The largest value."""
        if self.is_float:
            return math.inf
        if self is Prim.BOOL:
            return 1
        return (1 << (self.bits - self.is_signed)) - 1

    def __str__(self) -> str:
        return self.value


_DTYPES: dict[Prim, np.dtype[Any]] = {
    prim: np.dtype({"i": "int", "u": "uint", "f": "float", "b": "bool"}[prim.value[0]]
                   + ("" if prim.value == "bool" else prim.value[1:]))
    for prim in Prim
}

INTS = tuple(p for p in Prim if p.is_int)
FLOATS = tuple(p for p in Prim if p.is_float)
NUMBERS = INTS + FLOATS
SCALARS = tuple(Prim)

Scalar = Any
"""A value of a primitive type: a NumPy scalar, or an array of them for vectorised use."""


@dataclass(frozen=True, slots=True)
class Op:
    """A primitive operation ``name : prim^arity -> prim`` (or ``-> bool`` if ``predicate``).

    ``meaning`` works elementwise on NumPy arrays of the operation's ``dtype``.  ``neutral`` is
    the unit of the operation, if it has one at every type of its domain.  ``traps`` says that
    a zero last argument is a run-time error when the type is an integer.
    """

    name: str
    arity: int
    domain: tuple[Prim, ...]
    meaning: Callable[..., Scalar]
    predicate: bool = False
    associative: bool = False
    commutative: bool = False
    neutral: Callable[[Prim], int | float | bool] | None = None
    traps: bool = False

    def result(self, prim: Prim) -> Prim:
        """The type of the result when the arguments have type ``prim``."""
        return Prim.BOOL if self.predicate else prim


def _div(x: Scalar, y: Scalar) -> Scalar:
    return np.true_divide(x, y) if np.asarray(x).dtype.kind == "f" else np.floor_divide(x, y)


def _quot(x: Scalar, y: Scalar) -> Scalar:
    q = np.floor_divide(x, y)
    return q + np.asarray((q < 0) & (q * y != x)).astype(q.dtype)


def _rem(x: Scalar, y: Scalar) -> Scalar:
    return np.fmod(x, y)


def _mod(x: Scalar, y: Scalar) -> Scalar:
    return np.mod(x, y)


def _shift(by: Callable[..., Scalar], arithmetic: bool) -> Callable[[Scalar, Scalar], Scalar]:
    """A shift that is total: by the width or more it gives 0, or the sign if ``arithmetic``."""

    def meaning(x: Scalar, y: Scalar) -> Scalar:
        x, y = np.asarray(x), np.asarray(y)
        bits = x.dtype.itemsize * 8
        far = y.astype(np.uint64) >= bits
        near = by(x, np.where(far, 0, y).astype(x.dtype))
        sign = arithmetic and x.dtype.kind == "i"
        beyond = by(x, np.asarray(bits - 1, x.dtype)) if sign else np.zeros_like(x)
        return np.asarray(np.where(far, beyond, near)).astype(x.dtype)

    return meaning


def _logical_shift(x: Scalar, y: Scalar) -> Scalar:
    x = np.asarray(x)
    unsigned = np.dtype(f"uint{x.dtype.itemsize * 8}")
    right = _shift(np.right_shift, False)
    return right(x.view(unsigned), np.asarray(y).view(unsigned)).view(x.dtype)


def _power(x: Scalar, y: Scalar) -> Scalar:
    """Exponentiation; for integers by squaring, with wrap-around and ``y < 0`` giving 0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return np.power(x, y)
    result, base, left = np.ones_like(x), x, np.where(y < 0, 0, y)
    while np.any(left > 0):
        result = np.where(left & 1 == 1, result * base, result)
        base, left = base * base, left >> 1
    return np.where(y < 0, np.zeros_like(x), result)


def _sgn(x: Scalar) -> Scalar:
    return np.sign(x)


def _abs(x: Scalar) -> Scalar:
    return np.abs(x)


def _not(x: Scalar) -> Scalar:
    return np.logical_not(x) if np.asarray(x).dtype == bool else np.invert(x)


def _count_bits(x: Scalar) -> Scalar:
    x = np.asarray(x)
    return np.bitwise_count(x.view(f"uint{x.dtype.itemsize * 8}")).astype(x.dtype)


def _leading_zeros(x: Scalar) -> Scalar:
    x = np.asarray(x)
    bits = x.dtype.itemsize * 8
    rest, count = x.view(f"uint{bits}"), np.full(x.shape, bits, np.int64)
    while np.any(rest):
        count, rest = count - (rest != 0), rest >> 1
    return count.astype(x.dtype)


def _trailing_zeros(x: Scalar) -> Scalar:
    x = np.asarray(x)
    bits = x.dtype.itemsize * 8
    rest = x.view(f"uint{bits}")
    below = (rest & (~rest + np.asarray(1, rest.dtype))) - np.asarray(1, rest.dtype)
    return np.bitwise_count(below).astype(x.dtype)


def _round(x: Scalar) -> Scalar:
    return np.rint(x)


def _high_product(x: Scalar, y: Scalar) -> Scalar:
    x, y = np.asarray(x), np.asarray(y)
    bits = x.dtype.itemsize * 8
    product = np.asarray(x.astype(object) * y.astype(object), object)
    return np.asarray(product >> bits, object).astype(x.dtype)


def _vector_math(f: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    """``f`` elementwise, NaN outside its domain."""

    def total(x: float) -> float:
        try:
            return f(x)
        except (ValueError, OverflowError):
            return math.nan if not math.isinf(x) else abs(x)

    return lambda x: np.vectorize(total, otypes=[float])(x).astype(np.asarray(x).dtype)


def _row(name: str, arity: int, domain: tuple[Prim, ...], meaning: Callable[..., Scalar],
         **laws: Any) -> tuple[str, Op]:
    return name, Op(name, arity, domain, meaning, **laws)


_BITS = (*INTS, Prim.BOOL)
_ASSOCIATIVE = {"associative": True, "commutative": True}

OPS: dict[str, Op] = dict([
    _row("add", 2, NUMBERS, np.add, neutral=lambda p: 0, **_ASSOCIATIVE),
    _row("sub", 2, NUMBERS, np.subtract),
    _row("mul", 2, NUMBERS, np.multiply, neutral=lambda p: 1, **_ASSOCIATIVE),
    _row("div", 2, NUMBERS, _div, traps=True),
    _row("mod", 2, NUMBERS, _mod, traps=True),
    _row("quot", 2, INTS, _quot, traps=True),
    _row("rem", 2, INTS, _rem, traps=True),
    _row("pow", 2, NUMBERS, _power),
    _row("min", 2, SCALARS, np.fmin, neutral=lambda p: p.greatest, **_ASSOCIATIVE),
    _row("max", 2, SCALARS, np.fmax, neutral=lambda p: p.least, **_ASSOCIATIVE),
    _row("and", 2, _BITS, np.bitwise_and, **_ASSOCIATIVE,
         neutral=lambda p: True if p is Prim.BOOL else (-1 if p.is_signed else p.greatest)),
    _row("or", 2, _BITS, np.bitwise_or, neutral=lambda p: 0, **_ASSOCIATIVE),
    _row("xor", 2, _BITS, np.bitwise_xor, neutral=lambda p: 0, **_ASSOCIATIVE),
    _row("shl", 2, INTS, _shift(np.left_shift, False)),
    _row("shr", 2, INTS, _shift(np.right_shift, True)),
    _row("lshr", 2, INTS, _logical_shift),
    _row("eq", 2, SCALARS, np.equal, predicate=True),
    _row("lt", 2, SCALARS, np.less, predicate=True),
    _row("le", 2, SCALARS, np.less_equal, predicate=True),
    _row("neg", 1, NUMBERS, np.negative),
    _row("not", 1, _BITS, _not),
    _row("abs", 1, NUMBERS, _abs),
    _row("sgn", 1, NUMBERS, _sgn),
    _row("popc", 1, INTS, _count_bits),
    _row("clz", 1, INTS, _leading_zeros),
    _row("ctz", 1, INTS, _trailing_zeros),
    _row("mul_hi", 2, INTS, _high_product),
    _row("sqrt", 1, FLOATS, np.sqrt),
    _row("cbrt", 1, FLOATS, np.cbrt),
    _row("exp", 1, FLOATS, np.exp),
    _row("log", 1, FLOATS, np.log),
    _row("log2", 1, FLOATS, np.log2),
    _row("log10", 1, FLOATS, np.log10),
    _row("log1p", 1, FLOATS, np.log1p),
    _row("sin", 1, FLOATS, np.sin),
    _row("cos", 1, FLOATS, np.cos),
    _row("tan", 1, FLOATS, np.tan),
    _row("asin", 1, FLOATS, np.arcsin),
    _row("acos", 1, FLOATS, np.arccos),
    _row("atan", 1, FLOATS, np.arctan),
    _row("sinh", 1, FLOATS, np.sinh),
    _row("cosh", 1, FLOATS, np.cosh),
    _row("tanh", 1, FLOATS, np.tanh),
    _row("asinh", 1, FLOATS, np.arcsinh),
    _row("acosh", 1, FLOATS, np.arccosh),
    _row("atanh", 1, FLOATS, np.arctanh),
    _row("erf", 1, FLOATS, _vector_math(math.erf)),
    _row("erfc", 1, FLOATS, _vector_math(math.erfc)),
    _row("gamma", 1, FLOATS, _vector_math(math.gamma)),
    _row("lgamma", 1, FLOATS, _vector_math(math.lgamma)),
    _row("floor", 1, FLOATS, np.floor),
    _row("ceil", 1, FLOATS, np.ceil),
    _row("trunc", 1, FLOATS, np.trunc),
    _row("round", 1, FLOATS, _round),
    _row("isnan", 1, FLOATS, np.isnan, predicate=True),
    _row("isinf", 1, FLOATS, np.isinf, predicate=True),
    _row("atan2", 2, FLOATS, np.arctan2),
    _row("hypot", 2, FLOATS, np.hypot),
    _row("copysign", 2, FLOATS, np.copysign),
    _row("nextafter", 2, FLOATS, np.nextafter),
    _row("fma", 3, FLOATS, lambda x, y, z: x * y + z),
])


def apply(name: str, prim: Prim, *args: Scalar) -> Scalar:
    """The value of operation ``name`` at type ``prim``, elementwise over NumPy arguments.

    Division by zero is the caller's to check; here it gives an arbitrary value.
    """
    op = OPS[name]
    with np.errstate(all="ignore"):
        values = op.meaning(*(np.asarray(arg, prim.dtype) for arg in args))
    return np.asarray(values).astype(op.result(prim).dtype, copy=False)[()]


def convert(value: Scalar, to: Prim) -> Scalar:
    """``value`` as a ``to``: C's conversions, made total.

    Integers wrap.  Floats truncate towards zero; NaN becomes 0, and what does not fit becomes
    the nearest end of the range.  Anything but zero becomes ``true``.
    """
    value = np.asarray(value)
    if to is Prim.BOOL:
        return (value != 0)[()]
    if value.dtype.kind == "f" and to.is_int:
        wide = np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0,
                             posinf=math.inf, neginf=-math.inf)
        low, high = int(to.least), int(to.greatest)
        inside = (wide >= low) & (wide < float(high) + 1)
        safe = np.where(inside, wide, 0).astype(np.uint64 if to is Prim.U64 else np.int64)
        clamped = np.where(wide < low, np.asarray(low, to.dtype), np.asarray(high, to.dtype))
        return np.where(inside, safe.astype(to.dtype), clamped)[()]
    with np.errstate(all="ignore"):
        return value.astype(to.dtype)[()]
