"""The blocks of a literate program: text, code, and directives.

A comment that begins a line is text in Markdown.  Comment lines from ``-- >`` on are a directive::

    directive ::= ':covert'? ':brief'? kind? expression (';' newline parameters)?
    kind      ::= ':img' | ':plot2d' | ':gnuplot' | ':video' | ':audio'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from runelift.ir.base.source import Source, Span

LOOKS = ("covert", "brief")
"""Words for a directive that is left out in the document, and for one without parameters."""
_MARK = re.compile(r"^-- ?", re.MULTILINE)
_DOC = re.compile(r"\A-- \|(?! .*\|(\n|$))")
"""The mark of a comment for documentation, which is no row of a table."""
_DIRECTIVE = re.compile(r"-- ?> ?")
_WORD = re.compile(r"\s*:(\w+)")
_VISIBLE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Text:
    """A comment, in Markdown."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Code:
    """Definitions of the program, or one of its test blocks."""

    text: str


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive.  ``shown`` is its text in the document, ``rest`` the lines of its parameters.

    ``script`` has its expression at the place that it has in the program, and is blank elsewhere.
    """

    kind: str
    shown: str
    script: Source
    rest: tuple[str, ...]
    span: Span


Block: TypeAlias = Text | Code | Directive


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int


def blocks(source: Source) -> Iterator[Block]:
    """The blocks of a program; the kinds of directives are not checked."""
    start = 0
    lines = list[_Line]()
    for text in source.text.split("\n"):
        lines.append(_Line(text, start))
        start += len(text) + 1
    for is_comment, found in groupby(lines, lambda line: line.text.startswith("--")):
        group = list(found)
        if not is_comment:
            if code := "\n".join(line.text for line in group).strip("\n"):
                yield Code(code)
        elif _DIRECTIVE.match(group[0].text):
            yield from (_directive(source, part) for part in _directives(group))
        else:
            texts = [line.text for line in group]
            test = next((number for number, text in enumerate(texts)
                         if text.rstrip() == "-- =="), len(texts))
            if test:
                yield Text(_MARK.sub("", _DOC.sub("--", "\n".join(texts[:test]))))
            if test < len(texts):
                yield Code("\n".join(texts[test:]))


def _directives(lines: list[_Line]) -> list[list[_Line]]:
    """The lines of each of the directives that stand one below the other."""
    found = list[list[_Line]]()
    for line in lines:
        if _DIRECTIVE.match(line.text):
            found.append([])
        found[-1].append(line)
    return found


def _directive(source: Source, lines: list[_Line]) -> Directive:
    ends = [number for number, line in enumerate(lines) if line.text.rstrip().endswith(";")]
    last = ends[0] if ends else len(lines) - 1
    span = Span(source, lines[0].start, lines[-1].start + len(lines[-1].text))
    end = lines[last].start + len(lines[last].text.rstrip().removesuffix(";"))
    opening = _DIRECTIVE.match(lines[0].text)
    assert opening is not None
    start, looks, kind = lines[0].start + opening.end(), list[str](), ""
    begin = start
    while not kind and (word := _WORD.match(source.text, start, end)):
        start = word.end()
        if word[1] in LOOKS:
            looks.append(word[1])
            begin = start
        else:
            kind = word[1]
    shown = "" if "covert" in looks else _MARK.sub("", span.text)
    if shown and looks:
        shown = "> " + _MARK.sub("", source.text[begin:end]).strip()
    rest = tuple(_MARK.sub("", line.text) for line in lines[last + 1:])
    return Directive(kind, shown, _blanked(source, start, end), rest, span)


def _blanked(source: Source, start: int, end: int) -> Source:
    """The source with blanks around a range, and for the marks of comments inside of it."""
    inner = re.sub(r"\n--", "\n  ", source.text[start:end])
    return Source(source.name, _VISIBLE.sub(" ", source.text[:start]) + inner
                  + _VISIBLE.sub(" ", source.text[end:]))
