"""Ways to search for thresholds, to compare and to choose from.

One of them is the default: complete information from instrumented runs and an exact fit.  All other
strategies are from the literature.  They know less of the program and run it more often.

A strategy is a function whose keyword-only arguments are its options; :func:`.trials.strategy`
gives it the name of the command line.  It proposes thresholds to :class:`.trials.SearchState` until
it has converged or the budget is spent.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from runelift.ir.base import plugins
from runelift.ir.base.errors import UserError
from runelift.runtime.tuner.search.budget import Budget, BudgetSpent
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.strategies.findings import GuardFinding, findings
from runelift.runtime.tuner.strategies.trials import Oracle, SearchState, Strategy


class Strategies(Mapping[str, Strategy]):
    """Strategies by name; a module is imported when one of its strategies is asked for.

    ``places`` are written as in entry points, ``MODULE:OBJECT``.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Strategy:
        module, _, attribute = self._places[name].partition(":")
        found: Strategy = getattr(importlib.import_module(module), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


STRATEGIES = Strategies({
    "instrumentation": "runelift.runtime.tuner.strategies.instrumentation:instrumentation",
    "replay": "runelift.runtime.tuner.strategies.instrumentation:replay",
    "instrumentation-literal":
        "runelift.runtime.research.literal:instrumentation_literal",
    "simple": "runelift.runtime.tuner.strategies.node_wise:simple",
    "exhaustive": "runelift.runtime.tuner.strategies.line_searches:exhaustive",
    "binary": "runelift.runtime.tuner.strategies.line_searches:binary",
    "binary-literal": "runelift.runtime.research.literal:binary_literal",
    "active": "runelift.runtime.tuner.strategies.line_searches:active",
    "active-endpoints": "runelift.runtime.tuner.strategies.line_searches:active_endpoints",
    "intervals": "runelift.runtime.tuner.strategies.intervals:intervals",
    "cma": "runelift.runtime.tuner.strategies.cma_es:cma",
    "cma-indices": "runelift.runtime.tuner.strategies.cma_es:cma_indices",
    "swarm": "runelift.runtime.tuner.strategies.populations:swarm",
    "random": "runelift.runtime.tuner.strategies.populations:random_search",
    "genetic": "runelift.runtime.tuner.strategies.populations:genetic",
    "bandit": "runelift.runtime.tuner.strategies.bandit:bandit"})
"""The strategies with their default options, by name."""


def parse_strategy(text: str) -> Strategy:
    """A strategy by its name, with options behind a colon; UserError if there is none such.

    A name with dots is that of a strategy to import.  A name without dots is that of a strategy of
    Runelift, or of an installed package.

    >>> parse_strategy("random:tries=1000").options, parse_strategy("exhaustive:joint=true").options
    ({'tries': 1000}, {'joint': True})
    """
    name, _, options = text.partition(":")
    strategy = _imported(name) if "." in name else STRATEGIES.get(name) or _of_package(name)
    if strategy is None:
        known = [*STRATEGIES, *(each.name for each in plugins.declared(plugins.STRATEGIES))]
        near = get_close_matches(name, known, n=1)
        raise UserError(f"No strategy is called '{name}'." + (
            f"  Did you mean '{near[0]}'?" if near else f"  There are {', '.join(known)}."))
    chosen = dict(_option(strategy, each) for each in options.split(",") if each)
    return replace(strategy, options={**strategy.options, **chosen})


def _imported(name: str) -> Strategy:
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"The strategy '{name}' cannot be imported: {error}.") from None
    if not isinstance(found, Strategy):
        raise UserError(f"The strategy '{name}' cannot be imported: it is no Strategy.")
    return found


def _of_package(name: str) -> Strategy | None:
    found = plugins.named(plugins.STRATEGIES, name)
    if found is None:
        return None
    plugin, strategy = found
    if isinstance(strategy, Strategy):
        return replace(strategy, name=name)
    plugin.left_out("it should be a Strategy")
    return None


def _option(strategy: Strategy, text: str) -> tuple[str, Any]:
    """One ``NAME=VALUE``, the value of the type of the option's default."""
    name, _, value = text.partition("=")
    options = strategy.options
    if name not in options:
        raise UserError(f"The strategy '{strategy.name}' has no option '{name}'.  It has "
                        f"{', '.join(f'{n}={v}' for n, v in options.items()) or 'none'}.")
    default = options[name]
    try:
        if isinstance(default, bool):
            return name, {"true": True, "false": False}[value.lower()]
        return name, type(default)(value)
    except (KeyError, ValueError):
        raise UserError(f"'{value}' is no value for {name} of '{strategy.name}', which is "
                        f"{default} by default.") from None


@dataclass(frozen=True, slots=True)
class Search:
    """The outcome of a search: thresholds, and what finding them took.

    ``tries`` are the thresholds whose score was asked for.  What did not have to be run again cost
    no ``runs``; it is the fraction ``repeats`` of all times asked for.  ``executions`` are all runs
    of the program that were made, also to warm up and to repeat.
    ``finished`` is unset if the budget or Ctrl-C (``interrupted``) ended the search.
    """

    strategy: str
    seed: int
    thresholds: dict[str, int]
    runs: int
    tries: int
    seconds: float
    finished: bool
    interrupted: bool
    history: tuple[Best, ...]
    executions: int = 0
    repeats: float = 0.0
    findings: tuple[GuardFinding, ...] = ()


def search(strategy: Strategy, oracle: Oracle, *, seed: int = 0, budget: Budget | None = None,
           progress: Callable[[Best], None] = lambda _: None) -> Search:
    """Search with a strategy; when the budget is spent, the best thresholds so far count.

    So they do where a run with those found fails or has been stopped.  Without a single complete
    try the thresholds stay what they are without tuning.
    """
    trials = SearchState(oracle, budget or Budget(), seed, progress)
    finished = interrupted = False
    try:
        trials.begin()
        found: Mapping[str, int] = strategy.search(trials)
        finished = True
        if trials.hopeless(found):
            found = trials.best
    except (BudgetSpent, KeyboardInterrupt) as end:
        found, interrupted = trials.best, isinstance(end, KeyboardInterrupt)
    settled = trials.settled(found)
    return Search(strategy.name, seed, settled, trials.runs, trials.tries, trials.seconds, finished,
                  interrupted, tuple(trials.history), trials.executions, trials.repeats,
                  findings(trials, settled))
