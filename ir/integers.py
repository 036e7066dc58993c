"""Operations on integers as Python computes them: the meaning of :mod:`.meaning`, without NumPy.

On single numbers, NumPy is much slower to call, and slow to import.  Constants are folded, and
generated host plans run, on whole numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from runelift.ir.prim import OPS, Prim


def wrapping(prim: Prim) -> Callable[[int], int]:
    """Reduction of a whole number to the range of ``prim``."""
    mask, low = (1 << prim.bits) - 1, int(prim.least)
    return (lambda value: ((value - low) & mask) + low) if low else (lambda value: value & mask)


def computes(name: str, prim: Prim) -> bool:
    """True if :func:`compute` knows the operation at this type."""
    return prim.is_int and name in INTEGER_FUNCTIONS


def compute(name: str, prim: Prim, *args: int) -> int | bool:
    """The value of operation ``name`` at an integer type; a divisor is not 0."""
    value = INTEGER_FUNCTIONS[name](*args, prim.bits)
    return bool(value) if OPS[name].predicate else wrapping(prim)(value)


def _unsigned(x: int, bits: int) -> int:
    """The number whose bits these are."""
    return x & ((1 << bits) - 1)


def _quot(x: int, y: int, bits: int) -> int:
    return x // y if (x < 0) == (y < 0) else -(-x // y)


def _rem(x: int, y: int, bits: int) -> int:
    return x - _quot(x, y, bits) * y


def _plain(function: Callable[..., int]) -> Callable[..., int]:
    """An operation that does not ask for the width, which is the last argument."""
    return lambda *args: function(*args[:-1])


INTEGER_FUNCTIONS: dict[str, Callable[..., int]] = {
    "add": _plain(operator.add), "sub": _plain(operator.sub), "mul": _plain(operator.mul),
    "div": _plain(operator.floordiv), "mod": _plain(operator.mod), "quot": _quot, "rem": _rem,
    "pow": lambda x, y, bits: pow(x, y, 1 << bits) if y >= 0 else 0,
    "min": _plain(min), "max": _plain(max),
    "and": _plain(operator.and_), "or": _plain(operator.or_), "xor": _plain(operator.xor),
    "shl": lambda x, y, bits: x << y if 0 <= y < bits else 0,
    "shr": lambda x, y, bits: x >> (y if 0 <= y < bits else bits),
    "lshr": lambda x, y, bits: _unsigned(x, bits) >> y if 0 <= y < bits else 0,
    "eq": _plain(operator.eq), "lt": _plain(operator.lt), "le": _plain(operator.le),
    "neg": _plain(operator.neg), "not": _plain(operator.invert), "abs": _plain(abs),
    "sgn": lambda x, bits: (x > 0) - (x < 0),
    "popc": lambda x, bits: _unsigned(x, bits).bit_count(),
    "clz": lambda x, bits: bits - _unsigned(x, bits).bit_length(),
    "ctz": lambda x, bits: (x & -x).bit_length() - 1 if x else bits,
    "mul_hi": lambda x, y, bits: (x * y) >> bits,
}
"""By name, of the operands and their width in bits; the result is still to be wrapped."""
