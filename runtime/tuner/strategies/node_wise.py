"""Tuning a program one comparison after the other, from the deepest up (Breddam 2019, chapter 3).

While a node is tuned, the guards above it are set such that it is reached.  The guards below it are
tuned already, and all other guards are false.  So two runs differ by this node only.  One run per
version is enough for comparisons with one value (algorithms 1 and 2).  Comparisons that a loop
makes with several values take a line search (algorithm 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.strategies.nodes import ALWAYS, FALSE, Node, all_false, nodes
from runelift.runtime.tuner.strategies.trials import SearchState, strategy

Range: TypeAlias = tuple[float, float]
TuneNode: TypeAlias = Callable[[SearchState, Node, dict[str, int]], int]
"""The threshold of a node, given the thresholds of all other nodes."""
LineSearch: TypeAlias = Callable[[int, Callable[[int], float]], int]
"""The best of so many indices, by a function that says what an index costs."""


def tune_nodes(trials: SearchState, tune: TuneNode) -> dict[str, int]:
    """Thresholds of all trees, one tree and one node at a time (algorithms 1 and 3)."""
    tuned: dict[str, int] = {}
    for tree in trials.forest.trees:
        for node in nodes(tree):
            others = all_false(trials.forest) | tuned | node.reached()
            trials.times(others)  # from now on what is compared here is known
            tuned[node.name] = tune(trials, node, others)
    return tuned


@strategy("simple")
def simple(trials: SearchState) -> dict[str, int]:
    """Each dataset's faster side of every comparison; the ranges that choose it, intersected.

    Exact with one run per version and dataset where every comparison of a dataset is with one
    value and some thresholds suit all datasets.  A comparison with several values is treated as
    a whole: it holds for all of them or for none.
    """
    return tune_nodes(trials, tune_simple)


def tune_simple(trials: SearchState, node: Node, others: dict[str, int]) -> int:
    """Algorithm 2 for one node: the upper end of the intersection of the datasets' ranges.

    If the intersection is empty its two ends are tried, and the better one is taken (equation
    2.1 and below).
    """
    holding = trials.times(others | {node.name: ALWAYS})
    failing = trials.times(others | {node.name: FALSE})
    ranges = [_range(trials.compared(node.name, name), holding[name], failing[name])
              for name in trials.datasets]
    lower = max(low for low, _ in ranges)
    upper = min(high for _, high in ranges)
    highest = candidates(trials.compared(node.name))[-1]
    ends = [int(min(upper, highest))]
    if lower > upper:
        ends.append(int(min(lower, highest)))
    if len(ends) == 1:
        return ends[0]
    return min(ends, key=lambda end: trials.score(others | {node.name: end}))


def _range(compared: list[int], holding: float, failing: float) -> Range:
    """The thresholds with which the faster side of a comparison runs on a dataset."""
    if holding == failing or not compared:
        return ALWAYS, math.inf
    return (ALWAYS, compared[0]) if holding < failing else (compared[-1] + 1, math.inf)


def tune_with(trials: SearchState, search: LineSearch) -> dict[str, int]:
    """Thresholds of all nodes: simple nodes by algorithm 2, nodes in loops by a line search."""
    return tune_nodes(trials, _dispatching(search))


def _dispatching(search: LineSearch) -> TuneNode:
    def tune(trials: SearchState, node: Node, others: dict[str, int]) -> int:
        if not size_variant(trials, node.name):
            return tune_simple(trials, node, others)
        choices = candidates(trials.compared(node.name))
        return choices[search(len(choices), lambda index: trials.score(
            others | {node.name: choices[index]}))]

    return tune


def size_variant(trials: SearchState, name: str) -> bool:
    """True if a dataset compares a guard with several values."""
    return any(len(trials.compared(name, dataset)) > 1 for dataset in trials.datasets)
