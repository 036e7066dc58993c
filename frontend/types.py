"""Types of the source language, as the checker infers and the elaborator reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class TypeVar:
    """A type parameter ``'a`` of a polymorphic function, in its own body (rigid)."""

    name: VName


@dataclass(frozen=True, slots=True)
class MetaVar:
    """A type that inference has yet to find; none are left after checking."""

    id: int


@dataclass(frozen=True, slots=True)
class Array:
    """``[size]elem``.  ``size`` is a polynomial over size names; an existential or unknown size
    is a fresh variable of its own.
    """

    size: Size
    elem: Type


@dataclass(frozen=True, slots=True)
class Tuple:
    """``(t, u)``; the unit type has no items."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """``{x: t, y: u}``, fields sorted by name."""

    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """``t -> u``.  ``consumes``: the parameter is unique; ``fresh``: the result is."""

    domain: Type
    codomain: Type
    consumes: bool = False
    fresh: bool = False


Type: TypeAlias = Prim | TypeVar | MetaVar | Array | Tuple | Record | Arrow
