"""Signatures of entry points: their parameters and results, in terms of the source.

Core functions know only the primitive parts of values.  A record is the values of its fields, an
array of tuples is a tuple of arrays.  A signature says which parts make up one value, so callers
need not take values apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runelift.frontend.syntax.types import Array, Arrow, Record, Sum, Tuple, Type, payload, show
from runelift.ir.prim import Prim

if TYPE_CHECKING:
    from runelift.frontend.syntax import ast


@dataclass(frozen=True, slots=True)
class Component:
    """One parameter or result: its ``type`` in source syntax, without sizes.

    It has ``parts`` primitive parts; it is ``opaque`` unless it is a scalar or array of scalars.
    """

    type: str
    parts: int
    opaque: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and results of an entry point; a tuple is several results."""

    params: tuple[Component, ...]
    results: tuple[Component, ...]


def signatures(module: ast.Flat) -> dict[str, Signature]:
    """The signatures of the entry points of a checked program."""
    return {dec.name: _signature(dec.type) for dec in module.entry_points if dec.type is not None}


def _signature(type_: Type) -> Signature:
    params: list[Component] = []
    while isinstance(type_, Arrow):
        params.append(_component(type_.domain))
        type_ = type_.codomain
    results = type_.items if isinstance(type_, Tuple) else (type_,)
    found = [_component(result) for result in results]
    return Signature(*(tuple(each for each in side if each.parts) for side in (params, found)))


def _component(type_: Type) -> Component:
    elem = type_
    while isinstance(elem, Array):
        elem = elem.elem
    text = show(type_, lambda _: "")
    return Component(text, _parts(type_), not isinstance(elem, Prim))


def _parts(type_: Type, rank: int = 0) -> int:
    """The number of primitive values and arrays in a value; ``()`` is one where it has a shape."""
    match type_:
        case Array(_, elem):
            return _parts(elem, rank + 1)
        case Tuple(()):
            return int(rank > 0)
        case Tuple(items):
            return sum(_parts(item, rank) for item in items)
        case Record(fields):
            return sum(_parts(field, rank) for _, field in fields)
        case Sum(fields):
            return 1 + sum(_parts(item, rank) for _, f in fields for item in payload(f))
    return 1
