"""Cache of decisions: they follow from thresholds, forced versions and sizes alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runelift.runtime.geometry.shape import MOST_REMEMBERED
from runelift.runtime.versions.choose import KnownChoices, RequiredVersions
from runelift.runtime.versions.size_guards import SizeGuard, size_guards_of

if TYPE_CHECKING:
    from runelift.runtime.execution.calls import Call

MOST_CALLS = 256
"""Decisions are forgotten after so many kinds of arguments."""
MOST_SETTINGS = 64
"""The most thresholds and forced versions whose decisions are remembered.

A tuner runs some twenty choices in turn, and the command buffer of each is used again.
"""
MOST_RECENT = 4
"""The number of recent decisions that are compared first."""
NO_GUARDS: Mapping[str, SizeGuard] = {}


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that follow from sizes: versions to try, and calls with their command buffers.

    They hold under ``thresholds`` and ``force``, which are copies.  ``settings`` are the values of
    all parameters, which follow from no sizes at all.  ``calls`` are found by the sizes and scalars
    of bound arguments, and ``known`` by the kinds of a caller's arguments
    (:mod:`~runelift.runtime.execution.calls`).  ``too_large`` are versions without the memory that
    they need.
    """

    thresholds: Mapping[str, int]
    force: Mapping[str, int]
    settings: tuple[int, ...] = ()
    choices: KnownChoices = field(default_factory=KnownChoices)
    calls: dict[Hashable, Call] = field(default_factory=dict)
    known: dict[Hashable, Call] = field(default_factory=dict)
    too_large: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)

    @property
    def crowded(self) -> bool:
        """True if the cache is full: it holds decisions for too many sizes."""
        return (len(self.known) > MOST_CALLS or len(self.calls) > MOST_CALLS
                or len(self.choices) > MOST_REMEMBERED or len(self.too_large) > MOST_CALLS)


@dataclass(frozen=True, slots=True, eq=False)
class _Recent:
    """The inputs of a recent run, and its decisions."""

    thresholds: dict[str, int]
    size_guards: dict[str, SizeGuard]
    force: dict[str, int]
    required: bool
    decisions: Decisions


class DecisionCache:
    """Decisions by thresholds and forced versions; ``settings`` finds the values of parameters."""

    def __init__(self, settings: Callable[[Mapping[str, int]], tuple[int, ...]]) -> None:
        self._settings_under = settings
        self._settings: dict[tuple[Any, ...], Decisions] = {}
        self._recent: list[_Recent] = []
        """The last one first: where two take turns, both are the second."""

    def under(self, thresholds: Mapping[str, int], force: Mapping[str, int]) -> Decisions:
        """The decisions under these thresholds and forced versions, which are not crowded."""
        found = self.recent(thresholds, force)
        if found is None or found.crowded:
            size_guards = size_guards_of(thresholds)
            found = self._find(thresholds, size_guards, force)
            self._recent.insert(0, _Recent(dict(thresholds), dict(size_guards), dict(force),
                                           type(force) is RequiredVersions, found))
            del self._recent[MOST_RECENT:]
        return found

    def recent(self, thresholds: Mapping[str, int], force: Mapping[str, int]) -> Decisions | None:
        """The decisions under thresholds and forced versions that were asked for lately, if any.

        Every call asks for them.  Comparing mappings takes less time than making a key of them.
        """
        guards = NO_GUARDS if type(thresholds) is dict else size_guards_of(thresholds)
        recent, required = self._recent, type(force) is RequiredVersions
        for each in recent:
            if (each.thresholds == thresholds and each.force == force
                    and each.required is required and each.size_guards == guards):
                if each is not recent[0]:
                    recent.remove(each)
                    recent.insert(0, each)
                return each.decisions
        return None

    def _find(self, thresholds: Mapping[str, int], size_guards: Mapping[str, SizeGuard],
              force: Mapping[str, int]) -> Decisions:
        settings = self._settings_under(thresholds)
        chosen = tuple((name, value) for name, value in thresholds.items() if value)  # 0 is none
        key = settings, chosen, tuple(size_guards.items()), (
            isinstance(force, RequiredVersions), *force.items())
        if (known := self._settings.get(key)) is None or known.crowded:
            while len(self._settings) >= MOST_SETTINGS:  # the oldest
                del self._settings[next(iter(self._settings))]
            known = self._settings[key] = Decisions(copy(thresholds), copy(force), settings)
        return known

    def forget(self) -> None:
        """Forget all decisions: a version cannot run, so they may come out differently."""
        self._settings.clear()
        self._recent.clear()
