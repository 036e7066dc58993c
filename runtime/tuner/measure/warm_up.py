"""The first runs of a dataset, which show the plans that need not be run again, or at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.guards import Kind
from runelift.runtime.host.background import in_background as beside_runs
from runelift.runtime.records.pruning import Evidence, Source, verdict
from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.measure.measurable import Args
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.repetitions import runs_as
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.prune.extrapolation import (
    Extrapolation,
    merged,
    newly_behind,
    remaining_plans,
    skipped_runs,
)
from runelift.runtime.versions.forest import Site

if TYPE_CHECKING:
    from runelift.runtime.tuner.measure.forced_runs import EntryScope


class WarmUp:
    """Runs the plans ``todo`` of a dataset for the first time, after one by default.

    The ``first`` comes next.  The last of ``todo`` has most parallelism.

    Records tell how large the dataset is.  Versions that the ``extrapolation`` then rules out are
    ``skipped``.  The plans ``instead`` show the versions that remain.  That happens after a short
    run by default, which may not meet all sites, and once more after the first plan.  A plan that
    runs the versions of an earlier run takes the record of that.
    """

    def __init__(self, entry: EntryScope, dataset: Dataset, args: Args,
                 todo: Sequence[dict[str, int]], first: dict[str, int],
                 extrapolation: Extrapolation | None) -> None:
        program, forest, estimates = entry.program, entry.forest, entry.estimates
        self._program, self._dataset, self._args = program, dataset, args
        self._forest, self._estimates = forest, estimates
        self._thresholds = entry.method.thresholds
        self._extrapolation = extrapolation
        self._policy = estimates.policy
        self.skipped, self.instead = list[LoggedRun](), list[dict[str, int]]()
        self._outermost = {site.name: site for site in forest.trees if not site.loops}
        self._points: dict[str, int] = {}
        self._met: dict[str, Encounter] = {}
        self._untuned: list[Record] | None = None
        self._shown = list[Record]()
        self._ran = list[LoggedRun]()
        self._behind: dict[str, dict[int, float]] = {}
        self.default = self._best = math.inf
        last = todo[-1]
        self._rest = [force for force in todo if force not in (first, last)]
        ahead = (extrapolation.work_out if extrapolation is not None and program.out_of_process
                 else None)
        with beside_runs(ahead) if ahead else nullcontext():
            estimates.begin(program.prebuild(
                dataset.entry, args, [{}], [last] if first == last else [first, last]))
            with suppress(UserError, CompilerLimitation):
                self.default = program.time(dataset.entry, args, thresholds=self._thresholds)
            is_short = (extrapolation is not None and bool(extrapolation.runs)
                        and self.default < self._policy.first_run_seconds)
            if is_short:
                self._see_untuned()
        if extrapolation is not None and is_short:
            self._rule_out(extrapolation)

    def run(self, force: dict[str, int]) -> tuple[LoggedRun, bool]:
        """A run of a plan, and True if no further one is needed."""
        versions, best = list(self._outer(force)), min(self.default, self._best)
        for version, points in versions:
            why = self._estimates.hopeless(version, points, best)
            if why is not None and not self._is_untuned(version):
                site = version.rpartition("/")[0]
                return LoggedRun(self._dataset.name, force, None, f"version {version}: {why}",
                                 left_out={site: force[site]}), True
        try:
            record = self._same(force) or self._program.record(
                self._dataset.entry, self._args, force=force, thresholds=self._thresholds)
        except (UserError, CompilerLimitation) as error:
            if isinstance(error, RunStopped):
                self._saw(versions, error.seconds, stopped=True)
            return LoggedRun(self._dataset.name, force, None, self._explained(force, error)), True
        for each in record.encounters:
            if each.site in self._outermost:
                self._met[each.site] = each
                self._estimates.saw_lone_seconds(each.site, each.crowd)
        self._best = min(self._best, record.span)
        self._saw(versions, record.span)
        self._points |= {name: par for each in record.encounters if each.parent is None
                         for name, par in each.par.items()}
        self.rule_out([record])
        self._prepare_rest()
        run = LoggedRun(self._dataset.name, force, record)
        self._ran.append(run)
        evidence = Evidence(Source.FIRST_RUN, record.span, self._best)
        return run, not verdict(evidence, self._policy).keeps

    def _same(self, force: Mapping[str, int]) -> Record | None:
        """The record of a run before that ran the versions that a plan leads to."""
        return next((run.record for run in self._ran if runs_as(force, run)), None)

    def is_by_default(self, force: Mapping[str, int]) -> bool:
        """True if a plan runs what runs by default, whose record is then there.

        Without it, nothing can be said to be faster.  A long run is not made for that.
        """
        if self._untuned is None and self.default < self._policy.once_seconds:
            self._see_untuned()
        return any(runs_as(force, LoggedRun(self._dataset.name, {}, record))
                   for record in self._untuned or ())

    def rule_out(self, records: Sequence[Record]) -> None:
        """Skip versions that other datasets rule out, once records tell the size of this one.

        Versions that run by default are measured anyway.
        """
        if self._extrapolation is not None and records:
            self._shown += records
            extrapolation, self._extrapolation = self._extrapolation, None
            if self._untuned is None and extrapolation.behind(self._shown):
                self._see_untuned()
            self._rule_out(extrapolation)

    def _is_untuned(self, version: str) -> bool:
        """True for a version of a short run by default: chance alone makes it seem hopeless."""
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
            self._untuned.append(self._program.record(
                self._dataset.entry, self._args, thresholds=self._thresholds))
            self._ran.append(LoggedRun(self._dataset.name, {}, self._untuned[-1]))

    def _rule_out(self, extrapolation: Extrapolation) -> None:
        behind = extrapolation.behind([*self._untuned, *self._shown]) if self._untuned else {}
        if new := newly_behind(behind, self._behind):
            self._behind = merged(self._behind, new)
            self.skipped += skipped_runs(new, self._dataset.name)
            self._rest = self.instead = remaining_plans(self._forest, self._behind, self._shown)

    def _prepare_rest(self) -> None:
        """Build what has not been built yet and may be run."""
        best = min(self.default, self._best)
        possible = [force for force in self._rest
                    if not any(self._estimates.hopeless(*version, best)
                               for version in self._outer(force))]
        self._rest = []
        if possible:
            self._program.prebuild(self._dataset.entry, self._args, [], possible)

    def _saw(self, versions: Sequence[tuple[str, int]], seconds: float, *,
             stopped: bool = False) -> None:
        if len(versions) == 1:  # the time of several cannot be split
            self._estimates.saw(*versions[0], seconds, min(self.default, self._best),
                              stopped=stopped)

    def _explained(self, force: Mapping[str, int], error: Exception) -> str:
        """The reason of a failure, with the versions if the device does not name one."""
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
        if not guard.predicted:
            return None
        if guard.name not in met.scarce:
            return version
    return max(met.feasible)
