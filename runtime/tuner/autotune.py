"""Tuning from start to end: a literal list of stages, each a function of the job and the state.

Thresholds come first (:mod:`~runelift.runtime.tuner.thresholds`), then parameters of kernels, size
guards, the datasets that are kept out of tuning, and a last comparison of all datasets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from runelift.ir.base.errors import UserError
from runelift.runtime.host.background import in_background
from runelift.runtime.tuner import confirm_size_guards
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.final_choice import compare_choices
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters import tune as kernel_parameters
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes, compare_paired
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.side_by_side import SideBySide, by_default, speedup
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.thresholds import conclude_recorded, kept_default, tune_thresholds
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import running
from runelift.runtime.versions.size_guards import GuardedThresholds

if TYPE_CHECKING:
    from runelift.runtime.programs.program import Program


@dataclass(frozen=True, slots=True)
class State:
    """The results of the stages so far.

    ``thresholds`` are by entry point, as are ``parameters`` and ``guards``.  ``validated`` has the
    times of datasets that are kept out of tuning.  ``final`` has the times of the default, the
    tuned and the best version, which are run in turn.  ``interrupted``: Ctrl-C ended a stage.
    ``searched``: the thresholds come from the search over schedules, as there was no time to
    measure more.
    """

    thresholds: Tuning = field(default_factory=lambda: Tuning(()))
    parameters: tuple[ParameterTuning, ...] = ()
    guards: tuple[ConfirmedSizeGuards, ...] = ()
    validated: Mapping[str, PairedTimes] = field(default_factory=dict)
    final: tuple[SideBySide, ...] = ()
    interrupted: bool = False
    searched: bool = False

    @property
    def values(self) -> dict[str, int]:
        """The thresholds and parameters that were found."""
        found = dict(self.thresholds.thresholds)
        for each in self.parameters:
            found |= each.chosen
        return found

    def has_more_than(self, before: State) -> bool:
        """True if a stage has found something to be kept."""
        return self.thresholds is not before.thresholds or (
            len(self.parameters) + len(self.guards)
            > len(before.parameters) + len(before.guards))

    @property
    def guarded(self) -> GuardedThresholds:
        """The values with the size guards before them."""
        return GuardedThresholds(self.values, {site: guard for each in self.guards
                                               for site, guard in each.finer.items()})

    @property
    def measured(self) -> bool:
        """True if there is a result: some dataset was measured completely, or in a search."""
        return bool(self.parameters or self.datasets or self.searched)

    @property
    def datasets(self) -> set[str]:
        """The datasets that were measured completely."""
        return {dataset.name for entry in self.thresholds.entries
                for dataset in entry.costs.datasets}


Stage: TypeAlias = Callable[[TuningJob, State], State]


def autotune(job: TuningJob, keep: Callable[[State], object] = lambda state: None) -> State:
    """Do all stages of a job.  Ctrl-C ends a stage; what was found before is kept.

    ``keep`` is called with what a stage has found before the next one begins.
    """
    state = State()
    for stage in STAGES:
        before = state
        try:
            state = stage(job, state)
        except KeyboardInterrupt:
            state = replace(state, interrupted=True)
        if state.measured and state.has_more_than(before):
            keep(state)
        if state.interrupted:
            break
    return state


# Stages


def fit_thresholds(job: TuningJob, state: State) -> State:
    """Measure, fit and verify the thresholds of all entry points, or fit them to recorded runs."""
    if job.recorded is not None:
        return replace(state, thresholds=conclude_recorded(job))
    part = job.until(job.policy.budget.thresholds) if job.parameters is not None else job
    if job.size_guards is not SizeGuardKind.THRESHOLD and job.program.out_of_process:
        part = replace(part, meanwhile=partial(confirm_size_guards.fit_guards,
                                               guards=job.size_guards))
    found = tune_thresholds(part)
    return replace(state, thresholds=found, interrupted=found.interrupted)


def tune_parameters(job: TuningJob, state: State) -> State:
    """Tune the parameters of kernels of all entry points that have datasets, if that is asked."""
    if job.parameters is None:
        return state
    policy = job.policy
    end = min(policy.parameters.end(job.begun, time.perf_counter()),
              job.until(policy.budget.trials).end)
    job.parameters.within(end - time.perf_counter())
    known = {entry.forest.entry: entry.measurements.runs for entry in state.thresholds.entries}
    try:
        for forest in job.forests.entries:
            left = end - time.perf_counter()
            if job.datasets_of(forest.entry) and left > 0:
                found = kernel_parameters.tune_parameters(
                    job.on(forest), state.thresholds.thresholds, seconds=left,
                    known=known.get(forest.entry, ()))
                state = replace(state, parameters=(*state.parameters, found))
    except KeyboardInterrupt:
        return replace(state, interrupted=True)
    return state


def tune_size_guards(job: TuningJob, state: State) -> State:
    """Fit the size guards that the job asks for, and keep a guard only if runs confirm it.

    They are fitted to the costs with the parameters that were chosen.
    """
    runs = job.verify and job.recorded is None
    entries = [_latest(state, entry) for entry in state.thresholds.entries if entry.costs.datasets
               and job.size_guards is not SizeGuardKind.THRESHOLD]
    fitted = [confirm_size_guards.fit_guards(entry, job.size_guards,
                                             ahead=runs and job.program.out_of_process)
              for entry in entries]
    if not runs:
        return replace(state, guards=tuple(fitted))
    with _report(job, state):
        return replace(state, guards=tuple(
            confirm_size_guards.confirm_guards(job.on(entry.forest), entry, guards, state.values)
            for entry, guards in zip(entries, fitted, strict=True)))


def _latest(state: State, entry: EntryTuning) -> EntryTuning:
    """The costs and thresholds of an entry point with the parameters that were chosen."""
    names = {dataset.name for dataset in entry.costs.datasets}
    return next((each.refitted for each in state.parameters
                 if each.entry == entry.forest.entry and each.refitted is not None
                 and {d.name for d in each.refitted.costs.datasets} == names), entry)


def validate(job: TuningJob, state: State) -> State:
    """Run the datasets that are kept out of tuning, by default and tuned in turn."""
    defaults = {entry.forest.entry: entry.defaults for entry in state.thresholds.entries}
    found = {d.name: compare_paired(job.program, d, defaults[d.entry], state.guarded,
                                    job.compared_repeats, job.policy.comparison)
             for d in job.held_back if d.entry in defaults}
    return replace(state, validated={
        name: both for name, both in found.items() if both is not None})


def compare_final(job: TuningJob, state: State) -> State:
    """Run the default, the tuned program and the best single version of each dataset in turn."""
    if not job.verify or job.recorded is not None or not state.measured:
        return state
    latest = {entry.forest.entry: _latest(state, entry) for entry in state.thresholds.entries}
    final = tuple(compare_choices(job, latest, state.guarded))
    tolerance = job.policy.comparison.tolerance
    slower = [each.dataset for each in final if speedup([each]).high < 1 - tolerance]
    if slower and not any(speedup([each]).low > 1 for each in final):
        why = f"in the end {', '.join(slower)} got slower, and none faster"
        return replace(_untuned(state, why), final=tuple(by_default(each) for each in final))
    return replace(state, final=final)


def _untuned(state: State, why: str) -> State:
    """The state with the choices by default, and the reason for them."""
    return replace(
        state,
        thresholds=Tuning(tuple(kept_default(entry, why) for entry in state.thresholds.entries)),
        parameters=tuple(replace(each, chosen={}, refitted=None, why=each.why or why)
                         for each in state.parameters),
        guards=tuple(replace(each, finer={}, after=each.before, why=each.why or why)
                     for each in state.guards))


@contextmanager
def _report(job: TuningJob, state: State) -> Iterator[None]:
    """Have a thread write the report of the thresholds while other work goes on."""
    if job.report is None or not job.program.out_of_process:
        yield
        return
    with in_background(partial(job.report, state.thresholds)):
        yield


STAGES: tuple[Stage, ...] = (
    fit_thresholds,
    tune_parameters,
    tune_size_guards,
    validate,
    compare_final,
)
"""The steps of a tuning, in order."""


def tune(program: Program, datasets: Mapping[str, tuple[str, Sequence[Any]]], *,
         time_limit: str | None = None, **options: Any) -> Tuning:
    """Tune the thresholds of a compiled program for datasets: name to entry point and arguments.

    It runs in a separate process.  ``time_limit`` is as for the command line: with ``none`` the
    program runs in this process.  The other options are fields of
    :class:`~runelift.runtime.tuner.job.TuningJob`.
    """
    info = program.device_info
    if info is None:
        raise UserError("Tuning needs an OpenCL device, and there is none here; 'runelift "
                        "doctor' says why.")
    inputs = [Dataset(name, entry, lambda args=args: args)  # type: ignore[misc]
              for name, (entry, args) in datasets.items()]
    with running(program, time_limit) as runner:
        found = autotune(TuningJob(runner, program.tree, inputs, **options))
        if isinstance(runner, Remote) and not found.interrupted:
            runner.save_manifest()
        return replace(found.thresholds, final=found.final)
