"""Values that only programs look into: records, sums, and arrays of tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.ir.signature import Signature
from runelift.runtime.displayed import Displayed


class Opaque(tuple[Any, ...], Displayed):
    """A result of a composite type: the tuple of its primitive parts.

    It can be passed to an entry point that takes a value of the same ``type``.
    """

    type: str
    _looks = "values"

    def __new__(cls, parts: Iterable[Any], type: str) -> Opaque:
        """A value of a type that consists of ``parts``."""
        self = super().__new__(cls, parts)
        self.type = type
        return self

    def __getnewargs__(self) -> tuple[tuple[Any, ...], str]:
        """The arguments with which a pickle or a copy makes the value anew."""
        return tuple(self), self.type

    def __repr__(self) -> str:
        return f"<Opaque {self.type}>"


def packed(results: Sequence[Any], signature: Signature) -> list[Any]:
    """The results as a caller sees them, from their primitive parts."""
    left = iter(results)
    return [Opaque([next(left) for _ in range(each.parts)], each.type) if each.opaque
            else next(left) for each in signature.results]


def unpacked(args: Sequence[Any], signature: Signature) -> list[Any]:
    """Arguments with opaque values taken apart; a caller may also give the parts of a value.

    UserError if an opaque argument has another type than the parameter in its place.
    """
    if not any(isinstance(arg, Opaque) for arg in args):
        return list(args)
    left, parts = list(args), []
    for number, param in enumerate(signature.params):
        if left and isinstance(left[0], Opaque):
            value = left.pop(0)
            if value.type != param.type:
                raise UserError(f"Argument {number + 1} should be {param.type}, but has type "
                                f"{value.type}.")
            parts += value
        else:
            parts += left[:param.parts]
            del left[:param.parts]
    return parts + left
