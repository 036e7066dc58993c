"""Comparing strategies: the result of each, and its runs and time.

The yardstick is the best thresholds for the costs in a log.  So results are judged by the same
costs, whether a strategy ran the program or the log.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.fit.exhaustive import combinations, exhaustive
from runelift.runtime.tuner.fit.fit import fit, objective
from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.strategies import Search, search
from runelift.runtime.tuner.strategies.findings import (
    GuardFinding,
    finding_facts,
    render_findings,
)
from runelift.runtime.tuner.strategies.trials import Oracle, Strategy
from runelift.runtime.versions.forest import plans

CLOSE = 0.01
"""The regret up to which thresholds count as the best."""
WIDTH = 84
"""Width of the lines below the table."""
TRIABLE = 1_000_000
"""Most combinations, times encounters, that are tried to know the best."""


@dataclass(frozen=True, slots=True)
class JudgedSearch:
    """One search, judged.

    ``loss`` is the sum of relative times with its thresholds; ``slowest`` the greatest time of a
    dataset relative to its time without tuning.
    """

    search: Search
    loss: float
    slowest: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Strategies on the datasets of one entry point.

    ``searches`` has the searches of each strategy, one per seed.  ``best`` is the least known sum
    of relative times, and ``tried`` the number of combinations that it is the least of.  That is
    None if there are too many to try: the best that any strategy or the fit found stands in.
    ``interrupted``: Ctrl-C ended it, and strategies are missing.  ``default_known``: ``untuned`` is
    by the default thresholds, not by guards that are all false.
    """

    entry: str
    datasets: tuple[str, ...]
    versions: int
    searches: Mapping[str, Sequence[JudgedSearch]]
    untuned: float
    best: float
    tried: int | None
    interrupted: bool = False
    default_known: bool = True

    def regret(self, loss: float) -> float:
        """By what fraction a sum of relative times is greater than the best."""
        return _regret(loss, self.best)


@dataclass(frozen=True, slots=True)
class Problem:
    """The search for the best thresholds of an entry point.

    Its ``costs`` judge thresholds, beside the ``default`` thresholds.  ``oracle`` makes a program
    for a seed that searches can run.
    """

    costs: Costs
    default: Mapping[str, int]
    oracle: Callable[[int], Oracle]


def compare(strategies: Mapping[str, Strategy], problem: Problem, *, seeds: int = 1,
            budget: Budget | None = None,
            progress: Callable[[str, int], None] = lambda *_: None) -> Comparison:
    """Let every strategy search once per seed, each with a fresh oracle.

    The result has the names of ``strategies``.  After Ctrl-C it has the searches that were over.
    """
    costs, default = problem.costs, problem.default
    found: dict[str, list[JudgedSearch]] = {}
    interrupted = False
    for name, strategy in strategies.items():
        for seed in range(seeds):
            progress(name, seed)
            result = search(strategy, problem.oracle(seed), seed=seed, budget=budget)
            if interrupted := result.interrupted:
                break
            found.setdefault(name, []).append(_judge(result, costs, default))
        if interrupted:
            break
    best, tried = yardstick(costs, default)
    if tried is None:
        best = min([best, *(each.loss for several in found.values() for each in several)])
    return Comparison(costs.forest.entry, tuple(d.name for d in costs.datasets),
                      len(plans(costs.forest)), found,
                      _regret(objective(costs, default), best), best, tried, interrupted)


def _judge(found: Search, costs: Costs, default: Mapping[str, int]) -> JudgedSearch:
    ratios = [d.total(found.thresholds) / max(d.total(default), 1e-12) for d in costs.datasets]
    return JudgedSearch(found, objective(costs, found.thresholds), max(ratios, default=1.0))


def _regret(loss: float, best: float) -> float:
    return max(0.0, loss / best - 1.0) if best else 0.0


def yardstick(costs: Costs, default: Mapping[str, int]) -> tuple[float, int | None]:
    """The least sum of relative times, and the number of combinations it is the least of."""
    count = combinations(costs)
    if count * sum(len(d.points) for d in costs.compact().datasets) <= TRIABLE:
        found = exhaustive(costs, default, constrained=False)
        if found is not None:
            return found[0], count
    return objective(costs, fit(costs, default).thresholds), None


def render(comparison: Comparison) -> str:
    """A table with a line per strategy."""
    return "\n".join(_render(comparison))


def _render(comparison: Comparison) -> Iterator[str]:
    seeds = max(map(len, comparison.searches.values()), default=0)
    yield (f"{comparison.entry}: {comparison.versions} versions, "
           f"{counted(len(comparison.datasets), 'dataset')}; {counted(seeds, 'seed')}")
    yield ""
    yield table(rows(comparison), "  ")
    yield ""
    for text in explanation(comparison):
        yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def rows(comparison: Comparison) -> list[list[str]]:
    """A row per strategy, with medians over the seeds; the head first."""
    head = ["strategy", "runs", "repeats", "tries", "tuning time", "regret", "best", "worst",
            "slowest"]
    return [head, *(_line(name, found, comparison) for name, found in comparison.searches.items())]


def explanation(comparison: Comparison) -> list[str]:
    """The meaning of the columns."""
    known = comparison.default_known
    untuned = f"; untuned it is {_percent(comparison.untuned)}" if known else ""
    baseline = "untuned" if known else "all guards false"
    best = (f"the best of {comparison.tried:,} combinations" if comparison.tried is not None else
            "the best thresholds known (there are too many to try)")
    ended = any(not each.search.finished for found in comparison.searches.values()
                for each in found)
    return [*_size_variance(comparison),
            f"regret: how much slower than {best}, all datasets alike{untuned}",
            f"slowest: the time of the dataset that fares worst, relative to {baseline}; "
            "instrumentation and replay slow none down, even for less regret",
            f"runs until the regret is {100 * CLOSE:.0f} % or less, in most searches: "
            + ", ".join(f"{name} {_arrival(found, comparison.best)}"
                        for name, found in comparison.searches.items()),
            *(["!: ended by the budget"] if ended else []),
            "repeats: the part of times asked for that earlier runs had told",
            *_not_monotonic(comparison)]


def _size_variance(comparison: Comparison) -> Iterator[str]:
    """The guards that are compared with several values in a run, and all other guards."""
    found = {each.guard: set[str]() for each in _findings(comparison)}
    for each in _findings(comparison):
        if each.size_variant:
            found[each.guard].add(each.dataset)
    variant = [f"{guard} on {', '.join(sorted(on))}" for guard, on in found.items() if on]
    invariant = [guard for guard, on in found.items() if not on]
    if variant:
        yield "size-variant: " + "; ".join(variant)
    if invariant:
        yield "size-invariant: " + ", ".join(invariant)


def _not_monotonic(comparison: Comparison) -> Iterator[str]:
    """The guards with two valleys, and by how much it is slower between them."""
    worst: dict[tuple[str, str], float] = {}
    for each in _findings(comparison):
        if not each.monotonic:
            where = each.guard, each.dataset
            worst[where] = max(each.hump, worst.get(where, 0.0))
    if worst:
        yield "not monotonic (slower between two valleys): " + ", ".join(
            f"{guard} on {dataset} ({100 * hump:.0f} %)"
            for (guard, dataset), hump in worst.items())


def _findings(comparison: Comparison) -> Iterator[GuardFinding]:
    for found in comparison.searches.values():
        for each in found:
            yield from each.search.findings


def render_intervals(comparison: Comparison) -> str:
    """The best thresholds of each dataset by each strategy, with its first seed."""
    return "\n\n".join(f"{name}:\n{render_findings(found[0].search.findings)}"
                       for name, found in comparison.searches.items())


def _arrival(searches: Sequence[JudgedSearch], best: float) -> str:
    """The runs after which the searches were close to the best (median), if they came close."""
    limit = (1 + CLOSE) * best
    arrivals = [next((float(step.runs) for step in each.search.history if step.score <= limit),
                     float(each.search.runs) if each.loss <= limit else math.inf)
                for each in searches]
    found = median(arrivals)
    return f"{found:.0f}" if math.isfinite(found) else "never"


def _line(name: str, judged: Sequence[JudgedSearch], comparison: Comparison) -> list[str]:
    searches = [each.search for each in judged]
    regrets = [comparison.regret(each.loss) for each in judged]
    ended = "" if all(each.finished for each in searches) else " !"
    return [name + ended, f"{median([each.runs for each in searches]):.0f}",
            f"{100 * median([each.repeats for each in searches]):.0f} %",
            f"{median([each.tries for each in searches]):.0f}",
            show_seconds(median([each.seconds for each in searches])),
            _percent(median(regrets)), _percent(min(regrets)), _percent(max(regrets)),
            f"{max(each.slowest for each in judged):.2f}×"]


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f} %"


def facts(comparison: Comparison) -> dict[str, Any]:
    """The comparison for a program to read; times in seconds, regrets as fractions."""
    return {"entry": comparison.entry, "datasets": list(comparison.datasets),
            "versions": comparison.versions, "combinations_tried": comparison.tried,
            "untuned_regret": comparison.untuned, "interrupted": comparison.interrupted,
            "strategies": {name: [_facts(each, comparison.regret(each.loss)) for each in found]
                           for name, found in comparison.searches.items()}}


def _facts(found: JudgedSearch, regret: float) -> dict[str, Any]:
    each = found.search
    return {"seed": each.seed, "runs": each.runs, "executions": each.executions,
            "repeats": each.repeats, "tries": each.tries, "seconds": each.seconds,
            "guards": [finding_facts(finding) for finding in each.findings],
            "finished": each.finished, "regret": regret, "slowest": found.slowest,
            "thresholds": each.thresholds,
            "history": [[step.runs, step.seconds, step.score] for step in each.history]}
