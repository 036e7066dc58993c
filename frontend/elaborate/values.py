"""The values of source expressions during elaboration.

Tuples, records and functions exist only here; only atoms of the core IR are left for run time.  An
array of tuples is a tuple of arrays.  So the same classes stand for a tuple and for an array of
tuples, and operations on arrays work on every leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.frontend.syntax import types as source_types
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.types import FALSE, Atom, Const, Type, shape_of


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A scalar, or an array of primitive elements, computed at run time."""

    atom: Atom
    type: Type

    @property
    def constant(self) -> int | float | bool | None:
        """The value, if it is known now."""
        return self.atom.value if isinstance(self.atom, Const) else None


TAG = Prim.U8
"""The type of the tags of sum types."""

UNIT = Dynamic(FALSE, Prim.BOOL)
"""The value ``()``: a constant, so that arrays of it keep their shape."""


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A non-empty tuple of values, or an array of tuples as a tuple of arrays."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record, or an array of records; fields sorted by name."""

    fields: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class SumValue:
    """A value of a sum type, or an array of such values.

    ``tag`` counts the constructors in the order of ``payloads``.  A payload is None where it is
    certain that no value has the constructor; it is zeros where another constructor was used.
    """

    tag: Dynamic
    payloads: tuple[tuple[str, tuple[Value, ...] | None], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of ``arity`` arguments, of which ``args`` are given.

    ``instantiate`` makes it for given sizes and types, the names of its type that its arguments
    need not decide.  A function without arguments is a value that depends on such names.
    """

    arity: int
    run: Callable[[tuple[Value, ...], Span], Value] = field(compare=False)
    args: tuple[Value, ...] = ()
    instantiate: Callable[[Env], Value] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """An accumulator that the core lambda of the name ``acc`` binds; ``element`` is one of its.

    Its value changes with each write (:class:`~runelift.ir.syntax.AccWrite`).  Without ``acc`` the
    value is the destination itself, whose elements ``combine`` updates.
    """

    token: Value
    acc: VName | None
    element: Value = field(compare=False)
    combine: Callable[[tuple[Value, ...]], Value] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TypeArg:
    """The meaning of a type parameter: a type, and the environment of the names in it."""

    type: source_types.Type
    env: Env = field(compare=False)


Value: TypeAlias = Dynamic | TupleValue | RecordValue | SumValue | Function | Accumulator | TypeArg


Env: TypeAlias = "Mapping[str | VName, Value]"
"""The values of names in the source, and of the type checker's names for sizes and types."""


def leaves(value: Value) -> Iterator[Dynamic]:
    """The dynamic parts of a value, in order."""
    match value:
        case Dynamic():
            yield value
        case Accumulator(token):
            yield from leaves(token)
        case TupleValue(items):
            for item in items:
                yield from leaves(item)
        case RecordValue(fields):
            for _, item in fields:
                yield from leaves(item)
        case SumValue(tag, payloads):
            yield tag
            for _, parts in payloads:
                for item in parts or ():
                    yield from leaves(item)


def rebuild(value: Value, parts: Iterator[Dynamic]) -> Value:
    """A value of the same structure from other parts."""
    match value:
        case Dynamic():
            return next(parts)
        case Accumulator(token):
            return replace(value, token=rebuild(token, parts))
        case TupleValue(items):
            return TupleValue(tuple([rebuild(item, parts) for item in items]))
        case RecordValue(fields):
            return RecordValue(tuple([(name, rebuild(item, parts)) for name, item in fields]))
        case SumValue(_, payloads):
            return SumValue(next(parts), tuple([
                (name, None if items is None else tuple([rebuild(item, parts) for item in items]))
                for name, items in payloads]))
        case Function() | TypeArg():
            return value


def each_leaf(f: Callable[..., Dynamic], value: Value, *others: Value) -> Value:
    """``value`` with ``f`` of each part, and of the parts of other values in the same place."""
    parts = zip(leaves(value), *map(leaves, others), strict=True)
    return rebuild(value, iter([f(*each) for each in parts]))


Blank: TypeAlias = Callable[[Dynamic, Dynamic, Dynamic], Dynamic]
"""``blank(leaf, there, here)``: zeros like ``leaf``, which goes with the tag ``there``, but to go
with the tag ``here``."""


def complete(value: Value, other: Value, blank: Blank) -> Value:
    """``value`` with blanks for the payloads that only ``other`` has.

    One of them may be an array and the other an element.
    """
    match value, other:
        case TupleValue(xs), TupleValue(ys):
            return TupleValue(tuple([complete(x, y, blank) for x, y in zip(xs, ys, strict=True)]))
        case RecordValue(xs), RecordValue(ys):
            return RecordValue(tuple([(name, complete(x, y, blank))
                                      for (name, x), (_, y) in zip(xs, ys, strict=True)]))
        case SumValue(tag, xs), SumValue(there, ys):
            payloads: list[tuple[str, tuple[Value, ...] | None]] = []
            for (name, mine), (_, theirs) in zip(xs, ys, strict=True):
                items = mine
                if theirs is not None and mine is None:
                    items = tuple([each_leaf(lambda leaf: blank(leaf, there, tag), item)
                                   for item in theirs])
                elif theirs is not None and mine is not None:
                    items = tuple([complete(x, y, blank)
                                   for x, y in zip(mine, theirs, strict=True)])
                payloads.append((name, items))
            return SumValue(tag, tuple(payloads))
    return value


def outer_size(value: Value) -> Atom:
    """The number of elements of an array value."""
    return shape_of(next(leaves(value)).type)[0]


def project(value: Value, name: str) -> Value:
    """A field of a record or component of a tuple."""
    if isinstance(value, RecordValue):
        return dict(value.fields)[name]
    assert isinstance(value, TupleValue)
    return value.items[int(name)]


def dimensions(type_: source_types.Type, value: Value,
               depth: int = 0) -> Iterator[tuple[Size, Atom]]:
    """The dimensions that ``type_`` has, and how long these are in ``value``.

    ``depth`` dimensions of the leaves of ``value`` are around ``type_``.
    """
    match type_, value:
        case source_types.Array(size, elem), _:
            leaf = next(leaves(value), None)
            if leaf is not None:
                yield size, shape_of(leaf.type)[depth]
            yield from dimensions(elem, value, depth + 1)
        case source_types.Tuple(items), TupleValue(parts):
            for item, part in zip(items, parts, strict=True):
                yield from dimensions(item, part, depth)
        case source_types.Sum(fields), SumValue(_, payloads):
            for (_, field_type), (_, found) in zip(fields, payloads, strict=True):
                for item, part in zip(source_types.payload(field_type), found or (), strict=False):
                    yield from dimensions(item, part, depth)
        case source_types.Record(fields), RecordValue():
            for label, item in fields:
                yield from dimensions(item, project(value, label), depth)


Other: TypeAlias = Callable[
    ["source_types.TypeVar | source_types.Arrow", "tuple[Atom, ...]"], Value]
"""Makes a value of the type of a type parameter, or a function; the shape is that around it."""


def shaped(type_: source_types.Type, scalar: Callable[[Prim, tuple[Atom, ...]], Dynamic],
           size: Callable[[Size], Atom], outer: tuple[Atom, ...] = (),
           other: Other | None = None, accumulator: Callable[[], Value] | None = None) -> Value:
    """A value of a type, or an array of shape ``outer`` of them, from its parts.

    ``scalar`` makes an array of a shape, of primitive elements.  ``other`` makes one of the type
    that a type parameter stands for, or a function.  ``size`` makes the length of a dimension.
    Without ``accumulator`` there is no value of an accumulator.
    """
    match type_:
        case Prim():
            return scalar(type_, outer)
        case source_types.TypeVar() | source_types.Arrow() if other is not None:
            return other(type_, outer)
        case source_types.Abstract() if accumulator is not None:
            return accumulator()
        case source_types.Array(length, elem):
            return shaped(elem, scalar, size, (*outer, size(length)), other, accumulator)
        case source_types.Tuple(()):
            return scalar(Prim.BOOL, outer) if outer else UNIT
        case source_types.Tuple(items):
            return TupleValue(tuple([shaped(t, scalar, size, outer, other, accumulator)
                                     for t in items]))
        case source_types.Record(fields):
            return RecordValue(tuple([(n, shaped(t, scalar, size, outer, other, accumulator))
                                      for n, t in fields]))
        case source_types.Abstract():  # an accumulator, in the place of a hole
            return UNIT
        case source_types.Sum(fields):
            tag = scalar(TAG, outer)
            return SumValue(tag, tuple([
                (name, tuple([shaped(t, scalar, size, outer, other, accumulator)
                              for t in source_types.payload(field)]))
                for name, field in fields]))
    raise CompilerLimitation(f"A value of type {source_types.show(type_)} has no known form.")
