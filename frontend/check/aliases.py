"""Aliases: the arrays that a value may share its memory with.

A value is described by a tree that follows its type.  A tuple or record has a tree for each
component.  Anything else is a leaf with the set of origins that it may be an alias of.  An origin
is an array that was made or bound at one place.  A scalar, and an array that nothing else refers
to, has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.frontend.syntax.types import (
    Abstract,
    Arrow,
    Record,
    Tuple,
    Type,
    Unique,
    facts,
    inside,
)


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """An array of a running program.

    ``depth`` counts the functions and loops around the place where it is bound, -1 for a
    constant of the program.  ``fixed`` is why it must not be consumed, empty if it may be.
    ``window`` is true of what a function of the module ``lift`` shows of an array, by its name.
    """

    name: str
    depth: int
    fixed: str = ""
    window: bool = False

    @property
    def shown(self) -> str:
        """The name as messages show it, or a description."""
        return self.name if " " in self.name else f'"{self.name}"'


Origins: TypeAlias = frozenset[Origin]
NONE: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without components.

    For a function, ``unique`` says which parts of its result are unique, once it has its next
    ``arity`` arguments.  If ``arity`` is 0, its type says so.  ``width`` is the number of
    components that it stands for: of a value with very many, nothing is known but of the whole.
    """

    origins: Origins = NONE
    unique: Unique = False
    arity: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True)
class Parts:
    """A tuple, or a record by the names of its fields, made by :func:`together`."""

    items: tuple[Tree, ...]
    width: int


Tree: TypeAlias = Leaf | Parts

MOST_LEAVES = 1000
"""The most components of a value that are told apart."""


def together(items: Iterable[Tree]) -> Tree:
    """A tuple or record of ``items``; one leaf if they have very many components."""
    trees = tuple(items)
    width = sum(tree.width for tree in trees)
    if width > MOST_LEAVES:
        return Leaf(NONE.union(*map(origins, trees)), width=width)
    return Parts(trees, width)


def items_of(tree: Tree, types: Sequence[Type | None]) -> tuple[Tree, ...]:
    """The values in a tuple or record, of these types."""
    if isinstance(tree, Parts):
        return tree.items
    return tuple(shared(type_, tree.origins) for type_ in types)


def leaves(tree: Tree) -> Iterator[Leaf]:
    """The leaves of a tree, in order."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for item in tree.items:
            yield from leaves(item)


def origins(tree: Tree) -> Origins:
    """All that a value may be an alias of."""
    return frozenset().union(*(leaf.origins for leaf in leaves(tree)))


def shared(type_: Type | None, found: Origins) -> Tree:
    """A value of a type all of whose parts may be aliases of ``found``."""
    width = 1 if type_ is None else facts(type_).leaves
    if isinstance(type_, Tuple | Record) and width <= MOST_LEAVES:
        return together([shared(item, found) for item in inside(type_)])
    if isinstance(type_, Arrow | Abstract):  # as in Futhark, these in constants may be returned
        return Leaf(frozenset({origin for origin in found if origin.depth >= 0}))
    return Leaf(found if holds_arrays(type_) else NONE, width=width)


def holds_arrays(type_: Type | None) -> bool:
    """True if values of a type without components can be aliases of arrays."""
    return type_ is not None and facts(type_).aliases


def join(left: Tree, right: Tree) -> Tree:
    """The tree of a value that is either ``left`` or ``right``."""
    match left, right:
        case Parts(xs), Parts(ys):
            return together([join(x, y) for x, y in zip(xs, ys, strict=True)])
        case Leaf(xs, width=width), Leaf(ys):
            return Leaf(xs | ys, width=width)
    return Leaf(origins(left) | origins(right), width=max(left.width, right.width))


def each_leaf(f: Callable[[Leaf], Leaf], tree: Tree) -> Tree:
    """``tree`` with ``f`` of each leaf."""
    if isinstance(tree, Leaf):
        return f(tree)
    return together([each_leaf(f, item) for item in tree.items])


def rebuild(tree: Tree, others: Iterator[Leaf]) -> Tree:
    """A tree of the same form from other leaves."""
    return each_leaf(lambda _: next(others), tree)


def flags(tree: Tree, unique: Unique) -> list[bool]:
    """A flag for each leaf: True if it is unique."""
    if isinstance(tree, Leaf):
        return [bool(unique) if tree.width == 1 else _all_unique(unique)]
    each = unique if isinstance(unique, tuple) else (unique,) * len(tree.items)
    return [flag for item, part in zip(tree.items, each, strict=True)
            for flag in flags(item, part)]


def _all_unique(unique: Unique) -> bool:
    return all(map(_all_unique, unique)) if isinstance(unique, tuple) else unique


def position(type_: Type | None, label: str) -> int:
    """The place of a component in a record or tuple."""
    if isinstance(type_, Record):
        return [name for name, _ in type_.fields].index(label)
    return int(label)


def _component(type_: Type | None, position: int) -> Type | None:
    match type_:
        case Record(members):
            return members[position][1]
    return getattr(type_, "items", (None,) * (position + 1))[position]


def with_component(tree: Tree, type_: Type | None, path: tuple[str, ...], new: Tree) -> Tree:
    """The tree of a record after an update of the field at ``path``."""
    if not path:
        return new
    if isinstance(tree, Leaf):
        return join(tree, new)
    k = position(type_, path[0])
    inner = with_component(tree.items[k], _component(type_, k), path[1:], new)
    return together((*tree.items[:k], inner, *tree.items[k + 1:]))


def collect(tree: Tree, unique: Iterator[bool]) -> Unique:
    """Flags for leaves as the uniqueness of the whole: the inverse of :func:`flags`."""
    if isinstance(tree, Leaf):
        return next(unique)
    return united(tuple([collect(item, unique) for item in tree.items]))


def united(flags: tuple[Unique, ...]) -> Unique:
    """The uniqueness of a tuple, as short as possible."""
    if all(flag is False for flag in flags):
        return False
    return flags


def fresh_enough(have: Unique, wanted: Unique, type_: Type | None) -> bool:
    """True if a result of a type, fresh as ``have`` says, is as fresh as is wanted.

    Scalars are always fresh, and a tuple or record of fresh parts is fresh.
    """
    if not wanted or have is True:
        return True
    if not isinstance(type_, Tuple | Record) or facts(type_).leaves > MOST_LEAVES:
        return bool(have) or not holds_arrays(type_)
    items = inside(type_)

    def each(flags: Unique) -> tuple[Unique, ...]:
        return flags if isinstance(flags, tuple) else (flags,) * len(items)

    return all(map(fresh_enough, each(have), each(wanted), items))


def with_unique_result(type_: Type, arity: int, unique: Unique) -> Type:
    """A function type that says which parts of its result after ``arity`` arguments are unique."""
    if arity == 0 or not isinstance(type_, Arrow):
        return type_
    rest = with_unique_result(type_.codomain, arity - 1, unique)
    fresh = unique if arity == 1 else type_.fresh
    return replace(type_, codomain=rest, fresh=fresh)
