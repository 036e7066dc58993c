"""Options of ``runelift autotune`` that do not go together."""

from __future__ import annotations

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.tuning_options import DEFAULT
from runelift.runtime.tools.commands.tuning_request import TuningRequest
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.strategies.instrumentation import measuring_method
from runelift.runtime.tuner.strategies.trials import Strategy


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
