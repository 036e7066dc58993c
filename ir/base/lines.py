"""Lines of text that stand for places in the source, for printers of programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from runelift.ir.base.source import Loc


class Line(str):
    """A line of text; ``locs`` are the places that it shows, the most important place first."""

    __slots__ = ("locs",)
    locs: tuple[Loc, ...]

    def __new__(cls, text: str, locs: tuple[Loc, ...]) -> Line:
        """Make a line of ``text`` that shows the places ``locs``."""
        line = super().__new__(cls, text)
        line.locs = locs
        return line


Lines: TypeAlias = Iterator[str]


def placed(lines: Iterable[str], *locs: Loc | None) -> Lines:
    """The lines; a line without places gets the places ``locs``, if there are any.

    >>> [line] = placed(["x"], Loc("f", 1, 2))
    >>> [indented] = indent([line], "  ")
    >>> indented, places(indented)
    ('  x', (Loc(file='f', line=1, column=2, calls=(), callee='', name=''),))
    """
    known = tuple(loc for loc in locs if loc is not None)
    if not known:
        return iter(lines)
    return (line if isinstance(line, Line) else Line(line, known) for line in lines)


def indent(lines: Iterable[str], pad: str) -> Lines:
    """The lines with ``pad`` in front."""
    return (Line(pad + line, line.locs) if isinstance(line, Line) else pad + line for line in lines)


def places(line: str) -> tuple[Loc, ...]:
    """The places that a line stands for."""
    return line.locs if isinstance(line, Line) else ()
