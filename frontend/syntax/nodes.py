"""The common part of all nodes of the surface syntax: a place in the source, and parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeVar

from runelift.ir.source import Span


@dataclass(slots=True, eq=False)
class Node:
    """Anything with a place in the source."""

    span: Span


NodeType = TypeVar("NodeType", bound=Node)


_NOTES = frozenset({"span", "type", "as_size", "op_type", "operator"})
"""Fields that hold no syntax."""

_FIELDS: dict[type[Node], tuple[tuple[str, ...], tuple[str, ...]]] = {}


def _fields(kind: type[Node]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All fields of a kind of node, and those that hold syntax."""
    if kind not in _FIELDS:
        names = tuple(f.name for f in fields(kind))
        _FIELDS[kind] = names, tuple(n for n in names if n not in _NOTES)
    return _FIELDS[kind]


def parts(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that hold syntax."""
    return _fields(kind)[1]


def duplicate(node: NodeType) -> NodeType:
    """Another node with the same parts."""
    kind = type(node)
    new = kind.__new__(kind)
    for name in _fields(kind)[0]:
        setattr(new, name, getattr(node, name))
    return new


def walk(node: object) -> Iterator[Node]:
    """All nodes of a tree, or of a tuple of trees."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(item)
        elif isinstance(item, Node):
            yield item
            todo.extend(getattr(item, name) for name in parts(type(item)))


def put_at(span: Span, tree: Node) -> None:
    """Let all nodes of a tree stand at one place of the source."""
    for node in walk(tree):
        node.span = span
