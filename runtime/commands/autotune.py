"""Find the best thresholds, and parameters of kernels, for the datasets of a program.

Runs every code version on every dataset, solves for the thresholds that are best for all of
them together, checks the result against the default, tries other settings of the kernels that take
time (unless --no-parameters or --no-verify), checks those too, and writes PROGRAM.tuning, which
'run', 'bench' and 'test' then use, and facts about it in PROGRAM.tuning.json.  Every run is logged
in PROGRAM.tuning.log as soon as it is over.  Ctrl-C ends the measuring: the thresholds are then
fitted to what has been measured.  If datasets are tagged 'tune', those are tuned for, else all that
are not tagged 'notune' or 'disable'; cases without a name are used only if there are no others.

The program runs in a process of its own, which is ended and started again where a version takes far
too long or crashes (--time-limit).

With --strategy replay, one run per dataset is enough: all versions run at every encounter, on the
same inputs, and their results are compared.  Other strategies run the program with thresholds and
have no log ('runelift tune-compare --help' lists them).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import partial
from itertools import starmap
from pathlib import Path

from runelift.ir.errors import UserError
from runelift.runtime.commands.open_program import open_program
from runelift.runtime.commands.options import print_json, warn
from runelift.runtime.commands.progress import Display, display
from runelift.runtime.commands.tuning_data import kept_out, tuning_datasets
from runelift.runtime.commands.tuning_files import (
    about_program,
    about_runs,
    export_t4,
    runs_are_for,
    write_found,
    write_report,
)
from runelift.runtime.commands.tuning_options import EFFORTS, check, configure
from runelift.runtime.devices.comparable import place_of
from runelift.runtime.host import interrupts
from runelift.runtime.host.background import in_background
from runelift.runtime.host.gc_policy import freeze
from runelift.runtime.program import Program
from runelift.runtime.tuner import confirm_size_guards as refined
from runelift.runtime.tuner import import_t4 as imported
from runelift.runtime.tuner import t4
from runelift.runtime.tuner.autotune import autotune, conclude
from runelift.runtime.tuner.costs.log import Log, made_for, read_log
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit import cross_validation as held_out
from runelift.runtime.tuner.fit.cross_validation import leave_one_out
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.kernel_parameters import tune as parameters
from runelift.runtime.tuner.measure.forced_runs import ForcedRuns
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes, compare_paired
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.measure.time_limits import UNLIMITED
from runelift.runtime.tuner.report.text import facts, render, render_held_out, render_validation
from runelift.runtime.tuner.result import EntryTuning, Tuning, default_thresholds
from runelift.runtime.tuner.strategies import Strategy, parse_strategy
from runelift.runtime.tuner.strategies import tune_by_search as searched
from runelift.runtime.tuner.strategies.instrumentation import Instrumentation
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import Runners, limit_on
from runelift.runtime.tuner.workers.work_sharing import DevicePool, SharedMeasuring
from runelift.runtime.versions.size_guards import GuardedThresholds
from runelift.runtime.versions.tuning_file import GUARDS, tuning_path

__all__ = ["configure", "execute"]

WORKING = 0.9
"""The part of a budget that is not for the report."""
MEASURING = 0.5
"""The part of a budget that is for thresholds where parameters are tuned, too."""
TRIALS = 0.75
"""The part of what is left that is for trying settings; the rest is for running the result."""
INTERRUPTED = 130


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift autotune``."""
    started = time.perf_counter()
    strategy = parse_strategy(args.strategy or EFFORTS[args.effort].strategy)
    check(args, strategy)
    args.device = args.devices[0] if args.devices else None
    several = len(args.devices) > 1 or args.all_devices or args.scheduler is not None
    if args.replay or (args.time_limit == UNLIMITED and not several):
        program = _open(args)
        return _tune(args, strategy, program, MeasuredProgram(program), None, started)
    with Runners(args.devices, every=args.all_devices,
                 program=(str(args.program), args.policy)) as runners:
        program = _open(args)  # while processes start
        assert program.device_info is not None
        limit = limit_on(program.device_info, args.time_limit)
        runner = runners.open(program, limit)
        if args.scheduler is None:
            crew = runners.crew() if several else None
            return _tune(args, strategy, program, runner, crew, started)
        # late: optional, as its package is
        from runelift.runtime.tuner.workers.dask_cluster import Cluster

        with closing(Cluster(args.scheduler, program, limit)) as cluster:
            return _tune(args, strategy, program, runner, cluster, started)


def _open(args: argparse.Namespace) -> Program:
    """The program, compiled for a device."""
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device; 'runelift doctor' says what is missing.")
    freeze()
    return program


def _tune(args: argparse.Namespace, strategy: Strategy, program: Program,
          runner: Measurable, crew: DevicePool | None, started: float) -> int:
    """Tune ``program``, which is run by ``runner``, and measured by a crew if there is one."""
    assert program.device_info is not None
    effort = EFFORTS[args.effort]
    tries = isinstance(strategy, Instrumentation) and effort.policy.parameters.seconds > 0 and not (
        args.no_parameters or args.no_verify or args.replay)
    output, held_back = args.output or tuning_path(args.program), kept_out(args, program)
    if not any(forest.trees for forest in program.tree.entries) and not (
            tries and program.spaces()):
        print("The program has one version only: there is nothing to tune.",
              file=sys.stderr if args.json else sys.stdout)
        return 0
    if args.import_t4 is not None:
        with interrupts.between_runs():
            return _import(args, program, runner, output)
    if not isinstance(strategy, Instrumentation):
        with interrupts.between_runs():
            with display() as shown:
                searches = _search(args, program, runner, strategy, shown)
            return _adopt(args, program, output, searches)
    method = strategy.method.following(effort.policy)
    end = started + WORKING * args.budget.seconds if args.budget else math.inf
    with display() as shown, interrupts.between_runs():
        tuning = (_replay(args, program) if args.replay else
                  _measure(args, program, runner, output,
                           SharedMeasuring(method, crew) if crew else method, shown,
                           _part(end, MEASURING if tries else 1.0)))
        tried = list[parameters.ParameterTuning]()
        ended = tuning.interrupted
        if tries and not ended:
            ended = not _tune_parameters(args, program, runner, tuning, tried, shown, end)
        finer, validated = list[refined.ConfirmedSizeGuards](), dict[str, PairedTimes]()
        report = partial(render, tuning)
        try:
            fitted = [] if ended else _fit_guards(args, runner, tuning)
            waits = not (ended or args.json) and runner.out_of_process
            with in_background(report) if waits else nullcontext(report) as rendered:
                if not ended:
                    finer = _confirm_guards(args, program, runner, tuning, tried, fitted)
                    validated = _validate(args, runner, tuning, held_back, GuardedThresholds(
                        _values(tuning, tried), {site: each for one in finer
                                                 for site, each in one.finer.items()}))
        except KeyboardInterrupt:
            ended, rendered = True, report
    if isinstance(runner, Remote):
        if not ended:
            runner.save_manifest()
        runner.leave()
    measured = bool(tried) or any(entry.costs.datasets for entry in tuning.entries)
    left_out = {entry.forest.entry: leave_one_out(entry.costs, entry.defaults, entry.aim,
                                                  SizeGuardKind(args.guards))
                for entry in tuning.entries} if args.leave_one_out else {}
    about = {**facts(tuning, **about_program(program)),
             "leave_one_out": {entry: held_out.facts(found) for entry, found in left_out.items()},
             "validation": {name: asdict(both) for name, both in validated.items()},
             "tuning_policy": asdict(effort.policy),
             GUARDS: refined.facts(finer, program.identity.device, program.policy),
             "parameters": {each.entry: parameters.facts(each) for each in tried}}
    if measured:
        found = _values(tuning, tried)
        tuned = {entry.forest.entry for entry in tuning.entries} | {each.entry for each in tried}
        about = write_found(output, found, about, program, tuned)
    if args.export_t4 is not None:
        export_t4(args.export_t4, about_runs(args, program), tuning, tried)
    if args.html is not None:
        write_report(args, program, tuning, tried, finer, validated, left_out)
    if args.json:
        print_json(about)
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print("\n\n".join(filter(None, [
            rendered(), *starmap(render_held_out, left_out.items()),
            *map(parameters.render, tried), *map(refined.render, finer),
            render_validation(validated)])))
        if measured:
            print(f"\nWritten to {output}.")
    if not ended:
        return 0
    print("runelift: interrupted; " + (
        "what was found before is kept." if not tuning.interrupted else
        f"the thresholds in {output} are fitted to what was measured." if measured else
        "nothing was measured completely, so nothing was written."), file=sys.stderr)
    return INTERRUPTED


def _measure(args: argparse.Namespace, program: Program, runner: Measurable, output: Path,
             method: MeasuringMethod, shown: Display, end: float) -> Tuning:
    assert program.device_info is not None
    datasets = tuning_datasets(args, program)
    log = Log(output.with_name(output.name + ".log"), runs_are_for(program), resume=args.resume,
              place=place_of(program.device_info))
    try:
        return autotune(runner, program.tree, datasets, program.device_info.choice.threshold,
                        method=method, repeats=args.runs, verify=not args.no_verify, log=log,
                        progress=shown.measured, aim=Objective(args.objective), end=end,
                        meanwhile=_guards_ahead(args, runner))
    finally:
        log.close()


def _guards_ahead(args: argparse.Namespace, runner: Measurable
                  ) -> Callable[[EntryTuning], object] | None:
    """How finer guards are fitted while the result runs; None where that would disturb the runs."""
    guards = SizeGuardKind(args.guards)
    if guards is SizeGuardKind.THRESHOLD or not runner.out_of_process:
        return None
    return partial(refined.fit_guards, guards=guards)


def _part(end: float, part: float) -> float:
    """The moment when this part of the time until ``end`` is over."""
    now = time.perf_counter()
    return now + part * (end - now)


def _tune_parameters(args: argparse.Namespace, program: Program, runner: Measurable,
                     tuning: Tuning, found: list[parameters.ParameterTuning],
                     shown: Display, end: float) -> bool:
    """Tune the parameters of all entry points that have datasets; False if Ctrl-C ended it."""
    assert program.device_info is not None
    datasets, policy = tuning_datasets(args, program), EFFORTS[args.effort].policy
    over = min(time.perf_counter() + policy.parameters.seconds, _part(end, TRIALS))
    shown.within(over - time.perf_counter())
    known = {entry.forest.entry: entry.measurements.runs for entry in tuning.entries}
    try:
        for forest in program.tree.entries:
            own = [dataset for dataset in datasets if dataset.entry == forest.entry]
            if own and (left := over - time.perf_counter()) > 0:
                found.append(parameters.tune_parameters(
                    runner, forest, own, tuning.thresholds, budget=left,
                    repeats=args.runs or ForcedRuns.repeats,
                    device=program.device_info.choice.threshold, seed=args.seed,
                    strategy=args.parameters, policy=policy, end=end,
                    known=known.get(forest.entry, ()), progress=shown.trying))
    except KeyboardInterrupt:
        return False
    return True


def _values(tuning: Tuning, tried: Sequence[parameters.ParameterTuning]) -> dict[str, int]:
    """The thresholds and parameters that were found."""
    found = dict(tuning.thresholds)
    for each in tried:
        found |= each.chosen
    return found


def _fit_guards(args: argparse.Namespace, runner: Measurable, tuning: Tuning
                ) -> list[refined.ConfirmedSizeGuards]:
    """The finer guards that ``--guards`` asks for, by the records."""
    guards = SizeGuardKind(args.guards)
    if guards is SizeGuardKind.THRESHOLD:
        return []
    return [refined.fit_guards(entry, guards, ahead=_runs_guards(args) and runner.out_of_process)
            for entry in tuning.entries if entry.costs.datasets]


def _runs_guards(args: argparse.Namespace) -> bool:
    """Whether finer guards are run before they are kept."""
    return not (args.replay or args.no_verify)


def _confirm_guards(args: argparse.Namespace, program: Program, runner: Measurable, tuning: Tuning,
                    tried: Sequence[parameters.ParameterTuning],
                    found: list[refined.ConfirmedSizeGuards]
                    ) -> list[refined.ConfirmedSizeGuards]:
    """Those that runs bear out."""
    if not found or not _runs_guards(args):
        return found
    datasets, values = tuning_datasets(args, program), _values(tuning, tried)
    entries = {entry.forest.entry: entry for entry in tuning.entries}
    return [refined.confirm_guards(
        runner, entries[each.entry], each, [d for d in datasets if d.entry == each.entry],
        values, args.runs or ForcedRuns.repeats) for each in found]


def _validate(args: argparse.Namespace, runner: Measurable, tuning: Tuning,
              held_back: Sequence[Dataset], values: Mapping[str, int]) -> dict[str, PairedTimes]:
    """Runs by default and tuned on the datasets that were kept out, in turn."""
    defaults = {entry.forest.entry: entry.defaults for entry in tuning.entries}
    found = {d.name: compare_paired(runner, d, defaults[d.entry], values,
                                    args.runs or ForcedRuns.repeats,
                                    EFFORTS[args.effort].policy.comparison)
             for d in held_back if d.entry in defaults}
    return {name: both for name, both in found.items() if both is not None}


def _replay(args: argparse.Namespace, program: Program) -> Tuning:
    assert program.device_info is not None
    recorded = read_log(args.replay)
    if (others := made_for(args.replay)) and runs_are_for(program) not in others:
        warn(f"{args.replay}: the runs are of another text of the program, another policy, device "
             "or driver; what they say may not hold here.")
    entries = []
    for forest in program.tree.entries:
        if forest.entry in recorded and args.entry in (None, forest.entry):
            defaults = default_thresholds(forest, program.device_info.choice.threshold)
            entries.append(conclude(forest, defaults, recorded[forest.entry],
                                    Objective(args.objective), EFFORTS[args.effort].policy))
    if not entries:
        raise UserError(f"'{args.replay}' has no runs of this program's entry points.")
    return Tuning(tuple(entries))


def _search(args: argparse.Namespace, program: Program, runner: Measurable, strategy: Strategy,
            shown: Display) -> list[searched.SearchTuning]:
    """Tune with a strategy that runs the program with thresholds."""
    assert program.device_info is not None
    return searched.tune_by_search(
        runner, program.tree, tuning_datasets(args, program), program.device_info.choice.threshold,
        strategy, budget=args.budget, seed=args.seed, repeats=args.runs or ForcedRuns.repeats,
        verify=not args.no_verify, progress=shown.searched)


def _adopt(args: argparse.Namespace, program: Program, output: Path,
           found: Sequence[searched.SearchTuning]) -> int:
    """Write and print what was found without records."""
    assert program.device_info is not None
    about = write_found(output, {
        name: value for each in found for name, value in each.thresholds.items()},
        searched.facts(found, **about_program(program)), program,
        {each.forest.entry for each in found})
    if args.json:
        print_json(about)
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print(searched.render(found))
        print(f"\nWritten to {output}.")
    return INTERRUPTED if about["interrupted"] else 0


def _import(args: argparse.Namespace, program: Program, runner: Measurable, output: Path) -> int:
    """Take over what a T4 file has."""
    assert program.device_info is not None
    found = imported.usable(program, t4.read_t4(args.import_t4), program.device_info.name)
    for problem in found.problems:
        warn(f"{args.import_t4}: {problem}")
    adopted = imported.adopt(program, runner, found.results, tuning_datasets(args, program),
                             program.device_info.choice.threshold,
                             repeats=args.runs or ForcedRuns.repeats, verify=not args.no_verify)
    if not adopted:
        raise UserError(f"'{args.import_t4}' has no configuration of this program that is valid "
                        "on all of its datasets.")
    return _adopt(args, program, output, adopted)
