"""The options of ``runelift autotune``: what they mean, and which do not go together."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.options import (
    add_contract,
    add_devices,
    add_entry,
    add_html,
    add_json,
    add_memory,
    add_only,
    add_policy,
    add_program,
    add_rules,
    add_schedule,
    add_time_limit,
    natural,
)
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.kernel_parameters.successive_halving import LOCAL
from runelift.runtime.tuner.policy import FULL, NORMAL, QUICK, TuningPolicy
from runelift.runtime.tuner.strategies.instrumentation import measuring_method
from runelift.runtime.tuner.strategies.trials import Strategy, parse_budget

DEFAULT = "instrumentation"


@dataclass(frozen=True, slots=True)
class _Effort:
    """A value of ``--effort``: the strategy for versions, and the policy of the tuning."""

    strategy: str
    policy: TuningPolicy


EFFORTS = {"quick": _Effort("replay", QUICK), "normal": _Effort(DEFAULT, NORMAL),
           "full": _Effort(f"{DEFAULT}:every=true", FULL)}


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift autotune``."""
    _add_inputs(parser)
    _add_search(parser)
    _add_results(parser)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    """The program and datasets, and how they are run."""
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


def _add_search(parser: argparse.ArgumentParser) -> None:
    """The way to search, and how long."""
    parser.add_argument("--replay", type=Path, metavar="LOG",
                        help="fit to the runs in a log instead of running anything")
    parser.add_argument("--resume", action="store_true",
                        help="do not run the datasets again that are in the log of a tuning of "
                             "this program that was killed")
    parser.add_argument("--effort", choices=EFFORTS, default="normal",
                        help="quick: one run per dataset replays all versions, no parameters; "
                             "normal; full: also versions that other datasets rule out, and four "
                             "times as many settings of parameters, for up to five minutes "
                             "(default: %(default)s)")
    parser.add_argument("--strategy", metavar="NAME",
                        help=f"how to search for thresholds (default: {DEFAULT}, or what the "
                             "effort says)")
    parser.add_argument("--budget", type=parse_budget, metavar="N|SECONDS",
                        help="how long tuning may take in all: half of it goes to versions, the "
                             "rest to parameters of kernels, which take at most 60s anyway; for "
                             "strategies that search, after how many runs or what time they end")
    add_time_limit(parser)
    add_memory(parser)
    parser.add_argument("--schedules", type=parse_budget, metavar="N|SECONDS",
                        help="also try N schedules (rewrites of the program at its rewrite points) "
                             "for up to four minutes, or half of a budget, or as many as there is "
                             "time for, such as 2min; those that gain become versions")
    parser.set_defaults(searched={})
    parser.add_argument("--objective", choices=[each.value for each in Objective],
                        default=Objective.RELATIVE.value,
                        help="what to make small: the sum of the datasets' times relative to "
                             "their best, the sum of the times, or the greatest relative time; "
                             "memory: the device memory, as long as the first of these is at most "
                             "25 %% above its least; pareto: the first, and the front of both is "
                             "printed (default: %(default)s)")


def _add_results(parser: argparse.ArgumentParser) -> None:
    """Results beside thresholds, and where they go."""
    parser.add_argument("--validate", action="store_true",
                        help="also run the datasets that are kept out of tuning ('notune') by "
                             "default and tuned")
    parser.add_argument("--export-t4", type=Path, metavar="FILE",
                        help="also write all times in the T4 format of Kernel Tuner; trials of "
                             "parameters go to FILE with the name of the operation")
    parser.add_argument("--import-t4", type=Path, metavar="FILE",
                        help="take the best configuration of a T4 file, with names of thresholds "
                             "or parameters, instead of measuring")
    parser.add_argument("--guards", choices=[each.value for each in SizeGuardKind],
                        default=SizeGuardKind.AUTO.value,
                        help="what decides where thresholds cannot be right for all datasets: "
                             "also a memo of exact sizes, what versions cost at the nearest "
                             "sizes, or a decision tree over sizes (default: %(default)s, the "
                             "nearest sizes unless they guess badly)")
    parser.add_argument("--leave-one-out", action="store_true",
                        help="also say how well each dataset fares with thresholds that are "
                             "fitted to the others")
    parser.add_argument("--seed", type=natural, default=0, metavar="N",
                        help="what a strategy draws from (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="the tuning file to write (default: PROGRAM.tuning)")
    add_devices(parser)
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="share out datasets among the machines of this Dask scheduler, such "
                             "as tcp://host:8786, whose devices must be like the one here")
    add_policy(parser)
    add_rules(parser)
    add_schedule(parser)
    add_contract(parser)
    add_html(parser)
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="also print the threshold tree, the times of every version, the "
                             "thresholds and notes")


def check(args: argparse.Namespace, strategy: Strategy) -> None:
    """Refuse options that do not go together."""
    complete = measuring_method(strategy) is not None
    if args.runs is not None and args.runs < 1:
        raise UserError("--runs must be at least 1.")
    if complete and args.budget is not None and args.budget.seconds is None:
        raise UserError("A number of runs is a --budget for other strategies than "
                        f"'{strategy.name}', which runs every dataset as often as it needs to; it "
                        "takes a time, such as 30s.")
    if args.schedules is not None and 0 in (args.schedules.runs, args.schedules.seconds):
        raise UserError("--schedules must be at least 1, or some time.")
    if args.schedules is not None and (args.replay or args.resume or args.import_t4 is not None):
        raise UserError("--schedules runs programs that there are no runs of yet; leave out "
                        "--replay, --resume and --import-t4.")
    if args.resume and (args.replay or not complete):
        raise UserError("--resume goes on with a log, which only tuning by records has.")
    if not complete or args.import_t4 is not None:
        _check_without_records(args)
    if args.replay and not complete:
        raise UserError(f"--replay fits to a log, which is what '{DEFAULT}' does; 'runelift "
                        "tune-compare' simulates other strategies on a log.")
    if Objective(args.objective).weighs_memory and args.replay:
        raise UserError(f"--objective {args.objective} needs the datasets themselves, which a log "
                        "does not have.")
    if args.objective == Objective.MEMORY.value and args.guards not in (
            SizeGuardKind.AUTO.value, SizeGuardKind.THRESHOLD.value):
        raise UserError(f"--guards {args.guards} aims at time alone; --objective memory goes with "
                        "thresholds.")
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
            ("--guards",
             args.guards not in (SizeGuardKind.AUTO.value, SizeGuardKind.THRESHOLD.value), ""),
            ("--leave-one-out", args.leave_one_out, ""),
            ("--validate", args.validate, ""),
            ("--export-t4", args.export_t4 is not None, ""),
            ("--replay", args.replay is not None and args.import_t4 is not None, ""),
            ("--html", args.html is not None,
             "'runelift tune-compare --html' shows how strategies fare")):
        if given:
            raise UserError(f"{option} needs records of runs with forced versions, which a search "
                            "or an import does not make" + (f"; {instead}." if instead else "."))
