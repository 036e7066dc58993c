"""Cache of decisions: they follow from thresholds, forced versions and sizes alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from runelift.runtime.geometry.shape import MOST_REMEMBERED
from runelift.runtime.versions.choose import KnownChoices, RequiredVersions
from runelift.runtime.versions.size_guards import SizeGuard, size_guards_of

MOST_COMMAND_BUFFERS = 256
"""Decisions are forgotten after so many kinds of arguments."""
MOST_SETTINGS = 64
"""The most thresholds and forced versions whose decisions are remembered.

A tuner runs some twenty choices in turn, and the command buffer of each is used again.
"""
MOST_RECENT = 4
"""The number of recent decisions that are compared first."""


class SeenCount(Enum):
    """The number of runs on equal sizes and scalars that have no command buffer."""

    ONCE = 1
    OFTEN = 2
    """Runs that cannot be repeated."""


@dataclass(frozen=True, slots=True)
class _Decisions:
    """Decisions that follow from sizes: versions to try, and commands of whole runs.

    ``settings`` are the values of all parameters, which follow from no sizes at all.
    ``command_buffers`` are of whole runs, by the sizes and scalars that they were given, or a
    :class:`SeenCount` in place of one.  Runs on sizes and scalars in ``recorded`` have a record.
    ``too_large`` are versions without the memory that they need.  ``prepared`` are whole calls,
    by the kinds of their arguments (:mod:`~runelift.runtime.execution.prepared_calls`).
    """

    settings: tuple[int, ...] = ()
    choices: KnownChoices = field(default_factory=KnownChoices)
    command_buffers: dict[tuple[Hashable, ...], Hashable] = field(default_factory=dict)
    recorded: set[tuple[Hashable, ...]] = field(default_factory=set)
    too_large: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)
    prepared: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def crowded(self) -> bool:
        """True if there are so many sizes that remembering more would waste memory."""
        return (len(self.choices) > MOST_REMEMBERED
                or len(self.command_buffers) > MOST_COMMAND_BUFFERS
                or len(self.prepared) > MOST_COMMAND_BUFFERS
                or len(self.too_large) > MOST_COMMAND_BUFFERS)


@dataclass(frozen=True, slots=True)
class _Recent:
    """The inputs of a recent run, and its decisions."""

    thresholds: dict[str, int]
    size_guards: dict[str, SizeGuard]
    force: dict[str, int]
    required: bool
    decisions: _Decisions


class DecisionCache:
    """Decisions by thresholds and forced versions; ``settings`` finds the values of parameters."""

    def __init__(self, settings: Callable[[Mapping[str, int]], tuple[int, ...]]) -> None:
        self._settings_under = settings
        self._settings: dict[tuple[Any, ...], _Decisions] = {}
        self._recent: list[_Recent] = []
        """The last one first: where two take turns, both are the second."""

    def under(self, thresholds: Mapping[str, int], force: Mapping[str, int]) -> _Decisions:
        """The decisions under these thresholds and forced versions.

        Every run asks for them.  Comparing mappings takes less time than making a key of them.
        """
        size_guards = size_guards_of(thresholds)
        required = type(force) is RequiredVersions
        recent = self._recent
        for number, each in enumerate(recent):
            if (each.thresholds == thresholds and each.force == force
                    and each.required == required and each.size_guards == size_guards
                    and not each.decisions.crowded):
                if number:
                    recent.insert(0, recent.pop(number))
                return each.decisions
        found = self._find(thresholds, size_guards, force)
        recent.insert(0, _Recent(dict(thresholds), dict(size_guards), dict(force),
                                 required, found))
        del recent[MOST_RECENT:]
        return found

    def _find(self, thresholds: Mapping[str, int], size_guards: Mapping[str, SizeGuard],
              force: Mapping[str, int]) -> _Decisions:
        settings = self._settings_under(thresholds)
        chosen = tuple((name, value) for name, value in thresholds.items() if value)  # 0 is none
        key = settings, chosen, tuple(size_guards.items()), (
            isinstance(force, RequiredVersions), *force.items())
        if (known := self._settings.get(key)) is None or known.crowded:
            while len(self._settings) >= MOST_SETTINGS:  # the oldest
                del self._settings[next(iter(self._settings))]
            known = self._settings[key] = _Decisions(settings)
        return known

    def forget(self) -> None:
        """Forget all decisions: a version cannot run, so they may come out differently."""
        for each in self._settings.values():
            each.prepared.clear()
        self._settings.clear()
        self._recent.clear()
