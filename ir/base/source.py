"""Source text, spans and locations: where a piece of program came from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from runelift.ir.base.visible import one_line, visible

WIDTH = 120
"""Characters of a source line that errors show at most."""
LEAST, GUTTER = 20, 7
"""Characters of a source line that are always shown, and characters in front of the line."""


@dataclass(frozen=True, slots=True)
class Source:
    """A named text, usually a file."""

    name: str
    text: str = field(repr=False)
    _newlines: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = [match.start() for match in re.finditer("\n", self.text)]
        object.__setattr__(self, "_newlines", ends)

    def line(self, place: int) -> int:
        """The 1-based line of a character."""
        return bisect_left(self._newlines, place) + 1

    def place(self, line: int, column: int) -> int | None:
        """The offset of a 1-based line and column in the text; None if there is no such line.

        >>> Source("", "ab\ncd").place(2, 1)
        3
        """
        starts = [0, *(each + 1 for each in self._newlines)]
        return starts[line - 1] + column - 1 if 0 < line <= len(starts) else None


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range ``[start, end)`` of characters of ``source``."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The 1-based line of the first character."""
        return self.source.line(self.start)

    @property
    def column(self) -> int:
        """The 1-based column of the first character."""
        return self.start - self.source.text.rfind("\n", 0, self.start)

    @property
    def indentation(self) -> int:
        """The number of blanks and tabs that the line of the first character begins with."""
        line = self.source.text[self.start - self.column + 1:self.start]
        return len(line) - len(line.lstrip(" \t"))

    @property
    def last(self) -> tuple[int, int]:
        """The 1-based line and column of the last character."""
        last = max(self.start, self.end - 1)
        return self.source.line(last), last - self.source.text.rfind("\n", 0, last)

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def excerpt(self, label: str = "", *, width: int | None = None) -> str:
        """The first line of the span with carets under it.

        A line that is longer than ``width`` with its number is cut around the span.
        """
        most = WIDTH if width is None else min(WIDTH, max(LEAST, width - GUTTER))
        text, start = self.source.text, self.start - self.column + 1
        end = text.find("\n", start)
        line = text[start:end if end >= 0 else None].rstrip("\r")
        marked = max(1, min(self.end - self.start, len(line) - self.column + 1))
        line, before, marked = _cut(line, self.column - 1, marked, most)
        marked += len(visible(line[before:before + marked])) - len(line[before:before + marked])
        line, before = visible(line), len(visible(line[:before]))
        gutter = f"{self.line:>4} | "
        carets = " " * (len(gutter) - 2) + "| " + " " * before + "^" * marked
        return f"{gutter}{line}\n{carets} {label}".rstrip()

    def __contains__(self, other: Span) -> bool:
        """True if another span is inside of this one."""
        return self.source is other.source and (
            self.start <= other.start and other.end <= self.end)

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        return f"{one_line(self.source.name)}:{self.line}:{self.column}"


def _cut(line: str, before: int, width: int, most: int = WIDTH) -> tuple[str, int, int]:
    """A line of at most ``most`` characters around a span, and the place of the span in it.

    The span begins after ``before`` characters and is ``width`` characters long.  At most half of
    the line is marked.

    >>> _cut("a" * 200, 190, 10)[1:]
    (110, 10)
    """
    if len(line) <= most:
        return line, before, width
    width = min(width, most // 2)
    start = max(0, min(before - (most - width) // 2, len(line) - most))
    text = line[start:start + most]
    if start:
        text = "…" + text[1:]
    if start + most < len(line):
        text = text[:-1] + "…"
    return text, before - start, width


@dataclass(frozen=True, slots=True)
class Loc:
    """The source position that an IR statement stands for, and the calls inlined around it.

    ``calls`` lists the call sites from the innermost outwards; it makes the back-trace of a
    run-time error.  Each has the name of the function that is called (``callee``, if it has one).
    ``name`` is the variable that the source gives the value, if it does.  ``last`` is the line and
    column of the last character, if it is known.
    """

    file: str
    line: int
    column: int
    calls: tuple[Loc, ...] = ()
    callee: str = ""
    name: str = field(default="", compare=False)
    last: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, span: Span, calls: tuple[Loc, ...] = (), callee: str = "") -> Loc:
        """The location at which ``span`` starts."""
        return cls(span.source.name, span.line, span.column, calls, callee, last=span.last)

    def span(self, sources: Iterable[Source]) -> Span | None:
        """The characters of the place; None if its text is not among the ``sources``."""
        for source in sources:
            if one_line(source.name) == one_line(self.file):
                start = source.place(self.line, self.column)
                last = start if self.last is None else source.place(*self.last)
                if start is not None and last is not None:
                    return Span(source, start, last + 1)
        return None

    def trace(self) -> list[str]:
        """The inlined calls that lead to the place, a line each, innermost first."""
        return [f"  in {call.callee or 'a function'}, called at {call}" for call in self.calls]

    def __str__(self) -> str:
        return f"{one_line(self.file)}:{self.line}:{self.column}"


def in_source(loc: Loc, source: Source) -> list[Loc]:
    """A place and the calls around it, those within ``source`` only.

    >>> call = Loc("a", 9, 1, callee="f")
    >>> [each.line for each in in_source(Loc("library", 5, 1, (call,)), Source("a", ""))]
    [9]
    """
    return [each for each in (loc, *loc.calls) if each.file == source.name]
