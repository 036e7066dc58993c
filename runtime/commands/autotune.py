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
from collections.abc import Mapping, Sequence, Set
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import Any

from runelift.ir.errors import UserError
from runelift.runtime import interrupts
from runelift.runtime.alike import place_of
from runelift.runtime.commands.bench import inputs
from runelift.runtime.commands.options import (
    add_contract,
    add_devices,
    add_entry,
    add_html,
    add_json,
    add_only,
    add_policy,
    add_program,
    add_time_limit,
    open_program,
    print_json,
    warn,
)
from runelift.runtime.commands.progress import Display, display
from runelift.runtime.finer import Guarded
from runelift.runtime.program import Program
from runelift.runtime.testblocks import training_of, validation_of
from runelift.runtime.tuner import (
    held_out,
    imported,
    parameters,
    refined,
    searched,
    t4,
)
from runelift.runtime.tuner.autotune import (
    Tuning,
    Verified,
    autotune,
    conclude,
    default_thresholds,
    side_by_side,
)
from runelift.runtime.tuner.contest import LOCAL
from runelift.runtime.tuner.exploring import EXPLORING
from runelift.runtime.tuner.held_out import leave_one_out
from runelift.runtime.tuner.limits import UNLIMITED
from runelift.runtime.tuner.log import Log, made_for, read_log
from runelift.runtime.tuner.measure import Dataset, Forced, Method
from runelift.runtime.tuner.objectives import Objective
from runelift.runtime.tuner.parameters import Triable
from runelift.runtime.tuner.refine import Guards
from runelift.runtime.tuner.remote import Remote
from runelift.runtime.tuner.report import (
    facts,
    render,
    render_held_out,
    render_validation,
)
from runelift.runtime.tuner.runners import Runners, limit_on
from runelift.runtime.tuner.shared import Crew, Shared
from runelift.runtime.tuner.strategies import Strategy, parse_strategy
from runelift.runtime.tuner.strategies.instrumentation import Instrumentation
from runelift.runtime.tuner.strategies.trials import parse_budget
from runelift.runtime.tuner.tuning_file import (
    GUARDS,
    PROGRAM,
    SETTINGS,
    names_in,
    tuning_of,
    tuning_path,
    write_tuning,
)

DEFAULT = "instrumentation"
WORKING = 0.9
"""The part of a budget that is not for the report."""
MEASURING = 0.5
"""The part of a budget that is for thresholds where parameters are tuned, too."""
TRIALS = 0.75
"""The part of what is left that is for trying settings; the rest is for running the result."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done: with which strategy, whether ``parameters`` are tuned and for how many
    ``seconds`` at most, and how many times as many settings as usual are tried.
    """

    strategy: str
    parameters: bool
    seconds: float
    thorough: int


EFFORTS = {"quick": Effort("replay", False, 0.0, 0),
           "normal": Effort(DEFAULT, True, parameters.BUDGET, 1),
           "full": Effort(DEFAULT, True, 5 * parameters.BUDGET, 4)}
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift autotune``."""
    add_program(parser)
    add_entry(parser)
    parser.add_argument("-r", "--runs", type=int, metavar="N",
                        help="how often to repeat each run (default: 3; with replay, which "
                             "repeats versions, 1)")
    parser.add_argument("-i", "--input", type=Path, metavar="FILE",
                        help="tune for this input instead of the datasets of the program")
    add_only(parser)
    parser.add_argument("--no-verify", action="store_true",
                        help="do not run the tuned program beside the default one")
    parser.add_argument("--no-parameters", action="store_true",
                        help="tune thresholds only, not the parameters of kernels")
    parser.add_argument("--parameters", default=LOCAL, choices=[LOCAL, *EXPLORING],
                        help="how the settings of kernels are searched (default: %(default)s)")
    parser.add_argument("--replay", type=Path, metavar="LOG",
                        help="fit to the runs in a log instead of running anything")
    parser.add_argument("--resume", action="store_true",
                        help="do not run the datasets again that are in the log of a tuning of "
                             "this program that was killed")
    parser.add_argument("--effort", choices=EFFORTS, default="normal",
                        help="quick: one run per dataset replays all versions, no parameters; "
                             "normal; full: four times as many settings of parameters, for up to "
                             "five minutes (default: %(default)s)")
    parser.add_argument("--strategy", metavar="NAME",
                        help=f"how to search for thresholds (default: {DEFAULT}, or what the "
                             "effort says)")
    parser.add_argument("--budget", type=parse_budget, metavar="N|SECONDS",
                        help="how long tuning may take in all: half of it goes to versions, the "
                             "rest to parameters of kernels, which take at most 60s anyway; for "
                             "strategies that search, after how many runs or what time they end")
    add_time_limit(parser)
    parser.add_argument("--objective", choices=[each.value for each in Objective],
                        default=Objective.RELATIVE.value,
                        help="what to make small: the sum of the datasets' times relative to "
                             "their best, the sum of the times, or the greatest relative time "
                             "(default: %(default)s)")
    parser.add_argument("--validate", action="store_true",
                        help="also run the datasets that are kept out of tuning ('notune') by "
                             "default and tuned")
    parser.add_argument("--export-t4", type=Path, metavar="FILE",
                        help="also write all times in the T4 format of Kernel Tuner; trials of "
                             "parameters go to FILE with the name of the operation")
    parser.add_argument("--import-t4", type=Path, metavar="FILE",
                        help="take the best configuration of a T4 file, with names of thresholds "
                             "or parameters, instead of measuring")
    parser.add_argument("--guards", choices=[each.value for each in Guards],
                        default=Guards.AUTO.value,
                        help="what decides where thresholds cannot be right for all datasets: "
                             "also a memo of exact sizes, what versions cost at the nearest "
                             "sizes, or a decision tree over sizes (default: %(default)s, the "
                             "nearest sizes unless they guess badly)")
    parser.add_argument("--leave-one-out", action="store_true",
                        help="also say how well each dataset fares with thresholds that are "
                             "fitted to the others")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="what a strategy draws from (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="the tuning file to write (default: PROGRAM.tuning)")
    add_devices(parser)
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="share out datasets among the machines of this Dask scheduler, such "
                             "as tcp://host:8786, whose devices must be like the one here")
    add_policy(parser)
    add_contract(parser)
    add_html(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift autotune``."""
    started = time.perf_counter()
    strategy = parse_strategy(args.strategy or EFFORTS[args.effort].strategy)
    _check(args, strategy)
    args.device = args.devices[0] if args.devices else None
    several = len(args.devices) > 1 or args.all_devices or args.scheduler is not None
    if args.replay or (args.time_limit == UNLIMITED and not several):
        program = _open(args)
        return _tune(args, strategy, program, program, None, started)
    with Runners(args.devices, every=args.all_devices,
                 program=(str(args.program), args.policy)) as runners:
        program = _open(args)  # while processes start
        assert program.device_info is not None
        limit = limit_on(program.device_info, args.time_limit)
        runner = runners.open(program, limit)
        if args.scheduler is None:
            crew = runners.crew() if several else None
            return _tune(args, strategy, program, runner, crew, started)
        from runelift.runtime.tuner.cluster import Cluster

        with closing(Cluster(args.scheduler, program, limit)) as cluster:
            return _tune(args, strategy, program, runner, cluster, started)


def _open(args: argparse.Namespace) -> Program:
    """The program, compiled for a device."""
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device; 'runelift doctor' says what is missing.")
    return program


def _tune(args: argparse.Namespace, strategy: Strategy, program: Program,
          runner: Program | Remote, crew: Crew | None, started: float) -> int:
    """Tune ``program``, which is run by ``runner``, and measured by a crew if there is one."""
    assert program.device_info is not None
    effort = EFFORTS[args.effort]
    tries = isinstance(strategy, Instrumentation) and effort.parameters and not (
        args.no_parameters or args.no_verify or args.replay)
    output, kept_out = args.output or tuning_path(args.program), _kept_out(args, program)
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
    end = started + WORKING * args.budget.seconds if args.budget else math.inf
    with display() as shown, interrupts.between_runs():
        tuning = (_replay(args, program) if args.replay else
                  _measure(args, program, runner, output,
                           Shared(strategy.method, crew) if crew else strategy.method, shown,
                           _part(end, MEASURING if tries else 1.0)))
        tried = list[parameters.ParameterTuning]()
        ended = tuning.interrupted
        if tries and not ended:
            ended = not _tune_parameters(args, program, runner, tuning, tried, shown, end)
        finer, validated = list[refined.Refined](), dict[str, Verified]()
        try:
            if not ended:
                finer = _refine_guards(args, program, runner, tuning, tried)
                validated = _validate(args, runner, tuning, kept_out, Guarded(
                    _values(tuning, tried), {site: each for one in finer
                                             for site, each in one.finer.items()}))
        except KeyboardInterrupt:
            ended = True
    if isinstance(runner, Remote):
        runner.finish()
    measured = bool(tried) or any(entry.costs.datasets for entry in tuning.entries)
    left_out = {entry.forest.entry: leave_one_out(entry.costs, entry.defaults, entry.aim,
                                                  Guards(args.guards))
                for entry in tuning.entries} if args.leave_one_out else {}
    about = {**facts(tuning, **_about(program)),
             "leave_one_out": {entry: held_out.facts(found) for entry, found in left_out.items()},
             "validation": {name: asdict(both) for name, both in validated.items()},
             GUARDS: refined.facts(finer, program.identity.device, program.policy),
             "parameters": {each.entry: parameters.facts(each) for each in tried}}
    if measured:
        found = _values(tuning, tried)
        tuned = {entry.forest.entry for entry in tuning.entries} | {each.entry for each in tried}
        about = _write(output, found, about, program, tuned)
    if args.export_t4 is not None:
        _export(args.export_t4, _about_runs(args, program), tuning, tried)
    if args.html is not None:
        _write_page(args, program, tuning, tried, finer, validated, left_out)
    if args.json:
        print_json(about)
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print("\n\n".join(filter(None, [
            render(tuning), *starmap(render_held_out, left_out.items()),
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


def _check(args: argparse.Namespace, strategy: Strategy) -> None:
    """Refuse options that do not go together."""
    complete = isinstance(strategy, Instrumentation)
    if args.runs is not None and args.runs < 1:
        raise UserError("--runs must be at least 1.")
    if complete and args.budget is not None and args.budget.seconds is None:
        raise UserError("A number of runs is a --budget for other strategies than "
                        f"'{strategy.name}', which runs every dataset as often as it needs to; it "
                        "takes a time, such as 30s.")
    if args.resume and (args.replay or not complete):
        raise UserError("--resume goes on with a log, which only tuning by records has.")
    if not complete or args.import_t4 is not None:
        _check_without_records(args)
    if args.replay and not complete:
        raise UserError(f"--replay fits to a log, which is what '{DEFAULT}' does; 'runelift "
                        "tune-compare' simulates other strategies on a log.")
    here = len(args.devices) > 1 or args.all_devices
    if here and args.scheduler is not None:
        raise UserError("--scheduler uses all devices of its machines that are like one here: give "
                        "one --device.")
    if (here or args.scheduler is not None) and (args.replay or args.import_t4 or not complete):
        raise UserError("Several devices share the runs of datasets, which only tuning by records "
                        "has.")


def _check_without_records(args: argparse.Namespace) -> None:
    """Refuse options that need records, which neither a search nor an import has."""
    for option, given, instead in (
            ("--objective", args.objective != Objective.RELATIVE.value,
             "strategies that search minimise the sum of relative times"),
            ("--guards", args.guards not in (Guards.AUTO.value, Guards.THRESHOLD.value), ""),
            ("--leave-one-out", args.leave_one_out, ""),
            ("--validate", args.validate, ""),
            ("--export-t4", args.export_t4 is not None, ""),
            ("--replay", args.replay is not None and args.import_t4 is not None, ""),
            ("--html", args.html is not None,
             "'runelift tune-compare --html' shows how strategies fare")):
        if given:
            raise UserError(f"{option} needs records of runs with forced versions, which a search "
                            "or an import does not make" + (f"; {instead}." if instead else "."))


def _measure(args: argparse.Namespace, program: Program, runner: Triable, output: Path,
             method: Method, shown: Display, end: float) -> Tuning:
    assert program.device_info is not None
    datasets = tuning_datasets(args, program)
    log = Log(output.with_name(output.name + ".log"), _made_for(program), resume=args.resume,
              place=place_of(program.device_info))
    try:
        return autotune(runner, program.tree, datasets, program.device_info.choice.threshold,
                        method=method, repeats=args.runs, verify=not args.no_verify, log=log,
                        progress=shown.measured, aim=Objective(args.objective), end=end)
    finally:
        log.close()


def _made_for(program: Program) -> str:
    """What runs in a log are of."""
    about = _about(program)
    return " ".join(about[key] for key in (PROGRAM, "policy", "device", "driver"))


def _part(end: float, part: float) -> float:
    """The moment when this part of the time until ``end`` is over."""
    now = time.perf_counter()
    return now + part * (end - now)


def _tune_parameters(args: argparse.Namespace, program: Program, runner: Triable,
                     tuning: Tuning, found: list[parameters.ParameterTuning],
                     shown: Display, end: float) -> bool:
    """Tune the parameters of all entry points that have datasets; False if Ctrl-C ended it."""
    assert program.device_info is not None
    datasets, effort = tuning_datasets(args, program), EFFORTS[args.effort]
    over = min(time.perf_counter() + effort.seconds, _part(end, TRIALS))
    shown.within(over - time.perf_counter())
    known = {entry.forest.entry: entry.measurements.runs for entry in tuning.entries}
    try:
        for forest in program.tree.entries:
            own = [dataset for dataset in datasets if dataset.entry == forest.entry]
            if own and (left := over - time.perf_counter()) > 0:
                found.append(parameters.tune_parameters(
                    runner, forest, own, tuning.thresholds, budget=left,
                    repeats=args.runs or Forced.repeats,
                    device=program.device_info.choice.threshold, seed=args.seed,
                    strategy=args.parameters, thorough=effort.thorough, end=end,
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


def _refine_guards(args: argparse.Namespace, program: Program, runner: Triable, tuning: Tuning,
                   tried: Sequence[parameters.ParameterTuning]) -> list[refined.Refined]:
    """The finer guards that ``--guards`` asks for."""
    guards = Guards(args.guards)
    if guards is Guards.THRESHOLD:
        return []
    found = [refined.refine_guards(entry, guards) for entry in tuning.entries
             if entry.costs.datasets]
    if args.replay or args.no_verify:
        return found
    datasets, values = tuning_datasets(args, program), _values(tuning, tried)
    entries = {entry.forest.entry: entry for entry in tuning.entries}
    return [refined.confirm_guards(
        runner, entries[each.entry], each, [d for d in datasets if d.entry == each.entry],
        values, args.runs or Forced.repeats) for each in found]


def tuning_datasets(args: argparse.Namespace, program: Program) -> list[Dataset]:
    """The datasets that the command line asks to tune for.

    Entry points that only have cases without a name are left out if others have some with one: what
    is quick to test says nothing about what is worth tuning for.
    """
    asked = args.entry is not None or args.input is not None
    worth = {entry for case in training_of(program.compiled.source)
             for entry in case.entries}
    return [Dataset(name, entry, arguments)
            for entry, name, arguments in inputs(args, program, training_of)
            if asked or entry in worth]


def _kept_out(args: argparse.Namespace, program: Program) -> list[Dataset]:
    """The datasets of ``--validate``."""
    if not args.validate:
        return []
    if args.input is not None:
        raise UserError("--validate runs the datasets that a program keeps out of tuning, not an "
                        "--input.")
    return [Dataset(name, entry, arguments)
            for entry, name, arguments in inputs(args, program, validation_of)]


def _validate(args: argparse.Namespace, runner: Triable, tuning: Tuning,
              kept_out: Sequence[Dataset], values: Mapping[str, int]) -> dict[str, Verified]:
    """Runs by default and tuned on the datasets that were kept out, in turn."""
    defaults = {entry.forest.entry: entry.defaults for entry in tuning.entries}
    found = {d.name: side_by_side(runner, d, defaults[d.entry], values,
                                  args.runs or Forced.repeats)
             for d in kept_out if d.entry in defaults}
    return {name: both for name, both in found.items() if both is not None}


def _replay(args: argparse.Namespace, program: Program) -> Tuning:
    assert program.device_info is not None
    recorded = read_log(args.replay)
    if (others := made_for(args.replay)) and _made_for(program) not in others:
        warn(f"{args.replay}: the runs are of another text of the program, another policy, device "
             "or driver; what they say may not hold here.")
    entries = []
    for forest in program.tree.entries:
        if forest.entry in recorded and args.entry in (None, forest.entry):
            defaults = default_thresholds(forest, program.device_info.choice.threshold)
            entries.append(conclude(forest, defaults, recorded[forest.entry],
                                    Objective(args.objective)))
    if not entries:
        raise UserError(f"'{args.replay}' has no runs of this program's entry points.")
    return Tuning(tuple(entries))


def _search(args: argparse.Namespace, program: Program, runner: Triable, strategy: Strategy,
            shown: Display) -> list[searched.Searched]:
    """Tune with a strategy that runs the program with thresholds."""
    assert program.device_info is not None
    return searched.tune_by_search(
        runner, program.tree, tuning_datasets(args, program), program.device_info.choice.threshold,
        strategy, budget=args.budget, seed=args.seed, repeats=args.runs or Forced.repeats,
        verify=not args.no_verify, progress=shown.searched)


def _adopt(args: argparse.Namespace, program: Program, output: Path,
           found: Sequence[searched.Searched]) -> int:
    """Write and print what was found without records."""
    assert program.device_info is not None
    about = _write(output, {
        name: value for each in found for name, value in each.thresholds.items()},
        searched.facts(found, **_about(program)), program, {each.forest.entry for each in found})
    if args.json:
        print_json(about)
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print(searched.render(found))
        print(f"\nWritten to {output}.")
    return INTERRUPTED if about["interrupted"] else 0


def _export(path: Path, about: Mapping[str, str], tuning: Tuning,
            tried: Sequence[parameters.ParameterTuning]) -> None:
    """Write the files of ``--export-t4``."""
    t4.write_t4(path, [result for entry in tuning.entries
                       for result in t4.of_measurements(entry.forest, entry.measurements)], about)
    for operation in (each for one in tried for each in one.settled if each.trials):
        t4.write_t4(path.with_name(f"{path.stem}.{operation.operation}{path.suffix}"),
                    t4.of_trials(operation.trials), about)


def _import(args: argparse.Namespace, program: Program, runner: Triable, output: Path) -> int:
    """Take over what a T4 file has."""
    assert program.device_info is not None
    found = imported.usable(program, t4.read_t4(args.import_t4), program.device_info.name)
    for problem in found.problems:
        warn(f"{args.import_t4}: {problem}")
    adopted = imported.adopt(program, runner, found.results, tuning_datasets(args, program),
                             program.device_info.choice.threshold,
                             repeats=args.runs or Forced.repeats, verify=not args.no_verify)
    if not adopted:
        raise UserError(f"'{args.import_t4}' has no configuration of this program that is valid "
                        "on all of its datasets.")
    return _adopt(args, program, output, adopted)


def _write(output: Path, values: Mapping[str, int], about: Mapping[str, Any], program: Program,
           tuned: Set[str]) -> dict[str, Any]:
    """Write what was found; what there is of entry points that were not tuned now is kept.

    The result is the content of the JSON file.
    """
    kept, settings, of = dict[str, int](), dict[str, dict[str, int]](), program.identity
    known = {guard.name for guard in program.tree.guards()}
    kernels = program.kernel_parameters(tuned)
    if output.exists():
        try:
            if names_in(output) - known - kernels.keys():  # of entry points that have to be lowered
                kernels = program.kernel_parameters()
            before = tuning_of(None, output).on(of, kernels.keys())
            kept = {name: value for name, value in before.values.items()
                    if name in known or (kernels.get(name, "") in program.entries
                    and kernels[name] not in tuned)}
            settings = before.elsewhere
        except UserError as error:
            warn(f"the old tuning file is replaced: {error}")
    found = {**kept, **values}
    settings[of.device] = {name: value for name, value in found.items() if name in kernels}
    facts_ = {**about, SETTINGS: settings}
    write_tuning(output, found, facts_)
    return facts_


def _write_page(args: argparse.Namespace, program: Program, tuning: Tuning,
                tried: Sequence[parameters.ParameterTuning],
                finer: Sequence[refined.Refined], validated: Mapping[str, Verified],
                left_out: Mapping[str, list[held_out.HeldOut]]) -> None:
    """The report of ``--html``."""
    from runelift.runtime.tuner.page.document import document, write_page
    from runelift.runtime.tuner.page.tuned import tuned

    write_page(args.html, document(f"Tuning of {args.program.name}", tuned(
        tuning, _about_runs(args, program), tried, finer, validated, left_out)))


def _about_runs(args: argparse.Namespace, program: Program) -> dict[str, str]:
    """What the runs hold for, which may be another text or device if they are from a log."""
    about = _about(program)
    if args.replay is None:
        return about
    others = made_for(args.replay) - {_made_for(program)}
    kept = {"program", "written"} if others else about.keys()
    return {**{key: value for key, value in about.items() if key in kept},
            "log": str(args.replay), **({"runs_of": "; ".join(sorted(others))} if others else {})}


def _about(program: Program) -> dict[str, str]:
    """What the tuning holds for: the program, the device, and when it was made."""
    assert program.device_info is not None
    info = program.device_info
    return {"program": program.compiled.source.name,
            PROGRAM: program.identity.program,
            "device": info.name, "platform": info.platform, "driver": info.driver,
            "policy": program.policy,
            "written": datetime.now(UTC).isoformat(timespec="seconds")}
