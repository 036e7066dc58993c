"""Programs that take what was measured: trees of examples, and times of their versions on a CPU.

``python -m tests.runtime.tuner.measured`` measures the examples of :data:`EXAMPLES` anew, every
version on every dataset, and writes a file for each to ``measured/``.  A tuning of one of these
programs runs nothing.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

import runelift
import runelift.examples
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.data.dataset import Generator, parse_spec
from runelift.runtime.records.record import Encounter, Record, Timing
from runelift.runtime.tuner.costs.cost_model import Costs, DatasetCosts, EncounterCosts, costs_of
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.measuring import measure_by
from runelift.runtime.tuner.measure.protocols import Dataset, MeasuringMethod
from runelift.runtime.tuner.result import default_thresholds
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import Alternative, Forest, Forests, Site
from tests.runtime.tuner.simulated import bimodal

FOLDER = Path(__file__).parent / "measured"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.json"))
"""The programs that have been measured."""
EXAMPLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "LocVolCalib": ("main", {
        name: f"{sizes} 0.03f32 5f32 0.2f32 0.6f32 0.5f32" for name, sizes in {
            "few": "2i64 64i64 64i64 6i64", "many": "64i64 16i64 16i64 6i64",
            "wide": "8i64 128i64 16i64 6i64"}.items()}),
    "backprop": ("main", {
        f"{n}x{h}": f"[{n}]f32 [1]f32 [{n + 1}][{h}]f32 [{h + 1}][1]f32 [{n + 1}][{h}]f32 "
                    f"[{h + 1}][1]f32" for n, h in ((16384, 16), (1024, 512), (64, 64))}),
    "bfast": ("main", {
        name: f"1i64 {half}i64 6f32 0.25f32 1.8f32 [{p}][{n}]f32" for name, half, p, n in (
            ("few", 200, 4, 512), ("many", 32, 256, 64))}),
    "kmeans": ("main", {
        f"{n}": f"5i64 10 [{n}][8]f32" for n in (64, 1024, 16384)}),
    "lud": ("dominant", {f"{n}": f"{n}i64" for n in (32, 96, 160)}),
    "matmul": ("main", {
        "x".join(map(str, (n, m, p))): f"[{n}][{m}]f32 [{m}][{p}]f32" for n, m, p in (
            (64, 64, 64), (4, 16384, 4), (4096, 16, 4), (256, 16, 256))}),
    "variant": ("main", {f"{n}": f"[{n}][{n}]f32 [{n}][{n}]f32" for n in (32, 64, 128)}),
}
"""Entry point, and types or values of the arguments of each dataset, of examples to measure."""
MICRO = 1e-6
UNLIMITED = 1 << 40
"""A parallelism that no version has."""


@dataclass(slots=True)
class Measured(Measurable):
    """A program whose runs take the sum of measured times, with noise if there is a ``random``.

    A run is then off by a factor of :func:`~tests.runtime.tuner.simulated.bimodal`, and each
    version in it by a little more.  ``clock`` counts the seconds of all runs, and ``made`` their
    number.
    """

    costs: Costs
    random: np.random.Generator | None = None
    clock: float = 0.0
    made: int = 0

    @classmethod
    def of(cls, name: str, *, enough: int | None = None) -> Measured:
        """The program with this name, without noise.

        Guards hold by default as they did on the device it was measured on, unless a parallelism
        is given that is ``enough`` for all.
        """
        raw = json.loads((FOLDER / f"{name}.json").read_text())
        defaults = {guard: value if enough is None else enough
                    for guard, value in raw["defaults"].items()}
        forest = Forest(raw["entry"], tuple(map(_site, raw["trees"])))
        sites = forest.sites()
        return cls(Costs(forest, tuple(
            DatasetCosts(dataset, Cost(MICRO * each["rest"]),
                         tuple(_encounter(point, sites, defaults) for point in each["encounters"]))
            for dataset, each in raw["datasets"].items())))

    @property
    def forest(self) -> Forest:
        return self.costs.forest

    @property
    def defaults(self) -> dict[str, int]:
        return default_thresholds(self.forest)

    def changed(self, spread: float, seed: int = 0) -> Measured:
        """The same trees and sizes, where each version is faster or slower by a random factor.

        It is the same at all encounters of a site on a dataset, and ``spread`` at most.
        """
        random = np.random.default_rng(seed)

        def factors() -> defaultdict[tuple[str, int], float]:
            return defaultdict(lambda: spread ** random.uniform(-1.0, 1.0))

        return replace(self, costs=replace(self.costs, datasets=tuple(
            replace(dataset, points=tuple(_scaled(point, drawn) for point in dataset.points))
            for dataset in self.costs.datasets for drawn in [factors()])))

    def job(self, **options: Any) -> TuningJob:
        """The job to tune it for all its datasets."""
        datasets = [Dataset(each.name, self.forest.entry, lambda each=each: [each])  # type: ignore[misc]
                    for each in self.costs.datasets]
        return TuningJob(self, Forests((self.forest,)), datasets, **options)

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        return Timing(self.record(entry, args, force=force, thresholds=thresholds).span, 0.0)

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        (dataset,) = args
        whole, found = bimodal(self.random) if self.random else 1.0, list[Encounter]()
        choose = partial(_chosen, force=force or {},
                         thresholds={**self.defaults, **(thresholds or {})})
        made = [self._run(point, None, choose, whole, found) for point in dataset.points]
        spent = dataset.rest.device * whole + sum(each.time for each in made)
        self.made += 1
        self.clock += spent
        return Record(entry, tuple(found), spent, spent, spent, 0.0,
                      sum(each.launches for each in made), 0, "measured")

    def _run(self, point: EncounterCosts, parent: int | None,
             choose: Callable[[EncounterCosts], int], whole: float, found: list[Encounter]
             ) -> Encounter:
        """Add an encounter and those inside of it, whose times and launches it has, too."""
        version = choose(point)
        own = point.own[version].device
        if not isfinite(own):
            raise CompilerLimitation("The version cannot run.")
        met = Encounter(point.site.name, len(found), parent, point.sizes, point.par,
                        tuple(sorted(point.feasible)), version, 0.0, 0.0, 0.0, 0,
                        tuple(point.scarce))
        found.append(met)
        inner = [self._run(each, met.number, choose, whole, found)
                 for each in point.inner.get(version, ())]
        little = self.random.normal(1.0, 0.02) if self.random else 1.0
        seconds = own * whole * little + sum(each.time for each in inner)
        found[met.number] = met = met._replace(
            time=seconds, busy=seconds,
            launches=int(version not in point.idle) + sum(each.launches for each in inner))
        return met


def _chosen(point: EncounterCosts, force: Mapping[str, int], thresholds: Mapping[str, int]) -> int:
    """The version that runs, by the rule of the runtime."""
    forced = force.get(point.site.name)
    if forced is None:
        return point.choose(thresholds)
    return next((k for k in sorted(point.feasible) if k >= forced), max(point.feasible))


def _scaled(point: EncounterCosts, factors: Mapping[tuple[str, int], float]) -> EncounterCosts:
    """An encounter and those inside of it, each version off by the factor of its site."""
    return replace(
        point, own={k: Cost(factors[point.site.name, k] * cost.device)
                    for k, cost in point.own.items()},
        inner={k: tuple(_scaled(each, factors) for each in inner)
               for k, inner in point.inner.items()})


# Exhaustive search


def configurations(costs: Costs) -> int:
    """The runs of a search that tries all thresholds: paths through the program on each dataset."""
    return sum(prod(_paths([p for p in dataset.points if p.site.name == tree.name], tree, 0)
                    for tree in costs.forest.trees) for dataset in costs.datasets)


def _paths(points: Sequence[EncounterCosts], site: Site, index: int) -> int:
    """The ways to choose versions from ``index`` on, at encounters of a site, by thresholds.

    A threshold divides the encounters in those with less parallelism and the rest.
    """
    if not points:
        return 1
    guard = site.alternatives[index].guard
    if guard is None or all(index >= max(p.feasible) for p in points):
        return _inside(points, site, index)
    able = [p for p in points if index in p.feasible]
    total = 0
    for least in sorted({p.par[guard.name] for p in able if index < max(p.feasible)} | {UNLIMITED}):
        taken = [p for p in able if p.par[guard.name] >= least or index >= max(p.feasible)]
        left = [p for p in points if p not in taken]
        total += _inside(taken, site, index) * _paths(left, site, index + 1)
    return total


def _inside(points: Sequence[EncounterCosts], site: Site, index: int) -> int:
    """The ways to choose versions inside of a version."""
    return prod(_paths([inner for p in points for inner in p.inner.get(index, ())
                        if inner.site.name == below.name], below, 0)
                for below in site.alternatives[index].sites)


# Files


def _site(raw: Mapping[str, Any]) -> Site:
    return Site(raw["name"], raw["loops"], tuple(
        Alternative(_guard(each["guard"], Kind(each["kind"])), Kind(each["kind"]),
                    each["label"], tuple(map(_site, each["sites"])))
        for each in raw["versions"]), frozenset(raw["size_variant"]))


def _guard(name: str | None, kind: Kind) -> Guard | None:
    """A guard; encounters tell if it holds by default."""
    return None if name is None else Guard(name, name, kind, Size.var(VName("par", 0)))


def _encounter(raw: Mapping[str, Any], sites: Mapping[str, Site], defaults: Mapping[str, int]
               ) -> EncounterCosts:
    """An encounter; guards whose default is 0 hold unless they are listed as scarce."""
    site = sites[raw["site"]]
    names = [guard.name for guard in site.guards]
    scarce = frozenset(name for index, (name, par) in enumerate(
        zip(names, raw["par"], strict=True)) if (
            par < defaults[name] if defaults[name] else index in raw["scarce"]))
    own = {int(index): Cost(MICRO * time if time is not None else float("inf"))
           for index, time in raw["own"].items()}
    return EncounterCosts(
        site, raw["sizes"], dict(zip(names, raw["par"], strict=True)), frozenset(own), own,
        {int(index): tuple(_encounter(each, sites, defaults) for each in inner)
         for index, inner in raw["inner"].items()}, scarce, idle=frozenset(raw["idle"]))


def measure(name: str) -> dict[str, Any]:
    """What a file has: the trees of an example, and the costs of all versions on its datasets."""
    entry, datasets = EXAMPLES[name]
    program = runelift.compile(Path(runelift.examples.__file__).parent / f"{name}.fut",
                               device="pocl", tuning={})
    forest, info = program.tree.entry(entry), program.device_info
    assert info is not None
    inputs = [Dataset(dataset, entry, partial(_arguments, specs))
              for dataset, specs in datasets.items()]
    found = measure_by(MeasuringMethod(every=True), MeasuredProgram(program), forest, inputs)
    return {"program": name, "entry": entry, "device": info.label,
            "defaults": default_thresholds(forest),
            "trees": [_raw_site(tree) for tree in forest.trees],
            "datasets": {each.name: {"rest": _micros(each.rest), "encounters": [
                _raw_encounter(point) for point in each.points]}
                for each in costs_of(forest, found).datasets}}


def _arguments(specs: str) -> list[Any]:
    return list(Generator(42).values(parse_spec(spec) for spec in specs.split()))


def _raw_site(site: Site) -> dict[str, Any]:
    return {"name": site.name, "loops": site.loops, "size_variant": sorted(site.size_variant),
            "versions": [{"guard": each.guard and each.guard.name, "kind": each.kind.value,
                          "label": each.label, "sites": [_raw_site(below) for below in each.sites]}
                         for each in site.alternatives]}


def _raw_encounter(point: EncounterCosts) -> dict[str, Any]:
    names = [guard.name for guard in point.site.guards]
    return {"site": point.site.name, "sizes": point.sizes,
            "par": [point.par[name] for name in names],
            "scarce": [names.index(name) for name in sorted(point.scarce)],
            "own": {str(k): _micros(cost) for k, cost in sorted(point.own.items())},
            "idle": sorted(point.idle),
            "inner": {str(k): [_raw_encounter(each) for each in inner]
                      for k, inner in sorted(point.inner.items()) if inner}}


def _micros(cost: Cost) -> float | None:
    """Microseconds of the device with three digits; None if it cannot run."""
    return float(f"{cost.device / MICRO:.3g}") if isfinite(cost.device) else None


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for example in sys.argv[1:] or EXAMPLES:
        raw = measure(example)
        text = json.dumps(raw).replace(', "datasets": ', ',\n "datasets": ').replace(
            '{"site": ', '\n{"site": ')
        (FOLDER / f"{example}.json").write_text(text + "\n")
        print(example, len(text), configurations(Measured.of(example).costs))
