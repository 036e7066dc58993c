"""One row of ``collection.py``: an entry point on one input, on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from peers import Peer

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.statistics import median, summarise
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.forest import plans

ROUNDS = 3
RUNS = 5
"""The most runs of each side before the other has its turn."""
PATIENCE = 2.0
"""The seconds that the runs of one side may take for one row."""
HOPELESS = 4.0
"""A version whose first run takes so many times the default's is not run again."""


def prebuild(program: Any, entry: str, values: Sequence[Any], forced: float) -> float:
    """Build what the runs of a row need, the forced versions for so many seconds.

    Returns the seconds for the default.  Builds that depend on results of the device come later.
    """
    measured, started = MeasuredProgram(program), time.perf_counter()
    with suppress(RuneliftError):
        measured.prebuild(entry, values, [{}])
    default_seconds = time.perf_counter() - started
    for force in plans(program.tree.entry(entry)):
        if time.perf_counter() - started > forced:
            break
        with suppress(RuneliftError):
            measured.prebuild(entry, values, [force])
    return default_seconds


def _grown(before: int, after: int) -> int | None:
    """The most bytes of a run, None if a run before needed as many bytes or more."""
    return after if after > before else None


class TimedRow:
    """A row whose inputs are on the device.  Making it runs both sides once."""

    def __init__(self, program: Any, peers: Mapping[str, Peer], entry: str,
                 values: Sequence[Any]) -> None:
        self._program, self._entry = program, entry
        self._measured = MeasuredProgram(program)
        started = time.perf_counter()
        self._resident = self._measured.place(values)
        results, _ = program.run(entry, self._resident, device_arrays=True)
        self.first_seconds = time.perf_counter() - started
        self._bytes = sum(int(getattr(each, "nbytes", 0)) for each in [*values, *results])
        del results
        before = peers["peer"].peak()
        self._theirs = {name: each.prepare(entry, values) for name, each in peers.items()}
        self.peer_first_seconds = self._theirs["peer"]() / 1e6
        self._peer_peak = _grown(before, peers["peer"].peak())

    def measure(self, forced: float, tuned: Mapping[str, int] | None) -> dict[str, Any]:
        """Times of all, and what else is known of the default."""
        self._measured.warm_up(self._entry, self._resident)
        once = max(self._measured.time(self._entry, self._resident), self._theirs["peer"]() / 1e6)
        runs = max(1, min(RUNS, int(PATIENCE / ROUNDS / max(once, 1e-9))))
        sides: dict[str, Callable[[], float]] = {**self._theirs,
                                                 "default": partial(self._ours, {}, None)}
        if tuned is not None:
            sides["tuned"] = partial(self._ours, {}, tuned)
        versions = plans(self._program.tree.entry(self._entry))
        sides |= self._hopeful(versions, forced)
        times: dict[str, list[float]] = {name: [] for name in sides}
        names = list(sides)
        for turn in range(ROUNDS if once < PATIENCE else 1):  # another side comes first each time
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                if runs > 1:
                    sides[name]()  # the one after another side is slower
                times[name] += [sides[name]() for _ in range(runs)]
        record = self._measured.record(self._entry, self._resident, samples=False)
        medians = {name: median(each) for name, each in times.items()}
        ours = {name: value for name, value in medians.items() if name not in self._theirs}
        return {**{name: value for name, value in medians.items() if not name.startswith("{")},
                "best": min(ours.values()), "best_version": min(ours, key=ours.__getitem__),
                "mad": {name: summarise(times[name]).mad for name in ("peer", "default")},
                "least": {name: min(each) for name, each in times.items()
                          if not name.startswith("{")},
                "versions": {name: value for name, value in ours.items()
                             if name.startswith("{")},
                "versions_left_out": len(versions) - sum(name.startswith("{") for name in ours),
                "launches": record.launches, "waits": record.waits,
                "busy": 1e6 * record.busy, "span": 1e6 * record.span,
                "bytes": self._bytes, "peak": record.peak_bytes, "peer_peak": self._peer_peak}

    def _hopeful(self, versions: Sequence[Mapping[str, int]], forced: float
                 ) -> dict[str, Callable[[], float]]:
        """The forced versions that run and are not far slower than the default."""
        if len(versions) < 2:
            return {}
        started = time.perf_counter()
        found: dict[str, Callable[[], float]] = {}
        default = self._ours({}, None)
        for version in versions:
            if time.perf_counter() - started > forced:
                break
            try:
                self._measured.prebuild(self._entry, self._resident, [version])
                first = self._ours(version, None)
                if first < HOPELESS * default:
                    self._measured.warm_up(self._entry, self._resident,
                                           force=RequiredVersions(version))
                    found[str(dict(version))] = partial(self._ours, version, None)
            except RuneliftError:
                continue  # it cannot run on this device
        return found

    def _ours(self, force: Mapping[str, int], thresholds: Mapping[str, int] | None) -> float:
        return 1e6 * self._measured.time(self._entry, self._resident, thresholds=thresholds,
                                         force=RequiredVersions(force) if force else None)
