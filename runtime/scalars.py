"""The scalar operations that generated host plans call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runelift.ir.prim import INTS, Prim, apply, convert


def _wrapping(prim: Prim) -> Callable[[int], int]:
    """Reduction of a whole number to the range of ``prim``."""
    mask, low = (1 << prim.bits) - 1, int(prim.least)
    return (lambda value: ((value - low) & mask) + low) if low else (lambda value: value & mask)


def _apply(op: str, prim: str, *args: Any) -> Any:
    return apply(op, Prim(prim), *args).item()


def _convert(from_: str, to: str, value: Any) -> Any:
    return convert(Prim(from_).dtype.type(value), Prim(to)).item()


def _shl(x: int, y: int, bits: int) -> int:
    return x << y if 0 <= y < bits else 0


def _shr(x: int, y: int, bits: int) -> int:
    return x >> (y if 0 <= y < bits else bits)


def _quot(x: int, y: int, bits: int) -> int:
    return x // y if (x < 0) == (y < 0) else -(-x // y)


def _rem(x: int, y: int, bits: int) -> int:
    return x - _quot(x, y, bits) * y


def _clz(x: int, bits: int) -> int:
    return bits - (x & ((1 << bits) - 1)).bit_length()


def _popc(x: int, bits: int) -> int:
    return (x & ((1 << bits) - 1)).bit_count()


def _pow(x: int, y: int, bits: int) -> int:
    return pow(x, y, 1 << bits) if y >= 0 else 0


INTEGER_FUNCTIONS: dict[str, Callable[..., int]] = {
    "shl": _shl, "shr": _shr, "quot": _quot, "rem": _rem, "clz": _clz, "popc": _popc, "pow": _pow,
    "abs": lambda x, bits: abs(x), "sgn": lambda x, bits: (x > 0) - (x < 0),
    "not": lambda x, bits: ~x,
}
"""What integer operations give, but for wrapping; a call of NumPy takes twenty times as long."""

SCALARS: dict[str, Any] = {
    "apply": _apply, "convert": _convert,
    **{f"wrap_{prim}": _wrapping(prim) for prim in INTS},
    **{f"int_{name}": function for name, function in INTEGER_FUNCTIONS.items()},
}
"""By the name under which :mod:`runelift.codegen.python` calls them."""
