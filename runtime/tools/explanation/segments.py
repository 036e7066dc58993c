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
from typing import Any, TypeAlias

import numpy as np

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


Lengths: TypeAlias = np.ndarray[Any, Any]
LANES = 8
"""The neighbours that share a segment."""
WIDTH = 40
"""The blocks of the most frequent class."""
_POWERS = 1 << np.arange(63, dtype=np.int64)


def class_counts(lengths: Lengths) -> list[int]:
    """The lengths l with ``ceil(log2 l) == k`` by k; class 0 has lengths below 1, too."""
    found: list[int] = np.bincount(np.searchsorted(_POWERS, lengths)).tolist()
    return found


def class_lines(lengths: Lengths) -> Iterator[str]:
    """A line of blocks for each power of two from the shortest length to the longest.

    >>> print("\\n".join(class_lines(np.array([1, 1, 1, 1, 3, 4]))))
    up to 1  ████████████████████████████████████████ 4
    up to 2   0
    up to 4  ████████████████████ 2
    """
    if not len(lengths):
        return
    counts = class_counts(lengths)
    some = [k for k, count in enumerate(counts) if count]
    texts = {k: f"up to {1 << k:,}" for k in range(some[0], some[-1] + 1)}
    width = max(map(len, texts.values()))
    for k, text in texts.items():
        yield f"{text:<{width}}  {'█' * -(-counts[k] * WIDTH // max(counts))} {counts[k]:,}"


def _together(steps: Lengths, abreast: int) -> int:
    """The steps that are issued where ``abreast`` neighbours wait for the longest of them."""
    padded = np.zeros(-(-len(steps) // abreast) * abreast, np.int64)
    padded[:len(steps)] = steps
    return int(padded.reshape(-1, abreast).max(axis=1, initial=0).sum()) * abreast


def _shared(lengths: Lengths, workers: int) -> Lengths:
    return -(-lengths // workers)


ISSUED: Mapping[str, Callable[[Lengths, int], int]] = {
    "row": _together,
    "lanes": lambda lengths, abreast: LANES * _together(
        _shared(lengths, LANES), max(abreast // LANES, 1)),
    "group": lambda lengths, abreast: abreast * int(_shared(lengths, abreast).sum()),
    **dict.fromkeys(("slabs", "merge", "flat"),
                    lambda lengths, abreast: int(lengths.sum()) + len(lengths)),
}
"""The steps that a version issues, where so many work-items run abreast.

Ends of segments are steps of ``slabs``, ``merge`` and ``flat``.
"""


def waste(version: str, lengths: Lengths, abreast: int) -> float | None:
    """Issued steps over elements, at least 1; None without elements, or for other versions."""
    lengths = np.maximum(lengths, 0)
    total = int(lengths.sum())
    return ISSUED[version](lengths, abreast) / total if total and version in ISSUED else None
