"""What was decided in earlier runs: it follows from thresholds, forced versions and sizes alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from runelift.runtime.geometry.work_groups import REMEMBERED
from runelift.runtime.versions.size_guards import SizeGuard, size_guards_of

TAPES = 256
"""Decisions are forgotten after so many kinds of arguments."""
SETTINGS = 64
"""For how many thresholds and forced versions decisions are remembered: a tuner runs some twenty
choices in turn, and each is to be on its tape when it comes again."""
RECENT = 4
"""How many of them are looked for first."""


class SeenCount(Enum):
    """How often runs were given the same sizes and scalars, where none of them is on a tape."""

    ONCE = 1
    OFTEN = 2
    """It cannot be repeated."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What follows from sizes: versions to try by encounter, and how groups and teams share rows.

    ``versions`` are those that finer guards say, if they say one.  ``settings`` are the values of
    all parameters, which follow from no sizes at all.  ``tapes`` are of whole runs, by the sizes
    and scalars that they were given, or a :class:`SeenCount` in place of one.
    """

    settings: tuple[int, ...] = ()
    orders: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    shares: dict[tuple[Any, ...], tuple[int, ...]] = field(default_factory=dict)
    teams: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)
    versions: dict[tuple[Any, ...], int | None] = field(default_factory=dict)
    tapes: dict[tuple[int | bytes, ...], Hashable] = field(default_factory=dict)

    @property
    def crowded(self) -> bool:
        """Whether so many sizes were met that remembering more would waste memory."""
        count = len(self.orders) + len(self.shares) + len(self.teams) + len(self.versions)
        return count > REMEMBERED or len(self.tapes) > TAPES


@dataclass(frozen=True, slots=True)
class _Recent:
    """What runs were given a moment ago, and what was decided."""

    thresholds: dict[str, int]
    finer: dict[str, SizeGuard]
    force: dict[str, int]
    decisions: Decisions


class DecisionCache:
    """Decisions by thresholds and forced versions; ``settings`` finds the values of parameters."""

    def __init__(self, settings: Callable[[Mapping[str, int]], tuple[int, ...]]) -> None:
        self._settings_under = settings
        self._settings: dict[tuple[Any, ...], Decisions] = {}
        self._recent: list[_Recent] = []
        """The last one first: where two take turns, both are the second."""

    def under(self, thresholds: Mapping[str, int], force: Mapping[str, int]) -> Decisions:
        """What was decided with the same thresholds and forced versions.

        It is asked in every run, and mappings are compared in a fraction of the time in which a
        key is made of them.
        """
        finer = size_guards_of(thresholds)
        recent = self._recent
        for number, each in enumerate(recent):
            if (each.thresholds == thresholds and each.force == force and each.finer == finer
                    and not each.decisions.crowded):
                if number:
                    recent.insert(0, recent.pop(number))
                return each.decisions
        found = self._find(thresholds, finer, force)
        recent.insert(0, _Recent(dict(thresholds), dict(finer), dict(force), found))
        del recent[RECENT:]
        return found

    def _find(self, thresholds: Mapping[str, int], finer: Mapping[str, SizeGuard],
              force: Mapping[str, int]) -> Decisions:
        settings = self._settings_under(thresholds)
        chosen = tuple((name, value) for name, value in thresholds.items() if value)  # 0 is none
        key = settings, chosen, tuple(finer.items()), tuple(force.items())
        if (known := self._settings.get(key)) is None or known.crowded:
            while len(self._settings) >= SETTINGS:  # the oldest
                del self._settings[next(iter(self._settings))]
            known = self._settings[key] = Decisions(settings)
        return known

    def forget(self) -> None:
        """A version turned out not to run: decisions may come out differently."""
        self._settings.clear()
        self._recent.clear()
