"""Intervals of equally good thresholds per dataset, intersected (Munksgaard et al., TFP 2021)."""

from __future__ import annotations

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.fit.fit import Interval
from runelift.runtime.tuner.strategies.line_searches import descend
from runelift.runtime.tuner.strategies.nodes import Node, all_false, nodes
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("intervals")
def intervals(trials: SearchState) -> dict[str, int]:
    """Tunes each dataset by itself, bottom-up, and combines the intervals it prefers.

    A comparison with one value takes a single run, in which it holds: the other one is known from
    the nodes below.  One with several values takes a binary search along the slope (section
    "Size-variant tuning").  That is exact where a version that is faster at some parallelism is so
    at every greater one.  Where the intervals have nothing in common, the thresholds that suit most
    datasets are taken.
    """
    order = [node for tree in trials.forest.trees for node in nodes(tree)]
    found: dict[str, list[Interval]] = {node.name: [] for node in order}
    for dataset in trials.datasets:
        tuned: dict[str, int] = {}
        for node in order:
            interval = _prefer(trials, dataset, node, tuned)
            if interval is not None:
                found[node.name].append(interval)
                tuned[node.name] = interval.high
    return {name: combine(intervals).high for name, intervals in found.items() if intervals}


def _prefer(trials: SearchState, dataset: str, node: Node,
            tuned: dict[str, int]) -> Interval | None:
    """The thresholds that are best for one dataset; None if it never compares."""
    others = all_false(trials.forest) | tuned | node.reached()
    trials.time(dataset, others)
    values = trials.compared(node.name, dataset)
    if not values:
        return None
    choices = candidates(values)
    best = descend(len(choices), lambda index: trials.time(
        dataset, others | {node.name: choices[index]}))
    return Interval(choices[best - 1] if best else 0, choices[best])


def combine(intervals: list[Interval]) -> Interval:
    """The intersection of as many intervals as have one in common.

    >>> combine([Interval(0, 100), Interval(50, 2_000)])
    Interval(low=50, high=100)
    >>> combine([Interval(0, 100), Interval(500, 900), Interval(0, 600), Interval(500, 700)])
    Interval(low=500, high=600)
    """
    def common(high: int) -> list[Interval]:
        return [each for each in intervals if each.low < high <= each.high]

    high = max((each.high for each in intervals), key=lambda end: (len(common(end)), end))
    return Interval(max(each.low for each in common(high)), high)
