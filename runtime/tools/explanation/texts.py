"""Texts of a page: lines that know the places of the source they stand for, packed."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.ir.base.lines import places
from runelift.ir.base.source import Loc, Source, in_source

Numbers: TypeAlias = int | list[int]
"""Numbers of places: none (0), one, or several.

In a list, 0 stands before the places of calls around.
"""


@dataclass(slots=True)
class Texts:
    """The texts of a page about a program, by number; equal texts are one.

    Places are numbered from 1.  Each has the line and column of its first and last characters.
    """

    source: Source
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    kept: list[tuple[str, list[Numbers]]] = field(default_factory=list)
    _known: dict[tuple[str, str], int] = field(default_factory=dict)
    _numbers: dict[Loc, int] = field(default_factory=dict)

    def add(self, lines: Iterable[str]) -> int:
        """Add a text, unless an equal text is there; the number of the text."""
        lines = list(lines)
        text, numbers = "\n".join(lines), [self._of(line) for line in lines]
        key = text, str(numbers)
        if key not in self._known:
            self._known[key] = len(self.kept)
            self.kept.append((text, numbers))
        return self._known[key]

    def lines(self, numbers: Iterable[int | None]) -> int:
        """The lines of some texts together."""
        return sum(len(self.kept[each][1]) for each in numbers if each is not None)

    def place(self, loc: Loc | None) -> int:
        """The number of a place, or of the call nearest to it in the source; 0 if there is none."""
        return next(map(self._number, in_source(loc, self.source)), 0) if loc else 0

    def _of(self, line: str) -> Numbers:
        chains = [in_source(loc, self.source) for loc in places(line)]
        own = [*dict.fromkeys(self._number(chain[0]) for chain in chains if chain)]
        around = dict.fromkeys(self._number(loc) for chain in chains for loc in chain[1:])
        calls = [number for number in around if number not in own]
        found = [*own, 0, *calls] if calls else own
        return found if len(found) > 1 else found[0] if found else 0

    def _number(self, loc: Loc) -> int:
        key = Loc("", loc.line, loc.column)
        if key not in self._numbers:
            self.places.append((loc.line, loc.column, *(loc.last or (loc.line, loc.column))))
            self._numbers[key] = len(self.places)
        return self._numbers[key]

    def packed(self) -> str:
        """Places and texts as compressed JSON in base64, which browsers unpack."""
        data = json.dumps({"places": self.places, "texts": self.kept}, ensure_ascii=False,
                          separators=(",", ":"))
        return b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
