"""The options of ``runelift autotune``: what they mean, and which do not go together."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from runelift.runtime.tools.commands.options import REWRITING, add_options, natural
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.kernel_parameters.search import LOCAL
from runelift.runtime.tuner.policy import FULL, NORMAL, QUICK, TuningPolicy
from runelift.runtime.tuner.search.budget import parse_budget

DEFAULT = "instrumentation"


@dataclass(frozen=True, slots=True)
class _Effort:
    """A value of ``--effort``: the strategy for versions, and the policy of the tuning."""

    strategy: str
    policy: TuningPolicy


EFFORTS = {"quick": _Effort("replay", QUICK), "normal": _Effort(DEFAULT, NORMAL),
           "full": _Effort(f"{DEFAULT}:every=true", FULL)}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift autotune``."""
    _add_inputs(parser)
    _add_search(parser)
    _add_results(parser)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "program", "entries")
    parser.add_argument("-r", "--runs", type=int, metavar="N",
                        help="how often to repeat each run (default: 3; with replay, which "
                             "repeats versions, 1)")
    parser.add_argument("-i", "--input", type=Path, metavar="FILE",
                        help="tune for this input instead of the datasets of the program")
    add_options(parser, "only")
    parser.add_argument("--no-verify", action="store_true",
                        help="do not run the tuned program beside the default one")
    parser.add_argument("--no-parameters", action="store_true",
                        help="tune thresholds only, not the parameters of kernels")
    parser.add_argument("--parameters", default=LOCAL, choices=[LOCAL, *EXPLORING],
                        help="how the settings of kernels are searched (default: %(default)s)")


def _add_search(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--budget", type=parse_budget, metavar="SECONDS|N",
                        help="how long tuning may take in all, such as 30, 90s or 5min (default: "
                             "60s, or 15min with --effort full; --schedules take their time "
                             "beside that); for strategies that search, a number without a unit "
                             "is a number of runs")
    add_options(parser, "time-limit", "memory")
    parser.add_argument("--schedules", type=parse_budget, metavar="N|SECONDS",
                        help="also try N schedules (rewrites of the program at its rewrite points) "
                             "for up to four minutes, or half of a budget, or as many as there is "
                             "time for, such as 2min; those that gain become versions")
    parser.add_argument("--objective", choices=[each.value for each in Objective],
                        default=Objective.RELATIVE.value,
                        help="what to make small: the sum of the datasets' times relative to "
                             "their best, the sum of the times, or the greatest relative time; "
                             "memory: the device memory, as long as the first of these is at most "
                             "25 %% above its least; pareto: the first, and the front of both is "
                             "printed (default: %(default)s)")


def _add_results(parser: argparse.ArgumentParser) -> None:
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
    add_options(parser, "devices", "all-devices")
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="share out datasets among the machines of this Dask scheduler, such "
                             "as tcp://host:8786, whose devices must be like the one here")
    add_options(parser, *REWRITING, "rules", "schedule", "fp-contract", "html", "json")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="also print the threshold tree, the times of every version, the "
                             "thresholds and notes")
