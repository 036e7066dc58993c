"""Drawn schedules by predicted time: schedules that are likely to gain are built and measured.

A prediction needs a host plan with its formulas of work, and neither built kernels nor a device.
So there are many for each schedule that is measured.  An estimate is a prediction of a program that
is compiled with few versions, which is quicker.  The quickest by estimates are predicted in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.rewrite.lift.schedule import Schedule
from runelift.runtime.tuner.schedules.drawing import Drawn

Seconds: TypeAlias = tuple[float, ...]
"""The predicted seconds on each dataset; infinite where a program cannot run."""
Predict: TypeAlias = Callable[[Schedule], Seconds]
"""Predicts a program with a schedule, in place of the one that it asks for."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A drawn schedule, its predicted seconds, and those relative to the program without it.

    ``rough`` seconds are estimates.
    """

    drawn: Drawn
    seconds: Seconds
    ratios: Seconds
    rough: bool = False

    @property
    def score(self) -> tuple[float, float]:
        """The mean ratio if the program without it runs where that is quicker, and if it does not.

        The second tells schedules apart of which none gains.
        """
        return _mean([min(1.0, each) for each in self.ratios]), _mean(self.ratios)

    @property
    def alike(self) -> tuple[str, ...]:
        """The predicted times, rounded.  Most schedules with equal times run equal kernels."""
        return tuple(f"{each:.2e}" for each in self.seconds)


class Ranking:
    """Drawn schedules that have not been measured, by predicted time; ``number`` were ranked."""

    def __init__(self, predict: Predict, base: Schedule, estimate: Predict | None = None) -> None:
        self._predict, self._estimate = predict, estimate
        self._plain = predict(base)
        self._rough_plain = self._plain if estimate is None else estimate(base)
        self._waiting = list[_Ranked]()
        self._taken = {_ranked(Drawn(base), plain, plain).alike
                       for plain in (self._plain, self._rough_plain)}
        self.number = 0

    def add(self, drawn: Drawn) -> None:
        """Estimate a schedule."""
        self._waiting.append(self._estimated(drawn))
        self.number += 1

    def gaining(self, count: int) -> list[Drawn]:
        """So many schedules that are predicted to gain most, if any are."""
        return [each.drawn for each in self._ordered()[:count] if each.score[0] < 1]

    def take(self, count: int) -> list[Drawn]:
        """The schedules to measure next, which wait no longer.

        The schedules that are predicted to be quickest come first.  Of schedules with equal
        predictions, one is taken before any other.  If several are taken, the last is a schedule
        drawn at random, whatever is predicted for it: predictions may be wrong.
        """
        while rough := [each for each in self._ordered()[:count] if each.rough]:
            self._waiting = [each for each in self._waiting if each not in rough]
            self._waiting += [self._predicted(each.drawn) for each in rough]
        chosen = [each for each in self._waiting if each.drawn.at_random][:count > 1]
        likely = [each for each in self._ordered() if each not in chosen]
        new = list({each.alike: each for each in reversed(likely)
                    if each.alike not in self._taken}.values())[::-1]
        known = [each for each in likely if each not in new]
        likely = [*new, *known][:count - len(chosen)]
        self._taken |= {each.alike for each in (*likely, *chosen)}
        self._waiting = [each for each in self._waiting
                         if each not in likely and each not in chosen]
        return [*(replace(each.drawn, at_random=False) for each in likely),
                *(each.drawn for each in chosen)]

    def _ordered(self) -> list[_Ranked]:
        return sorted(self._waiting, key=lambda each: each.score)

    def _predicted(self, drawn: Drawn) -> _Ranked:
        return _ranked(drawn, self._predict(drawn.schedule), self._plain)

    def _estimated(self, drawn: Drawn) -> _Ranked:
        if self._estimate is None:
            return self._predicted(drawn)
        return replace(_ranked(drawn, self._estimate(drawn.schedule), self._rough_plain),
                       rough=True)


def _ranked(drawn: Drawn, seconds: Seconds, plain: Seconds) -> _Ranked:
    return _Ranked(drawn, seconds, tuple(
        each / other if other < math.inf else 1.0
        for each, other in zip(seconds, plain, strict=True)))


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
