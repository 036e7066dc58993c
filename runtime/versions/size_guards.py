"""Size guards: tables of sizes, or decision trees over sizes, that come before thresholds.

A threshold compares one number.  Datasets may want different versions for one value of it (Breddam
2019, figure 2.2).  A *table* has the best version for sizes that were measured.  *Nearest* sizes
also say which version should be best in between.  A *tree* compares several sizes.  Thresholds
decide where size guards do not know, or where their version cannot run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

SHOWN = 10
"""The most entries of a table of times that are shown."""
Sizes: TypeAlias = Mapping[str, int]
"""The sizes at an encounter, and what its guards compare with, by name."""
Show: TypeAlias = Callable[[str], str]
"""The text that people read instead of a name."""


@dataclass(frozen=True, slots=True)
class SizeTable:
    """A size guard that lists versions by exact sizes; ``names`` gives the order of the sizes."""

    names: tuple[str, ...]
    versions: Mapping[tuple[int, ...], int]

    def __hash__(self) -> int:
        return hash((self.names, len(self.versions)))  # asked for in every run

    def version(self, sizes: Sizes) -> int | None:
        """The version for these sizes, if they are known."""
        return self.versions.get(tuple(sizes[name] for name in self.names))

    def mentioned(self) -> frozenset[str]:
        """The names of the sizes that the table lists."""
        return frozenset(self.names)

    def possible(self) -> frozenset[int]:
        """The versions that the guard can choose."""
        return frozenset(self.versions.values())

    def lines(self, versions: Sequence[str], shown: Show = str) -> Iterator[str]:
        """One line for each entry, with the names of versions."""
        for values, version in self.versions.items():
            where = _where(self.names, values, shown)
            yield f"{where}: {versions[version]}"


@dataclass(frozen=True, slots=True)
class NearestSizes:
    """The time of each version relative to the best one, at sizes that were measured.

    At other sizes the logarithm of it is a weighted mean.  The weight is one over the squared
    distance between logarithms of sizes (Shepard, A two-dimensional interpolation function for
    irregularly-spaced data, 1968).
    """

    names: tuple[str, ...]
    ratios: Mapping[tuple[int, ...], tuple[float, ...]]

    def __hash__(self) -> int:
        return hash((self.names, len(self.ratios)))  # asked for in every run

    def version(self, sizes: Sizes) -> int | None:
        """The version that should be best for these sizes."""
        values = tuple(sizes[name] for name in self.names)
        ratios = self.ratios.get(values)
        if ratios is None:
            weighed = [(1 / _distance(values, known) ** 2, ratios)
                       for known, ratios in self.ratios.items()]
            ratios = tuple(sum(weight * math.log(each[k]) for weight, each in weighed)
                           for k in range(len(weighed[0][1])))
        return ratios.index(min(ratios))

    def memo(self) -> SizeTable:
        """A guard that knows only the sizes that were measured, without a guess for other sizes."""
        return SizeTable(self.names, {values: ratios.index(min(ratios))
                                      for values, ratios in self.ratios.items()})

    def mentioned(self) -> frozenset[str]:
        """The names of the sizes that distances depend on."""
        return frozenset(self.names)

    def possible(self) -> frozenset[int]:
        """The versions that the guard can choose."""
        return frozenset(range(max(map(len, self.ratios.values()))))

    def lines(self, versions: Sequence[str], shown: Show = str) -> Iterator[str]:
        """One line for each entry, the best version first; of many entries some."""
        step = -(-len(self.ratios) // SHOWN)
        for values, ratios in list(self.ratios.items())[::step]:
            where = _where(self.names, values, shown)
            order = sorted(range(len(ratios)), key=lambda k: ratios[k])
            yield f"near {where}: " + ", ".join(
                f"{versions[k]} {ratios[k]:.3g}×" if place else versions[k]
                for place, k in enumerate(order))
        if step > 1:
            yield f"... ({len(self.ratios)} sizes)"


def _where(names: Sequence[str], values: Sequence[int], shown: Show) -> str:
    return ", ".join(f"{shown(n)} = {v:,}" for n, v in zip(names, values, strict=True))


def _distance(one: Sequence[int], other: Sequence[int]) -> float:
    """The distance between different sizes, in the factors of two by which each differs."""
    return sum(abs(math.log2(max(a, 0.5) / max(b, 0.5))) for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a decision tree: the index of the chosen version."""

    chosen: int

    @property
    def questions(self) -> int:
        """The number of comparisons in the tree: none."""
        return 0

    def version(self, sizes: Sizes) -> int | None:
        """The version, whatever the sizes are."""
        return self.chosen

    def mentioned(self) -> frozenset[str]:
        """The empty set: a leaf compares no sizes."""
        return frozenset()

    def possible(self) -> frozenset[int]:
        """The chosen version alone."""
        return frozenset((self.chosen,))

    def lines(self, versions: Sequence[str], shown: Show = str) -> Iterator[str]:
        """The name of the chosen version, as a single line."""
        yield versions[self.chosen]


@dataclass(frozen=True, slots=True)
class Split:
    """Inner node of a decision tree: the comparison of one size with a constant.

    ``above`` decides about calls in which the size ``name`` is at least ``least``, and ``below``
    about all other calls.
    """

    name: str
    least: int
    above: Tree
    below: Tree

    @property
    def questions(self) -> int:
        """The number of comparisons, on all ways together."""
        return 1 + self.above.questions + self.below.questions

    def version(self, sizes: Sizes) -> int | None:
        """The version for these sizes."""
        return (self.above if sizes[self.name] >= self.least else self.below).version(sizes)

    def mentioned(self) -> frozenset[str]:
        """The names of the sizes that the tree compares."""
        return self.above.mentioned() | self.below.mentioned() | {self.name}

    def possible(self) -> frozenset[int]:
        """The versions that the tree can choose."""
        return self.above.possible() | self.below.possible()

    def lines(self, versions: Sequence[str], shown: Show = str) -> Iterator[str]:
        """An indented tree, with the names of versions."""
        for question, tree in ((f"{shown(self.name)} ≥ {self.least:,}", self.above),
                               ("else", self.below)):
            first, *others = tree.lines(versions, shown)
            if isinstance(tree, Leaf):
                yield f"{question}: {first}"
            else:
                yield f"{question}:"
                yield f"  {first}"
            yield from (f"  {line}" for line in others)


Tree: TypeAlias = Leaf | Split
SizeGuard: TypeAlias = SizeTable | NearestSizes | Tree


class GuardedThresholds(dict[str, int]):
    """Thresholds by name, and the size guards that come before them, by site."""

    def __init__(self, thresholds: Mapping[str, int], finer: Mapping[str, SizeGuard]) -> None:
        super().__init__(thresholds)
        self.finer = dict(finer)

    def version(self, site: str, sizes: Sizes, par: Mapping[str, int]) -> int | None:
        """The version that the size guard of a site says; None if it says none."""
        found = self.finer.get(site)
        return None if found is None else found.version({**sizes, **par})


def size_guards_of(thresholds: Mapping[str, int]) -> Mapping[str, SizeGuard]:
    """The size guards that come with thresholds, by site."""
    return thresholds.finer if isinstance(thresholds, GuardedThresholds) else {}


def to_json(guard: SizeGuard) -> dict[str, Any]:
    """A size guard as a JSON object, whose keys tell the kinds of guards apart."""
    match guard:
        case SizeTable(names, versions):
            return {"sizes": list(names),
                    "versions": [[*values, version] for values, version in versions.items()]}
        case NearestSizes(names, ratios):
            return {"sizes": list(names),
                    "ratios": [[list(values), list(each)] for values, each in ratios.items()]}
        case Leaf(version):
            return {"version": version}
        case Split(name, least, above, below):
            return {"size": name, "least": least, "above": to_json(above),
                    "below": to_json(below)}


def from_json(raw: Mapping[str, Any]) -> SizeGuard:
    """The size guard of :func:`to_json`; ValueError, KeyError or TypeError if it is damaged."""
    if "sizes" not in raw:
        return _tree(raw)
    names = tuple(map(str, raw["sizes"]))
    if "versions" in raw:
        versions = {tuple(map(int, values)): int(version) for *values, version in raw["versions"]}
        _check(names, versions)
        return SizeTable(names, versions)
    ratios = {tuple(map(int, values)): tuple(map(float, each)) for values, each in raw["ratios"]}
    _check(names, ratios)
    if len({len(each) for each in ratios.values()}) != 1 or any(
            not each >= 1 for several in ratios.values() for each in several):
        raise ValueError("ratios of versions are missing or below 1")
    return NearestSizes(names, ratios)


def _check(names: Sequence[str], entries: Iterable[Sequence[int]]) -> None:
    """Raise ValueError unless each entry has as many sizes as there are names, and none below 0."""
    if any(len(values) != len(names) or min(values, default=0) < 0 for values in entries):
        raise ValueError("an entry has too many or too few sizes, or one below 0")


def _tree(raw: Mapping[str, Any]) -> Tree:
    if "version" in raw:
        return Leaf(int(raw["version"]))
    return Split(str(raw["size"]), int(raw["least"]), _tree(raw["above"]), _tree(raw["below"]))
