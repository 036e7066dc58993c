"""The end of a tuning: the files that it writes, and the verdict that it prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import starmap
from typing import Any

from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands import INTERRUPTED
from runelift.runtime.tools.commands.json_output import command_line
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_data import missing_lines
from runelift.runtime.tools.commands.tuning_files import (
    about_program,
    about_runs,
    write_found,
    write_report,
)
from runelift.runtime.tools.commands.tuning_request import TuningRequest, TuningResult
from runelift.runtime.tools.commands.tuning_time import accounted
from runelift.runtime.tools.reports.environment import versions
from runelift.runtime.tools.reports.memory_fronts import render_fronts
from runelift.runtime.tools.reports.parameters import parameter_facts, render_parameters
from runelift.runtime.tools.reports.text import (
    facts,
    failed_versions,
    render,
    render_held_out,
    render_validation,
)
from runelift.runtime.tools.reports.verdict import (
    MORE,
    changes,
    verdict,
    written_line,
)
from runelift.runtime.tuner.confirm_size_guards import guard_facts, render_guards
from runelift.runtime.tuner.fit.cross_validation import HeldOut, held_out_facts, leave_one_out
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.schedules.report import render_schedules, schedule_facts
from runelift.runtime.tuner.state import State
from runelift.runtime.versions.tuning_file import GUARDS, facts_path, read_facts, tuning_path

UNFINISHED = "unfinished"
"""The fact of a file that is written while its tuning goes on."""
VERDICT = "verdict"
"""The fact of a tuning that left nothing to do: the lines that it printed."""
RESUME = "--resume"
"""The option that goes on with a log; it is no part of a command that is repeated."""


def finish_tuning(request: TuningRequest, result: TuningResult, state: State) -> int:
    """Write and print the result of a tuning with records; the exit status."""
    program = result.program
    held_out = {entry.forest.entry: leave_one_out(entry.costs, entry.defaults, entry.aim,
                                                  SizeGuardKind(request.guards))
                for entry in state.thresholds.entries} if request.leave_one_out else {}
    found = changes(state.thresholds, state.parameters, state.guards, state.final)
    files = written(request, log=not request.replay) if state.measured else "Nothing was written."
    said = verdict(title(request, program), found, files, whole=request.verbose)
    about = write_results(request, result, state, held_out, said)
    if request.json:
        print_json(about)
    else:
        show(said)
        for line in _failed(state):
            show(f"Not used: {line}")
        if not _is_verbose(request, state):
            show(MORE)
        for text in filter(None, _texts(request, result, state, held_out)):
            show(f"\n{text}")
        if not request.replay:
            show(accounted(state.spent, time.perf_counter() - result.started))
        for line in missing_lines(result.missing):
            show(line)
    if not state.interrupted:
        if state.measured:
            return 0
        short = any(each.measurements.left_out for each in state.thresholds.entries)
        print("runelift: no dataset has times of all versions, so nothing was tuned." + (
            "  A longer --budget gives it the time; kernels stay built." * short), file=sys.stderr)
        return 1
    print("runelift: interrupted; " + (
        "what was found before is kept." if not state.thresholds.interrupted else
        f"the thresholds in {request.tuning_file} are fitted to what was measured."
        if state.measured else
        "nothing was measured completely, so nothing was written."), file=sys.stderr)
    return INTERRUPTED


def show_finished(request: TuningRequest, facts: Mapping[str, Any]) -> None:
    """Print the result of a tuning that was finished before, by the facts in its JSON file."""
    if request.json:
        print_json(facts)
        return
    show(f"Nothing is left to do: this tuning was finished on {facts['written']}.")
    for line in facts[VERDICT]:
        show(line)


def finished(request: TuningRequest, program: Program) -> dict[str, Any] | None:
    """The facts of a tuning by an equal command, if it left nothing out and its files are there."""
    files = [request.tuning_file, facts_path(request.tuning_file), request.html, request.export_t4]
    if not all(each.exists() for each in files if each is not None):
        return None
    facts = read_facts(facts_path(request.tuning_file))
    wanted = {**about_program(program), **made_by(request), "written": facts.get("written")}
    return facts if isinstance(facts.get(VERDICT), list) and all(
        facts.get(key) == value for key, value in wanted.items()) else None


def write_results(request: TuningRequest, result: TuningResult, state: State,
                  held_out: Mapping[str, list[HeldOut]], said: str = "") -> dict[str, Any]:
    """Write the files that the options request, and return the content of the JSON file.

    The verdict that is ``said`` is a part of it if nothing is left to do.
    """
    program = result.program
    whole = said and state.measured and not (
        state.interrupted or result.missing or state.wrong
        or any(each.measurements.left_out for each in state.thresholds.entries))
    about = {**_facts(program, request.tuning_policy, state, held_out),
             **({VERDICT: said.splitlines()} if whole else {}),
             **facts_of_schedules(result), **made_by(request),
             "missing": dict(result.missing), "seconds": {
                 **state.spent, "all": time.perf_counter() - result.started}}
    if state.measured:
        about = write_found(request.tuning_file, state.values, about, program, _tuned(state))
    if request.export_t4 is not None:
        # late: research; tunings without the format do without
        from runelift.runtime.research.t4 import export_t4

        export_t4(request.export_t4, about_runs(request, program), state)
    if request.html is not None:
        write_report(request, result, state, held_out)
    return about


def write_so_far(request: TuningRequest, program: Program, state: State) -> None:
    """Write what the stages have found so far: the next one may be killed.

    Only the facts that runs need are written, as all other facts take longer to compute.
    """
    about = {**about_program(program), UNFINISHED: True, **_facts_for_runs(program, state)}
    write_found(request.tuning_file, state.values, about, program, _tuned(state))


def _tuned(state: State) -> set[str]:
    return {entry.forest.entry for entry in state.thresholds.entries} | {
        each.entry for each in state.parameters}


def _facts_for_runs(program: Program, state: State) -> dict[str, Any]:
    """The facts for the JSON file that later runs read, by key."""
    return {GUARDS: guard_facts(state.guards, program.identity.device, program.policy)}


def _facts(program: Program, policy: TuningPolicy, state: State,
           held_out: Mapping[str, list[HeldOut]]) -> dict[str, Any]:
    """The facts about a tuning for the JSON file, by key."""
    return {**facts(state.thresholds, **about_program(program)),
            "leave_one_out": {entry: held_out_facts(found) for entry, found in held_out.items()},
            "validation": {name: asdict(both) for name, both in state.validated.items()},
            "tuning_policy": asdict(policy),
            "memory": program.memory,
            "not_used": _failed(state),
            "final": [asdict(each) for each in state.final],
            **_facts_for_runs(program, state),
            "parameters": {each.entry: parameter_facts(each) for each in state.parameters}}


def facts_of_schedules(result: TuningResult) -> dict[str, Any]:
    """The facts about a search: ``schedules`` by entry point; empty without a search."""
    return {"schedules": {entry: schedule_facts(found)
                          for entry, found in result.searches.items()}} if result.searches else {}


def made_by(request: TuningRequest) -> dict[str, Any]:
    """The command line, its seed, and the versions of packages, for 'runelift rerun'.

    The keys are ``command``, ``seed`` and ``versions``.
    """
    command = [each for each in command_line() if each != RESUME]
    return {"command": command, "seed": request.seed, "versions": versions()}


def _failed(state: State) -> list[str]:
    """The versions that could not run, were given up or gave wrong results, and why."""
    return [line for entry in state.thresholds.entries for line in failed_versions(entry)]


def _is_verbose(request: TuningRequest, state: State) -> bool:
    """True if all is printed; where nothing could be measured, notes say why."""
    return request.verbose or not state.measured


def _texts(request: TuningRequest, result: TuningResult, state: State,
           held_out: Mapping[str, list[HeldOut]]) -> Iterator[str]:
    """The texts below the verdict: the texts that options ask for, or all texts."""
    verbose = _is_verbose(request, state)
    yield from starmap(render_schedules, result.searches.items())
    if verbose:
        yield render(state.thresholds, times=not state.final)
    yield render_fronts(state.thresholds.entries)
    yield from starmap(render_held_out, held_out.items())
    if verbose:
        yield from map(render_parameters, state.parameters)
        yield from map(render_guards, state.guards)
    yield render_validation(state.validated)


def title(request: TuningRequest, program: Program) -> str:
    """The program and its device."""
    assert program.device_info is not None
    return f"{request.program} on {program.device_info.label}"


def written(request: TuningRequest, *, log: bool) -> str:
    """The line of the verdict about files."""
    used = request.tuning_file == tuning_path(request.program)
    return written_line(request.tuning_file, used=used, log=log,
                        pages=[request.html] if request.html else [])
