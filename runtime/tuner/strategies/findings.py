"""The things that a search tells of each guard on each dataset, beside its thresholds.

A guard is *size-variant* on a dataset if it is compared with several values there (Munksgaard et
al., TFP 2021).  The best thresholds of a dataset are an interval, as all between two values make
equal choices.  A guard is *not monotonic* if its version wins at some parallelism and loses at a
greater one.  Then times over the threshold may have two valleys, and searches along the slope end
in one of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from runelift.runtime.records.format import table
from runelift.runtime.tuner.fit.chain_solver import candidates, never
from runelift.runtime.tuner.fit.fit import Interval
from runelift.runtime.tuner.fit.guard_slices import guard_slice
from runelift.runtime.tuner.strategies.nodes import Node, all_false, nodes
from runelift.runtime.tuner.strategies.trials import SearchState, Thresholds

EQUAL = 1e-9
"""The fraction by which times of thresholds that choose alike may differ."""
HUMP = 0.02
"""The fraction that times between two valleys must lie above both, as in Futhark's tuner."""


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """A guard on a dataset, where it is compared with so many distinct ``values``.

    So many thresholds of this guard were ``tried`` that choose differently.  All other guards chose
    alike in these tries.  ``best`` is the interval of the thresholds with the least time.  It is
    None if all times are equal.  ``hump`` is the fraction by which a time lies above the valleys on
    both of its sides.
    """

    guard: str
    dataset: str
    values: int
    tried: int
    best: Interval | None
    hump: float

    @property
    def size_variant(self) -> bool:
        """True if the guard is compared with several values in a run."""
        return self.values > 1

    @property
    def monotonic(self) -> bool:
        """True if there is one valley, but for noise."""
        return self.hump <= HUMP


def findings(trials: SearchState, found: Thresholds) -> tuple[GuardFinding, ...]:
    """The findings of a search, by what it measured or tried, for all guards that were compared.

    ``found`` are its thresholds.
    """
    return tuple(_findings(trials, found))


def _findings(trials: SearchState, found: Thresholds) -> Iterator[GuardFinding]:
    measured = {each.name: each for each in trials.measured.datasets} if trials.measured else {}
    tried = {name: _Tried.of(trials, name) for name in trials.datasets}
    for tree in trials.forest.trees:
        sites = {guard.name: (site, index) for site in tree.walk()
                 for index, guard in enumerate(site.guards)}
        for node in reversed(nodes(tree)):
            for dataset in trials.datasets:
                if dataset in measured:
                    others = {**all_false(trials.forest), **found, **node.reached()}
                    values = sorted(measured[dataset].compared(node.name) - {0})
                    part = guard_slice(measured[dataset], *sites[node.name], others)
                    times = dict(enumerate(part.times(candidates(values)).tolist()))
                else:
                    values = trials.compared(node.name, dataset)
                    times = tried[dataset].curve(node) if values else {}
                if values:
                    yield _finding(node.name, dataset, values, times)


@dataclass(frozen=True, slots=True)
class _Tried:
    """The times of a dataset.

    A key has the number of each threshold among the thresholds that differ.
    """

    names: tuple[str, ...]
    times: Mapping[tuple[int, ...], float]

    @classmethod
    def of(cls, trials: SearchState, dataset: str) -> _Tried:
        """The tries of a dataset; -1 is the number of thresholds that were not given."""
        compared = {name: values for name in trials.forest.guards()
                    if (values := trials.compared(name, dataset))}
        return cls(tuple(compared), {
            tuple(bisect_left(values, thresholds[name]) if thresholds.get(name) else -1
                  for name, values in compared.items()): seconds
            for thresholds, seconds in trials.tried.get(dataset, ())})

    def curve(self, node: Node) -> dict[int, float]:
        """The times of the most tries that differ in the threshold of a node only."""
        place = self.names.index(node.name)
        groups = defaultdict[tuple[int, ...], dict[int, float]](dict)
        for key, seconds in self.times.items():
            if key[place] >= 0:
                groups[key[:place] + key[place + 1:]][key[place]] = seconds
        return max(groups.values(), key=len, default={})


def _finding(guard: str, dataset: str, values: Sequence[int], times: Mapping[int, float]
             ) -> GuardFinding:
    choices, order = candidates(values), sorted(times)
    return GuardFinding(guard, dataset, len(values), len(times), _best(choices, order, times),
                        hump([times[k] for k in order]))


def _best(choices: Sequence[int], order: Sequence[int], times: Mapping[int, float]
          ) -> Interval | None:
    """The thresholds around the best that took no longer; None if all that were tried did."""
    if not order:
        return None
    limit = min(times.values()) * (1 + EQUAL)
    if all(times[k] <= limit for k in order):
        return None
    first = last = min(order, key=lambda k: times[k])
    while first - 1 in times and times[first - 1] <= limit:
        first -= 1
    while last + 1 in times and times[last + 1] <= limit:
        last += 1
    return Interval(choices[first - 1] if first else 0, choices[last])


def hump(times: Sequence[float]) -> float:
    """The fraction by which a time lies above the least on its left and the least on its right.

    >>> hump([3.0, 1.0, 2.0, 4.0]), hump([1.0, 3.0, 2.0])
    (0.0, 0.5)
    """
    finite = [time for time in times if math.isfinite(time) and time > 0]
    left = list(accumulate(finite, min))
    right = list(accumulate(reversed(finite), min))[::-1]
    return max((time / max(low, high) - 1 for time, low, high in
                zip(finite, left, right, strict=True)), default=0.0)


def render_findings(found: Sequence[GuardFinding]) -> str:
    """A table with a line per guard and dataset, and a note for guards that are not monotonic."""
    rows = [["threshold", "dataset", "compared with", "tried", "best"]]
    before = ""
    for each in found:
        rows.append([each.guard if each.guard != before else "", each.dataset,
                     _compared(each), str(each.tried), show_interval(each)])
        before = each.guard
    notes = [f"  {each.guard} is not monotonic on {each.dataset}: {100 * each.hump:.0f} % slower "
             "between two valleys" for each in found if not each.monotonic]
    return "\n".join([table(rows, "  "), *notes])


def finding_facts(each: GuardFinding) -> dict[str, Any]:
    """The finding for a program to read."""
    return {**asdict(each), "size_variant": each.size_variant, "monotonic": each.monotonic}


def _compared(each: GuardFinding) -> str:
    return f"{each.values} values, size-variant" if each.size_variant else "1 value, size-invariant"


def show_interval(each: GuardFinding) -> str:
    """The interval of a dataset's best thresholds in words.

    >>> show_interval(GuardFinding("main.t0", "a", 2, 3, Interval(0, 16), 0.0))
    'up to 16'
    """
    best = each.best
    if best is None:
        return "any"
    if best.high >= never([]):
        return f"above {best.low}"
    if not best.low:
        return f"up to {best.high}"
    return f"{best.low + 1} to {best.high}" if best.low + 1 < best.high else str(best.high)
