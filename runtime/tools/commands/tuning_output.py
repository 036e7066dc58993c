"""The end of a tuning: the files that it writes, and the verdict that it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import starmap
from pathlib import Path
from typing import Any

from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.json_output import command_line
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_files import (
    about_program,
    about_runs,
    export_t4,
    write_found,
    write_report,
)
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
    changes_by_search,
    verdict,
    written_line,
)
from runelift.runtime.tuner.autotune import State
from runelift.runtime.tuner.confirm_size_guards import guard_facts, render_guards
from runelift.runtime.tuner.fit.cross_validation import HeldOut, held_out_facts, leave_one_out
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.schedules.report import render_schedules, schedule_facts
from runelift.runtime.tuner.strategies.tune_by_search import (
    SearchTuning,
    render_searches,
    search_facts,
)
from runelift.runtime.versions.tuning_file import GUARDS, tuning_path
from runelift.runtime.versions.version_names import with_version_names

INTERRUPTED = 130
"""The exit status after Ctrl-C."""
UNFINISHED = "unfinished"
"""The fact of a file that is written while its tuning goes on."""


def output_of(args: argparse.Namespace) -> Path:
    """The tuning file to write."""
    return args.output or tuning_path(args.program)


def finish_tuning(args: argparse.Namespace, program: Program, policy: TuningPolicy,
                  state: State) -> int:
    """Write and print the result of a tuning with records; the exit status."""
    held_out = {entry.forest.entry: leave_one_out(entry.costs, entry.defaults, entry.aim,
                                                  SizeGuardKind(args.guards))
                for entry in state.thresholds.entries} if args.leave_one_out else {}
    about = write_results(args, program, policy, state, held_out)
    if args.json:
        print_json(about)
    else:
        found = changes(state.thresholds, state.parameters, state.guards, state.final)
        written = _written(args, log=not args.replay) if state.measured else "Nothing was written."
        show(verdict(_title(args, program), found, written, whole=args.verbose))
        for line in _failed(state):
            show(f"Not used: {line}")
        if not _is_verbose(args, state):
            show(MORE)
        for text in filter(None, _texts(args, state, held_out)):
            show(f"\n{text}")
    if not state.interrupted:
        return 0
    print("runelift: interrupted; " + (
        "what was found before is kept." if not state.thresholds.interrupted else
        f"the thresholds in {output_of(args)} are fitted to what was measured."
        if state.measured else
        "nothing was measured completely, so nothing was written."), file=sys.stderr)
    return INTERRUPTED


def write_results(args: argparse.Namespace, program: Program, policy: TuningPolicy, state: State,
                  held_out: Mapping[str, list[HeldOut]]) -> dict[str, Any]:
    """Write the files that options ask for; the facts about the tuning."""
    about = {**_facts(program, policy, state, held_out), **_of_schedules(args), **_made_by(args)}
    if state.measured:
        about = write_found(output_of(args), state.values, about, program, _tuned(state))
    if args.export_t4 is not None:
        export_t4(args.export_t4, about_runs(args, program), state)
    if args.html is not None:
        write_report(args, program, state, held_out)
    return about


def write_so_far(args: argparse.Namespace, program: Program, state: State) -> None:
    """Write what the stages have found so far: the next one may be killed.

    The facts are only those that runs need; the others take longer.
    """
    about = {**about_program(program), UNFINISHED: True, **_facts_for_runs(program, state)}
    write_found(output_of(args), state.values, about, program, _tuned(state))


def _tuned(state: State) -> set[str]:
    """The entry points that were tuned."""
    return {entry.forest.entry for entry in state.thresholds.entries} | {
        each.entry for each in state.parameters}


def _facts_for_runs(program: Program, state: State) -> dict[str, Any]:
    """The facts that runs read."""
    return {GUARDS: guard_facts(state.guards, program.identity.device, program.policy)}


def _facts(program: Program, policy: TuningPolicy, state: State,
           held_out: Mapping[str, list[HeldOut]]) -> dict[str, Any]:
    """The content of the JSON file."""
    return {**facts(state.thresholds, **about_program(program)),
            "leave_one_out": {entry: held_out_facts(found) for entry, found in held_out.items()},
            "validation": {name: asdict(both) for name, both in state.validated.items()},
            "tuning_policy": asdict(policy),
            "memory": program.memory,
            "not_used": _failed(state),
            "final": [asdict(each) for each in state.final],
            **_facts_for_runs(program, state),
            "parameters": {each.entry: parameter_facts(each) for each in state.parameters}}


def _of_schedules(args: argparse.Namespace) -> dict[str, Any]:
    """The facts about schedules that were searched."""
    return {"schedules": {entry: schedule_facts(found) for entry, found in args.searched.items()}
            } if args.searched else {}


def _made_by(args: argparse.Namespace) -> dict[str, Any]:
    """The command, which 'runelift rerun' repeats, its seed, and the versions of packages."""
    return {"command": command_line(), "seed": args.seed, "versions": versions()}


def _failed(state: State) -> list[str]:
    """The versions that could not run, were given up or gave wrong results, and why."""
    return [line for entry in state.thresholds.entries for line in failed_versions(entry)]


def _is_verbose(args: argparse.Namespace, state: State) -> bool:
    """True if all is printed; where nothing could be measured, notes say why."""
    return args.verbose or not state.measured


def _texts(args: argparse.Namespace, state: State, held_out: Mapping[str, list[HeldOut]]
           ) -> Iterator[str]:
    """The texts below the verdict: those that options ask for, or all."""
    verbose = _is_verbose(args, state)
    yield from starmap(render_schedules, args.searched.items())
    if verbose:
        yield render(state.thresholds, times=not state.final)
    yield render_fronts(state.thresholds.entries)
    yield from starmap(render_held_out, held_out.items())
    if verbose:
        yield from map(render_parameters, state.parameters)
        yield from map(render_guards, state.guards)
    yield render_validation(state.validated)


def finish_search(args: argparse.Namespace, program: Program, found: Sequence[SearchTuning]
                  ) -> int:
    """Write and print thresholds that were found without records; the exit status."""
    about = write_found(output_of(args), {
        name: value for each in found for name, value in each.thresholds.items()},
        {**search_facts(found, **about_program(program)), **_of_schedules(args),
         **_made_by(args)}, program,
        {each.forest.entry for each in found})
    if args.json:
        print_json(about)
    else:
        show(verdict(_title(args, program), changes_by_search(found), _written(args, log=False)))
        for line in (line for each in found for line in each.problems):
            show(f"Not used: {with_version_names(line, *program.tree.entries)}")
        show(f"\n{render_searches(found)}" if args.verbose else MORE)
        for text in starmap(render_schedules, args.searched.items()):
            show(f"\n{text}")
    return INTERRUPTED if about["interrupted"] else 0


def _title(args: argparse.Namespace, program: Program) -> str:
    assert program.device_info is not None
    return f"{args.program} on {program.device_info.label}"


def _written(args: argparse.Namespace, *, log: bool) -> str:
    """The line of the verdict about files."""
    return written_line(output_of(args), used=output_of(args) == tuning_path(args.program),
                        log=log, pages=[args.html] if args.html else [])
