"""Pickles of programs and plans that are fast to read.

Pickle usually restores a frozen dataclass with slots field by field, in Python.  Here the pickle
calls the class instead.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from runelift.ir.base.deep import deeply

Values: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""A function from an object to the values of its fields."""

_known: dict[type, Values | None] = {}


class _Pickler(pickle.Pickler):
    """A pickler that knows dataclasses."""

    def reducer_override(self, obj: Any) -> Any:
        """A constructor and its arguments, for dataclasses that need no more."""
        kind = type(obj)
        if kind not in _known:
            _known[kind] = _values(kind)
        values = _known[kind]
        return NotImplemented if values is None else (kind, values(obj))


def _values(kind: type) -> Values | None:
    """The arguments of a dataclass's constructor; None if they do not make an equal object."""
    if not is_dataclass(kind) or "__slots__" not in vars(kind) or hasattr(kind, "__post_init__"):
        return None
    found = fields(kind)
    if any(not each.init or each.kw_only for each in found):
        return None
    names = tuple(each.name for each in found)
    return lambda obj: tuple([getattr(obj, name) for name in names])


@deeply
def dumps(value: Any, buffers: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """A pickle for :func:`pickle.loads`; ``buffers``, if given, takes the elements of arrays."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers).dump(value)
    return out.getvalue()


@deeply
def loads(content: bytes | memoryview) -> Any:
    """The value of a pickle."""
    return pickle.loads(content)
