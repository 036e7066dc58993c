"""The importance of parameters: how much of the variance of times each of them explains.

Functional analysis of variance of a forest of regression trees.  A tree is a sum of boxes, so the
mean time over all settings with one value of a parameter is known exactly.  The variance of these
means is what the parameter explains alone (Hutter, Hoos and Leyton-Brown, An efficient approach for
assessing hyperparameter importance, ICML 2014).  Trees are fitted to the logarithms of times.

All combinations of the tried values count alike.  Combinations that constraints forbid count, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TREES = 16
"""The trees of a forest."""
LEAST_LEAF = 3
"""Settings in a leaf at least."""
FEWEST = 12
"""Settings without which nothing can be said."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Importance:
    """The parts of the variance that single parameters explain, and ``fit``: of how much of it.

    ``fit`` is the coefficient of determination for settings that a tree has not seen.  Where it is
    low, times are mostly noise, and the parts say little.
    """

    parts: Mapping[str, float]
    fit: float

    @property
    def together(self) -> float:
        """The part that only several parameters together explain."""
        return max(0.0, 1.0 - sum(self.parts.values()))


@dataclass(frozen=True, slots=True)
class _Box:
    """A leaf: the values of each parameter that lead to it, and the mean of its times."""

    allowed: tuple[NDArray[np.bool_], ...]
    value: float


def importance(times: Mapping[tuple[tuple[str, int], ...], float]) -> Importance | None:
    """The importance of parameters for times by setting; None if there are too few."""
    known = {setting: time for setting, time in times.items() if time > 0 and math.isfinite(time)}
    if len(known) < FEWEST:
        return None
    names = [name for name, _ in next(iter(known))]
    values = [sorted({dict(setting)[name] for setting in known}) for name in names]
    varied = [k for k, each in enumerate(values) if len(each) > 1]
    if not varied:
        return None
    points = np.array([[values[k].index(dict(setting)[names[k]]) for k in varied]
                       for setting in known])
    logs = np.log(np.array(list(known.values())))
    sizes = [len(values[k]) for k in varied]
    random = np.random.default_rng(0)
    parts, guesses, votes = np.zeros(len(varied)), np.zeros(len(logs)), np.zeros(len(logs))
    counted = 0
    for _ in range(TREES):
        drawn = random.integers(len(logs), size=len(logs))
        boxes = _tree(points[drawn], logs[drawn],
                      tuple(np.ones(size, np.bool_) for size in sizes), random)
        unseen = np.setdiff1d(np.arange(len(logs)), drawn)
        guesses[unseen] += _look_up(boxes, points[unseen])
        votes[unseen] += 1
        if (explained := _explained(boxes, sizes)) is not None:
            parts += explained
            counted += 1
    if not counted:
        return None
    seen = votes > 0
    spread = float(np.var(logs[seen]))
    error = float(np.mean((guesses[seen] / votes[seen] - logs[seen]) ** 2))
    return Importance({names[k]: float(part) / counted for k, part in zip(varied, parts,
                                                                         strict=True)},
                      max(0.0, 1 - error / spread) if spread else 0.0)


def _tree(points: NDArray[np.int64], logs: Array, allowed: tuple[NDArray[np.bool_], ...],
          random: np.random.Generator) -> list[_Box]:
    """The leaves of a regression tree; splits are thresholds on values in their order."""
    if len(logs) >= 2 * LEAST_LEAF and (split := _best_split(points, logs, random)) is not None:
        axis, most = split
        left = points[:, axis] <= most
        below = np.arange(len(allowed[axis])) <= most
        return [box for side, values in ((left, below), (~left, ~below))
                for box in _tree(points[side], logs[side], tuple(
                    each & values if k == axis else each for k, each in enumerate(allowed)),
                    random)]
    return [_Box(allowed, float(np.mean(logs)))]


def _best_split(points: NDArray[np.int64], logs: Array, random: np.random.Generator
                ) -> tuple[int, int] | None:
    """The split that leaves the least variance, among a random part of the parameters."""
    total, count = float(logs.sum()), len(logs)
    axes = random.permutation(points.shape[1])[:max(1, math.ceil(2 * points.shape[1] / 3))]
    best, found = total * total / count * (1 + 1e-9) + 1e-12, None
    for axis in map(int, axes):
        left = np.cumsum(np.bincount(points[:, axis]))[:-1]
        sums = np.cumsum(np.bincount(points[:, axis], logs))[:-1]
        usable = np.flatnonzero((left >= LEAST_LEAF) & (left <= count - LEAST_LEAF))
        if not len(usable):
            continue
        left, sums = left[usable], sums[usable]
        gains = sums ** 2 / left + (total - sums) ** 2 / (count - left)
        if (most := float(gains.max())) > best:
            best, found = most, (axis, int(usable[gains.argmax()]))
    return found


def _look_up(boxes: Sequence[_Box], points: NDArray[np.int64]) -> Array:
    inside = np.ones((len(points), len(boxes)), np.bool_)
    for axis in range(points.shape[1]):
        inside &= np.array([box.allowed[axis] for box in boxes])[:, points[:, axis]].T
    values: Array = np.array([box.value for box in boxes])[inside.argmax(axis=1)]
    return values


def _explained(boxes: Sequence[_Box], sizes: Sequence[int]) -> Array | None:
    """The part of a tree's variance that each parameter explains alone; None without variance."""
    shares = np.array([[allowed.mean() for allowed in box.allowed] for box in boxes])
    weights, values = shares.prod(axis=1), np.array([box.value for box in boxes])
    mean = float(weights @ values)
    whole = float(weights @ (values - mean) ** 2)
    if whole <= 0:
        return None
    found = np.zeros(len(sizes))
    for axis in range(len(sizes)):
        others = weights / shares[:, axis]
        reached = np.array([box.allowed[axis] for box in boxes], np.float64)
        marginal = (others * values) @ reached
        found[axis] = float(np.mean((marginal - mean) ** 2)) / whole
    return found
