"""The worth of tuning on a device: on the sizes that were tuned for, and on other sizes.

``python benchmarks/tuners.py [--device NAME] [--programs NAME...] [--build] [--json OUT]``
``python benchmarks/tuners.py --strategies [--programs lud variant]``

Every example with more than one version is tuned for some sizes, as
``runelift autotune --no-parameters`` does (or with ``--replay``, as with ``--strategy replay``).
Then the program runs on these and on sizes that were held out (``sizes.py``):

- by default,
- tuned,
- with every version forced,
- with the thresholds that are best for the dataset alone,
- with the best version of every single encounter.

The best of all of these is the *oracle*.  All run in turn, and then the tuned one beside the
default and the oracle until it is certain which is faster.  A row is printed as soon as a program
is done, and says

- ``runs`` of the program and ``seconds`` of tuning, including builds of kernels.  With ``--build``
  the kernels of all programs are built before, several programs at a time;
- ``tuned / default`` on the training dataset where it is greatest, with its 95 % confidence
  interval.  ``slower`` counts the datasets on which it is slower for certain, by more than 1 %;
- ``beside best``: how much slower, by the log, than two best thresholds of an exhaustive search.
  One choice slows no dataset down; the other choice is the best of all.  Only datasets count
  of which runs side by side do not refute the log;
- ``held out``: how much slower than the oracle on sizes that were not tuned for: median and worst.

With ``--strategies`` the strategies of the literature search on the same training datasets; the
thresholds that each finds are run in turn.  ``beside best`` is by the costs of forced runs,
``when run`` the mean time of a dataset relative to the best strategy's.

Strategies that measure costs also find size guards, and run them beside the thresholds alone, as
``runelift autotune`` does.  ``alone`` are their thresholds without these.  ``confirmed in`` are the
seconds of those further runs, which no strategy's time includes.  Kernels have been built before,
so that all find them.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import geometric_mean
from typing import Any, TypeVar

from common import EXAMPLES, parser_of, write_json
from compare import arguments
from sizes import SIZES, Numbers, Sizes

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.info import select
from runelift.runtime.processes.build_pool import Builders, how_many
from runelift.runtime.processes.process import Process
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.research import compare_strategies as compare
from runelift.runtime.tuner.confirm_size_guards import confirm_guards, fit_guards
from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, costs_of
from runelift.runtime.tuner.costs.log import Log, Measurements
from runelift.runtime.tuner.fit.exhaustive import exhaustive
from runelift.runtime.tuner.fit.fit import fit, objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind, fit_size_guards
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters.tune import tune_parameters
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.paired_comparison import compare_paired
from runelift.runtime.tuner.measure.protocols import (
    FORCED_REPEATS,
    Dataset,
    MeasuringMethod,
    Replay,
)
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.strategies import parse_strategy
from runelift.runtime.tuner.strategies.live import Live, measured_costs
from runelift.runtime.tuner.strategies.trials import MeasuredCosts
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.remote import Remote
from runelift.runtime.tuner.workers.runners import limit_on
from runelift.runtime.versions.forest import Forests, plans
from runelift.runtime.versions.size_guards import GuardedThresholds, Leaf

HOPELESS_FACTOR = 3.0
"""The factor above the best time, by the log, beyond which a version is not run again."""
MOST_ROUNDS = 51
"""The most rounds in which all candidates run in turn."""
ROUNDS_SECONDS = 0.7
"""Seconds after which no further round begins."""
PROGRAMS_AT_A_TIME = 5
"""The programs that ``--build`` works on at a time."""
BUILDERS = 3
"""The kernels of each program that ``--build`` builds at a time."""
Name = TypeVar("Name", bound=Hashable)
STRATEGIES = ("replay", "instrumentation", "binary", "intervals", "active", "active-endpoints",
              "cma", "cma-indices")


@dataclass(frozen=True, slots=True)
class Judged:
    """A dataset: seconds by default, tuned, and of the oracle, which is called ``best``.

    ``gain`` and ``regret`` are medians of ratios of runs in turn (tuned over default, and over
    the oracle), each with its 95 % confidence interval.
    """

    dataset: str
    default: float
    tuned: float
    oracle: float
    best: str
    gain: tuple[float, float, float]
    regret: tuple[float, float, float]


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="these (default: all)")
    parser.add_argument("--build", action="store_true",
                        help="first build the kernels of all of them")
    parser.add_argument("--only-build", action="store_true", help="do nothing else")
    parser.add_argument("--replay", action="store_true", help="tune by replay")
    parser.add_argument("--strategies", nargs="?", const=",".join(STRATEGIES), metavar="NAMES",
                        help="compare these strategies instead, or all of the literature")
    parser.add_argument("--search", type=float, default=60.0, metavar="SECONDS",
                        help="end a search after so much time of runs (default: %(default)s)")
    parser.add_argument("--parameters", type=float, default=0.0, metavar="SECONDS",
                        help="also tune the parameters of kernels, in so many seconds")
    parser.add_argument("--guards", default=SizeGuardKind.AUTO.value,
                        choices=[g.value for g in SizeGuardKind],
                        help="what decides beside thresholds (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=math.inf,
                        help="begin no program after so many seconds")
    parser.add_argument("--logs", type=Path, help="folder for the records of all datasets")
    options = parser.parse_args()
    device = select(options.device)
    assert device is not None, "the interpreter cannot be tuned"
    known = {sizes.program: sizes.on(device.is_host) for sizes in SIZES}
    names = options.programs or (["lud", "variant"] if options.strategies else list(known))
    if options.only_build:
        for name in names:
            build(known[name], options.device)
        return
    end = time.perf_counter() + options.seconds
    print(f"device: {device.label}", flush=True)
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    if options.build:
        build_all(names, options.device)
    found: list[dict[str, Any]] = []
    for name in names:
        if time.perf_counter() > end:
            print("the time is over", flush=True)
            break
        sizes = known[name]
        try:
            each = strategies(sizes, options) if options.strategies else quality(sizes, options)
        except RuneliftError as error:
            print(f"{sizes.program:14} {str(error).splitlines()[0]}", flush=True)
            continue
        found.append({"program": sizes.program, "device": device.label, **each})
        write_json(options.json, found)
    if not options.strategies and found:
        print_medians(found)


# Building


def build_all(names: Sequence[str], device: str | None) -> None:
    """Have processes build the kernels of programs, so that tuning finds them."""
    started, waiting = time.perf_counter(), iter(names)
    command = [sys.executable, __file__, "--only-build", *(["--device", device] if device else [])]
    running = [subprocess.Popen([*command, "--programs", name])
               for name in islice(waiting, PROGRAMS_AT_A_TIME)]
    while running:
        running.pop(0).wait()
        running += [subprocess.Popen([*command, "--programs", name])
                    for name in islice(waiting, 1)]
    print(f"built in {time.perf_counter() - started:.1f} s", flush=True)


def build(sizes: Sizes, device: str | None) -> None:
    """Build what the versions of a program need on all its sizes, as far as that is known."""
    program, runner = opened(sizes, device, BUILDERS)
    prepare(program, runner, sizes,
            datasets(program, sizes, (*sizes.training, *sizes.held_out)))
    runner.finish()


def prepare(program: Program, runner: Remote, sizes: Sizes, several: Sequence[Dataset]) -> None:
    """Build what the versions of a program need on datasets, as far as that is known."""
    forces = [{}, *plans(program.tree.entry(sizes.entry))]
    for dataset in several:
        runner.prebuild(dataset.entry, runner.place(dataset.arguments()), forces)


# What tuning is worth


def quality(sizes: Sizes, options: argparse.Namespace) -> dict[str, Any]:
    """Tune a program for its training sizes, judge all sizes, print the row."""
    started = time.perf_counter()
    program, runner = opened(sizes, options.device)
    info = program.device_info
    assert info is not None
    forest = program.tree.entry(sizes.entry)
    training, held_out = (datasets(program, sizes, several)
                          for several in (sizes.training, sizes.held_out))
    job = TuningJob(runner, Forests((forest,)), training,
                    method=MeasuringMethod(replay=Replay() if options.replay else None),
                    log=logged(options, sizes, "training"))
    (tuning,) = tune_thresholds(job).entries
    tuned: Mapping[str, int] = tuning.fit.thresholds
    if options.parameters:
        tuned = {**tuned, **tune_parameters(job, tuned, seconds=options.parameters,
                                            known=tuning.measurements.runs).chosen}
    fitted = fit_guards(tuning, SizeGuardKind(options.guards))
    guards = confirm_guards(job, tuning, fitted, tuned)
    tuned = GuardedThresholds(tuned, guards.finer)
    seconds = time.perf_counter() - started
    others = costs_of(forest, measure_by(MeasuringMethod(replay=Replay()), runner, forest, held_out,
                                                   log=logged(options, sizes, "held_out")))
    runner.finish()
    beside_best, beside_any, tried = behind(tuning.costs.without(tuning.unmoved), tuning.defaults,
                                            tuned)
    judged = [[each for d in several if (each := judge(program, d, costs, tuning.defaults, tuned))]
              for several, costs in ((training, tuning.costs), (held_out, others))]
    result = {"runs": tuning.program_runs, "seconds": seconds, "beside_best": beside_best,
              "guards": sorted(guards.finer), "why_no_guards": guards.why,
              "beside_any": beside_any, "combinations": tried,
              "kept_default": tuning.fit.kept_default,
              "thresholds": dict(tuned), "left_out": tuning.measurements.left_out,
              "training": [asdict(each) for each in judged[0]],
              "held_out": [asdict(each) for each in judged[1]]}
    show(sizes, result)
    return result


def behind(costs: Costs, default: Mapping[str, int], tuned: Mapping[str, int]
           ) -> tuple[float, float, int | None]:
    """The loss against the best thresholds that slow nothing down, and against the best of all.

    The default thresholds slow nothing down, even where all other thresholds slow something down.
    The third number counts the combinations of which they are the best; there is no loss without
    datasets.
    """
    if not costs.datasets:
        return 0.0, 0.0, 0
    best, tried = compare.yardstick(costs, default)
    allowed = best
    if tried:
        found = exhaustive(costs, default)
        allowed = min(objective(costs, default), found[0] if found else math.inf)
    one, other = (max(0.0, objective(costs, tuned) / each - 1) if each else 0.0
                  for each in (allowed, best))
    return one, other, tried


def opened(sizes: Sizes, device: str | None, count: int | None = None
           ) -> tuple[Program, Remote]:
    """A program without a tuning, here and in a worker that is stopped if it takes too long.

    ``count`` processes build its kernels, where a process builds one at a time.
    """
    worker = Process(device)  # starts while the program is compiled
    program = open_program(sizes, device)
    info = program.device_info
    assert info is not None
    builders = Builders(device, how_many(info.global_bytes) if count is None else count
                        ) if info.locked_compiler else None
    return program, Remote(program, device, limit=limit_on(info), worker=worker,
                           builders=builders)


def open_program(sizes: Sizes, device: str | None) -> Program:
    """A program without a tuning."""
    program: Program = runelift.compile(EXAMPLES / f"{sizes.program}.fut", device=device,
                                        tuning={})
    return program


def datasets(program: Program, sizes: Sizes, several: Sequence[Numbers]) -> list[Dataset]:
    """Datasets that are called what their sizes are."""
    return [Dataset("x".join(map(str, numbers)), sizes.entry,
                    partial(arguments, program, sizes.inputs(*numbers))) for numbers in several]


def logged(options: argparse.Namespace, sizes: Sizes, what: str) -> Log | None:
    """The log in which records are kept, if any is asked for."""
    return None if options.logs is None else Log(options.logs / f"{sizes.program}.{what}.log")


def judge(program: Program, dataset: Dataset, costs: Costs, default: Mapping[str, int],
          tuned: Mapping[str, int]) -> Judged | None:
    """Run a dataset with everything that may be the best; None if the log does not know it."""
    known = next((d for d in costs.datasets if d.name == dataset.name), None)
    if known is None:
        return None
    choices = {"default": default, "tuned": tuned}
    choices |= candidates(costs, known, choices)
    args = MeasuredProgram(program).place(dataset.arguments())
    times = in_turn(program, dataset.entry, args, choices)
    best = min(times, key=lambda name: times[name])
    placed = replace(dataset, arguments=lambda: args)
    gain = beside(program, placed, known, default, tuned)
    regret = gain if best == "default" else beside(program, placed, known, choices[best], tuned)
    return Judged(dataset.name, times["default"], times["tuned"], times[best], best, gain, regret)


def candidates(costs: Costs, dataset: DatasetCosts, given: Mapping[str, Mapping[str, int]]
               ) -> dict[str, Mapping[str, int]]:
    """Other candidates for the best on a dataset, by name, each way through the program once."""
    alone, default = replace(costs, datasets=(dataset,)), given["default"]
    own = fit(alone, default).thresholds
    every = {"own thresholds": own,
             "every encounter's best": fit_size_guards(alone, own, SizeGuardKind.MEMO)}
    for plan in plans(costs.forest):
        label = " ".join(f"{site.rpartition('_')[2]}/{index}" for site, index in plan.items())
        every[f"forced {label}"] = GuardedThresholds(default,
                                                     {site: Leaf(k) for site, k in plan.items()})
    seen, found = {dataset.path(thresholds) for thresholds in given.values()}, {}
    for name, thresholds in every.items():
        path = dataset.path(thresholds)
        if dataset.total(thresholds) <= HOPELESS_FACTOR * dataset.total(own) and path not in seen:
            found[name] = thresholds
        seen.add(path)
    return found


def in_turn(program: Program, entry: str, args: Sequence[Any],
            choices: Mapping[Name, Mapping[str, int]]) -> dict[Name, float]:
    """The median time of each, when it is as fast as it becomes; the order changes every round."""
    times: dict[Name, list[float]] = {name: [] for name in choices}
    measured = MeasuredProgram(program)
    for thresholds in choices.values():
        measured.warm_up(entry, args, thresholds=thresholds)
    started, names = time.perf_counter(), list(choices)
    for number in range(MOST_ROUNDS):
        for name in names:
            times[name].append(measured.time(entry, args, thresholds=choices[name]))
        names.append(names.pop(0))
        if number and time.perf_counter() > started + ROUNDS_SECONDS:
            break
    return {name: median(each) for name, each in times.items()}


def beside(program: Program, dataset: Dataset, known: DatasetCosts, one: Mapping[str, int],
           other: Mapping[str, int]) -> tuple[float, float, float]:
    """The time of ``other`` over that of ``one``, with its interval; 1 if equal versions run.

    Both run in turn.
    """
    settings = other.keys() - one.keys()
    if known.path(one) == known.path(other) and not settings:
        return 1.0, 1.0, 1.0
    both = compare_paired(MeasuredProgram(program), dataset, one, other, repeats=3)
    return (1 / both.gain, both.low, both.high) if both is not None else (math.inf,) * 3


def show(sizes: Sizes, result: Mapping[str, Any]) -> None:
    """Print the row of a program."""
    worst = max(result["training"], key=lambda each: each["gain"][0])
    ratio, low, high = worst["gain"]
    regrets = [max(0.0, each["regret"][0] - 1) for each in result["held_out"]]
    last = max(result["held_out"], key=lambda each: each["regret"][0])
    print(f"{sizes.program:14} {result['runs']:4} runs {result['seconds']:6.1f} s  "
          f"tuned/default {ratio:5.2f} ({low:.2f}-{high:.2f}, {worst['dataset']}), "
          f"{len(slower(result))} of {len(result['training'])} slower  "
          f"beside best {100 * result['beside_best']:5.1f} % ({100 * result['beside_any']:.1f} %)  "
          f"held out {100 * median(regrets):5.1f} %, worst {100 * max(regrets):5.1f} % "
          f"({last['dataset']}: {last['best']}, {1e3 * last['tuned']:.3g} for "
          f"{1e3 * last['oracle']:.3g} ms)  {result['kept_default'] or ''}", flush=True)


def slower(result: Mapping[str, Any]) -> list[str]:
    """The training datasets on which tuned is slower than default by more than noise."""
    worse = 1 + NORMAL.comparison.tolerance
    return [each["dataset"] for each in result["training"] if each["gain"][1] > worse]


def print_medians(found: Sequence[Mapping[str, Any]]) -> None:
    """Print what holds for all programs together."""
    lost = [f"{row['program']} {name}" for row in found for name in slower(row)]
    print(f"slower than by default, of {sum(len(row['training']) for row in found)} training "
          f"datasets: {', '.join(lost) or 'none'}; furthest beside the best thresholds: "
          f"{100 * max(row['beside_best'] for row in found):.2f} %")
    gains = [1 / each["gain"][0] for row in found for each in row["training"]]
    regrets = [max(0.0, each["regret"][0] - 1) for row in found for each in row["held_out"]]
    untuned = [each["default"] / each["oracle"] - 1 for row in found for each in row["held_out"]]
    print(f"{len(found)} programs, medians: {median([row['runs'] for row in found]):.0f} runs, "
          f"{median([row['seconds'] for row in found]):.1f} s; training "
          f"{geometric_mean(gains):.2f} times as fast (geometric mean); held out "
          f"{100 * median(regrets):.1f} % slower than the oracle, worst "
          f"{100 * max(regrets):.0f} %, by default {100 * median(untuned):.1f} %")


# Strategies side by side


def strategies(sizes: Sizes, options: argparse.Namespace) -> dict[str, Any]:
    """Let strategies search for the thresholds of a program, and run what they find."""
    program, runner = opened(sizes, options.device)
    assert program.device_info is not None
    forest = program.tree.entry(sizes.entry)
    own = datasets(program, sizes, sizes.training)
    job = TuningJob(runner, Forests((forest,)), own)
    default = job.defaults(forest)
    prepare(program, runner, sizes, own)
    measured = measured_costs(MeasuringMethod(every=True), runner, forest, own, FORCED_REPEATS)
    costs = measured.costs
    weights = {d.name: 1.0 / d.least() for d in costs.datasets}
    names, oracles = options.strategies.split(","), list[Measuring]()

    def oracle(seed: int) -> Live:
        oracles.append(Measuring(runner, forest, default, own, FORCED_REPEATS, weights,
                                 measured))
        return oracles[-1]

    compared = compare.compare({name: parse_strategy(name) for name in names},
                               compare.Problem(costs, default, oracle),
                               budget=Budget(seconds=options.search))
    found = {name: row[0].search.thresholds for name, row in compared.searches.items()}
    confirmed = dict[str, float]()
    for name, each in zip(names, oracles, strict=True):
        if each.costs is not None:
            started = time.perf_counter()
            found[f"{name}, alone"] = found[name]
            found[name] = guarded(job, each.costs)
            confirmed[name] = time.perf_counter() - started
    runner.finish()
    when_run = run_together(program, costs, own, found | {"untuned": default})
    print(f"\n{sizes.program}: {compared.versions} versions, datasets "
          f"{', '.join(d.name for d in own)}")
    print(f"  {'strategy':24}{'runs':>6}{'seconds':>9}{'beside best':>13}{'when run':>10}")
    for name, row in compared.searches.items():
        search = row[0].search
        ended, alone = "" if search.finished else " (ended)", when_run.get(f"{name}, alone")
        print(f"  {name + ended:24}{search.runs:6}{search.seconds:9.3f}"
              f"{100 * max(0.0, objective(costs, found[name]) / compared.best - 1):11.2f} %"
              f"{when_run[name]:10.3f}" + (
                  f"  alone {alone:.3f}, confirmed in {confirmed[name]:.3f} s" if alone else ""),
              flush=True)
    print(f"  {'untuned':24}{'-':>6}{'-':>9}{100 * compared.untuned:11.2f} %"
          f"{when_run['untuned']:10.3f}", flush=True)
    return {**compare.facts(compared), "when_run": when_run, "confirmed": confirmed}


@dataclass(slots=True)
class Measuring(Live):
    """An oracle that keeps the costs that it was asked for."""

    costs: Costs | None = None

    def instrument(self, method: MeasuringMethod) -> MeasuredCosts:
        """Measure, and keep what was found."""
        found = Live.instrument(self, method)
        self.costs = found.costs
        return found


def guarded(job: TuningJob, costs: Costs) -> Mapping[str, int]:
    """The thresholds for costs, with the finer guards that runs beside these bear out."""
    default = job.defaults(costs.forest)
    tuning = EntryTuning(costs.forest, default, Measurements(costs.forest.entry), costs,
                         fit(costs, default))
    thresholds = tuning.fit.thresholds
    guards = confirm_guards(job, tuning, fit_guards(tuning, SizeGuardKind.AUTO), thresholds)
    return GuardedThresholds(thresholds, guards.finer)


def run_together(program: Program, costs: Costs, several: Sequence[Dataset],
                 found: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """The mean over the datasets of each one's time, relative to the best mean.

    Choices that run the same versions of a dataset take the same time there.
    """
    means = dict.fromkeys(found, 0.0)
    for dataset in several:
        known = next(d for d in costs.datasets if d.name == dataset.name)
        paths = {name: known.path(thresholds) for name, thresholds in found.items()}
        different = {path: found[name] for name, path in reversed(paths.items())}
        times = in_turn(program, dataset.entry,
                        MeasuredProgram(program).place(dataset.arguments()), different)
        for name, path in paths.items():
            means[name] += times[path] / min(times.values()) / len(several)
    least = min(means.values())
    return {name: mean / least for name, mean in means.items()}


if __name__ == "__main__":
    main()
