"""Tuning with a strategy that runs the program with thresholds, and judges them by its time.

The result of a strategy is run beside the default before it is kept, as after a fit.  There are no
records to fit anew, so thresholds that make a dataset slower are dropped altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from runelift.runtime.records.format import FORMAT, show_seconds, table
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes, compare_paired
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.strategies import Search, search
from runelift.runtime.tuner.strategies.findings import finding_facts, render_findings
from runelift.runtime.tuner.strategies.live import Live
from runelift.runtime.tuner.strategies.trials import Strategy
from runelift.runtime.versions.forest import Forest


@dataclass(frozen=True, slots=True)
class SearchTuning:
    """The thresholds that a strategy found for one entry point, and their verification.

    ``verified`` are the datasets' times by default and with the thresholds found, run in turn.
    ``kept_default`` is the reason not to use those found, if they are not.  ``problems`` say why
    runs failed, were stopped, or had wrong results.
    """

    forest: Forest
    defaults: dict[str, int]
    search: Search
    verified: dict[str, PairedTimes] = field(default_factory=dict)
    kept_default: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def thresholds(self) -> dict[str, int]:
        """The thresholds to use."""
        return self.search.thresholds if self.kept_default is None else self.defaults


def tune_by_search(job: TuningJob, strategy: Strategy, *, budget: Budget | None = None,
                   seed: int = 0, progress: Callable[[Best], None] = lambda _: None
                   ) -> list[SearchTuning]:
    """Tune all entry points that have datasets and choices, each with the whole budget.

    Ctrl-C ends the search, and the best thresholds so far are verified.
    """
    found = []
    for forest in job.forests.entries:
        own = job.datasets_of(forest.entry)
        if not own or not forest.trees:
            continue
        defaults = job.defaults(forest)
        oracle = Live(job.program, forest, defaults, own, job.compared_repeats)
        result = search(strategy, oracle, seed=seed, budget=budget, progress=progress)
        each = SearchTuning(forest, defaults, result)
        each = confirm(job.on(forest), each) if job.verify else each
        found.append(replace(each, problems=tuple(
            f"{dataset}: {why}" for dataset, why in oracle.problems)))
        if result.interrupted:
            break
    return found


def confirm(job: TuningJob, found: SearchTuning) -> SearchTuning:
    """Run what was found beside the default: it is kept if some dataset is faster, none slower."""
    if found.search.thresholds == found.defaults:
        return replace(found, kept_default="the search found nothing faster")
    compared = {d.name: compare_paired(job.program, d, found.defaults, found.search.thresholds,
                                       job.compared_repeats) for d in job.datasets}
    times = {name: both for name, both in compared.items() if both is not None}
    slower = sorted(name for name, both in times.items() if both.slower)
    kept = None
    if slower:
        kept = f"{', '.join(slower)} got slower with the thresholds found"
    elif not any(both.faster for both in times.values()):
        kept = "no certain gain"
    return replace(found, verified=times, kept_default=kept)


def render_searches(found: Sequence[SearchTuning]) -> str:
    """The effort of each search, its thresholds, and the times of their verification."""
    return "\n\n".join("\n".join(_render(each)) for each in found)


def _render(found: SearchTuning) -> Iterator[str]:
    result = found.search
    yield (f"{found.forest.entry}: {result.strategy}, {result.runs} runs "
           f"({result.executions} with repetitions), {result.tries} tries, "
           f"{show_seconds(result.seconds)}" + ("" if result.finished else ", not finished"))
    if result.repeats:
        yield f"  {100 * result.repeats:.0f} % of the times asked for were known from earlier runs"
    yield ""
    yield found.forest.render()
    yield ""
    yield "Thresholds:"
    rows = [[name, str(found.defaults.get(name, "")), str(value)]
            for name, value in result.thresholds.items()]
    yield table([["name", "default", "found"], *rows], "  ")
    if found.kept_default:
        yield f"  The defaults stay: {found.kept_default}."
    if result.findings:
        yield ""
        yield "Best thresholds of each dataset, where others choose alike:"
        yield render_findings(result.findings)
    if found.verified:
        yield ""
        yield "Time of a run:"
        yield table([["dataset", "default", "found", "gain"], *(
            [name, *both.texts] for name, both in found.verified.items())], "  ")


def search_facts(found: Sequence[SearchTuning], **about: Any) -> dict[str, Any]:
    """The content of the JSON file beside the tuning file."""
    return {"format": FORMAT, **about, "tuning_policy": asdict(NORMAL),
            "interrupted": any(each.search.interrupted for each in found),
            "entries": {each.forest.entry: _facts(each) for each in found}}


def _facts(found: SearchTuning) -> dict[str, Any]:
    result = found.search
    return {"strategy": result.strategy, "seed": result.seed, "program_runs": result.runs,
            "executions": result.executions, "tries": result.tries, "repeats": result.repeats,
            "seconds": result.seconds, "finished": result.finished,
            "guards": [finding_facts(each) for each in result.findings],
            "thresholds": {name: {"value": found.thresholds.get(name),
                                  "default": found.defaults.get(name), "found": value}
                           for name, value in result.thresholds.items()},
            "datasets": {name: {"verified": asdict(both)}
                         for name, both in found.verified.items()},
            "kept_default": found.kept_default, "not_used": list(found.problems)}
