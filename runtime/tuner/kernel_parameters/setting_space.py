"""The settings of an operation as a space to search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting


@dataclass(frozen=True, slots=True)
class SettingSpace:
    """The settings that fit the device, whose random order begins at a ``seed``."""

    settings: ParameterSpace
    seed: int

    def first(self) -> Iterator[Setting]:
        """The settings that differ from the default in one parameter at most."""
        return self.settings.apart(self.settings.default)

    def draw(self) -> Iterator[Setting]:
        """All settings in random order."""
        return self.settings.shuffled(Random(self.seed))

    def near(self, known: Setting) -> Iterator[Setting]:
        """The settings that differ by a step in one parameter."""
        return self.settings.neighbours(known)

    def across(self, known: Setting) -> Iterator[Setting]:
        """The settings that differ by steps in two parameters, in random order.

        A valley that lies across two parameters has no way down along one of them.
        """
        found = list(dict.fromkeys(self.settings.diagonal(known)))
        Random(self.seed).shuffle(found)
        return iter(found)

    def all(self) -> Iterator[Setting]:
        """All settings, the default first."""
        return self.settings.settings()
