"""Find the best thresholds, and parameters of kernels, for the datasets of a program.

Runs every code version on every dataset, and solves for the thresholds that are best for all of
them together.  Checks the result against the default.  Then tries other settings of the kernels
that take time, unless --no-parameters or --no-verify is given, and checks these settings, too.
Writes PROGRAM.tuning, which 'run', 'bench' and 'test' then use, and facts in PROGRAM.tuning.json.

Every run is logged in PROGRAM.tuning.log as soon as it is over.  Ctrl-C ends the measuring: the
thresholds are then fitted to what has been measured.  If datasets are tagged 'tune', they are tuned
for.  Otherwise all datasets that are not tagged 'notune' or 'disable' are.  Cases without a name
are used only if there are no other cases.

The program runs in a separate process.  It is ended and started again where a version takes far too
long or crashes (--time-limit).

With --schedules, rewrites of the program are tried before that.  Rewrites that gain become further
versions of it.  Their steps are kept beside the tuning file.

With --strategy replay, one run per dataset is enough: all versions run at every encounter, on the
same inputs, and their results are compared.  Other strategies run the program with thresholds and
have no log ('runelift tune-compare --help' lists them).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import UserError
from runelift.runtime.data.outline import outline
from runelift.runtime.devices.comparable import place_of
from runelift.runtime.host import interrupts
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.options import warn
from runelift.runtime.tools.commands.progress import Display, display
from runelift.runtime.tools.commands.tuning_data import (
    kept_out,
    missing_lines,
    tuning_datasets,
    unusable_inputs,
)
from runelift.runtime.tools.commands.tuning_files import runs_are_for
from runelift.runtime.tools.commands.tuning_options import configure
from runelift.runtime.tools.commands.tuning_output import (
    finish_tuning,
    finished,
    show_finished,
    write_so_far,
)
from runelift.runtime.tools.commands.tuning_request import (
    SearchedSchedules,
    TuningRequest,
    TuningResult,
    check,
)
from runelift.runtime.tools.commands.tuning_time import expected_time
from runelift.runtime.tools.reports.text import facts
from runelift.runtime.tuner.autotune import autotune
from runelift.runtime.tuner.costs.log import Log, Measurements, made_for, read_log
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.memory_front import EstimateMemory
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import ParameterSearch, TuningJob
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import DevicePool
from runelift.runtime.tuner.measure.time_limits import UNLIMITED
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.strategies.instrumentation import measuring_method
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import Runners, in_this_process, limit_on

if TYPE_CHECKING:
    from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning

__all__ = ["configure", "execute", "tuned"]
WITHOUT_RECORDS = "runelift.runtime.tools.commands.tuning_by_search"
"""The module of tunings that have no records; few are such."""
EXAMPLES = ("runelift autotune examples/mapscan.fut --effort quick -v",
            "runelift autotune examples/lud.fut --budget 30s --html lud.html")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift autotune``."""
    request = TuningRequest.of(args)
    with tuned(request) as result:
        return finish(request, result)


def finish(request: TuningRequest, result: TuningResult) -> int:
    """Write and print what a tuning came to; the exit status."""
    if result.state is not None:
        return finish_tuning(request, result, result.state)
    if result.found is not None:
        with interrupts.between_runs():
            status: int = import_module(WITHOUT_RECORDS).finish_search(
                request, result, result.found)
            return status
    if result.finished is not None:
        show_finished(request, result.finished)
        return 0
    print("The program has one version only: there is nothing to tune.",
          file=sys.stderr if request.json else sys.stdout)
    return 0


@contextmanager
def tuned(request: TuningRequest) -> Iterator[TuningResult]:
    """The result of a tuning, while what runs the program is still there."""
    started = time.perf_counter()
    strategy = request.search_strategy()
    check(request, strategy)
    for line in missing_lines(missing := unusable_inputs(request)):
        warn(line)
    searched, before = _search_schedules(request), None
    spent = {"search_schedules": time.perf_counter() - started} if searched.searches else {}
    while True:
        with _running(request, searched, started) as (program, runner, pool):
            held_back = kept_out(request, program)
            job = _job(request, program, runner)
            done = finished(request, program) if request.resume else None
            result = TuningResult(program, searched.searches, started, missing, finished=done)
            if done is not None or not _has_choices(request, program, strategy):
                yield result
                return
            if request.import_t4 is not None or measuring_method(strategy) is None:
                yield replace(result, found=_without_records(request, strategy, program, job))
                return
            job = replace(_recording(request, strategy, program, job, pool, started),
                          held_back=held_back, gains=_schedules().proved_gains(
                              program, searched.searches) if searched.searches else None)
            if may_drop := _has_time_to_drop(searched, job):
                job = job.until(job.policy.budget.unused)
            state = _tune(request, strategy, program, job, started)
            spent = {stage: spent.get(stage, 0.0) + state.spent.get(stage, 0.0)
                     for stage in (*spent, *state.spent)}
            state = replace(state, spent=spent)
            if isinstance(runner, Remote):
                if not state.interrupted:
                    runner.save_manifest()
                runner.leave()
            result = replace(result, state=state)
            # some schedules may be unused, or may have been dropped in vain
            rest: SearchedSchedules | None = _schedules().without_unused(
                request, program, searched, state) if may_drop else None
            if rest is None:
                yield (_schedules().with_most_datasets(result, before) if result.searches
                       else result)
                return
            searched, before = rest, result


@contextmanager
def _running(request: TuningRequest, searched: SearchedSchedules, started: float
             ) -> Iterator[tuple[Program, Measurable, DevicePool | None]]:
    """The program, what runs it, and further devices or machines that do so."""
    if request.replay or (request.time_limit == UNLIMITED and not request.several):
        program = request.opened(searched.schedule)
        yield program, in_this_process(program), None
        return
    with Runners(request.devices, every=request.all_devices,
                 program=(str(request.program), request.policy)) as runners:
        program = request.opened(searched.schedule)  # while processes start
        assert program.device_info is not None
        limit = limit_on(program.device_info, request.time_limit)
        runner = runners.open(program, limit if request.seconds is None else replace(
            limit, end=started + request.seconds))
        if request.scheduler is None:
            yield program, runner, runners.device_pool() if request.several else None
            return
        # late: optional, as its package is
        from runelift.runtime.research.dask_cluster import Cluster

        with closing(Cluster(request.scheduler, program, limit)) as cluster:
            yield program, runner, cluster


def _search_schedules(request: TuningRequest) -> SearchedSchedules:
    if request.schedules is None:
        return SearchedSchedules(request.schedule)
    program = request.opened(request.schedule)
    with display(0) as shown, interrupts.between_runs():
        found: SearchedSchedules = _schedules().search_schedules(request, program, shown)
        return found


def _has_time_to_drop(searched: SearchedSchedules, job: TuningJob) -> bool:
    """True if there are schedules to drop, and time to tune again without them."""
    searches = searched.searches.values()
    least = job.policy.budget.twice * sum(each.longest for each in searches)
    return job.seconds_left > least and any(
        each.winners and not each.unused for each in searches)


def _schedules() -> Any:
    """The module that searches schedules, which other tunings do without: they need no compiler."""
    return import_module("runelift.runtime.tools.commands.schedule_search")


def _has_choices(request: TuningRequest, program: Program, strategy: Strategy) -> bool:
    return any(forest.trees for forest in program.tree.entries) or (
        _parameter_search(request, strategy) is not None and bool(program.spaces()))


def _without_records(request: TuningRequest, strategy: Strategy, program: Program, job: TuningJob
                     ) -> list[SearchTuning]:
    """Tune with a strategy that searches, or by an import."""
    ways = import_module(WITHOUT_RECORDS)
    with interrupts.between_runs():
        found: list[SearchTuning] = ways.searched(request, strategy, job) if (
            request.import_t4 is None) else ways.imported(request, program, job)
        return found


def _tune(request: TuningRequest, strategy: Strategy, program: Program, job: TuningJob,
          started: float) -> State:
    search = _parameter_search(request, strategy)
    with display(len(job.datasets)) as shown, interrupts.between_runs():
        if request.replay is not None:
            return autotune(replace(job, recorded=_recorded(request, request.replay, program)))
        expected = expected_time(program, job, request.seconds, parameters=search is not None)
        shown.expected(expected.announced(len(job.datasets)), expected.likely, expected.most,
                       started)
        with _logged(request, program, job, shown) as logged:
            return autotune(replace(logged, parameters=search and replace(
                search, progress=shown.trying, within=shown.within)),
                keep=partial(write_so_far, request, program))


def _job(request: TuningRequest, program: Program, runner: Measurable) -> TuningJob:
    assert program.device_info is not None
    datasets = [] if request.replay else tuning_datasets(request, program)
    return TuningJob(runner, program.tree, datasets,
                     repeats=request.runs, verify=not request.no_verify)


def _recording(request: TuningRequest, strategy: Strategy, program: Program, job: TuningJob,
               pool: DevicePool | None, started: float) -> TuningJob:
    """The job of a tuning by records."""
    method = measuring_method(strategy)
    assert method is not None
    return replace(job, method=replace(method, policy=request.tuning_policy, pool=pool or None),
                   size_guards=_size_guards(request), aim=Objective(request.objective),
                   report=facts, memory=_memory(request, program, job), end=_end(request, started))


def _end(request: TuningRequest, started: float) -> float:
    """The time when tuning ends; what is left of a budget is for the report."""
    part = request.tuning_policy.budget.tuning
    return math.inf if request.seconds is None else started + part * request.seconds


def _size_guards(request: TuningRequest) -> SizeGuardKind:
    """The kind of size guards.  Guards that aim at time alone do not go with least memory."""
    kind = SizeGuardKind(request.guards)
    return SizeGuardKind.THRESHOLD if (
        kind is SizeGuardKind.AUTO and request.objective == Objective.MEMORY.value) else kind


def _memory(request: TuningRequest, program: Program, job: TuningJob
            ) -> EstimateMemory | None:
    """The device memory of runs on datasets, if the objective asks for it."""
    if not Objective(request.objective).weighs_memory:
        return None
    inputs = {dataset.name: (dataset.entry, outline(dataset.arguments()))
              for dataset in job.datasets}
    return lambda name, thresholds: program.estimate_memory(*inputs[name], thresholds=thresholds)


def _parameter_search(request: TuningRequest, strategy: Strategy) -> ParameterSearch | None:
    """The search for parameters of kernels; None if the options request none."""
    asked = measuring_method(strategy) is not None and not (
        request.no_parameters or request.no_verify or request.replay)
    return ParameterSearch(request.parameters, request.seed) if (
        asked and request.tuning_policy.parameters.seconds > 0) else None


@contextmanager
def _logged(request: TuningRequest, program: Program, job: TuningJob, shown: Display
            ) -> Iterator[TuningJob]:
    assert program.device_info is not None
    output = request.tuning_file
    log = Log(output.with_name(output.name + ".log"), runs_are_for(program), resume=request.resume,
              place=place_of(program.device_info))
    with closing(log):
        yield replace(job, log=log, progress=shown.measured)


def _recorded(request: TuningRequest, path: Path, program: Program) -> dict[str, Measurements]:
    """The runs of ``--replay``, by entry point."""
    recorded = read_log(path)
    if (others := made_for(path)) and runs_are_for(program) not in others:
        warn(f"{path}: the runs are of another text of the program, another policy, device "
             "or driver; their times may not hold here.")
    entries = [forest.entry for forest in program.tree.entries
               if forest.entry in recorded and request.entry in (None, forest.entry)]
    if not entries:
        raise UserError(f"'{path}' has no runs of this program's entry points.")
    return {entry: recorded[entry] for entry in entries}
