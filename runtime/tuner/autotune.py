"""Tuning from start to end: measure, fit, verify.

One forced run per version and dataset gives complete information; the thresholds are solved
from it; the tuned program is then run beside the default one, and where it turns out slower
after all, that dataset gets more weight or the default stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runelift.ir.errors import RuneliftError, UserError
from runelift.runtime.statistics import Summary, summarise
from runelift.runtime.tuner.costs import Costs, costs_of
from runelift.runtime.tuner.fit import Fit, fit
from runelift.runtime.tuner.forest import Forest, Forests, plans
from runelift.runtime.tuner.measure import (
    Dataset,
    Log,
    Measurable,
    Measurements,
    Progress,
    measure,
)

if TYPE_CHECKING:
    from runelift.runtime.program import Program

ATTEMPTS = 3
"""How many fits are verified before the default thresholds are kept."""
TOLERANCE = 0.05
"""How much slower a verified dataset may be, beyond the scatter of its times."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Times of a dataset without forced versions, by default and tuned, run in turn."""

    default: Summary
    tuned: Summary

    @property
    def gain(self) -> float:
        """How many times faster the tuned program is."""
        return self.default.median / self.tuned.median if self.tuned.median else math.inf

    @property
    def slower(self) -> bool:
        """Whether tuning made the dataset slower, beyond the noise."""
        noise = 3 * max(self.default.mad, self.tuned.mad)
        return self.tuned.median > self.default.median * (1 + TOLERANCE) + noise


@dataclass(frozen=True, slots=True)
class EntryTuning:
    """What tuning one entry point found out."""

    forest: Forest
    defaults: dict[str, int]
    measurements: Measurements
    costs: Costs
    fit: Fit
    verified: dict[str, Verified] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def program_runs(self) -> int:
        """Versions times datasets: the forced runs, repetitions not counted."""
        return len(plans(self.forest)) * len(self.measurements.datasets)


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tuning a program found out; ``thresholds`` hold for all its entry points."""

    entries: tuple[EntryTuning, ...]

    @property
    def thresholds(self) -> dict[str, int]:
        """The tuned thresholds by name."""
        return {name: value for entry in self.entries
                for name, value in entry.fit.thresholds.items()}

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the measuring."""
        return any(entry.interrupted for entry in self.entries)


def default_thresholds(forest: Forest, device: int) -> dict[str, int]:
    """The thresholds that hold without tuning; ``device`` is the device's own default."""
    return {name: device if guard.default is None else guard.default
            for name, guard in forest.guards().items()}


def autotune(program: Measurable, forests: Forests, datasets: Sequence[Dataset], device: int, *,
             repeats: int = 3, verify: bool = True, log: Log | None = None,
             progress: Callable[[Progress], None] = lambda _: None) -> Tuning:
    """Tune all entry points that have datasets.

    ``device`` is the threshold that the device has by default.  After Ctrl-C the thresholds
    are fitted to what has been measured.
    """
    entries: list[EntryTuning] = []
    for forest in forests.entries:
        own = [dataset for dataset in datasets if dataset.entry == forest.entry]
        if not own or not forest.trees:
            continue
        defaults = default_thresholds(forest, device)
        measurements = measure(program, forest, own, repeats=repeats, log=log, progress=progress)
        entries.append(conclude(forest, defaults, measurements))
        if measurements.interrupted:
            break
        if verify:
            entries[-1] = _verified(program, entries[-1], own, repeats)
    return Tuning(tuple(entries))


def conclude(forest: Forest, defaults: dict[str, int], measurements: Measurements) -> EntryTuning:
    """Fit thresholds to measurements, of this moment or from a log."""
    costs = costs_of(forest, measurements)
    return EntryTuning(forest, defaults, measurements, costs, fit(costs, defaults),
                       interrupted=measurements.interrupted)


def _verified(program: Measurable, tuning: EntryTuning, datasets: Sequence[Dataset],
              repeats: int) -> EntryTuning:
    """Run tuned and default side by side; refit with more weight on what got slower."""
    emphasis: dict[str, float] = {}
    found = tuning.fit
    times: dict[str, Verified] = {}
    try:
        for _ in range(ATTEMPTS):
            if found.kept_default:
                break
            times = {}
            for dataset in datasets:
                verified = _compare(program, tuning, found, dataset, repeats)
                if verified is not None:
                    times[dataset.name] = verified
            slower = [name for name, both in times.items() if both.slower]
            if not slower:
                return EntryTuning(tuning.forest, tuning.defaults, tuning.measurements,
                                   tuning.costs, found, times)
            for name in slower:
                emphasis[name] = 4 * emphasis.get(name, 1.0)
            found = fit(tuning.costs, tuning.defaults, emphasis=emphasis)
    except KeyboardInterrupt:
        return EntryTuning(tuning.forest, tuning.defaults, tuning.measurements, tuning.costs,
                           found, times, interrupted=True)
    if not found.kept_default:
        slow = ", ".join(name for name, both in times.items() if both.slower)
        why = f"the fitted thresholds made {slow} slower when run"
        found = Fit(dict(tuning.defaults), found.intervals, found.default, found.default,
                    found.least, why)
    return EntryTuning(tuning.forest, tuning.defaults, tuning.measurements, tuning.costs, found)


def _compare(program: Measurable, tuning: EntryTuning, found: Fit, dataset: Dataset,
             repeats: int) -> Verified | None:
    """Times by default and tuned; None where the program fails."""
    args = dataset.arguments()
    spans: tuple[list[float], list[float]] = ([], [])
    try:
        for repeat in range(repeats + 1):
            for which, thresholds in enumerate((tuning.defaults, found.thresholds)):
                _, record = program.run(dataset.entry, args, thresholds=thresholds, record=True)
                if repeat and record is not None:
                    spans[which].append(record.span)
    except RuneliftError:
        return None
    return Verified(summarise(spans[0]), summarise(spans[1]))


def tune(program: Program, datasets: Mapping[str, tuple[str, Sequence[Any]]], *,
         repeats: int = 3, verify: bool = True, log: Log | None = None,
         progress: Callable[[Progress], None] = lambda _: None) -> Tuning:
    """Tune a compiled program for datasets: name to entry point and arguments."""
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device, and there is none here; 'runelift "
                        "doctor' says why.")
    inputs = [Dataset(name, entry, lambda args=args: args)  # type: ignore[misc]
              for name, (entry, args) in datasets.items()]
    return autotune(program, program.tree, inputs, program.device_info.threshold,
                    repeats=repeats, verify=verify, log=log, progress=progress)
