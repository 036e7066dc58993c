"""The search over schedules, each measured as a version of the program.

The first schedules store an array each that may be a view.  Further schedules are drawn at random,
or near the best schedules so far.  All are ranked by predicted time, and the first are candidates
(:mod:`~runelift.runtime.tuner.schedules.ranking`).  Several are measured together, beside the
program without a schedule, so that a drift of clock frequencies affects all alike.  Candidates that
gain are measured again, with more rounds.  So is the better half of them, until all that are left
fit in one program.  A candidate that is the best on a dataset becomes a version for good.

Source: Mogers 2023, chapter 6, draws at random.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TypeAlias

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.rewrite.lift.alternatives import MOST_VERSIONS
from runelift.rewrite.lift.schedule import Schedule
from runelift.runtime.host import interrupts
from runelift.runtime.tuner.policy import SchedulePolicy
from runelift.runtime.tuner.schedules.drawing import Drawing, Drawn
from runelift.runtime.tuner.schedules.measuring import Measured
from runelift.runtime.tuner.schedules.ranking import Predict, Ranking
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.search.halving import finish, halve, near_and_drawn
from runelift.runtime.tuner.search.trace import Best, Convergence

LEAST = 1e-6
"""The least relative time that is told apart from none."""


@dataclass(slots=True)
class Candidate:
    """A drawn schedule with its time on datasets, relative to the program without it.

    A dataset is missing whose sizes do not meet the needs, or on which it is ``slow``: it was
    stopped.  ``failed`` says why no version could run that should have.  ``times`` counts the times
    that it was measured.
    """

    drawn: Drawn
    ratios: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    slow: set[str] = field(default_factory=set)
    times: int = 0
    first: Best | None = None

    def score(self, datasets: Sequence[str]) -> float:
        """The mean time relative to the program without it, which runs where that is quicker."""
        if self.failed or not self.times:
            return math.inf
        logs = [math.log(min(1.0, max(self.ratios.get(name, 1.0), LEAST))) for name in datasets]
        return math.exp(sum(logs) / len(logs)) if logs else math.inf

    def gains(self, datasets: Sequence[str]) -> bool:
        """True if it was quicker than the program without it on all datasets."""
        return all(self.ratios.get(name, math.inf) < 1 for name in datasets)

    def take(self, found: Measured, datasets: Sequence[str], runs: int = 0, seconds: float = 0.0
             ) -> None:
        """Take what runs have found out, after so many of them and seconds in all."""
        lines = self.drawn.lines
        ratios, slow = found.ratios.get(lines, {}), found.slow.get(lines, set())
        if ratios or slow:
            self.ratios = {**self.ratios, **ratios}
            self.slow |= slow
            self.times += 1
        elif lines in found.errors:
            self.failed = found.errors[lines]
        elif found.datasets >= set(datasets) and not self.ratios:
            self.failed = "no dataset meets its needs"
        if self.first is None and (self.times or self.failed):
            self.first = Best(runs, seconds, min(1.0, self.score(datasets)))


def best_somewhere(found: Sequence[Candidate], datasets: Sequence[str], worthwhile: float
                   ) -> list[Candidate]:
    """The candidates that are the best on a dataset, and gain there.

    Better candidates come first.
    """
    best = list[Candidate]()
    for name in datasets:
        quick = min(found, key=lambda each: each.ratios.get(name, math.inf), default=None)
        if quick is not None and quick.ratios.get(name, math.inf) < 1 - worthwhile:
            best.append(quick)
    kept = [each for each in found if any(each is other for other in best)]
    return sorted(kept, key=lambda each: each.score(datasets))


Measure: TypeAlias = Callable[[Schedule, int, float], Measured]
"""Compile a program with these versions, and measure all of them on all datasets.

It is given the rounds of a replay, 0 for a first comparison, and the seconds that are left.
"""


@dataclass(slots=True)
class ScheduleSearch:
    """A search over the schedules of an entry point, and what it has found so far.

    At most ``most`` candidates are measured, within a ``budget``.  ``unused`` gain on a dataset,
    but thresholds do not choose them.
    """

    drawing: Drawing
    measure: Measure
    predict: Predict
    datasets: Sequence[str]
    most: int
    policy: SchedulePolicy
    estimate: Predict | None = None
    budget: Budget = field(default_factory=Budget)
    progress: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.perf_counter
    candidates: list[Candidate] = field(default_factory=list)
    winners: list[Candidate] = field(default_factory=list)
    advances: list[Best] = field(default_factory=list)
    unused: list[Candidate] = field(default_factory=list)
    made: int = 0
    interrupted: bool = False
    _begun: float = 0.0

    def run(self) -> list[Candidate]:
        """Draw, measure, and halve; the result are the schedules that are worth a version.

        Ctrl-C ends it: the result is then what has been found.
        """
        self._begun = self.clock()
        try:
            self._search()
        except KeyboardInterrupt:
            self.interrupted = True
            self.winners = best_somewhere(self._ranked()[:self._together], self.datasets,
                                          self.policy.worthwhile)
        return self.winners

    def _search(self) -> None:
        ranking, first = Ranking(
            self.predict, self.drawing.base, self.estimate), self.drawing.first()
        while len(self.candidates) < self.most and self._goes_on(self.policy.exploring):
            self._rank(ranking, _in_turn(first, self._drawn(ranking)))
            likely = ranking.take(min(self._together, self.most - len(self.candidates)))
            if not likely:
                break
            self._try(likely)
            self._refit()
        alive = finish(halve(
            self._gaining(self._ranked())[:self.policy.finalists * self._together], self._together,
            self._again, lambda alive, _: len(alive) <= self._together))
        self.winners = best_somewhere(alive, self.datasets, self.policy.worthwhile)

    def _refit(self) -> None:
        """Measure the best schedule with all versions inside of it, if it is a new one.

        So thresholds are fitted to it before other schedules are drawn near it.
        """
        best = self._gaining(self._ranked())[:1]
        if best and best[0].times == 1 and self._goes_on(self.policy.exploring):
            self._measure(best, self.policy.rounds)

    def _again(self, alive: Sequence[Candidate], number: int
               ) -> Generator[None, None, list[Candidate] | None]:
        """Measure candidates again, in twice as many rounds as the last time."""
        yield from ()
        if not self._goes_on():
            return None
        self._measure_all(alive, self.policy.rounds << number)
        return self._gaining(self._ranked(alive))

    def _rank(self, ranking: Ranking, drawn: Iterator[Drawn]) -> None:
        end = self.clock() + self.policy.ranking * self._seconds
        for each in islice(drawn, self.policy.ranked):
            ranking.add(each)
            interrupts.check()
            if self.clock() > end:
                break
        self.progress(f"{ranking.number} schedules ranked")

    def _gaining(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The ``candidates`` that seem to gain on a dataset."""
        return [each for each in candidates if each.score(self.datasets) < 1]

    def keep(self, used: Collection[tuple[str, ...]]) -> None:
        """Keep the winners with these steps: thresholds choose no other."""
        self.unused = [each for each in self.winners if each.drawn.lines not in used]
        self.winners = [each for each in self.winners if each.drawn.lines in used]

    def keep_all(self) -> None:
        """Keep the winners that thresholds do not choose, too."""
        self.winners, self.unused = [*self.winners, *self.unused], []

    @property
    def failures(self) -> Counter[str]:
        """The reasons why drawn schedules failed later, and how many did."""
        return Counter(each.failed for each in self.candidates if each.failed)

    @property
    def failed_share(self) -> float:
        """The part of the drawn schedules that failed when they were compiled, built or run."""
        return sum(self.failures.values()) / max(1, len(self.candidates))

    @property
    def _together(self) -> int:
        """The candidates that are measured in one program, beside the one that runs untuned.

        If that is scheduled itself, it may be a version, beside the program as it is written.
        """
        return MOST_VERSIONS - (2 if self.drawing.base.steps else 1)

    def _goes_on(self, part: float = 1.0) -> bool:
        return not self.budget.spent(self.made, self._spent / part)

    @property
    def _spent(self) -> float:
        return self.clock() - self._begun

    @property
    def _seconds(self) -> float:
        return math.inf if self.budget.seconds is None else self.budget.seconds

    @property
    def longest(self) -> float:
        """The most seconds between two measurements of several schedules in one program."""
        ends = [0.0, *(each.seconds for each in self.advances)]
        return max((end - begun for begun, end in pairwise(ends)), default=0.0)

    @property
    def convergence(self) -> Convergence:
        """The course of the best score, beside random drawing of as many schedules."""
        return Convergence.of([(each.first, each.drawn.at_random) for each in self.candidates
                               if each.first])

    def _drawn(self, ranking: Ranking) -> Iterator[Drawn]:
        """Schedules near the best schedules so far, in turn, and random schedules between them.

        Measured schedules that gain come first.  Schedules that are predicted to be the best
        follow.
        """
        best = [*(each.drawn for each in self._gaining(self._ranked())),
                *ranking.gaining(self.policy.parents)][:self.policy.parents]
        return near_and_drawn(self.drawing.draw(), map(self.drawing.near, best), self.policy.near)

    def _try(self, drawn: Sequence[Drawn]) -> None:
        new = [Candidate(each) for each in drawn]
        self.candidates += new
        self._measure_all(new, 0)

    def _measure_all(self, candidates: Sequence[Candidate], rounds: int) -> None:
        for start in range(0, len(candidates), self._together):
            if not self._goes_on():
                break
            self._measure(candidates[start:start + self._together], rounds)

    def _measure(self, together: Sequence[Candidate], rounds: int) -> None:
        """Measure candidates in one program; each alone if it cannot be compiled."""
        versions = Schedule(self.drawing.base.steps,
                            tuple(each.drawn.schedule for each in together))
        try:
            found = self.measure(versions, rounds, self._seconds - self._spent)
        except (UserError, CompilerLimitation) as error:
            if len(together) > 1:
                for each in together:
                    self._measure([each], rounds)
            else:
                together[0].failed = str(error).partition("\n")[0]
            return
        begun = self.made
        self.made += found.runs
        for number, each in enumerate(together, 1):
            # Runs of one program are shared out evenly.
            each.take(found, self.datasets, begun + found.runs * number // len(together),
                      self._spent)
        if found.interrupted:
            raise KeyboardInterrupt
        best = min((each.score(self.datasets) for each in self.candidates), default=1.0)
        self.advances.append(Best(self.made, self._spent, min(1.0, best)))
        self.progress(f"{sum(each.times > 0 for each in self.candidates)} schedules, best "
                      f"{1 / min(1.0, best):.2f}x as fast")

    def _ranked(self, candidates: Sequence[Candidate] | None = None) -> list[Candidate]:
        """The candidates that were measured and can run, the best first."""
        found = [each for each in (self.candidates if candidates is None else candidates)
                 if each.times and not each.failed]
        return sorted(found, key=lambda each: each.score(self.datasets))


def _in_turn(one: Iterator[Drawn], other: Iterator[Drawn]) -> Iterator[Drawn]:
    """Schedules from both as long as there are some."""
    for each in one:
        yield each
        yield from islice(other, 1)
    yield from other
