"""The oracle that runs the program."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runelift.ir.base.errors import RuneliftError, UserError
from runelift.runtime.records.pruning import Evidence, Source, verdict
from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.measure.counted import RunCount
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.policy import NORMAL, TuningPolicy
from runelift.runtime.tuner.strategies.trials import MeasuredCosts, Thresholds, Timed
from runelift.runtime.versions.forest import Forest, Site
from runelift.runtime.versions.guard_chain import guard_holds


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes of the comparisons of a run.

    Thresholds above ``low`` and at most ``high`` make equal choices.  A threshold of 0 in
    ``untuned`` stands for more than a comparison, so only 0 makes an equal choice.
    """

    low: Mapping[str, int]
    high: Mapping[str, int]
    untuned: frozenset[str]

    @classmethod
    def of(cls, record: Record, sites: Mapping[str, Site], thresholds: Thresholds) -> Outcomes:
        """The outcomes that a run's record tells of.

        Where predicted times decide, a guard holds if its version ran.
        """
        low: dict[str, int] = {}
        high: dict[str, int] = {}
        for encounter in record.encounters:
            alternatives = sites[encounter.site].alternatives
            for index in encounter.feasible:
                guard = alternatives[index].guard
                if guard is None:
                    break
                par = encounter.par[guard.name]
                scarce = () if index == encounter.chosen else (guard.name,)
                if guard_holds(guard, encounter.par, thresholds, scarce):
                    high[guard.name] = min(par, high.get(guard.name, par))
                    break
                low[guard.name] = max(par, low.get(guard.name, par))
        tested = low.keys() | high.keys()
        return cls(low, high, frozenset(name for name in tested if not thresholds[name]))

    def same(self, thresholds: Thresholds) -> bool:
        """True if every comparison comes out as in this run."""
        return all(self._fits(name, thresholds[name]) for name in (*self.low, *self.high))

    def _fits(self, name: str, least: int) -> bool:
        if not least:
            return name in self.untuned
        return self.low.get(name, -1) < least <= self.high.get(name, least)


@dataclass(slots=True)
class Live:
    """Runs a program on its datasets.

    The first run with new choices is recorded, which also warms up.  Its time is the median of
    ``repeats`` more without a record; short runs are repeated more often.  The time of a try
    includes compiling and placing.  ``measured`` are the costs of forced runs, if they were made.

    A run that had to be stopped counts with the time until then, and a failed run is infinitely
    slow.  Neither has a record.  Thresholds whose known comparisons come out as in such a run are
    not tried again.
    """

    program: Measurable
    forest: Forest
    default: Thresholds
    inputs: Sequence[Dataset]
    repeats: int = 3
    weights: Mapping[str, float] | None = None
    measured: MeasuredCosts | None = None
    policy: TuningPolicy = NORMAL
    problems: dict[tuple[str, str], Thresholds] = field(default_factory=dict)
    """Reasons why runs failed or were stopped, with their datasets, and the first thresholds."""
    _count: RunCount = field(init=False)
    _unexpected: dict[str, str | None] = field(default_factory=dict)
    _placed: dict[str, Sequence[Any]] = field(default_factory=dict)
    _seen: dict[str, list[Outcomes]] = field(default_factory=dict)
    _lost: dict[str, list[Thresholds]] = field(default_factory=dict)
    _compared: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._count = RunCount(self.program)

    @property
    def datasets(self) -> Sequence[str]:
        """The names of the datasets."""
        return [dataset.name for dataset in self.inputs]

    def path(self, dataset: str, thresholds: Thresholds) -> Hashable | None:
        """The run so far that made the same choices, if there is one."""
        for number, outcomes in enumerate(self._seen.get(dataset, ())):
            if outcomes.same(thresholds):
                return number
        for number, lost in enumerate(self._lost.get(dataset, ())):
            if self._alike(dataset, lost, thresholds):
                return "lost", number
        return None

    def _alike(self, dataset: str, one: Thresholds, other: Thresholds) -> bool:
        """True if known comparisons come out alike by both; 0 is like itself only."""
        def same(least: int, another: int, values: Sequence[int]) -> bool:
            return least == another or bool(values and least and another and (
                bisect_left(values, least) == bisect_left(values, another)))

        return all(same(one[name], least, self.compared(dataset, name))
                   for name, least in other.items())

    def run(self, dataset: str, thresholds: Thresholds) -> Timed:
        """Run a dataset."""
        started, stopped, before = time.perf_counter(), False, self._count.executions
        try:
            seconds = self._run(dataset, thresholds)
        except RuneliftError as error:
            self._lost.setdefault(dataset, []).append(dict(thresholds))
            stopped = isinstance(error, RunStopped) and error.seconds > 0
            seconds = error.seconds if isinstance(error, RunStopped) and stopped else math.inf
            self.problems.setdefault((dataset, str(error).partition("\n")[0]), dict(thresholds))
        return Timed(seconds, time.perf_counter() - started, stopped,
                     self._count.executions - before)

    def _run(self, name: str, thresholds: Thresholds) -> float:
        program = self._count.counted
        dataset = next(each for each in self.inputs if each.name == name)
        values = None if name in self._placed else dataset.arguments()
        if values is not None:
            self._placed[name] = self._place(values)
            if name not in self._unexpected:
                self._unexpected[name] = dataset.unexpected(program, self._placed[name])
        if why := self._unexpected[name]:
            raise UserError(why)
        args = self._placed[name]
        record = program.record(dataset.entry, args, thresholds=thresholds)
        times = [program.time(dataset.entry, args, thresholds=thresholds)
                 for _ in range(self._repeats(record.wall))]
        self._seen.setdefault(name, []).append(
            Outcomes.of(record, self.forest.sites(), thresholds))
        for encounter in record.encounters:
            for guard, par in encounter.par.items():
                self._compared.setdefault((name, guard), set()).add(par)
        return median(times)

    def _place(self, values: Sequence[Any]) -> Sequence[Any]:
        """The arguments on the device; the other datasets make room if there is none."""
        try:
            return self.program.place(values)
        except UserError:
            self._placed.clear()
            return self.program.place(values)

    def _repeats(self, seconds: float) -> int:
        """The number of times to time a run, as for forced runs."""
        policy = self.policy.repetition
        if not verdict(Evidence(Source.RUN, seconds), self.policy.pruning).keeps:
            return 1
        return self.repeats * (policy.short_factor if seconds < policy.short_seconds else 1)

    def compared(self, dataset: str, guard: str) -> Sequence[int]:
        """The distinct values that runs so far compared with a guard."""
        return sorted(par for par in self._compared.get((dataset, guard), ()) if par > 0)

    def instrument(self, method: MeasuringMethod) -> MeasuredCosts:
        """Measure, unless the same has been done before."""
        if method.replay is None and self.measured is not None:
            return self.measured
        return measured_costs(method, self.program, self.forest, self.inputs)


def measured_costs(method: MeasuringMethod, program: Measurable, forest: Forest,
                   inputs: Sequence[Dataset], repeats: int | None = None) -> MeasuredCosts:
    """The costs that a method measures, and the effort; KeyboardInterrupt if it was interrupted."""
    started, count = time.perf_counter(), RunCount(program)
    found = measure_by(method, count.counted, forest, inputs, repeats=repeats)
    if found.interrupted:
        raise KeyboardInterrupt
    return MeasuredCosts(costs_of(forest, found), time.perf_counter() - started,
                         count.runs, count.executions)
