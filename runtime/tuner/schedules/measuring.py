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
from typing import TypeAlias

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.tuner.costs.cost_model import DatasetCosts, EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost, total
from runelift.runtime.tuner.measure.measurable import Force, Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.time_limits import TOO_LONG, RunStopped
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.forest import Forest, Site

REPEATS = 3
"""The runs of each schedule in a first comparison, after one that warms up."""
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
    originals = {site.name: len(site.alternatives) - 1 for site, _, _ in made}
    forces: list[Force] = [originals, *({**originals, site.name: index}
                                        for site, index, _ in made)]
    for dataset in datasets:
        if time.perf_counter() > end and found.datasets:
            break
        args = program.place(dataset.arguments())
        program.prebuild_all(forest.entry, [args], forces)
        alive = _warmed_up(program, dataset, args, forces, made, found, end)
        if 0 not in alive:  # the original
            continue
        times = dict[int, list[float]]()
        for _ in range(REPEATS):
            for number in alive:
                try:
                    seconds = program.time(forest.entry, args, force=forces[number])
                    times.setdefault(number, []).append(seconds)
                except RuneliftError as error:
                    found.failed(made[number - 1][2] if number else (), dataset.name, error)
        found.runs += len(alive) * (1 + REPEATS)
        if len(alive) == len(forces) or time.perf_counter() <= end:  # else not all were tried
            found.datasets.add(dataset.name)
        for number in alive[1:]:
            if number in times and 0 in times:
                found.ratios[made[number - 1][2]][dataset.name] = (
                    min(times[number]) / max(min(times[0]), 1e-9))
    return found


def _warmed_up(program: Measurable, dataset: Dataset, args: Sequence[object],
               forces: Sequence[Force], made: Sequence[tuple[Site, int, Lines]], found: Measured,
               end: float) -> list[int]:
    """The numbers of the ``forces`` whose forced version runs.  Number 0 is the original."""
    alive = list[int]()
    for number, force in enumerate(forces):
        if number and time.perf_counter() > end:
            break
        lines = made[number - 1][2] if number else ()
        try:
            record = program.record(dataset.entry, args, force=force)
        except RuneliftError as error:
            found.failed(lines, dataset.name, error)
            continue
        met = {each.site: each for each in record.encounters}
        site, index = (made[number - 1][0].name, made[number - 1][1]) if number else ("", 0)
        if not number or (site in met and met[site].chosen == index):
            alive.append(number)
        elif why := record.infeasible.get(f"{site}/{index}"):
            found.errors.setdefault(lines, why.partition("\n")[0])
    return alive


def _scheduled(forest: Forest) -> Iterator[tuple[Site, int, Lines]]:
    """The versions that schedules made."""
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

