"""The search over schedules of ``runelift autotune --schedules``, before versions are tuned."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from runelift.ir.interpret import bind_arguments
from runelift.ir.points import with_rules
from runelift.ir.prim import Prim
from runelift.ir.syntax import Fun
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import Schedule
from runelift.rewrite.lift.scheduling import Book
from runelift.runtime.data.outline import outline
from runelift.runtime.predictions.schedules import FEW_VERSIONS, seconds_by_schedule
from runelift.runtime.programs.program import Program
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.commands.progress import Display
from runelift.runtime.tools.commands.tuning_data import tuning_datasets
from runelift.runtime.tools.commands.tuning_request import (
    SearchedSchedules,
    TuningRequest,
    TuningResult,
)
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod, Replay
from runelift.runtime.tuner.policy import TuningPolicy
from runelift.runtime.tuner.schedules.drawing import Drawing
from runelift.runtime.tuner.schedules.measuring import Lines, Measured, by_default, of_replay
from runelift.runtime.tuner.schedules.ranking import Predict
from runelift.runtime.tuner.schedules.search import Measure, ScheduleSearch
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.searched_gains import SearchedGain
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.thresholds import measure
from runelift.runtime.tuner.workers.runners import running

STOP_SECONDS = 1.0
"""The seconds after which a schedule may be stopped that is ten times as slow as another schedule.
"""


def search_schedules(request: TuningRequest, program: Program, shown: Display
                     ) -> SearchedSchedules:
    """Search the schedules of all entry points that have datasets; what goes on is ``shown``.

    ``program`` has the schedule that runs without tuning.  The entry points share the budget.
    Schedules that are worth a version are part of the program from here on.
    """
    policy, asked = request.tuning_policy, request.schedules
    most_runs = sys.maxsize if asked is None or asked.runs is None else asked.runs
    datasets = tuning_datasets(request, program)
    seconds = _seconds(request, policy)
    shown.expected(f"searching schedules: about {seconds:.0f} s", seconds, None,
                   time.perf_counter())
    entries = [fun for fun in program.compiled.core.funs
               if any(each.entry == fun.name for each in datasets)]
    found, book = dict[str, ScheduleSearch](), load_rules(program.compiled.rules).points
    with with_rules(book):
        for fun in entries:
            ours = [each for each in datasets if each.entry == fun.name]
            found[fun.name] = ScheduleSearch(
                _drawing(request, program, fun, ours, {**BOOK, **book}),
                _measuring(request, program, fun.name, ours, policy),
                _predicting(program, fun.name, ours), [each.name for each in ours],
                most_runs, policy.schedules, _predicting(program, fun.name, ours, FEW_VERSIONS),
                Budget(seconds=seconds / len(entries)), progress=shown.trying)
            found[fun.name].run()
    return SearchedSchedules(schedule_found(program, found) or request.schedule, found)


def without_unused(request: TuningRequest, program: Program, searched: SearchedSchedules,
                   state: State) -> SearchedSchedules | None:
    """The schedules whose versions run on a dataset; None if the versions of all schedules do.

    ``state`` has thresholds that were fitted to the times with tuned parameters: before that, a
    version that gains by them would be dropped.  If there was no time for schedules on some
    datasets, the best on these is kept, too.
    """
    if state.interrupted:
        return None
    searches, used = searched.searches, used_schedules(state)
    gains = proved_gains(program, searches)
    for entry, search in searches.items():
        lacking = without_time(search, [each for each in gains if each.entry == entry], state)
        used |= {each.schedule for each in gains
                 if lacking & each.ratios.keys() and each.is_chosen(state.values)}
        search.keep(used | best_on(search, lacking))
    if not any(search.unused for search in searches.values()):
        return None
    return SearchedSchedules(schedule_found(program, searches) or request.schedule, searches)


def without_time(search: ScheduleSearch, gains: Sequence[SearchedGain], state: State) -> set[str]:
    """The datasets of a search that the tuning after it had no time for, or for a schedule."""
    tunings = {each.forest.entry: each for each in state.thresholds.entries}
    return {name for name in search.datasets if name not in state.datasets or any(
        each.lacks_time(name, tunings[each.entry]) for each in gains if each.entry in tunings)}


def best_on(search: ScheduleSearch, datasets: Collection[str]) -> set[Lines]:
    """The steps of the schedule that gained most on some datasets, if any did."""
    names = sorted(datasets)
    best = min(search.winners, key=lambda each: each.score(names), default=None)
    return {best.drawn.lines} if names and best is not None and best.score(names) < 1 else set()


def with_most_datasets(result: TuningResult, before: TuningResult | None) -> TuningResult:
    """The result, or the one ``before`` schedules were dropped if that came to more.

    That is so if it measured more datasets, or if only it has a gain that runs have proved.
    """
    state = result.state
    assert state is not None
    if before is None or before.state is None or (
            state.datasets >= before.state.datasets and (state.tuned or not before.state.tuned)):
        return result
    for search in result.searches.values():
        search.keep_all()
    return replace(before, state=replace(
        before.state, interrupted=state.interrupted, spent=state.spent))


def _seconds(request: TuningRequest, policy: TuningPolicy) -> float:
    """The seconds that the search may take: those asked for, as far as the budget allows."""
    most = math.inf if request.budget is None or request.seconds is None else (
        policy.budget.schedules * request.seconds)
    asked = None if request.schedules is None else request.schedules.seconds
    if asked is not None:
        return min(most, asked)
    return most if most < math.inf else policy.schedules.seconds


def schedule_found(program: Program, found: Mapping[str, ScheduleSearch]) -> str | None:
    """The text of the schedules that are worth a version; None if none is."""
    winners = tuple(each.drawn.schedule for search in found.values() for each in search.winners)
    return Schedule(program.compiled.steps, winners).text if winners else None


def used_schedules(state: State) -> set[Lines]:
    """The schedules, by their steps, of versions that thresholds or size guards choose."""
    found = set[Lines]()
    for entry in state.thresholds.entries:
        found |= {point.site.alternatives[index].schedule for dataset in entry.costs.datasets
                  for point, index in dataset.reached(state.guarded)}
    return found


def proved_gains(program: Program, found: Mapping[str, ScheduleSearch]) -> list[SearchedGain]:
    """The gains that the searches have proved, of schedules that are versions with guards."""
    gains = [SearchedGain(entry, each.drawn.lines, each.ratios, {
        guard.name: 1 for site in program.tree.entry(entry).sites().values()
        for version in site.alternatives
        if version.schedule == each.drawn.lines and (guard := version.guard) is not None})
        for entry, search in found.items() for each in search.winners]
    return [each for each in gains if each.thresholds]


def _drawing(request: TuningRequest, program: Program, fun: Fun, datasets: Sequence[Dataset],
             book: Book) -> Drawing:
    sizes = [{str(name): int(value) for name, value in bind_arguments(
        fun, list(each.arguments())).items() if value.dtype == Prim.I64.dtype and not value.shape}
        for each in datasets]
    own = Schedule(tuple(each for each in program.compiled.steps if each.entry == fun.name))
    return Drawing(fun, program.compiled.names, sizes, program.compiled.numbers,
                   random.Random(request.seed), own, book)


def _predicting(program: Program, entry: str, datasets: Sequence[Dataset],
                policy: str | None = None) -> Predict:
    """The function that predicts an entry point with a schedule."""
    assert program.device_info is not None
    return seconds_by_schedule(program.compiled, program.device_info, entry,
                               [outline(each.arguments()) for each in datasets], policy)


def _measuring(request: TuningRequest, program: Program, entry: str,
               datasets: Sequence[Dataset], policy: TuningPolicy) -> Measure:
    """The function that measures versions of an entry point in another process."""
    rest = tuple(each for each in program.compiled.steps if each.entry != entry)

    def measured(versions: Schedule, rounds: int, seconds: float) -> Measured:
        text = replace(versions, steps=(*rest, *versions.steps)).text
        scheduled = request.compiled(text)
        assert scheduled.device_info is not None
        forest = scheduled.tree.entry(entry)
        with running(scheduled, request.time_limit, least=STOP_SECONDS) as runner:
            if not rounds:
                return by_default(runner, forest, datasets, seconds)
            job = TuningJob(runner, scheduled.tree, datasets,
                            method=MeasuringMethod(policy=policy, replay=Replay(rounds)),
                            verify=False,
                            end=time.perf_counter() + max(1.0, seconds))
            return of_replay(measure(job.on(forest)))

    return measured
