"""Values in the syntax of programs, records and arrays of tuples put together from their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from runelift.frontend.syntax.types import Abstract, Array, Record, Sum, Tuple, Type, payload, show
from runelift.ir.names import NAMELESS
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.runtime.data.text import Value, format_value
from runelift.runtime.versions.size_names import show_size


def show_type(type_: Type) -> str:
    """A type in source syntax; a size without a name is ``[]``."""
    def size(found: Size) -> str:
        if any(name.base == NAMELESS for name in found.variables()):
            return ""
        return show_size(found, {})

    return show(type_, size)


def show_value(type_: Type, parts: Sequence[Value]) -> str:
    """A value of a type, which consists of primitive parts, as a program would write it.

    >>> import numpy as np
    >>> show_value(Record((("x", Prim.I32), ("y", Prim.BOOL))), [np.int32(1), np.bool_(True)])
    '{x = 1i32, y = true}'
    """
    left = iter(parts)
    text = _show(type_, left, 0)
    further = [format_value(part) for part in left]
    return " ".join([text, *further])


def _show(type_: Type, left: Iterator[Value], rank: int) -> str:
    match type_:
        case Array(_, Prim()):
            return format_value(next(left))
        case Array(_, elem):
            return _array(elem, list(_taken(elem, left, rank + 1)), rank)
        case Tuple(items):
            return f"({', '.join([_show(item, left, rank) for item in items])})"
        case Record(fields):
            inner = ", ".join([f"{name} = {_show(field, left, rank)}" for name, field in fields])
            return f"{{{inner}}}"
        case Abstract():
            return " ".join(format_value(part) for part in left)
        case Sum(fields):
            return _constructor(fields, left, rank)
    return format_value(next(left))


def _constructor(fields: Sequence[tuple[str, Type]], left: Iterator[Value], rank: int) -> str:
    which = int(next(left))
    shown = ""
    for number, (name, items) in enumerate(fields):
        texts = [_show(item, left, rank) for item in payload(items)]
        if number == which:
            shown = " ".join([f"#{name}", *texts])
    return shown


def _taken(type_: Type, left: Iterator[Value], rank: int) -> Iterator[Value]:
    """The parts of an array with elements of a type, ``rank`` dimensions around included."""
    match type_:
        case Array(_, elem):
            yield from _taken(elem, left, rank + 1)
        case Tuple(()):
            yield next(left)
        case Tuple(items):
            yield from chain.from_iterable(_taken(item, left, rank) for item in items)
        case Record(fields):
            yield from chain.from_iterable(_taken(field, left, rank) for _, field in fields)
        case Sum(fields):
            yield next(left)
            yield from chain.from_iterable(
                _taken(item, left, rank) for _, items in fields for item in payload(items))
        case _:
            yield next(left)


def _array(elem: Type, parts: Sequence[Value], rank: int) -> str:
    length = len(parts[0]) if parts else 0
    rows = [_show(elem, iter([part[k] for part in parts]), rank) for k in range(length)]
    return f"[{', '.join(rows)}]"
