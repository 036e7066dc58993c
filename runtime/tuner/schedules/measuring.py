"""The times of schedules, whose versions run beside the original one, in one program.

At first each schedule runs with the versions inside of it that run by default: few kernels have to
be built.  Better schedules are replayed, which tells what all their versions cost and notices
results that differ (:mod:`runelift.runtime.tuner.replay`).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import median_ratio
from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost, total
from runelift.runtime.tuner.measure.in_turn import InTurn
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.time_limits import TOO_LONG, RunStopped
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.forest import Forest, Site

REPEATS, SHORT_REPEATS = 3, 15
"""The runs of each schedule in a first comparison, after one that warms up, ..."""
ENOUGH_SECONDS = 0.2
"""... of which there are more than the first number only in so many seconds."""
Lines: TypeAlias = tuple[str, ...]
"""The steps of a schedule as text, by which versions name it."""


@dataclass(slots=True)
class Measured:
    """The results of runs: times relative to the original, by schedule and dataset.

    ``datasets`` were run.  ``errors`` are the errors of schedules, and ``runs`` is the number of
    program runs.  ``slow`` has the datasets on which schedules took so long that they were stopped.
    """

    ratios: dict[Lines, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    datasets: set[str] = field(default_factory=set)
    errors: dict[Lines, str] = field(default_factory=dict)
    slow: dict[Lines, set[str]] = field(default_factory=lambda: defaultdict(set))
    runs: int = 0
    interrupted: bool = False

    def failed(self, lines: Lines, dataset: str, error: RuneliftError) -> None:
        """Note an error of a schedule: a run that was stopped was slow."""
        if isinstance(error, RunStopped) and error.seconds:
            self.slow[lines].add(dataset)
        else:
            self.errors.setdefault(lines, str(error).partition("\n")[0])


def by_default(program: Measurable, forest: Forest, datasets: Sequence[Dataset], seconds: float
               ) -> Measured:
    """Time each schedule with the versions inside of it that run by default, all in turn."""
    found, end = Measured(), time.perf_counter() + seconds
    made = list(_scheduled(forest))
    plain = {site.name: len(site.alternatives) - 1 for site, _, _ in made}
    forces: list[Force] = [plain, *({**plain, site.name: index} for site, index, _ in made)]
    lines: list[Lines] = [(), *(each for _, _, each in made)]
    for dataset in datasets:
        if time.perf_counter() > end and found.datasets:
            break
        args = program.place(dataset.arguments())
        program.prebuild_all(forest.entry, [args], forces)

        def failed(number: int, error: RuneliftError, dataset: Dataset = dataset) -> None:
            found.failed(lines[number], dataset.name, error)

        able = list[int]()
        for number, force in enumerate(forces):
            if number > 1 and time.perf_counter() > end:  # the likeliest runs in any case
                break
            try:
                if why := _obstacle(program.record(dataset.entry, args, force=force),
                                    made[number - 1] if number else None):
                    found.errors.setdefault(lines[number], why)
                elif why is None:
                    able.append(number)
            except RuneliftError as error:
                failed(number, error)
        if 0 not in able:
            continue
        if len(able) == len(forces) or time.perf_counter() <= end:  # else not all were tried
            found.datasets.add(dataset.name)
        turns = InTurn(able, partial(_forced, program, forest.entry, args, forces), failed=failed)
        found.runs += _in_turn(turns, min(end, time.perf_counter() + ENOUGH_SECONDS)) + len(able)
        for number in set(able) - {0}:
            found.ratios[lines[number]][dataset.name] = median_ratio(
                turns.seconds[number], turns.seconds[0]).value
    return found


def _forced(program: Measurable, entry: str, args: Args, forces: Sequence[Force], number: int
            ) -> float:
    return program.time(entry, args, force=forces[number])


def _in_turn(turns: InTurn[int], end: float) -> int:
    """Run rounds until there are enough, which short runs need more of; the number of runs."""
    while 0 in turns.choices and (turns.rounds < REPEATS or (
            turns.rounds < SHORT_REPEATS and time.perf_counter() < end)):
        turns.run()
    return sum(map(len, turns.seconds.values()))


def _obstacle(record: Record, forced: tuple[Site, int, Lines] | None) -> str | None:
    """The reason why a run was not of a forced version, or an empty text; None if it was."""
    site, index = (forced[0].name, forced[1]) if forced else ("", 0)
    met = {each.site: each.chosen for each in record.encounters}
    if forced is None or met.get(site) == index:
        return None
    return record.infeasible.get(f"{site}/{index}", "").partition("\n")[0]


def _scheduled(forest: Forest) -> Iterator[tuple[Site, int, Lines]]:
    for site in forest.sites().values():
        for index, each in enumerate(site.alternatives):
            if each.schedule:
                yield site, index, each.schedule


def of_replay(tuning: EntryTuning) -> Measured:
    """The times that replays tell, with the best versions inside of each schedule."""
    found = Measured(runs=tuning.program_runs, interrupted=tuning.interrupted)
    names = {f"{site.name}/{index}": lines for site, index, lines in _scheduled(tuning.forest)}
    for dataset in tuning.costs.datasets:
        found.datasets.add(dataset.name)
        for site, index, lines in _scheduled(tuning.forest):
            ratio = _ratio(dataset, site, index)
            if ratio is not None and math.isfinite(ratio):
                found.ratios[lines][dataset.name] = ratio
    for run in tuning.measurements.runs:
        reasons = dict(run.record.infeasible) if run.record else {}
        if run.error:
            reasons.update((f"{name}/{index}", run.error) for name, index in run.force.items())
        for version, why in reasons.items():
            if version not in names:
                continue
            if TOO_LONG in why:
                found.slow[names[version]].add(run.dataset)
            else:
                found.errors.setdefault(names[version], why.partition("\n")[0])
    return found


def _ratio(dataset: DatasetCosts, site: Site, index: int) -> float | None:
    """The time of a run with a version, relative to one without; None if it cannot be chosen."""
    plain, ours, chosen = [dataset.rest], [dataset.rest], False
    for point in dataset.points:
        original = _of_version(point, len(point.site.alternatives) - 1) if any(
            each.schedule for each in point.site.alternatives) else point.bounds()[0]
        plain.append(original)
        runs = point.site.name == site.name and index in point.feasible
        ours.append(_of_version(point, index) if runs else original)
        chosen |= runs
    whole = total(plain).time
    return total(ours).time / whole if chosen and whole > 0 else None


def _of_version(point: EncounterCosts, index: int) -> Cost:
    """The cost of a version with the best choices inside of it."""
    return total([point.own.get(index, Cost(math.inf)),
                  *(inner.bounds()[0] for inner in point.inner.get(index, ()))])

