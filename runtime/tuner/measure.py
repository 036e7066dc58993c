"""Measurement: one forced run per version per dataset, recorded encounter by encounter."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runelift.runtime.records import Record
from runelift.runtime.statistics import median
from runelift.runtime.tuner.forest import Forest

RunForced = Callable[[str, list[Any], Mapping[str, int]], Record]
"""Run an entry point with versions forced; its record."""


@dataclass(slots=True)
class Observation:
    """What is known of one encounter of a site: per version, its time and what is inside.

    ``own`` is the time of a version without the encounters inside of it, ``inner`` the sites
    and positions of those.
    """

    par: dict[str, int] = field(default_factory=dict)
    own: dict[int, float] = field(default_factory=dict)
    inner: dict[int, list[tuple[str, int]]] = field(default_factory=dict)


@dataclass(slots=True)
class Log:
    """All observations: dataset, site, number of the encounter of that site in a run."""

    observations: dict[str, dict[str, dict[int, Observation]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict)))
    entries: dict[str, str] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)
    runs: int = 0
    device: str = ""
    infeasible: dict[str, str] = field(default_factory=dict)

    def add(self, dataset: str, records: list[Record]) -> None:
        """Take in the repeats of one forced run."""
        first = records[0]
        self.device = first.device
        self.infeasible.update(first.infeasible)
        times = [median([r.encounters[k].time for r in records])
                 for k in range(len(first.encounters))]
        position: dict[int, tuple[str, int]] = {}
        seen: dict[str, int] = defaultdict(int)
        for encounter in first.encounters:
            position[encounter.number] = (encounter.site, seen[encounter.site])
            seen[encounter.site] += 1
        own = list(times)
        inner: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for encounter, time in zip(first.encounters, times, strict=True):
            if encounter.parent is not None:
                own[encounter.parent] -= time
                inner[encounter.parent].append(position[encounter.number])
        for encounter in first.encounters:
            site, number = position[encounter.number]
            seen_at = self.observations[dataset][site].setdefault(number, Observation())
            seen_at.par.update(encounter.par)
            before = seen_at.own.get(encounter.chosen)
            new = max(0.0, own[encounter.number])
            seen_at.own[encounter.chosen] = new if before is None else min(before, new)
            seen_at.inner[encounter.chosen] = inner[encounter.number]
        roots = sum(t for e, t in zip(first.encounters, times, strict=True) if e.parent is None)
        rest = max(0.0, median([r.span for r in records]) - roots)
        self.outside[dataset] = min(rest, self.outside.get(dataset, rest))


def measure(forest: Forest, datasets: Mapping[str, tuple[str, list[Any]]], run: RunForced, *,
            repeats: int, log_path: Path | None = None,
            progress: Callable[[str], None] | None = None) -> tuple[Log, bool]:
    """Force every version on every dataset; the log, and whether it is complete.

    Each run is repeated after one warm-up, versions interleaved so that drift of the device
    hits all alike.  Every record is appended to ``log_path`` at once.  Ctrl-C stops the
    measurement; what was measured is kept.
    """
    log = Log()
    try:
        for name, (entry, args) in datasets.items():
            log.entries[name] = entry
            forces = forest.assignments(entry)
            records: list[list[Record]] = [[] for _ in forces]
            for force in forces:
                run(entry, args, force)  # builds the kernels
            for _ in range(repeats):
                for number, force in enumerate(forces):
                    if progress is not None:
                        progress(f"{name}: version {number + 1} of {len(forces)}")
                    record = run(entry, args, force)
                    records[number].append(record)
                    if log_path is not None:
                        _append(log_path, name, number, record)
            for repeated in records:
                log.add(name, repeated)
                log.runs += 1
    except KeyboardInterrupt:
        done = {n: e for n, e in log.entries.items() if n in log.outside}
        log.entries = done
        return log, False
    return log, True


def _append(path: Path, dataset: str, version: int, record: Record) -> None:
    line = {"dataset": dataset, "run": version, "entry": record.entry, "span": record.span,
            "wall": record.wall, "device": record.device,
            "encounters": [[e.site, e.chosen, e.time, e.par] for e in record.encounters]}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
