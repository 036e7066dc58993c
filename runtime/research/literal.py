"""Algorithms of Breddam 2019 to the letter: 8 (two curves per node, added up) and 5 (halving)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.measure.protocols import MeasuringMethod
from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.nodes import Node, all_false, nodes
from runelift.runtime.tuner.strategies.trials import SearchState, strategy
from runelift.runtime.versions.forest import Site


@strategy("instrumentation-literal")
def instrumentation_literal(trials: SearchState, *, every: bool = False) -> dict[str, int]:
    """One node after the other, each where the sum of its two curves is least (equation 3.1).

    The curves are the times of all encounters if the guard holds, and if it does not.  One run per
    version and dataset tells all of them, as the thesis says of its cache.  Nodes below are tuned,
    and the nodes above are set such that the node is reached.  So guards that compete for
    encounters are not weighed together; :mod:`~runelift.runtime.tuner.strategies.instrumentation`
    does that.  Of equally good thresholds the greatest is taken, as in algorithm 2.  Versions that
    other datasets rule out are run only with ``every``.
    """
    costs = trials.instrument(MeasuringMethod(every=every))
    tuned: dict[str, int] = {}
    for tree in trials.forest.trees:
        sites = {guard.name: (site, index) for site in tree.walk()
                 for index, guard in enumerate(site.guards)}
        for node in nodes(tree):
            others = all_false(trials.forest) | tuned | node.reached()
            best = _least(trials, costs, node, *sites[node.name], others)
            if best is not None:
                tuned[node.name] = best
    return tuned


def _least(trials: SearchState, costs: Costs, node: Node, site: Site, index: int,
           others: Mapping[str, int]) -> int | None:
    """The threshold with the least combined area under both curves; None if nothing compares."""
    curves = {dataset.name: [
        (point.par[node.name], holding.time, failing.time)
        for point in dataset.by_site().get(site.name, ()) if index in point.feasible
        for holding, failing in [point.sides(index, others)]] for dataset in costs.datasets}
    choices = candidates([value for curve in curves.values() for value, _, _ in curve])
    if len(choices) == 1:
        return None
    areas = {name: _areas(curves.get(name, []), choices) for name in trials.datasets}
    return min(reversed(choices), key=lambda least: trials.weigh(
        {name: area[least] for name, area in areas.items()}))


def _areas(curve: Sequence[tuple[int, float, float]], choices: Sequence[int]) -> dict[int, float]:
    """The area under both curves for each threshold: one from there on, the other up to there."""
    return {least: sum(holding if least <= value else failing for value, holding, failing in curve)
            for least in choices}


@strategy("binary-literal")
def binary_literal(trials: SearchState) -> dict[str, int]:
    """Goes up while the middle is faster than all before it, else down.

    The first of its tries is that with which nothing holds, which the nodes below have made.  So
    halving N thresholds takes log2 N runs, rounded down, or one less.  The comparison does not say
    in which direction it gets better.  So the best may be missed even where there is one valley;
    :mod:`~runelift.runtime.tuner.strategies.line_searches` follows the slope.
    """
    return tune_with(trials, halve)


def halve(count: int, cost: Callable[[int], float]) -> int:
    """The best index looked at, of at most ``floor(log2(count)) + 1``; the last is the first.

    Where ``count + 1`` is a power of two, exactly its logarithm is the number looked at.

    >>> halve(7, lambda k: abs(k - 5)), halve(7, lambda k: abs(k - 4))
    (5, 3)
    """
    lower, upper = 0, count - 1
    best, index = cost(upper), upper
    while upper > lower:
        middle = (lower + upper + 1) // 2
        found = cost(middle)
        if found < best:
            best, index, lower = found, middle, middle + 1
        else:
            upper = middle - 1
    return index
