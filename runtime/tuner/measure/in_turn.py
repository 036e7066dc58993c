"""Choices that run in turn, forwards and back: a drift of the clock frequency affects all alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.tuner.measure.measurable import Args, Measurable, Thresholds

Choice = TypeVar("Choice", bound=Hashable)


@dataclass(slots=True)
class InTurn(Generic[Choice]):
    """The seconds of choices, by ``time`` of a single one, or by ``time_all`` of many short ones.

    ``begun`` is the choice that was begun last, and ``last`` has the last seconds of each.
    """

    choices: list[Choice]
    time: Callable[[Choice], float]
    time_all: Callable[[Sequence[Choice]], Sequence[float]]
    seconds: dict[Choice, list[float]] = field(default_factory=dict)
    last: dict[Choice, float] = field(default_factory=dict)
    begun: Choice | None = None

    @property
    def rounds(self) -> int:
        """The rounds so far."""
        return len(next(iter(self.seconds.values()), ()))

    def warm_up(self, failed: Callable[[Choice, RuneliftError], object] | None = None) -> None:
        """Run each choice once; a choice that has ``failed`` runs no more."""
        for each in list(self.choices):
            self.begun = each
            try:
                self.last[each] = self.time(each)
            except RuneliftError as error:
                if failed is None:
                    raise
                failed(each, error)
                self.choices.remove(each)

    def run(self, rounds: int, *, together: bool) -> None:
        """Run so many rounds, ``together`` if a choice that is stopped need not be known."""
        order = [each for number in range(self.rounds, self.rounds + rounds)
                 for each in self.choices[::1 if number % 2 else -1]]
        if together:
            self.begun = self.choices[-1]
            made = self.time_all(order)
        for place, self.begun in enumerate(order):
            self.last[self.begun] = made[place] if together else self.time(self.begun)
            self.seconds.setdefault(self.begun, []).append(self.last[self.begun])


def thresholds_in_turn(program: Measurable, entry: str, args: Args,
                       choices: dict[Choice, Thresholds]) -> InTurn[Choice]:
    """Runs of an entry point with thresholds, which have names."""
    return InTurn(
        list(choices),
        lambda name: program.time(entry, args, thresholds=choices[name]),
        lambda names: program.time_all(entry, args, [choices[name] for name in names]))
