"""Find the best thresholds, and parameters of kernels, for the datasets of a program.

Runs every code version on every dataset, and solves for the thresholds that are best for all of
them together.  Checks the result against the default.  Then tries other settings of the kernels
that take time, unless --no-parameters or --no-verify is given, and checks those, too.  Writes
PROGRAM.tuning, which 'run', 'bench' and 'test' then use, and facts in PROGRAM.tuning.json.

Every run is logged in PROGRAM.tuning.log as soon as it is over.  Ctrl-C ends the measuring: the
thresholds are then fitted to what has been measured.  If datasets are tagged 'tune', those are
tuned for, else all that are not tagged 'notune' or 'disable'.  Cases without a name are used only
if there are no others.

The program runs in a separate process.  It is ended and started again where a version takes far too
long or crashes (--time-limit).

With --schedules, rewrites of the program are tried before that, and those that gain become further
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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from runelift.ir.errors import UserError
from runelift.runtime.commands.open_program import open_program
from runelift.runtime.commands.options import warn
from runelift.runtime.commands.progress import Display, display
from runelift.runtime.commands.schedule_search import (
    schedule_found,
    search_schedules,
    used_schedules,
    with_winners,
)
from runelift.runtime.commands.tuning_data import kept_out, tuning_datasets
from runelift.runtime.commands.tuning_files import runs_are_for
from runelift.runtime.commands.tuning_options import EFFORTS, check, configure
from runelift.runtime.commands.tuning_output import (
    INTERRUPTED,
    finish_search,
    finish_tuning,
    output_of,
    write_so_far,
)
from runelift.runtime.data.outline import outline
from runelift.runtime.devices.comparable import place_of
from runelift.runtime.host import interrupts
from runelift.runtime.host.gc_policy import freeze
from runelift.runtime.program import Program
from runelift.runtime.tuner import import_t4, t4
from runelift.runtime.tuner.autotune import State, autotune
from runelift.runtime.tuner.costs.log import Log, Measurements, made_for, read_log
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.memory_front import EstimateMemory
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import ParameterSearch, TuningJob
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.time_limits import UNLIMITED
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.report.text import facts
from runelift.runtime.tuner.strategies import parse_strategy
from runelift.runtime.tuner.strategies.instrumentation import measuring_method
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning, tune_by_search
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.result_checks import ResultChecks
from runelift.runtime.tuner.workers.runners import Runners, limit_on
from runelift.runtime.tuner.workers.work_sharing import DevicePool, SharedMeasuring

__all__ = ["INTERRUPTED", "configure", "execute", "tune"]
EXAMPLES = ("runelift autotune examples/mapscan.fut --effort quick -v",
            "runelift autotune examples/lud.fut --budget 30s --html lud.html")
Finish: TypeAlias = Callable[[argparse.Namespace, Program, TuningPolicy, State], int]
"""A use of the result of a tuning with records; the exit status."""


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift autotune``."""
    return tune(args, finish_tuning)


def tune(args: argparse.Namespace, finish: Finish) -> int:
    """Tune as the options of ``runelift autotune`` say; the exit status."""
    started = time.perf_counter()
    strategy = parse_strategy(args.strategy or EFFORTS[args.effort].strategy)
    check(args, strategy)
    args.device = args.devices[0] if args.devices else None
    args.with_unused = None
    if args.schedules is not None:
        _search_schedules(args)
    while True:
        with _running(args, started) as (program, runner, pool):
            status = _tune(args, strategy, program, runner, pool, started, finish)
        if status is not None:
            return status


@contextmanager
def _running(args: argparse.Namespace, started: float
             ) -> Iterator[tuple[Program, Measurable, DevicePool | None]]:
    """The program, what runs it, and further devices or machines that do so."""
    several = len(args.devices) > 1 or args.all_devices or args.scheduler is not None
    if args.replay or (args.time_limit == UNLIMITED and not several):
        program = _open(args)
        yield program, MeasuredProgram(program, ResultChecks()), None
        return
    with Runners(args.devices, every=args.all_devices,
                 program=(str(args.program), args.policy)) as runners:
        program = _open(args)  # while processes start
        assert program.device_info is not None
        limit = limit_on(program.device_info, args.time_limit)
        seconds = args.budget.seconds if args.budget else None
        runner = runners.open(program, limit if seconds is None else replace(
            limit, end=started + seconds))
        if args.scheduler is None:
            yield program, runner, runners.device_pool() if several else None
            return
        # late: optional, as its package is
        from runelift.runtime.tuner.workers.dask_cluster import Cluster

        with closing(Cluster(args.scheduler, program, limit)) as cluster:
            yield program, runner, cluster


def _search_schedules(args: argparse.Namespace) -> None:
    """Search schedules; those that are worth a version are part of the program from here on."""
    program = _open(args)
    with display(0) as shown, interrupts.between_runs():
        args.searched = search_schedules(args, program, shown.trying)
    args.schedule_given = args.schedule
    args.schedule = schedule_found(program, args.searched) or args.schedule


def _may_drop(args: argparse.Namespace, strategy: Strategy) -> bool:
    """True if there are schedules of which some may run on no dataset once all is tuned."""
    return measuring_method(strategy) is not None and any(
        search.winners and not search.unused for search in args.searched.values())


def _drop_unused(args: argparse.Namespace, program: Program, state: State) -> bool:
    """Drop the schedules whose versions run on no dataset; False if there are none.

    ``state`` has thresholds that were fitted to the times with tuned parameters: before that, a
    version that gains by them would be dropped.  If there was no time for all versions, the best
    schedule is kept alone.
    """
    if state.interrupted:
        return False
    used = used_schedules(state) if state.measured else {
        search.winners[0].drawn.lines for search in args.searched.values() if search.winners}
    for search in args.searched.values():
        search.keep(used)
    if not any(search.unused for search in args.searched.values()):
        return False
    args.with_unused = (program, state) if state.measured else None
    args.schedule = schedule_found(program, args.searched) or args.schedule_given
    return True


def _more_measured(args: argparse.Namespace, program: Program, state: State
                   ) -> tuple[Program, State]:
    """The result from before schedules were dropped, if there was time to measure more datasets."""
    if not state.measured and args.with_unused is None:
        return program, with_winners(program, args.searched, state)
    if args.with_unused is None or state.datasets >= args.with_unused[1].datasets:
        return program, state
    for search in args.searched.values():
        search.keep_all()
    program, before = args.with_unused
    return program, replace(before, interrupted=state.interrupted)


def _open(args: argparse.Namespace) -> Program:
    """The program, compiled for a device."""
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device; 'runelift doctor' says what is missing.")
    freeze()
    return program


def _tune(args: argparse.Namespace, strategy: Strategy, program: Program,
          runner: Measurable, pool: DevicePool | None, started: float,
          finish: Finish) -> int | None:
    """Tune ``program``, which is run by ``runner``, and measured by a pool if there is one.

    The result is the exit status; None if schedules were dropped, so that the rest is to be tuned.
    """
    held_back = kept_out(args, program)
    search = _parameter_search(args, strategy)
    if not any(forest.trees for forest in program.tree.entries) and not (
            search and program.spaces()):
        print("The program has one version only: there is nothing to tune.",
              file=sys.stderr if args.json else sys.stdout)
        return 0
    job = _job(args, program, runner)
    if args.import_t4 is not None:
        with interrupts.between_runs():
            return finish_search(args, program, _imported(args, program, job))
    if measuring_method(strategy) is None:
        with interrupts.between_runs():
            return finish_search(args, program, _searched(args, strategy, job))
    job = replace(_recording(args, strategy, program, job, pool, started), held_back=held_back)
    if may_drop := _may_drop(args, strategy):
        job = job.until(job.policy.budget.unused)
    with display(len(job.datasets)) as shown, interrupts.between_runs():
        if args.replay:
            state = autotune(replace(job, recorded=_recorded(args, program)))
        else:
            with _logged(args, program, job, shown) as logged:
                state = autotune(replace(logged, parameters=search and replace(
                    search, progress=shown.trying, within=shown.within)),
                    keep=partial(write_so_far, args, program))
    if isinstance(runner, Remote):
        if not state.interrupted:
            runner.save_manifest()
        runner.leave()
    if may_drop and _drop_unused(args, program, state):
        return None
    program, state = _more_measured(args, program, state)
    return finish(args, program, job.policy, state)


def _job(args: argparse.Namespace, program: Program, runner: Measurable) -> TuningJob:
    """The job that all ways of tuning have in common."""
    assert program.device_info is not None
    datasets = [] if args.replay else tuning_datasets(args, program)
    return TuningJob(runner, program.tree, datasets,
                     repeats=args.runs, verify=not args.no_verify)


def _recording(args: argparse.Namespace, strategy: Strategy, program: Program, job: TuningJob,
               pool: DevicePool | None, started: float) -> TuningJob:
    """The job of a tuning by records."""
    method = measuring_method(strategy)
    assert method is not None
    method = method.following(EFFORTS[args.effort].policy)
    return replace(job, method=SharedMeasuring(method, pool) if pool else method,
                   size_guards=_size_guards(args), aim=Objective(args.objective), report=facts,
                   memory=_memory(args, program, job), end=_end(args, started))


def _end(args: argparse.Namespace, started: float) -> float:
    """The time when tuning ends; what is left of a budget is for the report."""
    part = EFFORTS[args.effort].policy.budget.tuning
    return started + part * args.budget.seconds if args.budget else math.inf


def _size_guards(args: argparse.Namespace) -> SizeGuardKind:
    """The kind of size guards; those that aim at time alone do not go with least memory."""
    kind = SizeGuardKind(args.guards)
    return SizeGuardKind.THRESHOLD if (
        kind is SizeGuardKind.AUTO and args.objective == Objective.MEMORY.value) else kind


def _memory(args: argparse.Namespace, program: Program, job: TuningJob
            ) -> EstimateMemory | None:
    """The device memory of runs on datasets, if the objective asks for it."""
    if not Objective(args.objective).weighs_memory:
        return None
    inputs = {dataset.name: (dataset.entry, outline(dataset.arguments()))
              for dataset in job.datasets}
    return lambda name, thresholds: program.estimate_memory(*inputs[name], thresholds=thresholds)


def _parameter_search(args: argparse.Namespace, strategy: Strategy) -> ParameterSearch | None:
    """The search for parameters of kernels, if the options ask for one."""
    asked = measuring_method(strategy) is not None and not (
        args.no_parameters or args.no_verify or args.replay)
    return ParameterSearch(args.parameters, args.seed) if (
        asked and EFFORTS[args.effort].policy.parameters.seconds > 0) else None


@contextmanager
def _logged(args: argparse.Namespace, program: Program, job: TuningJob, shown: Display
            ) -> Iterator[TuningJob]:
    """The job with a log, and with progress that is shown."""
    assert program.device_info is not None
    output = output_of(args)
    log = Log(output.with_name(output.name + ".log"), runs_are_for(program), resume=args.resume,
              place=place_of(program.device_info))
    with closing(log):
        yield replace(job, log=log, progress=shown.measured)


def _recorded(args: argparse.Namespace, program: Program) -> dict[str, Measurements]:
    """The runs of ``--replay``, by entry point."""
    recorded = read_log(args.replay)
    if (others := made_for(args.replay)) and runs_are_for(program) not in others:
        warn(f"{args.replay}: the runs are of another text of the program, another policy, device "
             "or driver; their times may not hold here.")
    entries = [forest.entry for forest in program.tree.entries
               if forest.entry in recorded and args.entry in (None, forest.entry)]
    if not entries:
        raise UserError(f"'{args.replay}' has no runs of this program's entry points.")
    return {entry: recorded[entry] for entry in entries}


def _searched(args: argparse.Namespace, strategy: Strategy, job: TuningJob) -> list[SearchTuning]:
    """Tune with a strategy that runs the program with thresholds."""
    with display(0) as shown:
        return tune_by_search(job, strategy, budget=args.budget, seed=args.seed,
                              progress=shown.searched)


def _imported(args: argparse.Namespace, program: Program, job: TuningJob) -> list[SearchTuning]:
    """Take over the best configurations of a T4 file."""
    assert program.device_info is not None
    found = import_t4.usable(program, t4.read_t4(args.import_t4), program.device_info.name)
    for problem in found.problems:
        warn(f"{args.import_t4}: {problem}")
    adopted = import_t4.adopt(program, job, found.results)
    if not adopted:
        raise UserError(f"'{args.import_t4}' has no configuration of this program that is valid "
                        "on all of its datasets.")
    return adopted
