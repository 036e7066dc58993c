"""Files that a tuning writes: thresholds, facts, results and a page, and what they hold for."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.options import warn
from runelift.runtime.tools.commands.tuning_request import TuningRequest, TuningResult
from runelift.runtime.tools.pages.document import document, write_page
from runelift.runtime.tools.reports.environment import now
from runelift.runtime.tuner.costs.log import made_for
from runelift.runtime.tuner.fit.cross_validation import HeldOut
from runelift.runtime.tuner.state import State
from runelift.runtime.versions.tuning_file import (
    PROGRAM,
    SCHEDULE,
    SETTINGS,
    digest,
    names_in,
    tuning_of,
    write_tuning,
)


def runs_are_for(program: Program) -> str:
    """The program, policy and device that runs in a log are of, in one line."""
    about = about_program(program)
    schedule = program.compiled.schedule
    return " ".join([*(about[key] for key in (PROGRAM, "policy", "device", "driver")),
                     *([f"schedule {digest(schedule)}"] if schedule is not None else [])])


def write_found(output: Path, values: Mapping[str, int], about: Mapping[str, Any],
                program: Program, tuned: Set[str]) -> dict[str, Any]:
    """Write the results of a tuning, beside earlier results for other entry points.

    The result is the content of the JSON file.
    """
    kept, settings, of = dict[str, int](), dict[str, dict[str, int]](), program.identity
    known = {guard.name for guard in program.tree.guards()}
    kernels = program.kernel_parameters(tuned)
    if output.exists():
        try:
            if names_in(output) - known - kernels.keys():  # of entry points that have to be lowered
                kernels = program.kernel_parameters()
            before = tuning_of(None, output).on(of, kernels.keys(), borrow=False)
            kept = {name: value for name, value in before.values.items()
                    if name in known or (kernels.get(name, "") in program.entries
                    and kernels[name] not in tuned)}
            settings = before.elsewhere
        except UserError as error:
            warn(f"the old tuning file is replaced: {error}")
    found = {**kept, **values}
    settings[of.device] = {name: value for name, value in found.items() if value}
    facts_ = {**about, SETTINGS: settings}
    if program.compiled.schedule is not None:
        facts_[SCHEDULE] = program.compiled.schedule_text.splitlines()
    write_tuning(output, found, facts_)
    return facts_


def write_report(request: TuningRequest, result: TuningResult, state: State,
                 held_out: Mapping[str, list[HeldOut]]) -> None:
    """Write the report of ``--html``."""
    # late: start-up; tunings without a page do without
    from runelift.runtime.tools.reports.html import schedules, tuned

    assert request.html is not None
    *parts, environment = tuned.tuned(
        state.thresholds, about_runs(request, result.program), state.parameters, state.guards,
        state.validated, held_out, state.final)
    write_page(request.html, document(f"Tuning of {request.program.name}", [
        *parts, *schedules.schedule_sections(result.searches), environment]))


def about_runs(request: TuningRequest, program: Program) -> dict[str, str]:
    """The program and device that recorded runs belong to, by key.

    Runs from a log may belong to another program or device.  ``log`` and ``runs_of`` say so then.
    """
    about = about_program(program)
    if request.replay is None:
        return about
    others = made_for(request.replay) - {runs_are_for(program)}
    kept = {"program", "written"} if others else about.keys()
    return {**{key: value for key, value in about.items() if key in kept},
            "log": str(request.replay),
            **({"runs_of": "; ".join(sorted(others))} if others else {})}


def about_program(program: Program) -> dict[str, str]:
    """The program, device, policy and date of a tuning, by key, for its JSON file."""
    assert program.device_info is not None
    info = program.device_info
    return {"program": program.compiled.source.name,
            PROGRAM: program.identity.program,
            "device": info.name, "platform": info.platform, "driver": info.driver,
            "policy": program.policy,
            "written": now()}
