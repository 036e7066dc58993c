"""Lines of Python functions whose blocks are as deep as programs are.

Python allows 100 levels of indentation, and 20 loops and ``try`` inside of each other.  A block
beyond that becomes an inner function.  It stands at the top of the outer function, and a call
stands in place of the block.  Variables that several functions use belong to the outer function.
"""

from __future__ import annotations

import symtable
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

MOST_LEVELS = 60
"""Blocks at this level of indentation are inner functions."""
MOST_CONTROLS = 16
"""Blocks inside of more loops and ``try`` are inner functions."""


class Blocks:
    """The lines of a function, and the inner functions in place of blocks that are too deep."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self._controls = 0
        self._functions: dict[str, list[str]] = {}
        self._written = 0
        """The lines that are not in ``lines``."""

    @property
    def place(self) -> int:
        """A number for the next line, which no other line of the function has."""
        return self._written + len(self.lines)

    def line(self, text: str) -> None:
        """Write a line at the depth of blocks reached."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, controls: int = 0) -> Iterator[None]:
        """Lines inside of a block; ``controls`` are the loops and ``try`` directly around it.

        They do not leave the block by ``break``, ``continue`` or ``return``.
        """
        around = self._controls
        self._controls += controls
        if self.depth < MOST_LEVELS and self._controls <= MOST_CONTROLS:
            self.depth += 1
            yield
            self.depth -= 1
        else:
            with self._function():
                yield
        self._controls = around

    @contextmanager
    def _function(self) -> Iterator[None]:
        """Lines of a function that is called in their place."""
        name = f"block{len(self._functions)}"  # variables of programs have an underscore
        self.depth += 1
        self.line(f"{name}()")
        lines, depth = self.lines, self.depth - 1
        self._written += len(lines)
        self.lines = self._functions[name] = []
        self.depth, self._controls = 2, 0
        yield
        self._written += len(self.lines) - len(lines)
        self.lines, self.depth = lines, depth

    @contextmanager
    def function(self) -> Iterator[None]:
        """Lines of a function that the program defines here; its variables are its own."""
        lines, depth, functions, written, controls = (
            self.lines, self.depth, self._functions, self._written, self._controls)
        self.lines, self._functions, self.depth, self._controls = [], {}, 1, 0
        self._written += len(lines)
        yield
        count = self.place - len(lines)
        inner = self.taken()
        self.lines, self.depth, self._functions, self._controls = (
            lines, depth, functions, controls)
        self._written = max(written, count - len(inner))
        self.lines += ["    " * depth + text for text in inner]

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """Lines that are not kept."""
        lines, depth, functions, written = (self.lines, self.depth, dict(self._functions),
                                            self._written)
        self.lines = []
        yield
        self.lines, self.depth, self._written = lines, depth, written
        self._functions = functions

    def taken(self) -> list[str]:
        """The lines of the body, after the inner functions; the next body begins."""
        lines, functions = self.lines, self._functions
        self.lines, self._functions, self._written = [], {}, 0
        if not functions:
            return lines
        scopes = {name: _scope(body) for name, body in functions.items()}
        own = _scope(lines)
        shared = _shared([own, *scopes.values()])
        first = list[str]()
        if unset := sorted(shared - own.bound):
            first.append(f"    {''.join(f'{name} = ' for name in unset)}None")
        for name, body in functions.items():
            first.append(f"    def {name}():")
            if outer := sorted(shared & scopes[name].bound):
                first.append(f"        nonlocal {', '.join(outer)}")
            first += body
        return [*first, *lines]


class _Scope(NamedTuple):
    """The variables that a function sets, and all that it names."""

    bound: frozenset[str]
    named: frozenset[str]


def _scope(body: Sequence[str]) -> _Scope:
    table = symtable.symtable("\n".join(["def function():", *body]), "<plan>", "exec")
    (function,) = table.get_children()
    bound = frozenset(each.get_name() for each in function.get_symbols() if each.is_local())
    outer = (each.get_name() for inside in _tables(function) for each in inside.get_symbols()
             if each.is_global())
    return _Scope(bound, bound.union(outer))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A table of symbols and the tables of functions inside."""
    yield table
    for inside in table.get_children():
        yield from _tables(inside)


def _shared(scopes: Sequence[_Scope]) -> frozenset[str]:
    """The variables that one function sets and another names."""
    once, several = set[str](), set[str]()
    for scope in scopes:
        several |= once & scope.named
        once |= scope.named
    return frozenset(several.intersection(name for scope in scopes for name in scope.bound))
