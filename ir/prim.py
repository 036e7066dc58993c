"""Primitive types and primitive operations.

Every scalar operation of the language is one row of :data:`OPS`: its operands and the laws that
rewriting may use.  What it computes is the row of the same name in :mod:`.meaning`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    F16 = "f16"
    F32 = "f32"
    F64 = "f64"
    BOOL = "bool"

    def __init__(self, spelled: str) -> None:
        self.is_signed = spelled[0] == "i"
        """True for i8, i16, i32 and i64."""
        self.is_unsigned = spelled[0] == "u"
        """True for u8, u16, u32 and u64."""
        self.is_int = self.is_signed or self.is_unsigned
        """True for integer types of either signedness."""
        self.is_float = spelled[0] == "f"
        """True for f16, f32 and f64."""
        self.bits = 8 if spelled == "bool" else int(spelled[1:])
        """The width in bits; ``bool`` is stored in a byte."""
        self.bytes = self.bits // 8
        """The size of one element in a buffer."""
        self.least: int | float = -math.inf if self.is_float else (
            -(1 << (self.bits - 1)) if self.is_signed else 0)
        """The smallest value."""
        self.greatest: int | float = math.inf if self.is_float else (
            1 if spelled == "bool" else (1 << (self.bits - self.is_signed)) - 1)
        """The largest value."""
        self.mantissa = {"f16": 11, "f32": 24, "f64": 53}.get(spelled, 0)
        """The binary digits of a floating-point number, the leading one included."""

    __hash__ = object.__hash__  # there is one of each; Enum's own hashes names, and in Python

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type that holds values of this type."""
        return _dtypes()[self]

    def nearest(self, value: float) -> float:
        """The number of this floating-point type that is nearest; infinity if it is too large."""
        layout = {"f16": "e", "f32": "f", "f64": "d"}[self.value]
        try:
            rounded: float = struct.unpack(layout, struct.pack(layout, float(value)))[0]
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        return rounded

    def __str__(self) -> str:
        return self.value


INTS = tuple(p for p in Prim if p.is_int)
SIGNED = tuple(p for p in INTS if p.is_signed)
FLOATS = tuple(p for p in Prim if p.is_float)
NUMBERS = INTS + FLOATS
SCALARS = tuple(Prim)
_BITS_OF = {Prim.F16: Prim.U16, Prim.F32: Prim.U32, Prim.F64: Prim.U64}
SAME_BITS = _BITS_OF | {bits: prim for prim, bits in _BITS_OF.items()}
"""The unsigned integer of each float, and the float of these."""


@cache
def _dtypes() -> dict[Prim, np.dtype[Any]]:
    """The type of elements of each type; NumPy is imported when the first is asked for."""
    # late: start-up; checking a program needs no NumPy
    import numpy as np

    return {prim: np.dtype({"i": "int", "u": "uint", "f": "float", "b": "bool"}[prim.value[0]]
                           + prim.value[1:].removeprefix("ool")) for prim in Prim}


@dataclass(frozen=True, slots=True)
class Op:
    """A primitive operation ``name : prim^arity -> prim`` (or ``-> bool`` if ``predicate``).

    ``neutral`` is the unit of the operation, if it has one at every type of its domain.  ``traps``:
    a zero last argument is a run-time error when the type is an integer.  ``reinterprets``: the
    result has the same bits as a number of the other kind.  Programs cannot name what is
    ``internal``.
    """

    name: str
    arity: int
    domain: tuple[Prim, ...]
    predicate: bool = False
    commutative: bool = False
    neutral: Callable[[Prim], int | float | bool] | None = None
    traps: bool = False
    reinterprets: bool = False
    internal: bool = False

    def result(self, prim: Prim) -> Prim:
        """The type of the result when the arguments have type ``prim``."""
        if self.reinterprets:
            return SAME_BITS[prim]
        return Prim.BOOL if self.predicate else prim


def _row(name: str, arity: int, domain: tuple[Prim, ...], **laws: Any) -> tuple[str, Op]:
    return name, Op(name, arity, domain, **laws)


_BITS = (*INTS, Prim.BOOL)

OPS: dict[str, Op] = dict([
    _row("add", 2, NUMBERS, neutral=lambda p: 0, commutative=True),
    _row("sub", 2, NUMBERS),
    _row("mul", 2, NUMBERS, neutral=lambda p: 1, commutative=True),
    _row("div", 2, NUMBERS, traps=True),
    _row("mod", 2, NUMBERS, traps=True),
    _row("quot", 2, INTS, traps=True),
    _row("rem", 2, INTS, traps=True),
    _row("pow", 2, NUMBERS),
    _row("min", 2, SCALARS, neutral=lambda p: p.greatest, commutative=True),
    _row("max", 2, SCALARS, neutral=lambda p: p.least, commutative=True),
    _row("and", 2, _BITS, commutative=True,
         neutral=lambda p: True if p is Prim.BOOL else (-1 if p.is_signed else p.greatest)),
    _row("or", 2, _BITS, neutral=lambda p: 0, commutative=True),
    _row("xor", 2, _BITS, neutral=lambda p: 0, commutative=True),
    _row("shl", 2, INTS),
    _row("shr", 2, INTS),
    _row("lshr", 2, INTS),
    _row("eq", 2, SCALARS, predicate=True),
    _row("lt", 2, SCALARS, predicate=True),
    _row("le", 2, SCALARS, predicate=True),
    _row("neg", 1, NUMBERS),
    _row("not", 1, _BITS),
    _row("abs", 1, NUMBERS),
    _row("sgn", 1, NUMBERS),
    _row("popc", 1, INTS),
    _row("clz", 1, INTS),
    _row("ctz", 1, INTS),
    _row("mul_hi", 2, INTS),
    _row("sqrt", 1, FLOATS),
    _row("rsqrt", 1, FLOATS),
    _row("div_sqrt", 2, FLOATS, internal=True),
    _row("div_sqrt_near", 2, FLOATS, internal=True),
    _row("div_sqrt_easy", 2, FLOATS, predicate=True, internal=True),
    _row("cbrt", 1, FLOATS),
    _row("exp", 1, FLOATS),
    _row("log", 1, FLOATS),
    _row("log2", 1, FLOATS),
    _row("log10", 1, FLOATS),
    _row("log1p", 1, FLOATS),
    _row("sin", 1, FLOATS),
    _row("cos", 1, FLOATS),
    _row("tan", 1, FLOATS),
    _row("sinpi", 1, FLOATS),
    _row("cospi", 1, FLOATS),
    _row("tanpi", 1, FLOATS),
    _row("asin", 1, FLOATS),
    _row("acos", 1, FLOATS),
    _row("atan", 1, FLOATS),
    _row("asinpi", 1, FLOATS),
    _row("acospi", 1, FLOATS),
    _row("atanpi", 1, FLOATS),
    _row("sinh", 1, FLOATS),
    _row("cosh", 1, FLOATS),
    _row("tanh", 1, FLOATS),
    _row("asinh", 1, FLOATS),
    _row("acosh", 1, FLOATS),
    _row("atanh", 1, FLOATS),
    _row("erf", 1, FLOATS),
    _row("erfc", 1, FLOATS),
    _row("gamma", 1, FLOATS),
    _row("lgamma", 1, FLOATS),
    _row("floor", 1, FLOATS),
    _row("ceil", 1, FLOATS),
    _row("trunc", 1, FLOATS),
    _row("round", 1, FLOATS),
    _row("isnan", 1, FLOATS, predicate=True),
    _row("isinf", 1, FLOATS, predicate=True),
    _row("atan2", 2, FLOATS),
    _row("atan2pi", 2, FLOATS),
    _row("hypot", 2, FLOATS),
    _row("copysign", 2, FLOATS),
    _row("nextafter", 2, FLOATS),
    _row("ldexp", 2, FLOATS),
    _row("bits", 1, tuple(SAME_BITS), reinterprets=True),
    _row("fma", 3, FLOATS),
])
