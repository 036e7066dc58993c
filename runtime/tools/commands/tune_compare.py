"""Compare ways to tune: the speed of their results, and the time to find them.

SOURCE is a log that 'runelift autotune' wrote (PROGRAM.tuning.log), on which runs are simulated.
Or it is a program, which is run: first every version, for the costs that results are judged by,
then by each strategy.  A strategy may have options: --strategy random:tries=1000.

{strategies}

With two logs or two tuning files, two tunings are compared: what differs, and which one is faster,
with an interval.  A program and two tuning files: it runs with both in turn.  A program and one
tuning file: it runs with that beside the default.

With --parameters, searches for the parameters of kernels are compared instead, on the device:
local, {searches}.  Each has --budget tries (60), or so much time, for every notable operation of
every dataset.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.ir.base.project_links import install
from runelift.runtime.programs.program import Program
from runelift.runtime.research.compare_settings import (
    OperationComparison,
    compare_searches,
    render_searches,
    search_facts,
)
from runelift.runtime.research.compare_strategies import (
    Comparison,
    Problem,
    compare,
    facts,
    render,
    render_intervals,
)
from runelift.runtime.research.forest_of_log import logged_forest, without_gaps
from runelift.runtime.research.recorded import Noise, Recorded
from runelift.runtime.tools.commands import INTERRUPTED
from runelift.runtime.tools.commands.open_program import open_program
from runelift.runtime.tools.commands.options import (
    NEEDS_DEVICE,
    REWRITING,
    add_options,
    print_json,
    warn,
)
from runelift.runtime.tools.commands.progress import display
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_data import tuning_datasets
from runelift.runtime.tools.pages.document import document, write_page
from runelift.runtime.tools.reports.html.compared import compared
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Measurements, made_for, read_log
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.kernel_parameters.search import LOCAL
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.result import default_thresholds
from runelift.runtime.tuner.search.budget import Budget, parse_budget
from runelift.runtime.tuner.strategies import STRATEGIES, parse_strategy
from runelift.runtime.tuner.strategies.cma_es import has_cma
from runelift.runtime.tuner.strategies.live import Live, measured_costs
from runelift.runtime.tuner.strategies.nodes import all_false
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.tuner.workers.runners import running
from runelift.runtime.versions.forest import Forest

__doc__ = __doc__ and __doc__.format(
    strategies=f"Strategies: {', '.join(STRATEGIES)}.", searches=", ".join(EXPLORING))

Strategies: TypeAlias = Mapping[str, Strategy]
EXAMPLES = ("runelift tune-compare examples/mapscan.fut.tuning.log --strategy random",
            "runelift tune-compare examples/mapscan.fut --parameters --budget 10s")
TWO = "runelift.runtime.tools.commands.compare_tunings"
"""The module for two tunings; other comparisons do without."""
SEARCH_TRIES = 60
"""The tries of a search for parameters of an operation."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift tune-compare``."""
    parser.add_argument("source", type=Path, metavar="SOURCE",
                        help="a program (.fut), the log of a tuning, or a tuning file")
    parser.add_argument("others", type=Path, nargs="*", metavar="TUNING",
                        help="the tuning files or log to compare with")
    add_options(parser, "entries")
    parser.add_argument("--strategy", action="append", default=[], metavar="NAME",
                        help="compare this one; may be repeated (default: all)")
    parser.add_argument("--parameters", action="store_true",
                        help="compare searches for parameters of kernels, not for thresholds")
    parser.add_argument("--seeds", type=int, metavar="N",
                        help="how often each strategy searches (default: 10 on a log, 1 else)")
    parser.add_argument("--budget", type=parse_budget, default=Budget(), metavar="N|SECONDS",
                        help="end a search after N runs (of one dataset each), or after so much "
                             "time of runs, such as 30s or 500ms (default: no end)")
    parser.add_argument("--replay", type=Path, metavar="LOG",
                        help="simulate the runs of the program from a log, with its own default "
                             "thresholds; of a log alone these are not known, and all guards "
                             "are false")
    parser.add_argument("--noise", action="store_true",
                        help="let simulated runs vary as those in the log do")
    parser.add_argument("-r", "--runs", type=int, default=3, metavar="N",
                        help="how often to repeat each real run (default: %(default)s)")
    add_options(parser, "time-limit")
    parser.add_argument("-i", "--input", type=Path, metavar="FILE",
                        help="run this input instead of the datasets of the program")
    add_options(parser, "only", "device", *REWRITING, "rules", "fp-contract")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="also print the best thresholds of each dataset, by strategy")
    add_options(parser, "html", "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift tune-compare``."""
    if args.runs < 1 or (args.seeds is not None and args.seeds < 1):
        raise UserError("--runs and --seeds must be at least 1.")
    with display(0) as args.shown:
        if args.others:
            found: int = import_module(TWO).compare_tunings(args)
            return found
        return _compare_searches(args) if args.parameters else _compare(args)


def _compare(args: argparse.Namespace) -> int:
    strategies = _strategies(args)
    source = require_file(args.source)
    if source.suffix != ".fut":
        found = _of_log(args, strategies, read_log(source))
    else:
        found = _of_program(args, strategies)
    if not found:
        raise UserError(f"There is nothing to compare in '{args.replay or source}': no entry "
                        "point was measured with every version.")
    if args.html is not None:
        write_page(args.html, document(f"Strategies on {source.name}", compared(
            found, _about(source, args.replay))))
    if args.json:
        print_json([facts(comparison) for comparison in found])
    else:
        show("\n\n".join(map(render, found)))
        if args.verbose:
            show("\n".join(["", *map(render_intervals, found)]))
    if not any(comparison.interrupted for comparison in found):
        return 0
    print("runelift: interrupted; these are the searches that were over.", file=sys.stderr)
    return INTERRUPTED


def _compare_searches(args: argparse.Namespace) -> int:
    if args.replay or args.noise or args.html is not None or args.source.suffix != ".fut":
        raise UserError("--parameters runs a program (.fut), without --replay, --noise and --html.")
    known, names = (LOCAL, *EXPLORING), args.strategy or [LOCAL, *EXPLORING]
    for name in names:
        if name not in known:
            raise UserError(f"No search for parameters is called '{name}'.  There are "
                            f"{', '.join(known)}.")
    program = _opened(args)
    datasets = tuning_datasets(args, program)
    found = list[OperationComparison]()
    with running(program, args.time_limit) as runner:
        for entry in dict.fromkeys(dataset.entry for dataset in datasets):
            found += compare_searches(
                runner, entry, [each for each in datasets if each.entry == entry], names,
                tries=None if args.budget.seconds else args.budget.runs or SEARCH_TRIES,
                seconds=args.budget.seconds, progress=args.shown.trying)
    if not found:
        raise UserError("There is nothing to compare: no operation that takes time has parameters.")
    if args.json:
        print_json(search_facts(found))
    else:
        show(render_searches(found))
    return 0


def _about(source: Path, log: Path | None) -> dict[str, str]:
    """The source of the comparison, for the page."""
    recorded = source if source.suffix != ".fut" else log
    runs = {"log": str(recorded), "runs_of":
            "; ".join(sorted(made_for(recorded))) or "not said"} if recorded else {}
    return {"source": str(source), **runs}


def _strategies(args: argparse.Namespace) -> Strategies:
    if args.strategy:
        return {text: parse_strategy(text) for text in args.strategy}
    if has_cma():
        return STRATEGIES
    print(f"runelift: Skipping strategies cma and cma-indices ({install('cma')}).",
          file=sys.stderr)
    return {name: each for name, each in STRATEGIES.items() if not name.startswith("cma")}


def _of_log(args: argparse.Namespace, strategies: Strategies,
            recorded: dict[str, Measurements]) -> list[Comparison]:
    forests = {entry: logged_forest(measurements) for entry, measurements in recorded.items()
               if args.entry in (None, entry)}
    return [replace(each, default_known=False) for each in _until_interrupted(
        _simulated(args, strategies, forest, all_false(forest), recorded[entry])
        for entry, forest in forests.items())]


def _opened(args: argparse.Namespace) -> Program:
    """The program to be run; UserError without a device."""
    args.program = require_file(args.source)
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError(NEEDS_DEVICE)
    return program


def _of_program(args: argparse.Namespace, strategies: Strategies) -> list[Comparison]:
    program = _opened(args)
    forests = program.tree.entries
    if not any(forest.trees for forest in forests):
        raise UserError("The program has one version only: there is nothing to compare.")
    if args.replay:
        recorded = read_log(args.replay)
        return _until_interrupted(
            _simulated(args, strategies, forest, default_thresholds(forest),
                       recorded[forest.entry]) for forest in forests
            if forest.entry in recorded and args.entry in (None, forest.entry))
    datasets = tuning_datasets(args, program)
    with running(program, args.time_limit) as runner:
        return _until_interrupted(_live(args, strategies, runner, datasets, forest)
                                  for forest in forests)


def _until_interrupted(found: Iterable[list[Comparison]]) -> list[Comparison]:
    """The comparisons of entry points, one after the other; none is made after Ctrl-C."""
    comparisons = list[Comparison]()
    for each in found:
        comparisons += each
        if comparisons and comparisons[-1].interrupted:
            break
    return comparisons


def _simulated(args: argparse.Namespace, strategies: Strategies, forest: Forest,
               default: dict[str, int], measurements: Measurements) -> list[Comparison]:
    costs, guesses = without_gaps(costs_of(forest, measurements), measurements)
    if not costs.datasets or not forest.trees:
        return []
    if guesses:
        factor = costs.policy.pruning.cannot_run_factor
        warn(f"{guesses} times of versions that were skipped count as {factor:.0f} times those of "
             "the best ('--strategy instrumentation:every=true' measures all)")
    problem = Problem(costs, default, lambda seed: Recorded(
        costs, default, measurements, Noise.of(measurements, seed) if args.noise else None))
    return [compare(strategies, problem, seeds=args.seeds or 10, budget=args.budget)]


def _live(args: argparse.Namespace, strategies: Strategies, program: Measurable,
          datasets: Sequence[Dataset], forest: Forest) -> list[Comparison]:
    default = default_thresholds(forest)
    datasets = [dataset for dataset in datasets if dataset.entry == forest.entry]
    if not datasets or not forest.trees:
        return []
    measured = measured_costs(MeasuringMethod(every=True), program, forest, datasets, args.runs)
    costs = measured.costs
    if not costs.datasets:
        return []
    weights = {each.name: 1.0 / max(each.least(), 1e-12) for each in costs.datasets}
    own = [dataset for dataset in datasets if dataset.name in weights]

    def oracle(seed: int) -> Live:
        return Live(program, forest, default, own, args.runs, weights, measured)

    return [compare(strategies, Problem(costs, default, oracle), seeds=args.seeds or 1,
                    budget=args.budget, progress=lambda name, seed: args.shown.trying(
                        f"{name}, seed {seed}"))]
