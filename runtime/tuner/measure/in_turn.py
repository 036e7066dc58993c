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
    """The seconds of choices: ``time`` runs one choice, and ``time_all`` many short choices.

    A choice that has ``failed`` runs no more; without that function, its error is raised.
    ``begun`` is the choice that was begun last, and ``last`` has the last seconds of each.
    """

    choices: list[Choice]
    time: Callable[[Choice], float]
    time_all: Callable[[Sequence[Choice]], Sequence[float]] | None = None
    failed: Callable[[Choice, RuneliftError], object] | None = None
    seconds: dict[Choice, list[float]] = field(default_factory=dict)
    last: dict[Choice, float] = field(default_factory=dict)
    begun: Choice | None = None

    @property
    def rounds(self) -> int:
        """The rounds so far."""
        return max(map(len, self.seconds.values()), default=0)

    def warm_up(self) -> None:
        """Run each choice once."""
        for each in list(self.choices):
            self._run(each)

    def run(self, rounds: int = 1, *, together: bool = False) -> None:
        """Run so many rounds, ``together`` if a choice that is stopped need not be known."""
        order = [each for number in range(self.rounds, self.rounds + rounds)
                 for each in self.choices[::1 if number % 2 else -1]]
        if together and self.time_all is not None:
            self.begun = self.choices[-1]
            for each, seconds in zip(order, self.time_all(order), strict=True):
                self.seconds.setdefault(each, []).append(seconds)
                self.last[each] = seconds
            return
        for each in order:
            if each in self.choices and self._run(each):
                self.seconds.setdefault(each, []).append(self.last[each])

    def _run(self, choice: Choice) -> bool:
        self.begun = choice
        try:
            self.last[choice] = self.time(choice)
        except RuneliftError as error:
            if self.failed is None:
                raise
            self.failed(choice, error)
            self.choices.remove(choice)
            return False
        return True


def thresholds_in_turn(program: Measurable, entry: str, args: Args,
                       choices: dict[Choice, Thresholds]) -> InTurn[Choice]:
    """Runs of an entry point with thresholds, which have names."""
    return InTurn(
        list(choices),
        lambda name: program.time(entry, args, thresholds=choices[name]),
        lambda names: program.time_all(entry, args, [choices[name] for name in names]))
