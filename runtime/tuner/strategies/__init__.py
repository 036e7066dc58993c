"""Ways to search for thresholds, to compare and to choose from.

One of them is the default: complete information from instrumented runs and an exact fit.  The
others are those of the literature, which know less of the program and run it more often.

A strategy is a frozen dataclass: its fields are its options, and its ``name`` is that of the
command line.  Its ``search`` proposes thresholds to :class:`.trials.SearchState` until it has
converged or the budget is spent.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Protocol, cast

from runelift.ir.errors import UserError
from runelift.runtime.tuner.strategies.active import Active, ActiveEndpoints
from runelift.runtime.tuner.strategies.bandit import Bandit
from runelift.runtime.tuner.strategies.binary import Binary
from runelift.runtime.tuner.strategies.cma_es import CmaIndices, CmaValues
from runelift.runtime.tuner.strategies.exhaustive import Exhaustive
from runelift.runtime.tuner.strategies.genetic import Genetic
from runelift.runtime.tuner.strategies.instrumentation import Instrumentation, Replay
from runelift.runtime.tuner.strategies.intervals import Intervals
from runelift.runtime.tuner.strategies.random_search import Random
from runelift.runtime.tuner.strategies.simple import Simple
from runelift.runtime.tuner.strategies.swarm import Swarm
from runelift.runtime.tuner.strategies.trials import (
    Budget,
    BudgetSpent,
    Oracle,
    SearchState,
    SearchStep,
)


class Strategy(Protocol):
    """A way to search for thresholds."""

    name: ClassVar[str]

    def search(self, trials: SearchState) -> Mapping[str, int]:
        """The thresholds found; :class:`.trials.BudgetSpent` passes through."""
        ...


STRATEGIES: Mapping[str, Strategy] = {strategy.name: strategy for strategy in (
    Instrumentation(), Replay(), Simple(), Exhaustive(), Binary(), Active(), ActiveEndpoints(),
    Intervals(), CmaValues(), CmaIndices(), Swarm(), Random(), Genetic(), Bandit())}
"""The strategies with their default options, by name."""


def parse_strategy(text: str) -> Strategy:
    """A strategy by its name, with options behind a colon; UserError if there is none such.

    A name with dots is that of a class to import.

    >>> parse_strategy("random:tries=1000"), parse_strategy("exhaustive:joint=true")
    (Random(tries=1000), Exhaustive(joint=True))
    """
    name, _, options = text.partition(":")
    strategy: Any = _imported(name) if "." in name else STRATEGIES.get(name)
    if strategy is None:
        near = get_close_matches(name, STRATEGIES, n=1)
        raise UserError(f"No strategy is called '{name}'." + (
            f"  Did you mean '{near[0]}'?" if near else f"  There are {', '.join(STRATEGIES)}."))
    chosen = dict(_option(strategy, each) for each in options.split(",") if each)
    return cast(Strategy, replace(strategy, **chosen))


def _imported(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise UserError(f"The strategy '{name}' cannot be imported: {error}.") from None


def _option(strategy: Any, text: str) -> tuple[str, Any]:
    """One ``NAME=VALUE``, the value of the type of the option's default."""
    name, _, value = text.partition("=")
    options: dict[str, Any] = {each.name: each.default for each in fields(strategy)}
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

    ``tries`` are the thresholds whose score was asked for; what did not have to be run again
    cost no ``runs``.  ``finished`` is unset if the budget or Ctrl-C (``interrupted``) ended the
    search.
    """

    strategy: str
    seed: int
    thresholds: dict[str, int]
    runs: int
    tries: int
    seconds: float
    finished: bool
    interrupted: bool
    history: tuple[SearchStep, ...]


def search(strategy: Strategy, oracle: Oracle, *, seed: int = 0, budget: Budget | None = None,
           progress: Callable[[SearchStep], None] = lambda _: None) -> Search:
    """Search with a strategy; when the budget is spent, the best thresholds so far count.

    So they do where a run with those found has been stopped.  Without a single complete try the
    thresholds stay what they are without tuning.
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
    return Search(strategy.name, seed, trials.settled(found), trials.runs, trials.tries,
                  trials.seconds, finished, interrupted, tuple(trials.history))
