"""Tuning a program one comparison after the other, from the deepest up (Breddam 2019, chapter 3).

While a node is tuned, the guards above it are set such that it is reached.  Those below are tuned
already, and everything else is false.  So two runs differ by this node only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from runelift.runtime.tuner.strategies.nodes import Node, all_false, nodes
from runelift.runtime.tuner.strategies.trials import SearchState

TuneNode: TypeAlias = Callable[[SearchState, Node, dict[str, int]], int]
"""The threshold of a node, given those of all others."""


def tune_nodes(trials: SearchState, tune: TuneNode) -> dict[str, int]:
    """Thresholds of all trees, one tree and one node at a time (algorithms 1 and 3)."""
    tuned: dict[str, int] = {}
    for tree in trials.forest.trees:
        for node in nodes(tree):
            others = all_false(trials.forest) | tuned | node.reached()
            trials.times(others)  # from now on what is compared here is known
            tuned[node.name] = tune(trials, node, others)
    return tuned
