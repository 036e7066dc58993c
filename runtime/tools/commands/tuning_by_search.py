"""Tunings without records: by strategies that run the program with thresholds, and by import."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap

from runelift.ir.base.errors import UserError
from runelift.runtime.programs.program import Program
from runelift.runtime.research import t4
from runelift.runtime.tools.commands import INTERRUPTED
from runelift.runtime.tools.commands.options import print_json, warn
from runelift.runtime.tools.commands.progress import display
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_files import about_program, write_found
from runelift.runtime.tools.commands.tuning_output import (
    facts_of_schedules,
    made_by,
    title,
    written,
)
from runelift.runtime.tools.commands.tuning_request import TuningRequest, TuningResult
from runelift.runtime.tools.reports.verdict import MORE, changes_by_search, verdict
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.schedules.report import render_schedules
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.tuner.strategies.tune_by_search import (
    SearchTuning,
    render_searches,
    search_facts,
    tune_by_search,
)
from runelift.runtime.versions.version_names import with_version_names


def searched(request: TuningRequest, strategy: Strategy, job: TuningJob) -> list[SearchTuning]:
    """Tune with a strategy that runs the program with thresholds."""
    with display(0) as shown:
        return tune_by_search(job, strategy, budget=request.budget, seed=request.seed,
                              progress=shown.searched)


def imported(request: TuningRequest, program: Program, job: TuningJob) -> list[SearchTuning]:
    """Take over the best configurations of a T4 file."""
    assert program.device_info is not None
    assert request.import_t4 is not None
    found = t4.usable(program, t4.read_t4(request.import_t4), program.device_info.name)
    for problem in found.problems:
        warn(f"{request.import_t4}: {problem}")
    adopted = t4.adopt(program, job, found.results)
    if not adopted:
        raise UserError(f"'{request.import_t4}' has no configuration of this program that is valid "
                        "on all of its datasets.")
    return adopted


def finish_search(request: TuningRequest, result: TuningResult, found: Sequence[SearchTuning]
                  ) -> int:
    """Write and print thresholds that were found without records; the exit status."""
    program = result.program
    about = write_found(request.tuning_file, {
        name: value for each in found for name, value in each.thresholds.items()},
        {**search_facts(found, **about_program(program)), **facts_of_schedules(result),
         **made_by(request)}, program,
        {each.forest.entry for each in found})
    if request.json:
        print_json(about)
    else:
        show(verdict(title(request, program), changes_by_search(found),
                     written(request, log=False)))
        for line in (line for each in found for line in each.problems):
            show(f"Not used: {with_version_names(line, *program.tree.entries)}")
        show(f"\n{render_searches(found)}" if request.verbose else MORE)
        for text in starmap(render_schedules, result.searches.items()):
            show(f"\n{text}")
    return INTERRUPTED if about["interrupted"] else 0
