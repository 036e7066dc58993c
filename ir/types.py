"""Atoms, and the types of values: primitive types, and arrays of them.

The IR and everything made from it have them in common.  Host plans and kernels speak of constants,
sizes and elements, too, but know nothing of statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from runelift.ir.names import VName
from runelift.ir.prim import Prim


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A constant of a primitive type.  Equality is by bits: ``0.0`` and ``-0.0`` differ."""

    value: int | float | bool
    prim: Prim

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Const) and self.prim is other.prim
                and repr(self.value) == repr(other.value))

    def __hash__(self) -> int:
        return hash((self.prim, repr(self.value)))


Atom: TypeAlias = VName | Const

SHARED_CONSTANTS = 1 << 8
"""Constants that are made once only: programs and kernels are full of 0 and 1."""


@lru_cache(SHARED_CONSTANTS)
def i64(value: int) -> Const:
    """The constant ``value`` of type i64, the type of sizes and indices."""
    return Const(int(value), Prim.I64)


def zero(prim: Prim) -> Const:
    """The constant 0 of a type, which is false for bool."""
    return Const(False if prim is Prim.BOOL else 0.0 if prim.is_float else 0, prim)


TRUE = Const(True, Prim.BOOL)
FALSE = Const(False, Prim.BOOL)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """``[d0]...[dk]elem``; the rank is at least 1 and the sizes are i64 atoms."""

    elem: Prim
    shape: tuple[Atom, ...]


Type: TypeAlias = Prim | ArrayType


def array_of(dims: tuple[Atom, ...], row: Type) -> Type:
    """The type of an array with outer sizes ``dims`` and elements of type ``row``."""
    if not dims:
        return row
    return ArrayType(elem_of(row), dims + shape_of(row))


def row_of(array: Type, depth: int = 1) -> Type:
    """The type of an element of ``array`` after ``depth`` indices."""
    rest = shape_of(array)[depth:]
    return ArrayType(elem_of(array), rest) if rest else elem_of(array)


def as_name(atom: Atom) -> VName:
    """An atom that is a name."""
    assert isinstance(atom, VName)
    return atom


def shape_of(type_: Type) -> tuple[Atom, ...]:
    """The sizes of a type, outermost first; none for a primitive type."""
    return type_.shape if isinstance(type_, ArrayType) else ()


def elem_of(type_: Type) -> Prim:
    """The primitive type at the bottom of a type."""
    return type_.elem if isinstance(type_, ArrayType) else type_
