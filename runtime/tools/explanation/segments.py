"""Pictures of segments: which work-item of which version takes which element.

A segment is a line, an element a column.  A letter is a work-item, in the order of their numbers.
A dot is a step that is issued, and does nothing::

    >>> print("\\n".join(picture("row", [3, 0, 5, 1]).lines))
    aaa..
    .....
    ccccc
    d....

Pictures are for people: a team has four work-items, and a tile four steps, where real launches
have more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_letters

TEAM = 4
"""The work-items that share a segment in a picture."""
TILE = 4
"""The steps of a work-item in a picture of tiles."""
IDLE = "."
"""A step that does nothing."""
END = "|"
"""The end of a segment, where that is a step."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A version on segments: a line for each segment, and what the version is.

    ``issued`` are the steps that the device makes, of which ``useful`` take an element or, in
    tiles that count them, end a segment.
    """

    version: str
    meaning: str
    lines: tuple[str, ...]
    issued: int
    useful: int

    @property
    def waste(self) -> float:
        """Issued steps over useful steps, at least 1; infinity if none is useful."""
        return self.issued / self.useful if self.useful else float("inf")


def letter(item: int) -> str:
    """The letter of a work-item; they repeat after the alphabet."""
    return ascii_letters[item % len(ascii_letters)]


def _row(lengths: Sequence[int]) -> Iterator[str]:
    longest = max(lengths, default=0)
    for item, length in enumerate(lengths):
        yield (letter(item) * length).ljust(longest, IDLE)


def _teams(lengths: Sequence[int], rounds: Callable[[int], int]) -> Iterator[str]:
    """Segments with a team each, that makes so many rounds for a length."""
    for segment, length in enumerate(lengths):
        team = [letter(segment * TEAM + lane) for lane in range(TEAM)]
        yield "".join(team[j % TEAM] for j in range(length)).ljust(rounds(length) * TEAM, IDLE)


def _lanes(lengths: Sequence[int]) -> Iterator[str]:
    most = max((-(-length // TEAM) for length in lengths), default=0)
    return _teams(lengths, lambda length: most)


def _group(lengths: Sequence[int]) -> Iterator[str]:
    return _teams(lengths, lambda length: -(-length // TEAM))


def _bins(lengths: Sequence[int]) -> Iterator[str]:
    """A work-item for each segment; it waits for segments of its power of two only."""
    longest: dict[int, int] = {}
    for length in lengths:
        key = max(length - 1, 0).bit_length()
        longest[key] = max(longest.get(key, 0), length)
    for item, length in enumerate(lengths):
        yield (letter(item) * length).ljust(longest[max(length - 1, 0).bit_length()], IDLE)


def _tiles(lengths: Sequence[int], end: str) -> Iterator[str]:
    """Elements, and ends of segments if ``end`` is not empty, in tiles of work-items."""
    starts = accumulate((length + len(end) for length in lengths), initial=0)
    for start, length in zip(starts, lengths, strict=False):
        yield "".join(letter(p // TILE) for p in range(start, start + length)) + end


def _pad(lengths: Sequence[int]) -> Iterator[str]:
    longest = max(lengths, default=0)
    for segment, length in enumerate(lengths):
        yield "".join(letter((segment * longest + j) // TILE) if j < length else IDLE
                      for j in range(longest))


VERSIONS: Mapping[str, tuple[str, Callable[[Sequence[int]], Iterator[str]]]] = {
    "row": ("a work-item takes a segment; all wait for the longest", _row),
    "lanes": (f"{TEAM} neighbours share a segment; all wait for the longest", _lanes),
    "group": (f"a group of {TEAM} takes a segment, and waits for nobody", _group),
    "bins": ("a work-item takes a segment, beside segments of its power of two", _bins),
    "merge": (f"each work-item has {TILE} steps: an element, or the end of a segment ({END})",
              lambda lengths: _tiles(lengths, END)),
    "flat": (f"each work-item has {TILE} elements, of whatever segments",
             lambda lengths: _tiles(lengths, "")),
    "pad": (f"segments get the length of the longest; each work-item has {TILE} places", _pad),
}
"""The versions that there are pictures of: meaning and lines, in the order of the guards."""


def picture(version: str, lengths: Sequence[int]) -> Picture:
    """The picture of a version on segments of these lengths, which are not negative."""
    meaning, draw = VERSIONS[version]
    lines = tuple(draw(lengths))
    useful = sum(character != IDLE for line in lines for character in line)
    issued = sum(map(len, lines))
    if version in ("merge", "flat"):
        issued = -(-issued // TILE) * TILE
    return Picture(version, meaning, lines, issued, useful)
