"""Types of the source language, as the checker infers and the elaborator reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
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
    """``[size]elem``.  ``size`` is a polynomial over size names.

    An existential or unknown size is a fresh variable.
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


@dataclass(frozen=True, slots=True)
class Abstract(Sum):
    """A type whose definition a module hides.

    It is a sum with one constructor, named after the type, that no program can write.  The
    payload are the arguments of the type: a size ``[n]`` is there as an array of units.
    """

    @classmethod
    def of(cls, name: str, sizes: Iterable[Size], types: Iterable[Type]) -> Abstract:
        """The type ``name [n]... t...``."""
        return cls(((name, Tuple((*(Array(size, UNIT) for size in sizes), *types))),))

    @property
    def name(self) -> str:
        """The name under which the whole program knows the type."""
        return self.fields[0][0]

    @property
    def shown(self) -> str:
        """The name as the program has it: without the number that tells it from others."""
        return re.sub(r"'\d+$", "", self.name)

    @property
    def arguments(self) -> tuple[Type, ...]:
        """Sizes, as arrays of units, and types."""
        return payload(self.fields[0][1])


Unique: TypeAlias = "bool | tuple[Unique, ...]"
"""The parts of a type that are marked with ``*``.

All, none, or a value for each component of a tuple or record (then not none of them).
"""


@dataclass(frozen=True, slots=True)
class Arrow:
    """``t -> u``.  ``consumes``: which parts of the parameter are unique; ``fresh``: of the result.

    ``param`` is the size variable that stands for the argument in ``codomain``, as in
    ``(n: i64) -> [n]t``.  ``exists`` are the sizes there that each call computes anew, as in
    ``t -> ?[k].[k]u``.
    """

    domain: Type
    codomain: Type
    consumes: Unique = False
    fresh: Unique = False
    param: VName | None = None
    exists: frozenset[VName] = frozenset()


Type: TypeAlias = Prim | TypeVar | MetaVar | Array | Tuple | Record | Sum | Arrow


UNIT = Tuple(())


def arrows(domains: list[Type], codomain: Type) -> Type:
    """``t1 -> t2 -> ... -> codomain``."""
    for domain in reversed(domains):
        codomain = Arrow(domain, codomain)
    return codomain


def _plain_size(size: Size) -> str:
    return size.render(lambda name: name.base)


def _plain_meta(meta: MetaVar) -> str:
    return f"t{meta.id}"


def show(type_: Type, size: Callable[[Size], str] = _plain_size,
         meta: Callable[[MetaVar], str] = _plain_meta) -> str:
    """The type in source syntax; ``size`` and ``meta`` say what sizes and unfound types are."""
    def text(part: Type) -> str:
        match part:
            case Prim():
                return part.value
            case TypeVar(name):
                return name.base
            case MetaVar():
                return meta(part)
            case Array(length, elem):
                return f"[{size(length)}]{text(elem)}"
            case Tuple(items):
                return f"({', '.join(map(text, items))})"
            case Record(fields):
                return f"{{{', '.join(f'{name}: {text(field)}' for name, field in fields)}}}"
            case Abstract():
                return " ".join([part.shown, *(
                    f"[{size(arg.size)}]" if isinstance(arg, Array) and arg.elem == UNIT
                    else atom(arg) for arg in part.arguments)])
            case Sum(fields):
                return " | ".join(" ".join([f"#{name}", *map(atom, payload(field))])
                                  for name, field in fields)
            case Arrow(domain, codomain, consumes):
                left = f"({text(domain)})" if isinstance(domain, Arrow) else text(domain)
                return f"{'*' if consumes else ''}{left} -> {text(codomain)}"

    def atom(part: Type) -> str:
        return f"({text(part)})" if isinstance(part, Arrow | Sum) else text(part)

    return text(type_)


def _same_size(size: Size) -> Size:
    return size


def map_parts(part: Callable[[Type], Type], type_: Type,
              size: Callable[[Size], Size] = _same_size) -> Type:
    """``type_`` with ``part`` of each type directly inside, and ``size`` of an array's size."""
    match type_:
        case Array(length, elem):
            return Array(size(length), part(elem))
        case Tuple(items):
            return Tuple(tuple(map(part, items)))
        case Record(fields) | Sum(fields):
            return type(type_)(tuple((name, part(field)) for name, field in fields))
        case Arrow(domain, codomain, consumes, fresh, param, exists):
            return Arrow(part(domain), part(codomain), consumes, fresh, param, exists)
    return type_


def payload(type_: Type) -> tuple[Type, ...]:
    """The types of what a constructor is applied to."""
    assert isinstance(type_, Tuple)
    return type_.items


def inside(type_: Type) -> tuple[Type, ...]:
    """The types directly inside of a type."""
    match type_:
        case Array(_, elem):
            return (elem,)
        case Tuple(items):
            return items
        case Record(fields) | Sum(fields):
            return tuple(field for _, field in fields)
        case Arrow(domain, codomain):
            return domain, codomain
    return ()


def type_variables(type_: Type) -> set[VName]:
    """The type parameters that occur in a type."""
    if isinstance(type_, TypeVar):
        return {type_.name}
    return set[VName]().union(*map(type_variables, inside(type_)))


def metas(type_: Type) -> set[MetaVar]:
    """The type variables of inference that occur in a type."""
    if isinstance(type_, MetaVar):
        return {type_}
    return set[MetaVar]().union(*map(metas, inside(type_)))


def sizes_in(type_: Type) -> set[VName]:
    """The size variables that occur in a type, but for those that calls of functions make."""
    match type_:
        case Array(size, elem):
            return set(size.variables()) | sizes_in(elem)
        case Arrow(domain, codomain, exists=exists):
            return sizes_in(domain) | (sizes_in(codomain) - exists)
    return set[VName]().union(*map(sizes_in, inside(type_)))


def array_sizes(type_: Type) -> Iterator[Size]:
    """The sizes of the arrays in a type."""
    if isinstance(type_, Array):
        yield type_.size
    for part in inside(type_):
        yield from array_sizes(part)


def params_in(type_: Type) -> set[VName]:
    """The names that function types give to their arguments."""
    own = {type_.param} if isinstance(type_, Arrow) and type_.param is not None else set[VName]()
    return own.union(*map(params_in, inside(type_)))


def with_changing(type_: Type, sizes: Collection[VName], count: int = -1) -> Type:
    """A function type in which each call computes ``sizes`` of the result anew.

    It does when it has the first ``count`` arguments, or by default the last one.
    """
    if not sizes or not isinstance(type_, Arrow):
        return type_
    if count != 1 and isinstance(type_.codomain, Arrow):
        return replace(type_, codomain=with_changing(type_.codomain, sizes, count - 1))
    return replace(type_, exists=type_.exists.union(sizes))


def substitute_size(type_: Type, name: VName, size: Size) -> Type:
    """``type_[name ↦ size]``."""
    return replace_names(type_, {}, {name: size})


def map_sizes(f: Callable[[Size], Size], type_: Type) -> Type:
    """``type_`` with ``f`` of each size."""
    return map_parts(lambda part: map_sizes(f, part), type_, f)


def replace_names(type_: Type, types: dict[VName, Type], sizes: dict[VName, Size]) -> Type:
    """``type_`` with its type parameters and size variables replaced."""
    match type_:
        case TypeVar(name):
            return types.get(name, type_)
        case Arrow(param=param) if param in sizes:
            match sizes[param].terms:
                case ((((VName() as renamed),), 1),):
                    type_ = replace(type_, param=renamed)
    return map_parts(lambda part: replace_names(part, types, sizes), type_,
                     lambda size: size.substitute(lambda v: sizes.get(v, Size.var(v))))
