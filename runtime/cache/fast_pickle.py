"""Snapshots: pickles of programs and plans, which are read again in a third of the usual time.

A frozen dataclass with slots is usually set up field by field, by a function in Python that looks
for the fields anew each time.  Here it is pickled as a call of its class.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

Values: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""The values of the fields of an object."""

_known: dict[type, Values | None] = {}


class _Pickler(pickle.Pickler):
    """A pickler that knows dataclasses."""

    def reducer_override(self, obj: Any) -> Any:
        """How an object is made again."""
        kind = type(obj)
        if kind not in _known:
            _known[kind] = _values(kind)
        values = _known[kind]
        return NotImplemented if values is None else (kind, values(obj))


def _values(kind: type) -> Values | None:
    """How to find what a dataclass is called with; None if there is more to it than that."""
    if not is_dataclass(kind) or "__slots__" not in vars(kind) or hasattr(kind, "__post_init__"):
        return None
    found = fields(kind)
    if any(not each.init or each.kw_only for each in found):
        return None
    names = tuple(each.name for each in found)
    return lambda obj: tuple([getattr(obj, name) for name in names])


def dumps(value: Any, buffers: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """A snapshot for :func:`pickle.loads`; ``buffers`` takes what arrays hold, if given."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers).dump(value)
    return out.getvalue()
