"""Runs with forced versions, and the file that keeps each of them as soon as it is over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from runelift.ir.errors import UserError
from runelift.runtime.records.record import Encounter, Record

RECORD = tuple(each.name for each in fields(Record))
NO_TIME = "left out: there was no time for it"
"""The error of a run that was not made, since its dataset's time was over."""
FORGOTTEN = "forgotten"
"""Marks a line that takes back the runs of a dataset before it."""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run with forced versions: its record, or the error that it ended in.

    ``time`` is how many seconds the same run took without recording, ``issue`` how many of them
    the host needed to issue all commands.  ``replay`` is the number of the dataset's run that it
    is a part of (:mod:`~runelift.runtime.tuner.measure.replay_runs`), if it was not one of its
    own.  ``place`` says which device made it
    (:func:`~runelift.runtime.devices.comparable.place_of`), if that was noted.  One made ``again``
    was only timed: the record is that of the last run with these versions that has one.  One was
    not made at all if what is known of other runs rules versions out: these are ``left_out``, and
    the error says why.
    """

    dataset: str
    force: dict[str, int]
    record: Record | None
    error: str | None = None
    time: float | None = None
    issue: float | None = None
    replay: int | None = None
    place: str | None = None
    again: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def reference(self) -> bool:
        """Whether it forces nothing: devices that share a dataset are compared by such runs."""
        return not self.force and self.replay is None


@dataclass(slots=True)
class Measurements:
    """All runs of one entry point; ``interrupted`` if there should have been more.

    There was no time left for the datasets ``left_out``.  ``stopped`` are versions that were not
    over in time, by dataset.
    """

    entry: str
    runs: list[LoggedRun] = field(default_factory=list)
    interrupted: bool = False
    left_out: list[str] = field(default_factory=list)
    stopped: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets that were run, in order."""
        return tuple(dict.fromkeys(run.dataset for run in self.runs))

    @property
    def places(self) -> tuple[str, ...]:
        """The devices that made the runs, as far as they say."""
        return tuple(dict.fromkeys(run.place for run in self.runs if run.place is not None))

    @property
    def replayed(self) -> frozenset[str]:
        """The datasets whose versions were replayed in one run."""
        return frozenset(self._replays())

    @property
    def program_runs(self) -> int:
        """The runs that were needed to see every version, repetitions not counted."""
        forced = {(run.dataset, *sorted(run.force.items()))
                  for run in self.runs if run.replay is None and not run.reference}
        return len(forced) + sum(max(numbers) - len(numbers) + 1  # some were not right
                                 for numbers in self._replays().values())

    def _replays(self) -> dict[str, set[int]]:
        """The numbers of the replays of each dataset."""
        numbers: dict[str, set[int]] = {}
        for run in self.runs:
            if run.replay is not None:
                numbers.setdefault(run.dataset, set()).add(run.replay)
        return numbers

    def with_further(self, further: Measurements) -> Measurements:
        """These runs and later ones, which are not the same runs of a dataset."""
        last = max((run.replay or 0 for run in self.runs), default=0)
        later = [replace(run, replay=last + run.replay) if run.replay else run
                 for run in further.runs]
        return Measurements(self.entry, [*self.runs, *later], further.interrupted, self.left_out)


def complete(runs: Sequence[LoggedRun], todo: Sequence[Mapping[str, int]], repeats: int) -> bool:
    """Whether these are all runs of a dataset that are needed."""
    return all(any(run.error for run in own) or len(own) >= repeats for own in (
        [run for run in runs if run.force == force] for force in todo))


class RunStore(Protocol):
    """What measuring keeps runs in."""

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        """The runs of a dataset from before, once: whoever asks again wants others."""
        ...

    def append(self, entry: str, run: LoggedRun) -> None:
        """Keep one run."""
        ...

    def forget(self, entry: str, dataset: str) -> None:
        """The runs of a dataset so far are not to be used."""
        ...


class Log:
    """A JSON-lines file that every run is appended to as soon as it is over, by any thread.

    ``made_for`` says what the runs are of: the program, the device and the like; ``place`` where
    those are made that do not say.  With ``resume`` runs of the same that are in the file stay
    there, and are :meth:`known`.  A thread writes: a record of a thousand encounters takes as long
    to write as the next run takes.
    """

    def __init__(self, path: Path, made_for: str = "", *, resume: bool = False,
                 place: str | None = None) -> None:
        self.path = path
        self._made_for = made_for
        self._place = place
        self._writer = ThreadPoolExecutor(1, "log")
        self._failure: OSError | None = None
        self._known = read_log(path, made_for) if resume and path.exists() else {}
        try:
            self._file = path.open("w")
        except OSError as error:
            raise UserError(f"Cannot write '{path}': {error.strerror}.") from None
        for entry, measurements in self._known.items():
            for run in measurements.runs:
                self.append(entry, run)

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        """The runs of a dataset from before, once: whoever asks again wants others."""
        measurements = self._known.get(entry, Measurements(entry))
        runs = [run for run in measurements.runs if run.dataset == dataset]
        measurements.runs = [run for run in measurements.runs if run.dataset != dataset]
        return runs

    def append(self, entry: str, run: LoggedRun) -> None:
        """Have one run written; UserError if one before could not be."""
        self._begin(entry, lambda: _raw(run if run.place else replace(run, place=self._place)))

    def forget(self, entry: str, dataset: str) -> None:
        """Note that runs of a dataset so far are not to be used."""
        self._begin(entry, lambda: {"dataset": dataset, FORGOTTEN: True})

    def _begin(self, entry: str, line: Callable[[], Mapping[str, Any]]) -> None:
        self._check()
        self._writer.submit(self._write, entry, line)

    def _write(self, entry: str, line: Callable[[], Mapping[str, Any]]) -> None:
        text = json.dumps({"entry": entry, "for": self._made_for, **line()})
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except OSError as error:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise UserError(f"Cannot write '{self.path}': {self._failure.strerror}.")

    def close(self) -> None:
        """Close the file, with all runs in it; UserError if not all could be written."""
        self._writer.shutdown()
        try:
            self._file.close()
        except OSError as error:  # what was left of a line
            self._failure = self._failure or error
        self._check()


def made_for(path: Path) -> frozenset[str]:
    """What the runs in a log are of, as far as it says."""
    try:
        return frozenset(json.loads(line).get("for", "") for line in path.read_text().splitlines()
                         ) - {""}
    except (OSError, ValueError, AttributeError):
        return frozenset()


def read_log(path: Path, made_for: str | None = None) -> dict[str, Measurements]:
    """The measurements in a log, by entry point; UserError if it is damaged.

    An unfinished last line (the tuner was killed) is left out, and so is what is not ``made_for``
    the same, if that is given.
    """
    found: dict[str, Measurements] = {}
    last: dict[tuple[Any, ...], Record] = {}
    try:
        lines = path.read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read '{path}': {error}.") from None
    for number, line in enumerate(lines, start=1):
        try:
            raw = json.loads(line)
            if made_for not in (None, raw.get("for")):
                continue
            if raw.get(FORGOTTEN):
                before = found.setdefault(raw["entry"], Measurements(raw["entry"]))
                before.runs = [run for run in before.runs if run.dataset != raw["dataset"]]
                continue
            record = raw["record"] and _record(raw["record"])
            run = LoggedRun(raw["dataset"], raw["force"], record, raw["error"], raw.get("time"),
                            raw.get("issue"), raw.get("replay"), raw.get("place"),
                            raw.get("again", False), raw.get("left_out", {}))
            versions = run.dataset, tuple(run.force.items()), run.place
            if run.again:
                run = replace(run, record=last[versions])
            elif record:
                last[versions] = record
            found.setdefault(raw["entry"], Measurements(raw["entry"])).runs.append(run)
        except (ValueError, KeyError, TypeError):
            if number < len(lines) or line.endswith("\n"):
                raise UserError(f"{path}:{number}: error[malformed-log]: not a line of a tuning "
                                f"log.") from None
    return found


def _raw(run: LoggedRun) -> dict[str, Any]:
    """A run as a line of the log has it; what is nested is neither copied nor looked into."""
    raw = {each.name: getattr(run, each.name) for each in fields(run)}
    if not run.left_out:
        del raw["left_out"]
    if run.again:
        raw["record"] = None
        return raw
    del raw["again"]
    if run.record is not None:
        raw["record"] = {name: getattr(run.record, name) for name in RECORD}
        raw["record"]["encounters"] = [each._asdict() for each in run.record.encounters]
    return raw


def _record(raw: dict[str, Any]) -> Record:
    encounters = tuple(Encounter(**{**e, "feasible": tuple(e["feasible"]),
                                    "scarce": tuple(e.get("scarce", ()))})
                       for e in raw["encounters"])
    return Record(**{**raw, "encounters": encounters})
