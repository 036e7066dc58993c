"""The first runs of a dataset: which plans cannot win, and need not be run again, or at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress

from runelift.ir.errors import CompilerLimitation, UserError
from runelift.ir.guards import Kind
from runelift.runtime.host.background import in_background as beside_runs
from runelift.runtime.records.estimates import Estimates
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.measure.protocols import Args, Dataset, Measurable
from runelift.runtime.tuner.measure.repetitions import runs_as
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.prune.extrapolation import (
    Extrapolation,
    beside,
    left_out,
    merged,
    without,
)
from runelift.runtime.versions.forest import Forest, Site


class WarmUp:
    """Runs the plans ``todo`` of a dataset for the first time, after one by default.

    Versions that ``trends`` rule out are ``left_out`` once records tell how large the dataset is,
    and the plans ``instead`` show the others.  That is so after a run by default that is not long,
    which may not meet all sites, and once more after the first plan.  What runs the same versions
    as one before, by default or of another plan, has its record.
    """

    def __init__(self, program: Measurable, forest: Forest, dataset: Dataset, args: Args,
                 outlook: Estimates, todo: Sequence[dict[str, int]], trends: Extrapolation | None
                 ) -> None:
        self._program, self._dataset, self._args = program, dataset, args
        self._forest, self._outlook, self._trends = forest, outlook, trends
        self._policy = outlook.policy
        self.left_out, self.instead = list[LoggedRun](), list[dict[str, int]]()
        self._outermost = {site.name: site for site in forest.trees if not site.loops}
        self._points: dict[str, int] = {}
        self._met: dict[str, Encounter] = {}
        self._untuned: list[Record] | None = None
        self._shown = list[Record]()
        self._ran = list[LoggedRun]()
        self._behind: dict[str, dict[int, float]] = {}
        self.default = self._best = math.inf
        *self._rest, last = todo
        ahead = trends.work_out if trends is not None and program.apart else None
        with beside_runs(ahead) if ahead else nullcontext():
            outlook.begin(program.prepare(dataset.entry, args, [{}], [last]))
            with suppress(UserError, CompilerLimitation):
                self.default = program.time(dataset.entry, args)
            is_short = (trends is not None and bool(trends.runs)
                        and self.default < self._policy.first_run_seconds)
            if is_short:
                self._see_untuned()
        if trends is not None and is_short:
            self._rule_out(trends)

    def run(self, force: dict[str, int]) -> tuple[LoggedRun, bool]:
        """A run of a plan; whether no further one is needed."""
        versions, best = list(self._outer(force)), min(self.default, self._best)
        for version, points in versions:
            why = self._outlook.hopeless(version, points, best)
            if why is not None and not self._is_untuned(version):
                site = version.rpartition("/")[0]
                return LoggedRun(self._dataset.name, force, None, f"version {version}: {why}",
                                 left_out={site: force[site]}), True
        try:
            record = self._same(force) or self._program.record(
                self._dataset.entry, self._args, force=force)
        except (UserError, CompilerLimitation) as error:
            if isinstance(error, RunStopped):
                self._saw(versions, error.seconds, stopped=True)
            return LoggedRun(self._dataset.name, force, None, self._explained(force, error)), True
        for each in record.encounters:
            if each.site in self._outermost:
                self._met[each.site] = each
                self._outlook.saw_crowd(each.site, each.crowd)
        self._best = min(self._best, record.span)
        self._saw(versions, record.span)
        self._points |= {name: par for each in record.encounters if each.parent is None
                         for name, par in each.par.items()}
        self.rule_out([record])
        self._prepare_rest()
        run = LoggedRun(self._dataset.name, force, record)
        self._ran.append(run)
        return run, record.span > max(
            self._policy.first_run_seconds, self._policy.first_run_factor * self._best)

    def _same(self, force: Mapping[str, int]) -> Record | None:
        """The record of a run before that ran the versions that a plan leads to."""
        return next((run.record for run in self._ran if runs_as(force, run)), None)

    def rule_out(self, records: Sequence[Record]) -> None:
        """Leave out versions by what other datasets say, once records tell the size of this one.

        What runs without tuning is measured all the same.
        """
        if self._trends is not None and records:
            self._shown += records
            trends, self._trends = self._trends, None
            if self._untuned is None and trends.behind(self._shown):
                self._see_untuned()
            self._rule_out(trends)

    def _is_untuned(self, version: str) -> bool:
        """Whether a version runs by default in a short run: chance alone makes it seem hopeless."""
        site, _, index = version.rpartition("/")
        if self._untuned is None and self.default < self._policy.first_run_seconds:
            if (met := self._met.get(site)) and (
                    known := _by_default(self._outermost[site], met)) is not None:
                return known == int(index)
            self._see_untuned()
        return any((site, int(index)) in record.path for record in self._untuned or ())

    def _see_untuned(self) -> None:
        """Record a run by default; once, also if it fails."""
        self._untuned = []
        with suppress(UserError, CompilerLimitation):
            self._untuned.append(self._program.record(self._dataset.entry, self._args))
            self._ran.append(LoggedRun(self._dataset.name, {}, self._untuned[-1]))

    def _rule_out(self, trends: Extrapolation) -> None:
        behind = trends.behind([*self._untuned, *self._shown]) if self._untuned else {}
        if new := beside(behind, self._behind):
            self._behind = merged(self._behind, new)
            self.left_out += left_out(new, self._dataset.name)
            self._rest = self.instead = without(self._forest, self._behind, self._shown)

    def _prepare_rest(self) -> None:
        """Build what has not been built yet and may be run."""
        best = min(self.default, self._best)
        possible = [force for force in self._rest
                    if not any(self._outlook.hopeless(*version, best)
                               for version in self._outer(force))]
        self._rest = []
        if possible:
            self._program.prepare(self._dataset.entry, self._args, [], possible)

    def _saw(self, versions: Sequence[tuple[str, int]], seconds: float, *,
             stopped: bool = False) -> None:
        if len(versions) == 1:  # of several, nobody knows which one took how long
            self._outlook.saw(*versions[0], seconds, min(self.default, self._best),
                              stopped=stopped)

    def _explained(self, force: Mapping[str, int], error: Exception) -> str:
        """What went wrong, and with which versions if the device does not say."""
        if not isinstance(error, RunStopped):
            return str(error)
        names = ", ".join(f"{site}/{index}" for site, index in force.items())
        return f"version {names}: {error}"

    def _outer(self, force: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """The versions of outermost sites that have a work-item for each point, and how many."""
        for name, index in force.items():
            site = self._outermost.get(name)
            guard = site.alternatives[index].guard if site is not None else None
            if guard is not None and guard.kind is Kind.OUTER and guard.name in self._points:
                yield f"{name}/{index}", self._points[guard.name]


def _by_default(site: Site, met: Encounter) -> int | None:
    """The version that runs at an encounter without tuning; None if its record does not say so."""
    for version in sorted(met.feasible):
        guard = site.alternatives[version].guard
        if guard is None:
            return version
        if guard.groups is None:  # a threshold of the device
            return None
        if guard.name not in met.scarce:
            return version
    return max(met.feasible)
