"""Tuning from start to end: a literal list of stages, each a function of the job and the state.

Thresholds come first (:mod:`~runelift.runtime.tuner.thresholds`), then parameters of kernels, size
guards, the datasets that are kept out of tuning, and a last comparison of all datasets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from runelift.ir.base.errors import RuneliftError, UserError
from runelift.runtime.host.background import in_background
from runelift.runtime.tuner import confirm_size_guards
from runelift.runtime.tuner.fit.memory_front import memory_front
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters import tune as kernel_parameters
from runelift.runtime.tuner.measure.paired_comparison import compare_paired
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.settle import settle_choice
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import conclude_recorded, tune_thresholds
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import running

if TYPE_CHECKING:
    from runelift.runtime.programs.program import Program


Stage: TypeAlias = Callable[[TuningJob, State], State]


def autotune(job: TuningJob, keep: Callable[[State], object] = lambda state: None) -> State:
    """Do all stages of a job.  Ctrl-C ends a stage; what was found before is kept.

    ``keep`` is called with what a stage has found before the next one begins.
    """
    state = State()
    for stage in STAGES:
        before, started = state, time.perf_counter()
        try:
            state = stage(job, state)
        except KeyboardInterrupt:
            state = replace(state, interrupted=True)
        if state.measured and state.has_more_than(before):
            keep(state)
        state = replace(state, spent={**state.spent, stage.__name__: (
            time.perf_counter() - started + state.spent.get(stage.__name__, 0.0))})
        if state.interrupted:
            break
    return state.concluded()


# Stages


def fit_thresholds(job: TuningJob, state: State) -> State:
    """Measure, fit and verify the thresholds of all entry points, or fit them to recorded runs."""
    if job.recorded is not None:
        return replace(state, thresholds=conclude_recorded(job))
    part = job if job.parameters is None or job.gains is not None else (
        job.until(job.policy.budget.thresholds))
    if job.size_guards is not SizeGuardKind.THRESHOLD and job.program.out_of_process:
        part = replace(part, meanwhile=partial(confirm_size_guards.fit_guards,
                                               guards=job.size_guards))
    found = tune_thresholds(part)
    return replace(state, thresholds=found, interrupted=found.interrupted,
                   searched=job.gains is not None)


def find_wrong(job: TuningJob, state: State) -> State:
    """Find the datasets that do not count: no version gives their results."""
    found = dict[str, str]()
    tuned = {entry.forest.entry: entry for entry in state.thresholds.entries}
    for dataset in job.datasets if job.recorded is None else ():
        entry = tuned.get(dataset.entry)
        if entry is None:
            why = _unexpected(job, dataset)
        elif dataset.name in state.datasets or dataset.name in entry.measurements.left_out:
            continue
        else:
            why = next((run.error for run in entry.measurements.runs
                        if run.dataset == dataset.name and run.error), "it was not measured")
        if why is not None:
            found[dataset.name] = why
    return replace(state, wrong=found)


def _unexpected(job: TuningJob, dataset: Dataset) -> str | None:
    """The reason why a dataset of an entry point with one version does not count."""
    try:
        if dataset.expected() is None:
            return None
        return dataset.unexpected(job.program, job.program.place(dataset.arguments()))
    except RuneliftError as error:
        return str(error)


def tune_parameters(job: TuningJob, state: State) -> State:
    """Tune the parameters of kernels of all entry points that have datasets, if that is asked."""
    if job.parameters is None:
        return state
    policy, search = job.policy, job.parameters
    job = replace(job, datasets=[each for each in job.datasets if each.name not in state.wrong])
    end = min(policy.parameters.end(job.begun, time.perf_counter()),
              job.until(policy.budget.trials).end,
              max(job.until(0.5).end, job.end - policy.comparison.final_seconds))
    search.within(end - time.perf_counter())
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
    entries = [state.latest(entry) for entry in state.thresholds.entries if entry.costs.datasets
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


def validate(job: TuningJob, state: State) -> State:
    """Run the datasets that are kept out of tuning, by default and tuned in turn."""
    defaults = {entry.forest.entry: entry.defaults for entry in state.thresholds.entries}
    found = {d.name: compare_paired(job.program, d, defaults[d.entry], state.guarded,
                                    job.compared_repeats, job.policy.comparison)
             for d in job.held_back if d.entry in defaults}
    return replace(state, validated={
        name: both for name, both in found.items() if both is not None})


def settle(job: TuningJob, state: State) -> State:
    """Run the default and the choice in turn; undo what these runs do not bear out."""
    if not job.verify or job.recorded is not None or not state.measured:
        return state
    return settle_choice(job, state)


def weigh_choice(job: TuningJob, state: State) -> State:
    """Find the front of time and memory anew, with the choice that runs in the end."""
    if job.memory is None or not job.aim.weighs_memory or job.recorded is not None:
        return state
    values, entries = state.guarded, list[EntryTuning]()
    for entry in state.thresholds.entries:
        latest = state.latest(entry)
        front = entry.front and memory_front(latest.costs, entry.defaults, values, job.aim,
                                             job.memory)
        entries.append(replace(entry, front=front))
    return replace(state, thresholds=replace(state.thresholds, entries=tuple(entries)))


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
    find_wrong,
    tune_parameters,
    tune_size_guards,
    settle,
    weigh_choice,
    validate,
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
