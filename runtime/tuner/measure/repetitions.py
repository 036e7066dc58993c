"""Repetitions of the runs of a dataset: more of short runs, fewer of versions that lose.

Where a version cannot run, another version runs.  So several plans may run equal versions.  They
are repeated as one plan.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from runelift.runtime.records.pruning import Evidence, Source, verdict
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy


def runs_as(force: Mapping[str, int], run: LoggedRun) -> bool:
    """Tell if a run with these forced versions would do exactly what ``run`` did.

    Each encounter tells the version that a forced one leads to if that cannot run.  Where none is
    forced, the default decides in both runs.  Where ``run`` alone forced one, the default is not
    known.
    """
    def chosen(met: Encounter) -> int | None:
        if (forced := force.get(met.site)) is None:
            return None if met.site in run.force else met.chosen
        return next((k for k in met.feasible if k >= forced), met.feasible[-1])

    return run.record is not None and run.replay is None and all(
        chosen(each) == each.chosen for each in run.record.encounters)


class Schedule:
    """Counts the runs of plans, and says which plans to run again.

    Failed plans are not run again.
    """

    def __init__(self, todo: Sequence[dict[str, int]], repeats: int,
                 known: Sequence[LoggedRun], policy: TuningPolicy = NORMAL) -> None:
        self.todo = list(todo)
        self._repeats = repeats
        self._policy, self._pruning = policy.repetition, policy.pruning
        self._shorts = self._policy.short_factor * repeats
        self._walls: dict[int, float] = {}
        self._rounds: dict[int, float] = {}
        self._least: dict[int, float] = {}
        self._best = math.inf
        self._counts = [0] * len(todo)
        self._records: dict[int, int] = defaultdict(int)
        self._times: dict[int, list[float]] = defaultdict(list)
        self._over: set[int] = set()
        self._kept: set[int] = set()
        self._paths: dict[tuple[tuple[str, int], ...], int] = {}
        for run in known:
            self.ran(self.add(run.force), run)
        if all(count >= min(repeats, self._enough(n)) or n in self._over
               for n, count in enumerate(self._counts)):
            self._over |= set(range(len(self.todo)))

    def add(self, force: dict[str, int]) -> int:
        """The number of a plan, which may be a further one whose versions have all been run."""
        if force not in self.todo:
            self.todo.append(force)
            self._counts.append(0)
        return self.todo.index(force)

    def keep(self, force: dict[str, int]) -> int:
        """The number of a plan that is repeated even if it seems to be behind."""
        number = self.add(force)
        self._kept.add(number)
        return number

    def replace(self, numbers: Sequence[int], forces: Sequence[dict[str, int]], repeat: int
                ) -> list[int]:
        """Replace plans by other plans.

        The result has the new plans to run after so many repetitions.
        """
        found = [self.add(force) for force in forces]
        self._over = (self._over | set(numbers)) - set(found)
        return [number for number in found if self.wants(number, repeat)]

    def saw_default(self, seconds: float) -> None:
        """Take the seconds of a run by default."""
        self._best = min(self._best, seconds)

    def warmed_up(self, number: int, run: LoggedRun, over: bool) -> bool:
        """Take the first run of a plan; ``over`` if no further one is needed.

        Nor is one needed if the plan turns out to run the versions of another one.
        """
        over |= run.record is not None and self._paths.setdefault(
            run.record.path, number) != number
        if over:
            self._over.add(number)
        elif run.record is not None:
            self._took(number, run.record)
        return over

    def ran(self, number: int, run: LoggedRun, seconds: float = 0.0) -> None:
        """Take a run of a plan, which took so many seconds with all that belongs to it."""
        self._counts[number] += 1
        self._records[number] += run.time is not None and not run.again
        self._rounds[number] = seconds
        if run.record is None:
            self._over.add(number)
            return
        if run.time is None:  # once was enough
            self._over.add(number)
        else:
            self._paths.setdefault(run.record.path, number)
        self._took(number, run.record)
        if run.time is not None:
            self._times[number].append(run.time)

    def _took(self, number: int, record: Record) -> None:
        self._walls[number] = record.wall
        self._best = min(self._best, max(record.wall, record.span))
        self._least[number] = min(self._pruning.least_seconds(record.busy, record.launches),
                                  self._least.get(number, math.inf))

    def wants(self, number: int, repeat: int) -> bool:
        """True if a plan is to be run after it has been run ``repeat`` times."""
        return (number not in self._over and self._counts[number] <= repeat
                and self._counts[number] < self._enough(number))

    def records(self, number: int) -> bool:
        """True if the next run of a plan is recorded, too."""
        wall = self._walls.get(number, 0.0)
        return self._records[number] < (
            1 if wall >= self._policy.brief_seconds else self._policy.records)

    def behind(self, number: int) -> bool:
        """True for a plan that cannot be the best, even without the delays of its first run."""
        best = max(self._best, min(self._least.values(), default=0.0))  # where all records are late
        evidence = Evidence(Source.KERNELS, self._least.get(number, 0.0), best)
        return number not in self._kept and not verdict(evidence, self._pruning).keeps

    def _enough(self, number: int) -> int:
        wall, policy = self._walls.get(number), self._policy
        if wall is None:
            return 1
        best = min(self._walls.values())
        if self.behind(number) or not verdict(Evidence(Source.RUN, wall), self._pruning).keeps:
            return 1
        took = max(wall, self._rounds.get(number, 0.0))
        if took >= policy.brief_seconds and self._steady(
                number, 2, policy.steady if took >= policy.short_seconds else policy.alike):
            return max(2, self._repeats - 1)
        if wall >= self._pruning.kernels_factor * best:
            return min(max(int(policy.enough_seconds / wall), 1), self._repeats)
        certain = max(policy.certain_runs, self._repeats)
        if self._steady(number, certain, policy.steady):
            return certain
        affordable = int(policy.enough_seconds / max(took, 1e-6))
        return min(max(affordable, self._repeats),
                   self._shorts if wall < policy.short_seconds else self._repeats)

    def repeat(self, plans: int) -> None:
        """Share the runs of the dataset among so many plans."""
        self._shorts = max(self._repeats, min(self._policy.short_factor * self._repeats,
                                              self._policy.most_runs // max(1, plans)))

    def _steady(self, number: int, count: int, within: float) -> bool:
        """True if at least so many runs agree, but for a fraction."""
        times = self._times[number]
        return len(times) >= count and max(times) < (1 + within) * min(times)

    def once(self, number: int) -> bool:
        """True for a plan with a run that counts."""
        return self._counts[number] > 0 or number in self._over
