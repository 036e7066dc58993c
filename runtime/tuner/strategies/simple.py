"""One run per version: the tuner for programs without loops (Breddam 2019, algorithms 1 and 2)."""

from __future__ import annotations

import math

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.strategies.node_wise import tune_nodes
from runelift.runtime.tuner.strategies.nodes import ALWAYS, FALSE, Node
from runelift.runtime.tuner.strategies.trials import SearchState, strategy

Range = tuple[float, float]


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
