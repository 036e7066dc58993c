"""The scalar operations that generated host plans call."""

from __future__ import annotations

from typing import Any

from runelift.ir.integers import INTEGER_FUNCTIONS, wrapping
from runelift.ir.meaning import apply, convert
from runelift.ir.prim import INTS, Prim


def _apply(op: str, prim: str, *args: Any) -> Any:
    return apply(op, Prim(prim), *args).item()


def _convert(from_: str, to: str, value: Any) -> Any:
    return convert(Prim(from_).dtype.type(value), Prim(to)).item()


SCALARS: dict[str, Any] = {
    "apply": _apply, "convert": _convert,
    **{f"wrap_{prim}": wrapping(prim) for prim in INTS},
    **{f"int_{name}": function for name, function in INTEGER_FUNCTIONS.items()},
}
"""By the name under which :mod:`runelift.codegen.emit.python` calls them."""
