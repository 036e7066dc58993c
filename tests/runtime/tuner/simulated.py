"""Simulated programs: versioned IR with chosen guards, and runs that cost what we say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.syntax import Body, ForLoop, Fun, Loop, Program, Stm, Version, Versions
from runelift.ir.types import i64
from runelift.runtime.records.record import Encounter, Record, Timing
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.result import default_thresholds
from runelift.runtime.versions.forest import Forest, Forests, Site, entry_forest
from runelift.runtime.versions.size_guards import GuardedThresholds, size_guards_of

ENOUGH = 64
"""The parallelism from which on guards hold by default, as if times were predicted so."""


def site(name: str, *alternatives: tuple[str | None, Sequence[Stm]], kind: Kind = Kind.OUTER
         ) -> Stm:
    """A choice: per alternative the name of its guard, of this kind, and what is inside."""
    versions = tuple(
        Version(None if guard is None else Guard(f"main.{guard}", guard, kind,
                                                 Size.var(VName("n", 1))),
                Kind.FLAT if guard is None else kind, Body(tuple(inside), ()))
        for guard, inside in alternatives)
    return Stm((), Versions(name, versions, ()))


def job_for(sim: Simulated, datasets: Sequence[Dataset], **options: Any) -> TuningJob:
    """The job to tune a simulated program."""
    return TuningJob(sim, Forests((sim.forest,)), datasets, **{"busy": lambda: 0.0, **options})


def scaled(record: Record, scale: float) -> Record:
    """A record whose times are multiplied."""
    return replace(record, span=record.span * scale, wall=record.wall * scale,
                   busy=record.busy * scale, encounters=tuple(
                       each._replace(time=each.time * scale, busy=each.busy * scale)
                       for each in record.encounters))


def stop_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    """Let time pass for a tuner as a clock says, and not by itself."""
    shared = SimpleNamespace(perf_counter=clock)
    for module in ("settle", "job", "autotune", "measure.side_by_side", "measure.turns",
                   "measure.paired_comparison", "measure.forced_runs"):
        monkeypatch.setattr(f"runelift.runtime.tuner.{module}.time", shared)


def looped(*stms: Stm) -> Stm:
    """A sequential loop."""
    return Stm((), Loop((), ForLoop(VName("i", 9), i64(10)), Body(tuple(stms), ())))


def fun(*stms: Stm) -> Fun:
    return Fun("main", (), (), Body(tuple(stms), ()))


def program(*stms: Stm) -> Program:
    return Program((fun(*stms),))


def bimodal(random: np.random.Generator) -> float:
    """The factor of a run's time on a shared machine: close to 1, but twice that in one of 17.

    With a median of 2.9 ms the 95th percentile is 5.7 ms.
    """
    return 5.7 / 2.9 if random.random() < 0.06 else float(random.normal(1.0, 0.02))


Cost = Callable[[str, int, int], float]
"""The own time of a version: site, index, and the parallelism."""


class Simulated(Measurable):
    """Runs the forest of a function; an argument lists the parallelism per loop iteration.

    The parallelism that a guard is compared with is the iteration's, times 10 per guard before
    it, unless ``pars`` says another one for the k-th guard of a site.  Guards with at least
    ``enough`` hold by default.  ``issue`` is the host's time for a version, as ``cost`` is the
    device's: both work at the same time.  ``infeasible`` lists
    (site, index) pairs that cannot run; ``interrupt_after`` raises KeyboardInterrupt in that
    recorded run; ``fail`` raises instead of running a version.  ``forced`` are the versions of
    recorded runs, ``timed`` those of the others.
    """

    def __init__(self, forest: Forest, cost: Cost, *, issue: Cost = lambda *_: 0.0,
                 infeasible: frozenset[tuple[str, int]] = frozenset(),
                 interrupt_after: int | None = None,
                 fail: Mapping[tuple[str, int], Exception] | None = None,
                 pars: Callable[[int, int], int] = lambda par, k: par * 10**k,
                 enough: int = ENOUGH) -> None:
        self.forest = forest
        self.enough = enough
        self.pars = pars
        self.cost = cost
        self.issue = issue
        self.infeasible = infeasible
        self.runs = 0
        self.forced: list[dict[str, int]] = []
        self.timed: list[dict[str, int]] = []
        self._interrupt_after = interrupt_after
        self._fail = fail or {}

    @classmethod
    def of(cls, stms: Sequence[Stm], cost: Cost, **options: Any) -> Simulated:
        return cls(entry_forest(fun(*stms)), cost, **options)

    @property
    def default(self) -> dict[str, int]:
        return default_thresholds(self.forest)

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        self.timed.append(dict(force or {}))
        record = self._record(entry, args, force, thresholds)
        return Timing(max(record.span, record.issue), record.issue)

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        self.runs += 1
        if self._interrupt_after is not None and self.runs > self._interrupt_after:
            raise KeyboardInterrupt
        self.forced.append(dict(force or {}))
        return self._record(entry, args, force, thresholds)

    def _record(self, entry: str, args: Sequence[Any], force: Mapping[str, int] | None,
                thresholds: Mapping[str, int] | None) -> Record:
        encounters: list[Encounter] = []
        spent = [self._encounter(tree, par, None, force or {},
                                 GuardedThresholds(self.default | dict(thresholds or {}),
                                                   size_guards_of(thresholds or {})), encounters)
                 for tree in self.forest.trees for par in args]
        device, host = (sum(clock) for clock in zip(*spent, strict=True)) if spent else (0.0, 0.0)
        encounters.sort(key=lambda e: e.number)
        return Record(entry, tuple(encounters), device + 0.5, device, 0.1, 0.0, 1, 0,
                      "simulated", issue=host + 0.25 if host else 0.0)

    def _encounter(self, where: Site, par: int, parent: int | None, force: Mapping[str, int],
                   thresholds: Mapping[str, int], out: list[Encounter]
                   ) -> tuple[float, float]:
        pars = {guard.name: self.pars(par, k) for k, guard in enumerate(where.guards)}
        feasible = tuple(k for k in range(len(where.alternatives))
                         if (where.name, k) not in self.infeasible)
        scarce = tuple(name for name, par in pars.items() if par < self.enough)
        least = {name: thresholds[name] or self.enough for name in pars}
        finer = None if where.name in force or not isinstance(thresholds, GuardedThresholds) else (
            thresholds.version(where.name, {"n": par}, pars))
        chosen = finer if finer in feasible else self._choose(where, feasible, pars, force, least)
        if (where.name, chosen) in self._fail:
            raise self._fail[where.name, chosen]
        number = len(out)
        out.append(Encounter(where.name, number, parent, {"n": par}, pars, feasible, chosen,
                             0.0, 0.0, 0.0, 1, scarce))
        time, issue = self.cost(where.name, chosen, par), self.issue(where.name, chosen, par)
        for below in where.alternatives[chosen].sites:
            for _ in range(2 if below.loops else 1):
                device, host = self._encounter(below, par, number, force, thresholds, out)
                time, issue = time + device, issue + host
        out[number] = Encounter(where.name, number, parent, {"n": par}, pars, feasible, chosen,
                                time, time, 0.0, 1, scarce, issue=issue)
        return time, issue

    def _choose(self, where: Site, feasible: Sequence[int], pars: Mapping[str, int],
                force: Mapping[str, int], thresholds: Mapping[str, int]) -> int:
        if where.name in force:
            forced = force[where.name]
            return forced if forced in feasible else next(
                (k for k in feasible if k > forced), feasible[-1])
        for k in feasible:
            guard = where.alternatives[k].guard
            if guard is None or thresholds[guard.name] <= pars[guard.name]:
                return k
        return feasible[-1]


def nested() -> list[Stm]:
    """Two trees: a chain whose flat version holds two siblings, one in a loop; and a chain."""
    inner = site("b", ("b0", []), (None, []))
    sibling = looped(site("c", ("c0", []), ("c1", []), (None, [])))
    return [site("a", ("a0", []), ("a1", []), (None, [inner, sibling])),
            looped(site("d", ("d0", []), (None, [])))]


def table_cost(table: Mapping[tuple[str, int], Sequence[float]]) -> Cost:
    """Own times from a table: per version, one per parallelism 2, 4, 8, ..."""
    return lambda where, index, par: table[where, index][par.bit_length() - 2]


def versions_of(forest: Forest) -> Iterator[tuple[str, int]]:
    for where in forest.sites().values():
        for index in range(len(where.alternatives)):
            yield where.name, index


CHAIN = [site("s", ("t0", []), ("t1", []), (None, []))]
"""The usual choice: two versions with a guard, and the last one."""


def close(where: str, index: int, par: int) -> float:
    """The costs of versions of :data:`CHAIN` none of which is far behind."""
    return [21.0, 22.0, 20.0][index] * (1 + len(where))


def inputs(**datasets: list[int]) -> list[Dataset]:
    """Datasets by name, with the parallelism per iteration."""
    return [Dataset(name, "main", lambda pars=pars: pars) for name, pars in datasets.items()]
