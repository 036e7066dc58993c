"""The search for the best setting of one operation, on inputs of runs.

A small space is tried in whole.  Of a large one, settings that differ from the default in one
parameter are tried, and some at random.  So are some of the best by predicted time.  Then come the
neighbours of the best.  These differ by a step in one parameter; after them come some that do in
two.  Settings that are predicted to take least (:mod:`runelift.runtime.cost`) are tried first.

Settings are halved (:mod:`runelift.runtime.tuner.search.halving`).  All are tried in turn, so that
a drift of the clock frequency affects them alike, and the default in each turn.

Other ways to find good settings (:mod:`~runelift.runtime.tuner.kernel_parameters.proposals`) come
before the halving and take most of the time.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.policy import NORMAL, ParameterPolicy
from runelift.runtime.tuner.search.halving import halve
from runelift.runtime.tuner.search.trace import Best, note
from runelift.runtime.tuner.trials.protocol import (
    Answer,
    PredictedSettings,
    Request,
    Search,
    UpcomingSettings,
)

LOCAL = "local"
"""The strategy that tries the neighbours of the best."""


PREDICTED_TOGETHER = 50
"""Settings whose times are predicted before the clock is looked at."""
PREDICTING_PART = 0.25
"""The part of the time of a search for predictions."""


@dataclass(frozen=True, slots=True)
class _TrialTimes:
    """The seconds of settings at one execution, which stands for ``weight`` of the objective."""

    dataset: str
    weight: float
    default: float
    seconds: dict[Setting, float]

    def ratio(self, setting: Setting) -> float | None:
        found = self.seconds.get(setting)
        return None if found is None or not self.default else found / self.default


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting of an operation, and its seconds at one execution; None if it cannot run.

    ``default`` are the seconds of the default setting there.
    """

    dataset: str
    setting: dict[str, int]
    seconds: float | None
    default: float


@dataclass(slots=True)
class SettingSearch:
    """A search of the settings of one operation, with their times on the inputs so far.

    ``ahead`` is the number of settings whose kernels can be built at the same time.  ``impossible``
    has the settings that could not be built or launched, with the reason.  ``history`` has the
    tries, the seconds and the best time relative to the default, whenever that got better.
    """

    space: ParameterSpace
    seed: int = 0
    policy: ParameterPolicy = NORMAL.parameters
    ahead: int = 1
    strategy: str = LOCAL
    clock: Callable[[], float] = time.perf_counter
    samples: list[_TrialTimes] = field(default_factory=list)
    impossible: dict[Setting, str] = field(default_factory=dict)
    tries: int = 0
    history: list[Best] = field(default_factory=list)
    _begun: float = 0.0
    _building: float = 0.0
    """The most seconds that kernels for settings took to be built together."""

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.space.operation.name

    def search(self, dataset: str, weight: float, seconds: float) -> Search:
        """Try settings for so many seconds; their times become a sample."""
        end = self.clock() + seconds
        times: dict[Setting, list[float]] = {}
        same: dict[Setting, Setting] = {}
        default = self.space.default
        yield default  # warms up, and is not counted
        if self.strategy == LOCAL or self.samples:
            entrants = yield from self._entrants(self.clock() + PREDICTING_PART * seconds)
            alive = [s for s in entrants if s != default and s not in self.impossible]
        else:
            alive = yield from self._explore(times, same, self.clock() +
                                             self.policy.exploring_part * seconds)
        finalists = self.policy.finalists

        def again(alive: Sequence[Setting], number: int
                  ) -> Generator[Request, Answer, list[Setting] | None]:
            if number and 0 < len(alive) <= finalists and self.strategy == LOCAL \
                    and not self.samples:
                near = yield from self._by_prediction(self._near(alive[0], times, same))
                alive = [*alive, *near]
            yield from self._round([default, *alive], times, same, end)
            return None if self.clock() >= end else _ranked([s for s in alive if s in times], times)

        yield from halve(alive, finalists, again, lambda _, ranked: len(ranked) <= finalists and
                         all(len(times[s]) >= self.policy.repeats for s in ranked))
        if default in times:
            least = {s: min(found) for s, found in times.items()}
            least |= {s: least[other] for s, other in same.items() if other in least}
            self.samples.append(_TrialTimes(dataset, weight, least[default], least))

    def _near(self, setting: Setting, times: Mapping[Setting, Sequence[float]],
              same: Mapping[Setting, Setting]) -> list[Setting]:
        """The neighbours that have not been tried; if there are none, steps in two parameters."""
        def untried(settings: Iterable[Setting]) -> list[Setting]:
            return [each for each in dict.fromkeys(settings)
                    if not (each in times or each in same or each in self.impossible)]

        few = self.policy.drawn * self.policy.thorough
        if near := untried(self.space.neighbours(setting)):
            return near
        # a valley that lies across two parameters has no way down along one of them
        across = [*dict.fromkeys(self.space.diagonal(setting))]
        Random(self.seed).shuffle(across)
        return untried(across)[:few]

    def _explore(self, times: dict[Setting, list[float]], same: dict[Setting, Setting], end: float,
                 ) -> Generator[Request, Answer, list[Setting]]:
        """Try what the strategy asks for; the best of it."""
        default = self.space.default
        exploring = EXPLORING[self.strategy](self.space, random.Random(self.seed), self.policy)
        batch = next(exploring, [])
        while batch and self.clock() < end:
            yield from self._round([default, *(s for s in batch if s != default)], times, same, end)
            try:
                batch = exploring.send({s: min(found) for s, found in times.items()})
            except StopIteration:
                break
        return [s for s in _ranked(list(times), times) if s != default][: 2 * self.policy.finalists]

    def _round(self, settings: Sequence[Setting], times: dict[Setting, list[float]],
               same: dict[Setting, Setting], end: float) -> Search:
        """Try each setting once, the default first.

        ``same`` maps a setting to an equivalent setting.
        """
        fresh = [s for s in settings if not (s in times or s in same or s in self.impossible)]
        for setting in settings:
            if (now := self.clock()) >= end:
                return
            if self.ahead > 1 and setting in fresh[::self.ahead]:
                if now + self._building > end:
                    return
                place = fresh.index(setting)
                yield UpcomingSettings(tuple(fresh[place: place + self.ahead]))
                self._building = max(self._building, self.clock() - now)
            seconds = yield setting
            self.tries += 1
            if isinstance(seconds, str):
                self.impossible[setting] = seconds
            elif isinstance(seconds, tuple):
                same[setting] = seconds
            elif isinstance(seconds, float | int):
                times.setdefault(setting, []).append(seconds)
                self._note(now, times)

    def _note(self, now: float, times: Mapping[Setting, Sequence[float]]) -> None:
        """Keep the best ratio so far, on the first input, if it is better than before."""
        if self.samples or not (default := min(times.get(self.space.default, (0.0,)))):
            return
        self._begun = now if not self.history else self._begun
        note(self.history, Best(self.tries, now - self._begun,
                                min(map(min, times.values())) / default))

    def _entrants(self, until: float) -> Generator[Request, Answer, list[Setting]]:
        """All settings or some of them.

        After runs on other inputs, the settings that did best there.
        """
        if self.samples:
            known = self.samples[0].seconds
            return _ranked(list(known), {s: [self.score(s)] for s in known})[:self.policy.handed_on]
        space, policy = self.space, self.policy
        if space.count <= policy.exhaustive * policy.thorough:
            return (yield from self._by_prediction([*space.settings()], until))
        few = policy.drawn * policy.thorough
        drawn = [*islice(space.shuffled(Random(self.seed)), max(few, policy.predicted))]
        likely = (yield from self._by_prediction(drawn, until))[:policy.likely * policy.thorough]
        some = dict.fromkeys([*space.apart(space.default), *drawn[:few], *likely])
        return (yield from self._by_prediction([*some]))

    def _by_prediction(self, settings: list[Setting], until: float = math.inf
                       ) -> Generator[Request, Answer, list[Setting]]:
        """Settings with those first that are predicted to take least, as far as that is known.

        After a time, no more are predicted.
        """
        ahead = dict[Setting, float]()
        for start in range(0, len(settings), PREDICTED_TOGETHER):
            if start and self.clock() > until:
                break
            some = settings[start:start + PREDICTED_TOGETHER]
            seconds = yield PredictedSettings(tuple(some))
            if not isinstance(seconds, list):
                return settings
            ahead |= zip(some, seconds, strict=True)
        return sorted(settings, key=lambda s: ahead.get(s, math.inf))

    def score(self, setting: Setting) -> float:
        """The time of a setting on all inputs, relative to the default; infinite if unknown."""
        ratios = [(s.weight, s.ratio(setting)) for s in self.samples]
        if not ratios or any(ratio is None for _, ratio in ratios):
            return float("inf")
        total = sum(weight for weight, _ in ratios)
        return sum(w * r for w, r in ratios if r is not None) / total if total else 1.0

    def trials(self) -> list[Trial]:
        """The times of all settings on each input, by the names of the parameters."""
        names = [each.parameter.name for each in self.space.ranges]
        return [Trial(sample.dataset, dict(zip(names, setting, strict=True)), seconds,
                      sample.default)
                for sample in self.samples
                for setting, seconds in (*sample.seconds.items(),
                                         *((s, None) for s in sorted(self.impossible)))]

    def best(self) -> Setting:
        """The best setting that slows no dataset down; the default unless it is clearly better."""
        known = {s for sample in self.samples for s in sample.seconds}
        for setting in sorted(known, key=self.score):
            if self.score(setting) > 1 - self.policy.worthwhile:
                break
            if all((s.ratio(setting) or 0) <= 1 + self.policy.tolerance for s in self.samples):
                return setting
        return self.space.default


def _ranked(settings: list[Setting], times: dict[Setting, list[float]]) -> list[Setting]:
    return sorted(settings, key=lambda s: min(times[s]))
