"""Arguments without elements, where only the shapes matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import Interface, ValueSpec
from runelift.ir.base.array_limits import impossible
from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import whole_number
from runelift.ir.types import Const


@dataclass(frozen=True, slots=True)
class _Outline:
    """The shape and the type of an array; ``np.asarray`` makes zeros that take no memory.

    Sending such an array to another process would copy all zeros.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.broadcast_to(np.zeros((), dtype or self.dtype), self.shape)


def outline(args: Sequence[Any], kept: Set[int] = frozenset()) -> list[Any]:
    """Arguments with the shapes and types of these, whose elements are not needed.

    The arrays with these numbers are ``kept``, with elements.
    """
    arrays = [arg if hasattr(arg, "ndim") else np.asarray(arg) for arg in args]
    return [arg if not array.ndim else np.asarray(arg) if number in kept
            else _Outline(array.shape, array.dtype)
            for number, (array, arg) in enumerate(zip(arrays, args, strict=True))]


def assigned(texts: Sequence[str]) -> dict[str, int]:
    """Sizes as given on the command line: ``NAME=N``, or several with commas between them."""
    found = {}
    for text in (part for each in texts for part in each.split(",")):
        name, _, value = text.partition("=")
        number = whole_number(value)
        if not name or number is None:
            raise UserError(f"'{text:.60}' should be NAME=N: a size or a parameter, and a number "
                            "from 0.")
        found[name] = number
    return found


def arguments_of_sizes(entry: Interface, values: Mapping[str, int],
                       known: Mapping[str, int] | None = None) -> list[Any]:
    """Arguments with these sizes and scalars, whose arrays have no elements in memory.

    Numbers of given lengths are ``known``, and no sizes to give.  UserError if a size or a scalar
    is missing, unknown, negative, or too large for its type.
    """
    scalars = [spec for spec in entry.params if spec.shape is None]
    wanted = ({name.base for name in entry.sizes} | {spec.name.base for spec in scalars}) - (
        known or {}).keys()
    if values.keys() != wanted:
        raise UserError(f"The {'other ' * bool(known)}sizes of '{entry.entry}' are "
                        f"{', '.join(sorted(wanted)) or 'none'}, "
                        f"and --sizes gives {', '.join(sorted(values)) or 'none'}."
                        + f"  Write --sizes {' '.join(f'{each}=N' for each in sorted(wanted))}."
                        * bool(wanted))
    values = {**values, **(known or {})}
    for name, value in values.items():
        if value < 0:
            raise UserError(f"'{name}={value}' should be NAME=N: a number from 0.")
    for spec in scalars:
        given = values[spec.name.base]
        if not spec.prim.is_float and not spec.prim.least <= given <= spec.prim.greatest:
            raise UserError(f"'{spec.name.base}={given}' does not fit in {spec.prim.value}.")
    return [_outlined(spec, values) for spec in entry.params]


def _outlined(spec: ValueSpec, values: Mapping[str, int]) -> Any:
    """A number, or zeros of which only one is stored."""
    if spec.shape is None:
        return spec.prim.dtype.type(values[spec.name.base])
    shape = [int(size.value) if isinstance(size, Const) else values[size.base]
             for size in spec.shape]
    if why := impossible(shape, spec.prim.bytes):
        raise UserError(why)
    return np.broadcast_to(np.zeros((), spec.prim.dtype), shape)
