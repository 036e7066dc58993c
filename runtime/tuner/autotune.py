"""Autotuning: measure every version, fit the thresholds, say what was gained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.runtime.records import Record
from runelift.runtime.statistics import show_time
from runelift.runtime.tuner.fit import NEVER, Sample, exhaustive_best, fit_chain, weights
from runelift.runtime.tuner.forest import Forest, Site
from runelift.runtime.tuner.measure import Log, measure

if TYPE_CHECKING:
    from runelift.runtime.program import Program

TOLERANCE = 1.02
"""A dataset may be this much slower than with the defaults before they are kept instead."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result: thresholds, and the predicted times that they and the defaults give.

    ``times`` maps datasets to (default, tuned, best possible) in seconds of device time.
    """

    thresholds: dict[str, int]
    intervals: dict[str, tuple[int, int]]
    times: dict[str, tuple[float, float, float]]
    runs: int
    complete: bool
    log: Log
    forest: Forest
    kept_default: bool

    @property
    def gain(self) -> float:
        """The geometric mean over the datasets of default time over tuned time."""
        ratios = [default / tuned for default, tuned, _ in self.times.values()
                  if default > 0 and tuned > 0]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0

    def render(self) -> str:
        """The report a person reads."""
        lines = [f"device: {self.log.device}",
                 f"program runs: {self.runs} = versions × datasets"
                 + ("" if self.complete else " (stopped early)"), "", self._tree(), ""]
        width = max((len(n) for n in self.times), default=0)
        lines.append(f"{'dataset':{width}}  {'default':>9}  {'tuned':>9}  {'best':>9}")
        for name, (default, tuned, best) in self.times.items():
            lines.append(f"{name:{width}}  {show_time(default):>9}  {show_time(tuned):>9}  "
                         f"{show_time(best):>9}")
        lines += ["", *(f"{name}={value}" for name, value in self.thresholds.items())]
        if self.kept_default:
            lines.append("the defaults are kept: no thresholds were faster on every dataset")
        lines.append(f"tuned is {self.gain:.2f}x as fast as the defaults (geometric mean)")
        return "\n".join(line.rstrip() for line in lines)

    def _tree(self) -> str:
        notes: dict[str, str] = {}
        for site in self.forest.sites():
            for number, alternative in enumerate(site.alternatives):
                if alternative.inner:
                    continue
                parts = []
                for dataset, sites in self.log.observations.items():
                    own = [o.own[number] for o in sites.get(site.name, {}).values()
                           if number in o.own]
                    if own:
                        parts.append(f"{dataset}: {show_time(sum(own))}")
                notes[alternative.label] = "  ".join(parts) or "not feasible"
        return self.forest.render(notes)

    def facts(self) -> dict[str, Any]:
        """What the JSON file beside the tuning file holds."""
        return {
            "device": self.log.device, "runs": self.runs, "complete": self.complete,
            "thresholds": self.thresholds, "intervals": self.intervals,
            "times": {n: {"default": d, "tuned": t, "best": b}
                      for n, (d, t, b) in self.times.items()},
            "samples": {
                dataset: {site: [{"par": o.par, "own": o.own} for o in seen.values()]
                          for site, seen in sites.items()}
                for dataset, sites in self.log.observations.items()},
        }


def tune(program: Program, datasets: Mapping[str, tuple[str, list[Any]]], *, repeats: int = 3,
         log_path: Path | None = None,
         progress: Callable[[str], None] | None = None) -> Tuning:
    """Tune a program's thresholds for datasets (name to entry point and arguments)."""
    forest = program.tree
    uploaded = {name: (entry, [_resident(program, a) for a in args])
                for name, (entry, args) in datasets.items()}

    def run(entry: str, args: list[Any], force: Mapping[str, int]) -> Record:
        _, record = program.run(entry, args, force=force, record=True, device_arrays=True)
        assert record is not None
        return record

    log, complete = measure(forest, uploaded, run, repeats=repeats, log_path=log_path,
                            progress=progress)
    assert program.device_info is not None
    return solve(forest, log, program.device_info.threshold, complete=complete)


def _resident(program: Program, value: Any) -> Any:
    import numpy as np

    return program.to_device(value) if np.ndim(value) else value


def solve(forest: Forest, log: Log, device_threshold: int, *, complete: bool = True) -> Tuning:
    """Thresholds from a log; exact for each chain of guards, inner sites before outer ones."""
    default = {g.name: g.default if g.default is not None else device_threshold
               for g in forest.guards()}
    model = _Model(forest, log)
    best = {d: model.best(d) for d in log.entries}
    scale = weights(best)
    thresholds, intervals = model.fit(scale)
    times = {d: (model.time(d, default), model.time(d, thresholds), best[d]) for d in log.entries}
    kept = False
    for factor in (1.5, 2, 4, 8, 16, 64, 256):
        worse = [d for d, (before, after, _) in times.items() if after > before * TOLERANCE]
        if not worse:
            break
        scale = {d: w * (factor if d in worse else 1) for d, w in scale.items()}
        thresholds, intervals = model.fit(scale)
        times = {d: (model.time(d, default), model.time(d, thresholds), best[d])
                 for d in log.entries}
    else:
        kept = True
        thresholds = default
        times = {d: (before, before, b) for d, (before, _, b) in times.items()}
    return Tuning(thresholds, intervals, times, log.runs, complete, log, forest, kept)


class _Model:
    """Predicts the time of a dataset under thresholds from the log."""

    def __init__(self, forest: Forest, log: Log) -> None:
        self.forest = forest
        self.log = log
        self.sites = {site.name: site for site in forest.sites()}

    def fit(self, scale: Mapping[str, float]) -> tuple[dict[str, int],
                                                       dict[str, tuple[int, int]]]:
        """The best thresholds for weighted datasets, inner sites first."""
        thresholds: dict[str, int] = {}
        intervals: dict[str, tuple[int, int]] = {}
        for site in reversed(list(self.forest.sites())):
            guards = [a.guard for a in site.alternatives if a.guard is not None]
            samples = [self.sample(site, d, n, w, thresholds)
                       for d, w in scale.items()
                       for n in self.log.observations[d].get(site.name, {})]
            found = fit_chain(samples, len(guards))
            for guard, value, interval in zip(guards, found.thresholds, found.intervals,
                                              strict=True):
                thresholds[guard.name] = value
                intervals[guard.name] = interval
        order = [g.name for g in self.forest.guards()]
        return {n: thresholds[n] for n in order}, {n: intervals[n] for n in order}

    def sample(self, site: Site, dataset: str, number: int, weight: float,
               thresholds: Mapping[str, int]) -> Sample:
        """An encounter as the fit sees it, with inner sites decided by ``thresholds``."""
        seen = self.log.observations[dataset][site.name][number]
        par = tuple(seen.par.get(a.guard.name, 0) for a in site.alternatives
                    if a.guard is not None)
        costs = tuple(self._cost(site, k, dataset, number, thresholds)
                      for k in range(len(site.alternatives)))
        return Sample(weight, par, costs)

    def _cost(self, site: Site, version: int, dataset: str, number: int,
              thresholds: Mapping[str, int]) -> float:
        seen = self.log.observations[dataset][site.name][number]
        if version not in seen.own:
            return math.inf
        inner = sum(self._chosen(name, dataset, n, thresholds)
                    for name, n in seen.inner.get(version, []))
        return seen.own[version] + inner

    def _chosen(self, name: str, dataset: str, number: int,
                thresholds: Mapping[str, int]) -> float:
        site = self.sites[name]
        sample = self.sample(site, dataset, number, 1.0, thresholds)
        return sample.cost([thresholds.get(a.guard.name, NEVER) for a in site.alternatives
                            if a.guard is not None])

    def time(self, dataset: str, thresholds: Mapping[str, int]) -> float:
        """The predicted device time of a dataset."""
        total = self.log.outside.get(dataset, 0.0)
        for root in self.forest.entries[self.log.entries[dataset]]:
            for number in self.log.observations[dataset].get(root.name, {}):
                total += self._chosen(root.name, dataset, number, thresholds)
        return total

    def best(self, dataset: str) -> float:
        """The time if every encounter ran its best version."""
        total = self.log.outside.get(dataset, 0.0)
        for root in self.forest.entries[self.log.entries[dataset]]:
            for number in self.log.observations[dataset].get(root.name, {}):
                total += self._best_of(root.name, dataset, number)
        return total

    def _best_of(self, name: str, dataset: str, number: int) -> float:
        seen = self.log.observations[dataset][name][number]
        return min(own + sum(self._best_of(n, dataset, k) for n, k in seen.inner.get(v, []))
                   for v, own in seen.own.items())

    def exhaustive(self, site: Site, scale: Mapping[str, float],
                   thresholds: Mapping[str, int]) -> float:
        """The least cost of a site that trying all thresholds finds."""
        samples = [self.sample(site, d, n, w, thresholds) for d, w in scale.items()
                   for n in self.log.observations[d].get(site.name, {})]
        return exhaustive_best(samples, sum(a.guard is not None for a in site.alternatives))
