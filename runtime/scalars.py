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


SCALARS: dict[str, Any] = {
    "apply": _apply, "convert": _convert,
    **{f"wrap_{prim}": _wrapping(prim) for prim in INTS},
}
"""By the name under which :mod:`runelift.codegen.python` calls them."""
