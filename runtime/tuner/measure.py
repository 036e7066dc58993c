"""Measuring every version of a program on every dataset.

Each run forces one version at every site at once (see :func:`runelift.runtime.tuner.forest.plans`),
so a dataset needs as many runs as the largest tree has leaf versions.  The runs are repeated in
turn (A B C A B C), so that a drift of the clock frequency meets all versions alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from runelift.ir.errors import CompilerLimitation, UserError
from runelift.runtime.records import Encounter, Record
from runelift.runtime.tuner.forest import Forest, plans

PATIENCE = 2.0
"""A run that takes longer than this many seconds is measured once only."""


class Measurable(Protocol):
    """A program that runs with chosen versions and says what that cost."""

    def run(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
            thresholds: Mapping[str, int] | None = None,
            record: bool | None = None) -> tuple[Any, Record | None]:
        """The results of ``entry`` and the record of the run.

        ``force`` maps sites to the index of the version to run, where that is feasible;
        elsewhere ``thresholds`` decide, where they name a guard, and its default otherwise.
        """
        ...


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named input of an entry point, made when it is needed."""

    name: str
    entry: str
    arguments: Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run with forced versions: its record, or the error that it ended in."""

    dataset: str
    force: dict[str, int]
    record: Record | None
    error: str | None = None


@dataclass(slots=True)
class Measurements:
    """All runs of one entry point; ``interrupted`` if there should have been more."""

    entry: str
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets that were run, in order."""
        return tuple(dict.fromkeys(run.dataset for run in self.runs))


class Log:
    """A JSON-lines file that every run is appended to as soon as it is over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("w")
        except OSError as error:
            raise UserError(f"Cannot write '{path}': {error.strerror}.") from None

    def append(self, entry: str, run: Run) -> None:
        """Write one run and make sure that it is on disk."""
        self._file.write(json.dumps({"entry": entry, **asdict(run)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> dict[str, Measurements]:
    """The measurements in a log, by entry point; UserError if it is damaged.

    An unfinished last line (the tuner was killed) is left out.
    """
    found: dict[str, Measurements] = {}
    try:
        lines = path.read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read '{path}': {error}.") from None
    for number, line in enumerate(lines, start=1):
        try:
            raw = json.loads(line)
            record = raw["record"] and _record(raw["record"])
            run = Run(raw["dataset"], raw["force"], record, raw["error"])
            found.setdefault(raw["entry"], Measurements(raw["entry"])).runs.append(run)
        except (ValueError, KeyError, TypeError):
            if number < len(lines) or line.endswith("\n"):
                raise UserError(f"{path}:{number}: error[malformed-log]: not a line of a tuning "
                                f"log.") from None
    return found


def _record(raw: dict[str, Any]) -> Record:
    encounters = tuple(Encounter(**{**e, "feasible": tuple(e["feasible"]),
                                    "scarce": tuple(e.get("scarce", ()))})
                       for e in raw["encounters"])
    return Record(**{**raw, "encounters": encounters})


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the work stands: the ``done``-th of ``total`` runs of ``what``."""

    what: str
    done: int
    total: int


def measure(program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
            repeats: int = 3, log: Log | None = None,
            progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
    """Run every plan on every dataset, once to warm up and then ``repeats`` times.

    An interruption (Ctrl-C) ends the measuring, and what has been measured is returned.
    """
    result = Measurements(forest.entry)
    todo = plans(forest)
    done = 0
    try:
        for dataset in datasets:
            for run in _measure_dataset(program, forest.entry, dataset, todo, repeats):
                result.runs.append(run)
                if log:
                    log.append(forest.entry, run)
                done += 1
                progress(Progress(dataset.name, done, len(datasets) * len(todo) * repeats))
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _measure_dataset(program: Measurable, entry: str, dataset: Dataset,
                     todo: Sequence[dict[str, int]], repeats: int) -> Iterator[Run]:
    args = dataset.arguments()
    walls: dict[int, float] = {}
    for number, force in enumerate(todo):
        warm_up = _run(program, entry, dataset.name, args, force)
        if warm_up.record is None:
            yield warm_up
        else:
            walls[number] = warm_up.record.wall
    for repeat in range(repeats):
        for number, wall in walls.items():
            if repeat == 0 or wall < PATIENCE:
                run = _run(program, entry, dataset.name, args, todo[number])
                if run.record is not None:
                    walls[number] = run.record.wall
                yield run


def _run(program: Measurable, entry: str, dataset: str, args: Sequence[Any],
         force: dict[str, int]) -> Run:
    try:
        _, record = program.run(entry, args, force=force, record=True)
    except (UserError, CompilerLimitation) as error:
        return Run(dataset, force, None, str(error))
    return Run(dataset, force, record)
