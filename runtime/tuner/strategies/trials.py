"""Strategies, and trying thresholds: the view of a program that a strategy has.

A strategy proposes thresholds.  An :class:`Oracle` runs the program with them, or looks up in a
log what a run would take.  :class:`SearchState` stands between the two.  It does not repeat runs
whose comparisons come out alike, counts runs and time, keeps the best and stops at the budget.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.fit.chain_solver import never
from runelift.runtime.tuner.measure.protocols import MeasuringMethod
from runelift.runtime.tuner.search.budget import Budget, BudgetSpent
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.strategies.nodes import FALSE, all_false, nodes
from runelift.runtime.versions.forest import Forest

Thresholds: TypeAlias = Mapping[str, int]
Values: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Timed:
    """A run of one dataset.

    It is judged by ``seconds`` (infinite if it failed; at least so many if it was ``stopped``).
    Finding these out took ``spent`` seconds and so many ``executions`` of the program.
    """

    seconds: float
    spent: float
    stopped: bool = False
    executions: int = 1


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """The costs of all versions at all encounters.

    Finding them out took so many ``seconds``, and as many ``runs`` as there were versions run on
    datasets.  ``executions`` also counts repetitions, and runs to warm up.
    """

    costs: Costs
    seconds: float
    runs: int
    executions: int


class Oracle(Protocol):
    """Says how long a program takes with chosen thresholds."""

    @property
    def forest(self) -> Forest:
        """The comparisons of the entry point."""

    @property
    def default(self) -> Thresholds:
        """The thresholds that hold without tuning."""

    @property
    def datasets(self) -> Sequence[str]:
        """The names of the datasets."""

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weight of a second on each dataset; None: relative to the default time."""

    def path(self, dataset: str, thresholds: Thresholds) -> Hashable | None:
        """A key of the versions that would run, if they are known: equal paths, equal runs."""

    def run(self, dataset: str, thresholds: Thresholds) -> Timed:
        """Run a dataset, or look up what that would take; its path is known from then on."""

    def compared(self, dataset: str, guard: str) -> Sequence[int]:
        """The distinct values, ascending, that are known to be compared with a guard."""

    def instrument(self, method: MeasuringMethod) -> MeasuredCosts:
        """Measure every version on every dataset."""


@dataclass(slots=True)
class SearchState:
    """The runs of one search.

    The *score* of thresholds is what a strategy should make small: the weighted sum of the times of
    all datasets.  By default each is relative to the dataset's time without tuning.  ``tries``
    counts the scores asked for, ``asked`` the times of single datasets, ``runs`` the program runs
    that they needed; ``progress`` hears of each.  ``executions`` counts repetitions of runs, too.
    ``tried`` has the times that were asked for, by dataset, and ``measured`` the costs of versions.
    """

    oracle: Oracle
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    progress: Callable[[Best], None] = lambda _: None
    runs: int = 0
    seconds: float = 0.0
    tries: int = 0
    asked: int = 0
    executions: int = 0
    measured: Costs | None = None
    tried: dict[str, list[tuple[Thresholds, float]]] = field(default_factory=dict)
    best: dict[str, int] = field(default_factory=dict)
    best_score: float = math.inf
    history: list[Best] = field(default_factory=list)
    random: np.random.Generator = field(init=False)
    _weights: Mapping[str, float] = field(init=False)
    _false: dict[str, int] = field(init=False)
    _known: dict[tuple[str, Hashable], Timed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.best = dict(self.oracle.default)
        self._false = all_false(self.oracle.forest)
        self._weights = self.oracle.weights or {}

    def begin(self) -> None:
        """Find out what to compare with: unless the oracle says, run what is not tuned."""
        if self.oracle.weights is None:
            times = {name: self.time(name, self.best) for name in self.datasets}
            self._weights = {name: 1.0 / max(time, 1e-12) if math.isfinite(time) else 0.0
                             for name, time in times.items()}
            self.times(self.best)
            self.asked = self.runs

    @property
    def repeats(self) -> float:
        """The fraction of the times asked for that earlier runs had told."""
        return 1 - self.runs / self.asked if self.asked else 0.0

    @property
    def forest(self) -> Forest:
        """The comparisons of the entry point."""
        return self.oracle.forest

    @property
    def datasets(self) -> Sequence[str]:
        """The names of the datasets."""
        return self.oracle.datasets

    def time(self, dataset: str, thresholds: Thresholds) -> float:
        """The seconds that a dataset takes, at least if it has to be stopped.

        :class:`BudgetSpent` if it must not be run any more.
        """
        return self._timed(dataset, thresholds).seconds

    def _timed(self, dataset: str, thresholds: Thresholds) -> Timed:
        timed = self._known_or_run(dataset, thresholds)
        self.asked += 1
        self.tried.setdefault(dataset, []).append((thresholds, timed.seconds))
        return timed

    def _known_or_run(self, dataset: str, thresholds: Thresholds) -> Timed:
        path = self.oracle.path(dataset, thresholds)
        if path is not None and (dataset, path) in self._known:
            return self._known[dataset, path]
        if self.budget.spent(self.runs, self.seconds):
            raise BudgetSpent
        timed = self.oracle.run(dataset, thresholds)
        self.runs += 1
        self.executions += timed.executions
        self.seconds += timed.spent
        self.progress(Best(self.runs, self.seconds, self.best_score))
        if path is None:
            path = self.oracle.path(dataset, thresholds)
        if path is not None:
            self._known[dataset, path] = timed
        return timed

    def times(self, thresholds: Thresholds) -> dict[str, float]:
        """The seconds of all datasets, infinite where a run fails; guards left out are false.

        Thresholds with which a run has to be stopped are never the best.
        """
        thresholds = {**self._false, **thresholds}
        found = {name: self._timed(name, thresholds) for name in self.datasets}
        times = {name: timed.seconds for name, timed in found.items()}
        self.tries += 1
        score = self.weigh(times)
        if score < self.best_score and not any(timed.stopped for timed in found.values()):
            self.best_score, self.best = score, thresholds
            self.history.append(Best(self.runs, self.seconds, score))
        return times

    def hopeless(self, thresholds: Thresholds) -> bool:
        """True if a run with these thresholds is known to fail, or to have to be stopped.

        Datasets that fail by default, too, do not count.
        """
        thresholds = {**self._false, **thresholds}
        timed = [self._known[name, path] for name in self.datasets if self._weights.get(name)
                 for path in [self.oracle.path(name, thresholds)]
                 if path is not None and (name, path) in self._known]
        return any(each.stopped or not math.isfinite(each.seconds) for each in timed)

    def score(self, thresholds: Thresholds) -> float:
        """The score of these thresholds: smaller is faster."""
        return self.weigh(self.times(thresholds))

    def weigh(self, times: Mapping[str, float]) -> float:
        """The score of times of all datasets; what fails by default counts nothing."""
        return sum(weight * times[name] for name, weight in self._weights.items() if weight)

    def compared(self, guard: str, dataset: str | None = None) -> list[int]:
        """The distinct values known to be compared with a guard (on one dataset), ascending."""
        names = self.datasets if dataset is None else (dataset,)
        return sorted({value for name in names for value in self.oracle.compared(name, guard)})

    def scout(self) -> None:
        """Reach every comparison once, so that what is compared is known."""
        base = all_false(self.forest)
        for node in (node for tree in self.forest.trees for node in nodes(tree)):
            self.times(base | node.reached())

    def instrument(self, method: MeasuringMethod) -> Costs:
        """The costs of every version at every encounter."""
        needed = method.runs(self.forest) * len(self.datasets)
        if self.budget.runs is not None and self.runs + needed > self.budget.runs:
            raise BudgetSpent
        found = self.oracle.instrument(method)
        self.runs += found.runs
        self.executions += found.executions
        self.seconds += found.seconds
        self.measured = found.costs
        return found.costs

    def settled(self, thresholds: Thresholds) -> dict[str, int]:
        """The same choices as lasting thresholds: what no strategy cares about has its default."""
        result = dict(self.oracle.default)
        for name, least in thresholds.items():
            values = self.compared(name)
            if values or least < FALSE:
                result[name] = min(least, never(values))
        return result


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to search for thresholds: a function of :class:`SearchState` with options.

    The function returns the thresholds found; :class:`BudgetSpent` passes through.
    """

    name: str
    function: Callable[..., Thresholds]
    options: Mapping[str, Any]

    def search(self, trials: SearchState) -> Thresholds:
        """The thresholds found."""
        return self.function(trials, **self.options)


def strategy(name: str) -> Callable[[Callable[..., Thresholds]], Strategy]:
    """Make a strategy of a function: its keyword-only arguments are the options."""
    return lambda function: Strategy(name, function, default_options(function))


def default_options(function: Callable[..., object]) -> dict[str, Any]:
    """The keyword-only arguments of a function, and their defaults."""
    return {name: each.default for name, each in inspect.signature(function).parameters.items()
            if each.kind is inspect.Parameter.KEYWORD_ONLY}
