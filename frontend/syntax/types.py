"""Types of the source language, as the checker infers and the elaborator reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from threading import Lock
from typing import Any, ClassVar, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size


class Facts(NamedTuple):
    """The variables in a type, found once: a part may stand in it at very many places."""

    type_variables: frozenset[VName]
    metas: frozenset[MetaVar]
    sizes: frozenset[VName]
    """The size variables, without sizes that calls of functions make."""
    params: frozenset[VName]
    """The names that function types give to their arguments."""
    all_sizes: frozenset[VName]
    leaves: int
    """The number of innermost components: a component with components inside does not count."""
    variables: int
    """The number of variables that a value of the type needs: also for parts of sums."""
    arrays: bool
    """True if there are arrays in the type."""
    aliases: bool
    """True if a value of the type can be an alias of something."""
    hidden: bool
    """True if there are types in the type whose definition a module hides."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Type:
    """A type that may have variables; :func:`facts` finds them at the first call."""

    facts: Facts | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TypeVar(_Type):
    """A type parameter ``'a`` inside its polymorphic function, where it equals only itself."""

    name: VName


@dataclass(frozen=True, slots=True)
class MetaVar(_Type):
    """A type variable that inference has yet to solve; none is left after checking."""

    id: int


class _Interned(type):
    """Metaclass that makes equal objects of a class one object.

    So types that share parts are compared and hashed in a step, however large they are.
    """

    _made: ClassVar[WeakValueDictionary[object, Any]] = WeakValueDictionary()
    _making: ClassVar[Lock] = Lock()
    """Two threads must not make two equal objects."""
    key: Callable[..., tuple[object, ...]]
    """A value, from the fields of an object: two objects share it exactly if they are equal."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        key = cls, cls.key(*args, **fields)
        if (found := cls._made.get(key)) is None:
            made = super().__call__(*args, **fields)
            with cls._making:
                found = cls._made.setdefault(key, made)
        return found


class _Compound(_Type, metaclass=_Interned):
    """A type with types inside."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]

    @staticmethod
    def key(*values: Any) -> tuple[object, ...]:
        """A value that two types share exactly if they are equal."""
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple([getattr(self, name) for name in self.__match_args__])


@dataclass(frozen=True, slots=True, eq=False)
class Array(_Compound):
    """``[size]elem``.  ``size`` is a polynomial over size names.

    An existential or unknown size is a fresh variable.
    """

    size: Size
    elem: Type

    @staticmethod
    def key(size: Size, elem: Type) -> tuple[object, ...]:
        """The fields; sizes that are equal may be written differently."""
        return size, elem, size.written and id(size)


@dataclass(frozen=True, slots=True, eq=False)
class Tuple(_Compound):
    """``(t, u)``; the unit type has no items."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Record(_Compound):
    """``{x: t, y: u}``, fields sorted by name."""

    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sum(_Compound):
    """``#a t u | #b``: constructors sorted by name, each with the tuple of its payload."""

    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True, eq=False)
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
        """The name as the program has it: without the number that makes it unique."""
        return re.sub(r"'\d+$", "", self.name)

    @property
    def arguments(self) -> tuple[Type, ...]:
        """Sizes, as arrays of units, and types."""
        return payload(self.fields[0][1])


MOST_SHOWN = 500
"""The most parts of a type that a message shows; "..." stands for all further parts."""

Unique: TypeAlias = "bool | tuple[Unique, ...]"
"""The parts of a type that are marked with ``*``.

All, none, or a value for each component of a tuple or record (then not none of them).
"""


@dataclass(frozen=True, slots=True, eq=False)
class Arrow(_Compound):
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

    @staticmethod
    def key(domain: Type, codomain: Type, consumes: Unique = False, fresh: Unique = False,
            param: VName | None = None, exists: frozenset[VName] = frozenset()
            ) -> tuple[object, ...]:
        """The fields, with the defaults of fields that are left out."""
        return domain, codomain, consumes, fresh, param, exists


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
    room = MOST_SHOWN

    def text(part: Type) -> str:
        nonlocal room
        room -= 1
        if room < 0:
            return "..."
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
                return f"({', '.join(shown(items))})"
            case Record(fields):
                texts = shown(field for _, field in fields)
                named = (f"{name}: {field}" for (name, _), field in zip(
                    fields, texts, strict=False))
                return f"{{{', '.join(named)}}}"
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

    def shown(types: Iterable[Type]) -> Iterator[str]:
        for part in types:
            yield text(part)
            if room < 0:  # the rest of very many
                return

    def atom(part: Type) -> str:
        return f"({text(part)})" if isinstance(part, Arrow | Sum) else text(part)

    return text(type_)


def _same_size(size: Size) -> Size:
    return size


def map_parts(part: Callable[[Type], Type], type_: Type,
              size: Callable[[Size], Size] = _same_size) -> Type:
    """``type_`` with ``part`` of each type directly inside, and ``size`` of an array's size.

    It is the same object if nothing changes.
    """
    match type_:
        case Array(length, elem):
            new_size, new = size(length), part(elem)
            return type_ if new is elem and new_size is length else Array(new_size, new)
        case Tuple(items):
            news = tuple(map(part, items))
            return type_ if all(map(is_, news, items)) else Tuple(news)
        case Record(fields) | Sum(fields):
            named = tuple((name, part(field)) for name, field in fields)
            if all(new is old for (_, new), (_, old) in zip(named, fields, strict=True)):
                return type_
            return type(type_)(named)
        case Arrow(domain, codomain, consumes, fresh, param, exists):
            taken, given = part(domain), part(codomain)
            if taken is domain and given is codomain:
                return type_
            return Arrow(taken, given, consumes, fresh, param, exists)
    return type_


def sharing(change: Callable[[Callable[[Type], Type], Type], Type]) -> Callable[[Type], Type]:
    """A function of types that changes a part once, however often it stands in a type.

    ``change`` gets this function, for the parts inside, and a type.
    """
    known: dict[int, tuple[Type, Type]] = {}

    def changed(type_: Type) -> Type:
        if (found := known.get(id(type_))) is None:
            found = known[id(type_)] = type_, change(changed, type_)  # the id stays in use
        return found[1]

    return changed


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


def facts(type_: Type) -> Facts:
    """The variables in a type."""
    if isinstance(type_, Prim):
        return _NONE
    if (known := type_.facts) is not None:
        return known
    for part in _unexamined(type_):
        object.__setattr__(part, "facts", _facts_of(part))
    return facts(type_)


_NONE = Facts(frozenset(), frozenset(), frozenset(), frozenset(), frozenset(), 1, 1,
              False, False, False)


def _unexamined(type_: Type) -> list[Type]:
    """The compound parts of a type whose facts are unknown, inner parts before outer parts."""
    found: list[Type] = []
    left: list[tuple[Type, bool]] = [(type_, False)]
    seen: set[int] = set()
    while left:
        part, examined = left.pop()
        if examined:
            found.append(part)
        elif not isinstance(part, Prim) and part.facts is None and id(part) not in seen:
            seen.add(id(part))
            left.append((part, True))
            left += [(inner, False) for inner in inside(part)]
    return found


def _facts_of(type_: Type) -> Facts:
    """The variables in a type whose parts have their facts."""
    none: frozenset[Any] = frozenset()
    match type_:
        case TypeVar(name):
            return Facts(frozenset({name}), none, none, none, none, 1, 1, False, True, False)
        case MetaVar():
            return Facts(none, frozenset({type_}), none, none, none, 1, 1, False, True, False)
        case Array(size, elem):
            of, own = facts(elem), size.variables()
            return Facts(of.type_variables, of.metas, of.sizes | own, of.params,
                         of.all_sizes | own, 1, of.variables, True, True, of.hidden)
        case Arrow(domain, codomain, _, _, param, exists):
            taken, given = facts(domain), facts(codomain)
            own = none if param is None else frozenset({param})
            return Facts(taken.type_variables | given.type_variables, taken.metas | given.metas,
                         taken.sizes | (given.sizes - exists), taken.params | given.params | own,
                         taken.all_sizes | given.all_sizes | own | exists, 1, 1,
                         taken.arrays or given.arrays, True, taken.hidden or given.hidden)
    parts = [facts(part) for part in inside(type_)]
    abstract = isinstance(type_, Abstract)
    return Facts(none.union(*(part.type_variables for part in parts)),
                 none.union(*(part.metas for part in parts)),
                 none.union(*(part.sizes for part in parts)),
                 none.union(*(part.params for part in parts)),
                 none.union(*(part.all_sizes for part in parts)),
                 1 if isinstance(type_, Sum) else sum(part.leaves for part in parts),
                 sum(part.variables for part in parts), any(part.arrays for part in parts),
                 abstract or any(part.aliases for part in parts),
                 abstract or any(part.hidden for part in parts))


def type_variables(type_: Type) -> frozenset[VName]:
    """The type parameters that occur in a type."""
    return facts(type_).type_variables


def metas(type_: Type) -> frozenset[MetaVar]:
    """The type variables of inference that occur in a type."""
    return facts(type_).metas


def sizes_in(type_: Type) -> frozenset[VName]:
    """The size variables that occur in a type, without sizes that calls of functions make."""
    return facts(type_).sizes


def parts(type_: Type, into: Callable[[Type], bool] = lambda _: True,
          head: Callable[[Type], Type] = lambda part: part) -> Iterator[Type]:
    """A type and all types in it, outer types first, each once however often it stands there.

    The types inside of a type are left out if ``into`` says no.  ``head`` is applied to each first.
    """
    left, seen = [type_], set[int]()
    while left:
        part = head(left.pop())
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            if into(part):
                left += reversed(inside(part))


def array_sizes(type_: Type) -> Iterator[Size]:
    """The sizes of the arrays in a type; of a type that stands there often, once."""
    return (part.size for part in parts(type_) if isinstance(part, Array))


def params_in(type_: Type) -> frozenset[VName]:
    """The names that function types give to their arguments."""
    return facts(type_).params


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
    return sharing(lambda inner, part: map_parts(inner, part, f))(type_)


def replace_names(type_: Type, types: Mapping[VName, Type], sizes: Mapping[VName, Size]) -> Type:
    """``type_`` with its type parameters and size variables replaced."""
    def replaced(inner: Callable[[Type], Type], part: Type) -> Type:
        inside_it = facts(part)
        if inside_it.type_variables.isdisjoint(types) and inside_it.all_sizes.isdisjoint(sizes):
            return part
        match part:
            case TypeVar(name):
                return types.get(name, part)
            case Arrow(param=VName() as param) if param in sizes:
                match sizes[param].terms:
                    case ((((VName() as renamed),), 1),):
                        part = replace(part, param=renamed)
        return map_parts(inner, part, size)

    def size(found: Size) -> Size:
        return found.substitute(lambda v: sizes.get(v, Size.var(v)))

    return sharing(replaced)(type_)
