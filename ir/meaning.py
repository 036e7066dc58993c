"""The meaning of the primitive operations, on NumPy values.

The meaning is Futhark's:

* Integers wrap.
* ``div`` and ``mod`` round towards minus infinity, ``quot`` and ``rem`` towards zero.
* Shifts by the width or more give 0 (or the sign).
* Floats follow IEEE 754 without contraction; their ``mod`` is C's ``fmod``.
* An operation on f16 is the one on f32, rounded to f16.  For sums, products, quotients and roots
  that is the nearest f16 (Figueroa 1995, "When is double rounding innocuous?").

:mod:`.prim` says which operations there are and by which laws.  It is a module apart, so that
commands that compute nothing need not wait for NumPy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from runelift.ir.prim import OPS, Prim

Scalar = Any
"""A value of a primitive type: a NumPy scalar, or an array of them for vectorised use."""


def _div(x: Scalar, y: Scalar) -> Scalar:
    return np.true_divide(x, y) if np.asarray(x).dtype.kind == "f" else np.floor_divide(x, y)


def _quot(x: Scalar, y: Scalar) -> Scalar:
    q = np.floor_divide(x, y)
    return q + np.asarray((q < 0) & (q * y != x)).astype(q.dtype)


def _rem(x: Scalar, y: Scalar) -> Scalar:
    return np.fmod(x, y)


def _mod(x: Scalar, y: Scalar) -> Scalar:
    return np.fmod(x, y) if np.asarray(x).dtype.kind == "f" else np.mod(x, y)


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
    if x.dtype.kind == "f":  # NumPy takes a square root for 0.5, which differs at two places
        return np.power(np.where((y == 0.5) & ((x == 0) | (x == -np.inf)), np.abs(x), x), y)
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


def _sinpi(x: Scalar) -> Scalar:
    """``sin (pi * x)``: 0 at all whole numbers, as in OpenCL C."""
    rest = np.fmod(x, 2)
    turns = np.rint(rest)
    part = np.sin(math.pi * (rest - turns))
    return np.where(part == 0, np.copysign(0, x), np.where(np.abs(turns) == 1, -part, part))


def _cospi(x: Scalar) -> Scalar:
    """``cos (pi * x)``: 0 halfway between whole numbers."""
    rest = np.fmod(x, 2)
    turns = np.rint(rest)
    return np.where(np.abs(turns) == 1, -1, 1) * np.sin(math.pi * (0.5 - np.abs(rest - turns)))


def _reinterpreted(x: Scalar) -> Scalar:
    x = np.asarray(x)
    return x.view(f"{'uint' if x.dtype.kind == 'f' else 'float'}{8 * x.dtype.itemsize}")


def _high_product(x: Scalar, y: Scalar) -> Scalar:
    x, y = np.asarray(x), np.asarray(y)
    bits = x.dtype.itemsize * 8
    product = np.asarray(x.astype(object) * y.astype(object), object)
    return np.asarray(product >> bits, object).astype(x.dtype)


def _vector_math(f: Callable[[float], float],
                 pole: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    """``f`` elementwise, ``pole`` where Python has no value, infinity for what is too large."""

    def total(x: float) -> float:
        try:
            return f(x)
        except ValueError:
            return pole(x)
        except OverflowError:
            return math.inf

    return lambda x: np.vectorize(total, otypes=[float])(x).astype(np.asarray(x).dtype)


def _gamma_pole(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.nan


def _over_root(x: Scalar, y: Scalar) -> Scalar:
    return x / np.sqrt(y)


def _fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once (IEEE 754-2008, section 5.4.1)."""
    to = x.dtype.type

    def fused(x: float, y: float, z: float) -> Any:
        if not (math.isfinite(x) and math.isfinite(y)) or 0 in (x, y):
            return to(np.float64(x) * y + z)
        if not math.isfinite(z):
            return to(z)
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        return _nearest(exact, to) if exact else to(0)

    return np.vectorize(fused, otypes=[to])(x, y, z)


def _nearest(exact: Fraction, to: type[Any]) -> Any:
    """The nearest float of type ``to``; of two equally near, that with an even last bit."""
    try:
        near = float(exact)
    except OverflowError:
        return to(math.inf if exact > 0 else -math.inf)
    # rounded to odd, so that rounding once more to fewer digits does no harm (Boldo and Melquiond
    # 2008, "Emulation of FMA and correctly rounded sums", theorem 1)
    if to is not np.float64 and Fraction(near) != exact and not np.float64(near).view(int) & 1:
        near = math.nextafter(near, math.inf if exact > near else -math.inf)
    return to(near)


MEANING: dict[str, Callable[..., Scalar]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "mod": _mod,
    "quot": _quot,
    "rem": _rem,
    "pow": _power,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shift(np.left_shift, False),
    "shr": _shift(np.right_shift, True),
    "lshr": _logical_shift,
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "neg": np.negative,
    "not": _not,
    "abs": _abs,
    "sgn": _sgn,
    "popc": _count_bits,
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "mul_hi": _high_product,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "div_sqrt": _over_root,
    "div_sqrt_near": _over_root,
    "div_sqrt_easy": lambda x, y: np.full(np.shape(x), True),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinpi": _sinpi,
    "cospi": _cospi,
    "tanpi": lambda x: _sinpi(x) / _cospi(x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinpi": lambda x: np.arcsin(x) / math.pi,
    "acospi": lambda x: np.arccos(x) / math.pi,
    "atanpi": lambda x: np.arctan(x) / math.pi,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _vector_math(math.erf, float),
    "erfc": _vector_math(math.erfc, float),
    "gamma": _vector_math(math.gamma, _gamma_pole),
    "lgamma": _vector_math(math.lgamma, lambda _: math.inf),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": _round,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "atan2": np.arctan2,
    "atan2pi": lambda x, y: np.arctan2(x, y) / math.pi,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "nextafter": lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
    "ldexp": lambda x, y: np.ldexp(x, np.fmin(np.fmax(y, -5000), 5000).astype(np.int32)),
    "bits": _reinterpreted,
    "fma": _fused,
}
"""For every row of :data:`~.prim.OPS` its function, elementwise over arrays of its operand type."""


NOT_BY_F32 = frozenset({"bits", "nextafter", "fma"})
"""The operations on f16 that are not computed on f32 and then rounded."""

OF_UFUNCS = frozenset({"div", "mod", "rem"})
"""The operations that are one of two of NumPy's functions, which take its scalars as they are."""

PLAIN: dict[tuple[str, Prim], Callable[[Scalar, Scalar], Scalar]] = {
    (op, prim): function for op, function in (
        ("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("eq", operator.eq),
        ("lt", operator.lt), ("le", operator.le))
    for prim in (Prim.I32, Prim.I64, Prim.F32, Prim.F64)}
"""Operations that NumPy's scalars of a type have themselves; :func:`apply` takes far longer."""


def apply(name: str, prim: Prim, *args: Scalar) -> Scalar:
    """The value of operation ``name`` at type ``prim``, elementwise over NumPy arguments.

    Division by zero is the caller's to check; here it gives an arbitrary value.
    """
    with np.errstate(all="ignore"):
        return operation(name, prim)(*args)


@cache
def operation(name: str, prim: Prim) -> Callable[..., Scalar]:
    """The operation as a function, for callers that ignore NumPy's floating-point errors."""
    meaning, dtype, result = MEANING[name], prim.dtype, OPS[name].result(prim).dtype
    scalar = dtype.type

    def direct(*args: Scalar) -> Scalar:
        for arg in args:
            if type(arg) is not scalar:
                return converted(*args)
        value = meaning(*args)
        return value if type(value) is result.type else np.asarray(value).astype(result)[()]

    def converted(*args: Scalar) -> Scalar:
        value = np.asarray(meaning(*(np.asarray(arg, dtype) for arg in args)))
        return value.astype(result, copy=False)[()]

    def by_f32(*args: Scalar) -> Scalar:
        one = np.float32(1)  # makes a signalling NaN quiet, as conversions of devices do
        wide = (np.asarray(arg, dtype).astype(Prim.F32.dtype) * one for arg in args)
        return np.asarray(meaning(*wide)).astype(result, copy=False)[()]

    if prim is Prim.F16 and name not in NOT_BY_F32:
        return by_f32
    return direct if isinstance(meaning, np.ufunc) or name in OF_UFUNCS else converted


def convert(value: Scalar, to: Prim) -> Scalar:
    """``value`` as a ``to``: C's conversions, made total.

    Integers wrap.  Floats truncate towards zero: to an i64 for u32 and types of 64 bits, else to an
    i32; the bits count.  Numbers that do not fit become its least number, NaN and the infinities
    become 0.  (C leaves open what does not fit; processors do this.)  Anything but zero becomes
    ``true``.
    """
    value = np.asarray(value)
    if to is Prim.BOOL:
        return (value != 0)[()]
    if value.dtype.kind == "f" and to.is_int:
        whole = np.trunc(np.where(np.isfinite(value), value, 0).astype(np.float64))
        limit = 2.0**31 if to.bits <= 32 and to is not Prim.U32 else 2.0**63
        near = np.where(np.abs(whole) < limit, whole, -limit).astype(np.int64)
        high = (to is Prim.U64) & (whole >= 2.0**63) & (whole < 2.0**64)
        large = np.where(high, whole, 0).astype(np.uint64)
        with np.errstate(all="ignore"):
            return np.where(high, large, near.astype(np.uint64)).astype(to.dtype)[()]
    with np.errstate(all="ignore"):
        return value.astype(to.dtype)[()]
