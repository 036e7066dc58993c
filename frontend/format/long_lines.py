"""Line breaks in lines that are too long, where their outermost construct has parts.

The parts of one construct break together: ``then`` with ``else``, all cases of a ``match``, all
operators of one strength in a chain.  Of arguments and elements, as many stay as fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from runelift.frontend.format.formatter import Formatter
from runelift.frontend.format.frames import Frame
from runelift.frontend.format.spacing import OPERATORS, is_index
from runelift.frontend.format.words import Word, words
from runelift.frontend.syntax.operators import precedence
from runelift.frontend.syntax.tokens import RESERVED

WIDTH = 100
"""The columns that code of a line may have."""
ROUNDS = 200
"""The most breaks inside of each other that are made."""
BRACKETS = frozenset(")]}")
_PARTS = {"let": ("let", "in"), "if": ("then", "else"), "match": ("case",)}
"""The words that begin parts of constructs."""
_NO_ARGUMENT = frozenset({")", "]", "}", ",", "=", "->", ":", ":>", "::", ".", "?", "|", ".(",
                          ".["})


LET, ARGUMENT, ELEMENT = 1, 20, 30
"""The strengths of breaks in bindings, before arguments and behind commas; operators have
theirs."""
FILLING = ARGUMENT


class Place(NamedTuple):
    """The line and column of a token in the output, before long lines are broken."""

    word: Word
    line: int
    column: int


class Break(NamedTuple):
    """A place where a line may be broken; the least of a line is the best.

    Places with equal ``rank``, ``depth`` and ``strength`` in one frame are broken together, unless
    they are as weak as ``FILLING``.
    """

    rank: int
    depth: int
    strength: int
    frame: int


def format_text(text: str) -> str:
    """The formatted text of a program that can be parsed."""
    result = Formatter(words(text)).text()
    for _ in range(ROUNDS):
        given = words(result)
        if not any(_break(part) for part in _declarations(given)):
            break
        before, result = result, Formatter(given).text()
        if result == before:
            break
    return result


def _declarations(given: list[Word]) -> Iterator[list[Word]]:
    """The words of each declaration of formatted text that has too long a line."""
    part: list[Word] = []
    for word in given:
        if word.kind == "comment":
            continue
        if word.column == 0 and word.breaks and word.text not in BRACKETS:
            if _is_long(part):
                yield part
            part = []
        part.append(word)
    if _is_long(part):
        yield part


def _is_long(part: list[Word]) -> bool:
    return any(word.column + len(word.text) > WIDTH for word in part)


def _break(part: list[Word]) -> bool:
    """Let words of a declaration begin lines, as long as a line is too long; True if one does."""
    changed = False
    for _ in range(ROUNDS):
        breaking = _Breaking(part)
        breaking.text()
        if not (chosen := breaking.chosen()):
            break
        for word in chosen:
            word.breaks = 1
        changed = True
    return changed


class _Breaking(Formatter):
    """A formatter that notes where lines could be broken."""

    def __init__(self, given: list[Word]) -> None:
        super().__init__(given)
        self._found: dict[int, dict[Break, None]] = {}
        """The possible breaks of each line."""
        self._members: dict[Break, list[Place]] = {}
        self._columns: dict[Break, int] = {}
        """The columns at which broken lines would begin."""
        self._long: set[int] = set()
        self._ends: dict[int, int] = {}
        self._seen: list[Frame] = []
        """The frames that breaks name; they live as long as this."""

    def chosen(self) -> list[Word]:
        """The words that should begin lines, so that long lines become shorter."""
        found: list[Word] = []
        for line in self._long & self._found.keys():
            best = min(self._found[line])
            places = list(self._members[best])
            for other in self._found[line]:  # bindings come with the declaration around them
                if (other.rank, other.strength, other.depth) == (0, LET, best.depth + 1):
                    places += self._members[other]
            if best.strength >= FILLING:
                places = self._filling(line, self._members[best], self._columns[best])
            found += [place.word for place in places]
        return found

    def _filling(self, line: int, places: list[Place], start: int) -> list[Place]:
        """The places to break at, so that as much as fits stands between two of them.

        Lines then begin at the column ``start``.
        """
        here = [place for place in places if place.line == line]
        ends = [*(place.column - 1 for place in here[1:]), self._ends[line]]
        found: list[Place] = []
        moved = 0
        for place, end in zip(here, ends, strict=True):
            if end - moved > WIDTH and place.column - moved > start:
                found.append(place)
                moved = place.column - start
        return found or here[-1:]

    def _put(self, indent: int) -> int:
        word, top = self._word, self._top
        kind = None if word.breaks or self._before.kind == "start" else self._kind(word, top)
        column = super()._put(indent)
        line = self._lines.number
        self._ends[line] = column + len(word.text)
        if column + len(word.text.partition("\n")[0]) > WIDTH:
            self._long.add(line)
        if kind is not None and column > self._lines.indent:
            rank, strength = kind
            self._seen.append(top)
            found = Break(rank, len(self._frames), strength, id(top))
            self._found.setdefault(line, {})[found] = None
            self._columns[found] = top.inner if strength == ELEMENT else top.argument or column
            self._members.setdefault(found, []).append(Place(word, line, column))
        return column

    def _kind(self, word: Word, top: Frame) -> tuple[int, int] | None:
        """The rank and strength of a break before a token; None if there should be none."""
        text = word.text
        if text in _PARTS.get(top.kind, ()):
            begins = text == "let" and top.state != "value"
            return None if begins else (0, LET if top.kind == "let" else 2)
        if top.fresh and top.start is None and top.state in ("value", "body"):
            if (top.kind, top.state) in (("declaration", "value"), ("loop", "body")):
                return 0, 0
            return (1, 0) if (top.kind, top.state) != ("let", "body") else None
        if self._before.text == ",":
            return 1, ELEMENT
        if word.kind in OPERATORS and text not in _NO_ARGUMENT and not top.fresh:
            return (1, 1 + precedence(text)) if top.state != "head" else None
        if top.fresh or top.argument is None or text in RESERVED or text in _NO_ARGUMENT:
            return None
        if word.kind in ("field", "range") or (text == "[" and is_index(self._before, word)):
            return None
        return (1, ARGUMENT) if top.state != "head" or text == "(" else None
