"""Pictures of rows of different lengths: which work-item of a version takes which element.

A row is a line, an element a column.  A letter is a work-item, in the order of their numbers.
A dot is a step that is issued, and does nothing::

    >>> print("\\n".join(picture("row", [3, 0, 5, 1]).lines))
    aaa..
    .....
    ccccc
    d....

Pictures are for people: a team has four work-items, a tile four steps, and a slab eight, where real
launches have more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from string import ascii_letters
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from runelift.ir import guards
from runelift.runtime.versions.forest import Forest, Site
from runelift.runtime.versions.version_names import version_name

TEAM = 4
"""The work-items that share a row in a picture."""
TILE = 4
"""The steps of a work-item in a picture of tiles."""
SLAB = 8
"""The steps of a slab in a picture; a row is never cut."""
IDLE = "."
"""A step that does nothing."""
END = "|"
"""The end of a row, where that is a step."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A version on rows: a line for each row, what the version does, and the ``issued`` steps."""

    version: str
    meaning: str
    lines: tuple[str, ...]
    issued: int
    elements: int

    @property
    def waste(self) -> float | None:
        """Issued steps over elements, at least 1; None without elements."""
        return self.issued / self.elements if self.elements else None


def letter(item: int) -> str:
    """The letter of a work-item; they repeat after the alphabet."""
    return ascii_letters[item % len(ascii_letters)]


def _row(lengths: Sequence[int]) -> Iterator[str]:
    longest = max(lengths, default=0)
    for item, length in enumerate(lengths):
        yield (letter(item) * length).ljust(longest, IDLE)


def _teams(lengths: Sequence[int], rounds: Callable[[int], int]) -> Iterator[str]:
    """Rows with a team each, that makes so many rounds for a length."""
    for row, length in enumerate(lengths):
        team = [letter(row * TEAM + lane) for lane in range(TEAM)]
        yield "".join(team[j % TEAM] for j in range(length)).ljust(rounds(length) * TEAM, IDLE)


def _lanes(lengths: Sequence[int]) -> Iterator[str]:
    most = max((-(-length // TEAM) for length in lengths), default=0)
    return _teams(lengths, lambda length: most)


def _group(lengths: Sequence[int]) -> Iterator[str]:
    return _teams(lengths, lambda length: -(-length // TEAM))


def _tiles(lengths: Sequence[int], end: str = END) -> Iterator[str]:
    """Elements, and ends of rows if ``end`` is not empty, in tiles of work-items."""
    starts = accumulate((length + len(end) for length in lengths), initial=0)
    for start, length in zip(starts, lengths, strict=False):
        yield "".join(letter(p // TILE) for p in range(start, start + length)) + end


def _runs(lengths: Sequence[int]) -> list[list[int]]:
    """The rows of slabs; a row belongs to the slab in whose part of all steps it begins."""
    starts = accumulate((length + len(END) for length in lengths), initial=0)
    return [[length for _, length in run] for _, run in groupby(
        zip(starts, lengths, strict=False), lambda each: each[0] // SLAB)]


VERSIONS: Mapping[str, tuple[str, Callable[[Sequence[int]], Iterator[str]]]] = {
    "row": ("a work-item takes a row; on a GPU, all wait for the longest", _row),
    "lanes": (f"{TEAM} neighbours share a row; on a GPU, all wait for the longest", _lanes),
    "group": (f"a group of {TEAM} takes a row, and waits for no other group", _group),
    "slabs": (f"rows that begin within {SLAB} steps run at once, then others; each work-item has "
              f"{TILE} steps: an element, or the end of a row ({END})",
              lambda lengths: chain.from_iterable(map(_tiles, _runs(lengths)))),
    "merge": (f"each work-item has {TILE} steps: an element, or the end of a row ({END}); GPUs "
              "reduce rows by their lengths instead", _tiles),
    "flat": (f"each work-item has {TILE} elements, of whatever rows",
             lambda lengths: _tiles(lengths, "")),
}
"""The versions that there are pictures of: meaning and lines, in the order of the guards."""


def picture(version: str, lengths: Sequence[int]) -> Picture:
    """The picture of a version on rows of these lengths, which are not negative."""
    meaning, draw = VERSIONS[version]
    lines = tuple(draw(lengths))
    steps = sum(map(len, lines))
    if version == "slabs":
        issued = sum(map(_whole_tiles, (sum(run) + len(run) for run in _runs(lengths))))
    else:
        issued = _whole_tiles(steps) if version in ("merge", "flat") else steps
    return Picture(version, meaning, lines, issued, sum(lengths))


def _whole_tiles(steps: int) -> int:
    """The steps of the work-items that make so many."""
    return -(-steps // TILE) * TILE


Lengths: TypeAlias = np.ndarray[Any, Any]
LANES = 8
"""The neighbours that share a row."""
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

Ends of rows are steps of ``slabs``, ``merge`` and ``flat``.
"""


def waste(version: str, lengths: Sequence[Lengths], abreast: int) -> float | None:
    """Issued steps over elements, at least 1; None without elements, or for other versions.

    A row has its part of each of the arrays of ``lengths``, one after the other.
    """
    every = [np.maximum(each, 0) for each in lengths]
    total = sum(int(each.sum()) for each in every)
    if not total or version not in ISSUED:
        return None
    return sum(ISSUED[version](each, abreast) for each in every) / total


class Drawn(NamedTuple):
    """A version of a site with its picture."""

    site: str
    version: str
    picture: Picture


def about(site: Site) -> guards.Lengths | None:
    """The facts about lengths that the guards of a site have, if any."""
    return next((guard.lengths for guard in site.guards if guard.lengths is not None), None)


def drawn(forest: Forest, lengths: Sequence[int]) -> list[Drawn]:
    """The versions of an entry point for rows whose lengths differ."""
    return [Drawn(name, version_name(each), picture(each.kind.value, lengths))
            for name, site in forest.sites().items() if about(site)
            for each in site.alternatives if each.kind.value in VERSIONS]


def drawing_lines(found: Sequence[Drawn], lengths: Sequence[int]) -> Iterator[str]:
    """Pictures of versions by site, each with its name, its steps and its waste."""
    for site, each in groupby(found, lambda one: one.site):
        yield f"{site}: rows of {', '.join(map(str, lengths))} elements"
        for _, version, shown in each:
            yield f"\n  {version} ({shown.version}): {shown.meaning}"
            yield from (f"    {row:>2} {line}".rstrip() for row, line in enumerate(shown.lines))
            if shown.waste is not None:
                yield (f"    {shown.issued} steps for {shown.elements} elements: waste "
                       f"{shown.waste:.3g}")
