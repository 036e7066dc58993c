"""The common part of all nodes of the surface syntax: a place in the source, and parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from runelift.ir.base.source import Span


@dataclass(slots=True, eq=False)
class Node:
    """A node with a place in the source."""

    span: Span


NodeType = TypeVar("NodeType", bound=Node)


_NOTES = frozenset({"span", "type", "as_size", "op_type", "operator"})
"""Fields that hold no syntax."""
_FLAGS = frozenset({"specified", "only_checks", "sealed", "instance", "hidden"})
"""The keyword fields that modules fill; the checker fills all other keyword fields."""


class _Fields(NamedTuple):
    """The names of the fields of a kind of node: all, and the fields for each function below."""

    all: tuple[str, ...]
    parts: tuple[str, ...]
    parsed: tuple[str, ...]
    given: tuple[str, ...]
    noted: tuple[str, ...]


_FIELDS: dict[type[Node], _Fields] = {}


def _fields(kind: type[Node]) -> _Fields:
    if kind not in _FIELDS:
        known = fields(kind)
        names = tuple(f.name for f in known)
        given = tuple(f.name for f in known if not f.kw_only or f.name in _FLAGS)
        _FIELDS[kind] = _Fields(names, tuple(n for n in names if n not in _NOTES),
                                tuple(f.name for f in known if not f.kw_only), given,
                                tuple(n for n in names if n not in given))
    return _FIELDS[kind]


def parts(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that hold syntax."""
    return _fields(kind).parts


def parsed(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that the parser fills."""
    return _fields(kind).parsed


def given(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that come from the program: from the parser or modules."""
    return _fields(kind).given


def noted(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that the checker fills."""
    return _fields(kind).noted


def duplicate(node: NodeType) -> NodeType:
    """Another node with the same parts."""
    kind = type(node)
    new = kind.__new__(kind)
    for name in _fields(kind).all:
        setattr(new, name, getattr(node, name))
    return new


def walk(node: object) -> Iterator[Node]:
    """All nodes of a tree, or of a tuple of trees."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, Node):
            kind: Any = type(item)
            yield item
            todo += _read(kind)(item)
        elif isinstance(item, tuple):
            todo += item


@cache
def _read(kind: type[Node]) -> Callable[[Node], tuple[Any, ...]]:
    """A function that gets the fields that hold syntax of a node of this kind, and its place."""
    return attrgetter(*parts(kind), "span") if parts(kind) else lambda _: ()


def put_at(span: Span, tree: Node) -> None:
    """Let all nodes of a tree stand at one place of the source."""
    for node in walk(tree):
        node.span = span
