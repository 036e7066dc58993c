"""The request of a tuning, and its result."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.runtime.host.gc_policy import freeze
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.options import NEEDS_DEVICE
from runelift.runtime.tools.commands.tuning_options import DEFAULT, EFFORTS
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.strategies import parse_strategy
from runelift.runtime.tuner.strategies.instrumentation import measuring_method
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.versions.tuning_file import tuning_path

if TYPE_CHECKING:
    from runelift.runtime.tuner.schedules.search import ScheduleSearch
    from runelift.runtime.tuner.state import State
    from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning


@dataclass(frozen=True, slots=True)
class TuningRequest:
    """The options of ``runelift autotune`` by name; ``--help`` explains each option."""

    program: Path
    entry: str | None
    runs: int | None
    input: Path | None
    only: str | None
    no_verify: bool
    no_parameters: bool
    parameters: str
    replay: Path | None
    resume: bool
    effort: str
    strategy: str | None
    budget: Budget | None
    time_limit: str | None
    memory: str | None
    schedules: Budget | None
    objective: str
    validate: bool
    export_t4: Path | None
    import_t4: Path | None
    guards: str
    leave_one_out: bool
    seed: int
    output: Path | None
    devices: Sequence[str]
    all_devices: bool
    scheduler: str | None
    policy: str
    rules: Path | None
    schedule: Path | None
    fp_contract: bool
    html: Path | None
    json: bool
    verbose: bool

    @classmethod
    def of(cls, args: argparse.Namespace) -> TuningRequest:
        """The request of a command line."""
        return cls(**{each.name: getattr(args, each.name) for each in fields(cls)})

    @property
    def device(self) -> str | None:
        """The first device that is named; None: the best."""
        return self.devices[0] if self.devices else None

    @property
    def several(self) -> bool:
        """True if several devices or machines share the runs."""
        return len(self.devices) > 1 or self.all_devices or self.scheduler is not None

    @property
    def tuning_policy(self) -> TuningPolicy:
        """The numbers that decide how much is done."""
        return EFFORTS[self.effort].policy

    @property
    def seconds(self) -> float | None:
        """The seconds that all may take; None if only runs are limited.

        A number without a unit is seconds, too, unless the strategy counts runs.  By default, a
        tuning that records runs takes no longer than the effort says.
        """
        if self.budget is not None and self.budget.seconds is not None:
            return self.budget.seconds
        if self.import_t4 is not None or measuring_method(self.search_strategy()) is None:
            return None
        if self.budget is not None:
            return None if self.budget.runs is None else float(self.budget.runs)
        policy = self.tuning_policy
        if self.schedules is None:
            return policy.budget.seconds
        searching = self.schedules.seconds or policy.schedules.seconds
        return 2 * policy.budget.seconds + searching  # it is tuned again without unused schedules

    @property
    def tuning_file(self) -> Path:
        """The tuning file to write."""
        return self.output or tuning_path(self.program)

    def search_strategy(self) -> Strategy:
        """The strategy for versions; UserError if there is none of its name."""
        return parse_strategy(self.strategy or EFFORTS[self.effort].strategy)

    def compiled(self, schedule: Path | str | None) -> Program:
        """The program with a schedule, compiled for the device; it runs in other processes."""
        return compile_program(
            require_file(self.program), device=self.device, policy=self.policy,
            fp_contract=self.fp_contract, tuning={}, memory=self.memory, runs=False,
            rules=self.rules, schedule=schedule)

    def opened(self, schedule: Path | str | None) -> Program:
        """The program with a schedule, to be tuned; UserError if there is no device for that."""
        program = self.compiled(schedule)
        if program.device_info is None:
            raise UserError(NEEDS_DEVICE)
        freeze()
        return program


@dataclass(frozen=True, slots=True)
class SearchedSchedules:
    """The searches over schedules by entry point, and the schedule that programs have by them."""

    schedule: Path | str | None
    searches: Mapping[str, ScheduleSearch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The tuned program, and the results of searching schedules and of tuning.

    It was ``started`` at a time of :func:`time.perf_counter`.  Datasets are ``missing`` for the
    reasons given.  A tuning by records has a ``state``.  A search or an import has ``found`` a
    configuration for each entry point.  Neither is there if there was nothing to tune, or if the
    tuning was ``finished`` before: these are the facts of its JSON file.
    """

    program: Program
    searches: Mapping[str, ScheduleSearch]
    started: float
    missing: Mapping[str, str] = field(default_factory=dict)
    state: State | None = None
    found: Sequence[SearchTuning] | None = None
    finished: Mapping[str, Any] | None = None


def check(request: TuningRequest, strategy: Strategy) -> None:
    """Refuse options that do not go together."""
    complete = measuring_method(strategy) is not None
    if request.runs is not None and request.runs < 1:
        raise UserError("--runs must be at least 1.")
    if request.validate and request.input is not None:
        raise UserError("--validate runs the datasets that a program keeps out of tuning, not an "
                        "--input.")
    if request.schedules is not None and 0 in (request.schedules.runs, request.schedules.seconds):
        raise UserError("--schedules must be at least 1, or some time.")
    if request.schedules is not None and (
            request.replay or request.resume or request.import_t4 is not None):
        raise UserError("--schedules runs programs that there are no runs of yet; leave out "
                        "--replay, --resume and --import-t4.")
    if request.resume and (request.replay or not complete):
        raise UserError("--resume goes on with a log, which only tuning by records has.")
    if not complete or request.import_t4 is not None:
        _check_without_records(request)
    if request.replay and not complete:
        raise UserError(f"--replay fits to a log, which is what '{DEFAULT}' does; 'runelift "
                        "tune-compare' simulates other strategies on a log.")
    if Objective(request.objective).weighs_memory and request.replay:
        raise UserError(f"--objective {request.objective} needs the datasets themselves, which a "
                        "log does not have.")
    if request.objective == Objective.MEMORY.value and request.guards not in (
            SizeGuardKind.AUTO.value, SizeGuardKind.THRESHOLD.value):
        raise UserError(f"--guards {request.guards} aims at time alone; --objective memory goes "
                        "with thresholds.")
    here = len(request.devices) > 1 or request.all_devices
    if here and request.scheduler is not None:
        raise UserError("--scheduler uses all devices of its machines that are like one here: give "
                        "one --device.")
    if request.several and (request.replay or request.import_t4 or not complete):
        raise UserError("Several devices share the runs of datasets, which only tuning by records "
                        "has.")


def _check_without_records(request: TuningRequest) -> None:
    """Refuse options that need records, which neither a search nor an import has."""
    for option, given, instead in (
            ("--objective", request.objective != Objective.RELATIVE.value,
             "strategies that search minimise the sum of relative times"),
            ("--guards",
             request.guards not in (SizeGuardKind.AUTO.value, SizeGuardKind.THRESHOLD.value), ""),
            ("--leave-one-out", request.leave_one_out, ""),
            ("--validate", request.validate, ""),
            ("--export-t4", request.export_t4 is not None, ""),
            ("--replay", request.replay is not None and request.import_t4 is not None, ""),
            ("--html", request.html is not None,
             "'runelift tune-compare --html' shows how strategies fare")):
        if given:
            raise UserError(f"{option} needs records of runs with forced versions, which a search "
                            "or an import does not make" + (f"; {instead}." if instead else "."))
