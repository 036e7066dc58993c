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
class Sum:
    """``#a t u | #b``: constructors sorted by name, each with the tuple of its payload."""

    fields: tuple[tuple[str, Type], ...]


Unique: TypeAlias = "bool | tuple[Unique, ...]"
"""Which parts of a type are marked with ``*``: all, none, or for each component of a tuple or
record (then not none of them)."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """``t -> u``.  ``consumes``: which parts of the parameter are unique; ``fresh``: of the result.

    ``param`` is the size variable that stands for the argument in ``codomain``, as in
    ``(n: i64) -> [n]t``.
    """

    domain: Type
    codomain: Type
    consumes: Unique = False
    fresh: Unique = False
    param: VName | None = None


Type: TypeAlias = Prim | TypeVar | MetaVar | Array | Tuple | Record | Sum | Arrow


UNIT = Tuple(())


def arrows(domains: list[Type], codomain: Type) -> Type:
    """``t1 -> t2 -> ... -> codomain``."""
    for domain in reversed(domains):
        codomain = Arrow(domain, codomain)
    return codomain


def show(type_: Type) -> str:
    """The type in source syntax."""
    match type_:
        case Prim():
            return type_.value
        case TypeVar(name):
            return name.base
        case MetaVar(number):
            return f"t{number}"
        case Array(size, elem):
            return f"[{size.render(lambda name: name.base)}]{show(elem)}"
        case Tuple(items):
            return f"({', '.join(map(show, items))})"
        case Record(fields):
            return f"{{{', '.join(f'{name}: {show(field)}' for name, field in fields)}}}"
        case Sum(fields):
            return " | ".join(" ".join([f"#{name}", *map(_show_atom, payload(field))])
                              for name, field in fields)
        case Arrow(domain, codomain, consumes):
            left = f"({show(domain)})" if isinstance(domain, Arrow) else show(domain)
            return f"{'*' if consumes else ''}{left} -> {show(codomain)}"


def _show_atom(type_: Type) -> str:
    return f"({show(type_)})" if isinstance(type_, Arrow | Sum) else show(type_)


def payload(type_: Type) -> tuple[Type, ...]:
    """The types of what a constructor is applied to."""
    assert isinstance(type_, Tuple)
    return type_.items
