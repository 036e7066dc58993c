"""Comparisons that a loop makes with several values (Breddam 2019, algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from runelift.runtime.tuner.fit.chain_solver import candidates
from runelift.runtime.tuner.strategies.node_wise import TuneNode, tune_nodes
from runelift.runtime.tuner.strategies.nodes import Node
from runelift.runtime.tuner.strategies.simple import tune_simple
from runelift.runtime.tuner.strategies.trials import SearchState

LineSearch: TypeAlias = Callable[[int, Callable[[int], float]], int]
"""The best of so many indices, by a function that says what an index costs."""


def tune_with(trials: SearchState, search: LineSearch) -> dict[str, int]:
    """Thresholds of all nodes: simple ones by algorithm 2, those in loops by a line search."""
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
