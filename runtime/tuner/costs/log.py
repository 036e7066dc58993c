"""Runs with forced versions, and the log file that keeps each of them at once."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeAlias

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_bytes, read_text
from runelift.ir.base.json_shape import MOST_QUOTED, MisshapenJson, parse, read
from runelift.ir.base.written_files import open_to_append, unwritable
from runelift.runtime.records.record import Encounter, Record

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

RECORD_FIELDS = tuple(each.name for each in fields(Record))
NO_TIME = "left out: there was no time for it"
"""The error of a run that was not made, since its dataset's time was over."""
FORGOTTEN = "forgotten"
"""Marks a line that takes back the runs of a dataset before it."""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run with forced versions: its record, or the error that it ended in.

    * ``time`` is the seconds of a run with these versions without recording.
    * ``issue`` is the seconds until the host had issued all commands of that run.
    * ``replay`` is the number of the dataset's replayed run that it was made from, if any
      (:mod:`~runelift.runtime.tuner.measure.replay_runs`).
    * ``place`` is the device of the run (:func:`~runelift.runtime.devices.comparable.place_of`).
    * ``again``: it was only timed, and has the record of the last run with these versions.
    * ``left_out`` are versions ruled out by other runs.  The run was not made then, and the error
      has the reason.
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
    def seconds(self) -> float | None:
        """The seconds of the run, without recording if known; None if it failed."""
        return None if self.record is None else (
            self.record.span if self.time is None else self.time)

    @property
    def reference(self) -> bool:
        """True if no version is forced; such runs compare devices that share a dataset."""
        return not self.force and self.replay is None

    @property
    def executions(self) -> int:
        """The number of times that the program ran.  Runs to warm up do not count."""
        if self.left_out:
            return 0
        return max(1, (self.record is not None and not self.again) + (self.time is not None))


@dataclass(slots=True)
class Measurements:
    """All runs of one entry point; ``interrupted`` if runs are missing.

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
    def without_choices(self) -> tuple[str, ...]:
        """The datasets whose runs met no choice between versions."""
        met = {run.dataset for run in self.runs
               if run.error or (run.record and run.record.encounters)}
        return tuple(name for name in self.datasets if name not in met)

    @property
    def places(self) -> tuple[str, ...]:
        """The devices of the runs, as far as these are noted."""
        return tuple(dict.fromkeys(run.place for run in self.runs if run.place is not None))

    @property
    def replayed(self) -> frozenset[str]:
        """The datasets whose versions were replayed in one run."""
        return frozenset(self._replays())

    @property
    def program_runs(self) -> int:
        """The number of runs needed to run every version, without repetitions."""
        forced = {(run.dataset, *sorted(run.force.items()))
                  for run in self.runs if run.replay is None and not run.reference}
        return len(forced) + sum(max(numbers) - len(numbers) + 1  # repeated after wrong results
                                 for numbers in self._replays().values())

    def _replays(self) -> dict[str, set[int]]:
        """The numbers of the replays of each dataset."""
        numbers: dict[str, set[int]] = {}
        for run in self.runs:
            if run.replay is not None:
                numbers.setdefault(run.dataset, set()).add(run.replay)
        return numbers

    def with_further(self, further: Measurements) -> Measurements:
        """These runs and the ``further`` runs.

        The numbers of further replays continue the known numbers.
        """
        last = max((run.replay or 0 for run in self.runs), default=0)
        later = [replace(run, replay=last + run.replay) if run.replay else run
                 for run in further.runs]
        return Measurements(self.entry, [*self.runs, *later], further.interrupted, self.left_out)


def complete(runs: Sequence[LoggedRun], todo: Sequence[Mapping[str, int]], repeats: int) -> bool:
    """Test whether all runs in ``todo`` of a dataset have been made ``repeats`` times."""
    return all(any(run.error for run in own) or len(own) >= repeats for own in (
        [run for run in runs if run.force == force] for force in todo))


class RunStore(Protocol):
    """A store of runs, such as a log file."""

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        """Take out the earlier runs of a dataset, so that each is used once."""

    def append(self, entry: str, run: LoggedRun) -> None:
        """Keep one run."""

    def forget(self, entry: str, dataset: str) -> None:
        """Note that the runs of a dataset so far are not to be used."""


class Log:
    """A log in JSON lines, to which any thread appends each run as soon as it is over.

    ``made_for`` identifies the program, the device and the like.  ``place`` is the device of runs
    without one.  With ``resume``, runs in the file with equal ``made_for`` stay there, and are
    :meth:`known`.  A thread writes, since writing a long record takes as long as a run.

    The file is locked until the log is closed: two tunings that write one log are refused.
    """

    def __init__(self, path: Path, made_for: str = "", *, resume: bool = False,
                 place: str | None = None) -> None:
        self.path = path
        self._made_for = made_for
        self._place = place
        self._writer = ThreadPoolExecutor(1, "log")
        self._failure: OSError | None = None
        self._known: dict[str, Measurements] = {}
        self._rewritten = path.with_name(f"{path.name}.new")
        try:
            self._file = _locked(path)
            if resume:
                self._known, others = _read_log(path, made_for)
                if others:
                    self._replace()
                else:
                    self._end_last_line()
            else:
                self._file.truncate(0)
                self._rewritten.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None

    def _end_last_line(self) -> None:
        """Take back half a line at the end, and nothing else: a log only grows."""
        content = read_bytes(self.path)
        if not content or content.endswith(b"\n"):
            return
        last = content.rfind(b"\n") + 1
        try:
            _line(content[last:].decode())
        except (MisshapenJson, UnicodeDecodeError):
            self._file.truncate(last)
        else:
            self._file.write("\n")
            self._file.flush()

    def _replace(self) -> None:
        """Leave the known runs alone in the file, in one step: a kill at any time loses none."""
        before, rewritten = self._file, self._rewritten
        self._file = _locked(rewritten)
        self._file.truncate(0)
        for entry, measurements in self._known.items():
            for run in measurements.runs:
                self._write(entry, partial(_raw, run))
        if self._failure is not None:
            rewritten.unlink()
        self._check()
        os.replace(rewritten, self.path)
        before.close()

    def known(self, entry: str, dataset: str) -> list[LoggedRun]:
        """Take out the earlier runs of a dataset, so that each is used once."""
        measurements = self._known.get(entry, Measurements(entry))
        runs = [run for run in measurements.runs if run.dataset == dataset]
        measurements.runs = [run for run in measurements.runs if run.dataset != dataset]
        return runs

    def append(self, entry: str, run: LoggedRun) -> None:
        """Have one run written; UserError if an earlier one could not be."""
        self._begin(entry, partial(_raw, run if run.place else replace(run, place=self._place)))

    def forget(self, entry: str, dataset: str) -> None:
        """Note that runs of a dataset so far are not to be used."""
        self._begin(entry, lambda: {"dataset": dataset, FORGOTTEN: True})

    def _begin(self, entry: str, line: Callable[[], Mapping[str, Any]]) -> None:
        self._check()
        self._writer.submit(self._write, entry, line)

    def _write(self, entry: str, line: Callable[[], Mapping[str, Any]]) -> None:
        if self._failure is not None:
            return  # after half a line, whole ones would be none either
        text = json.dumps({"entry": entry, "for": self._made_for, **line()})
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except OSError as error:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise unwritable(self.path, self._failure)

    def close(self) -> None:
        """Close the file, with all runs in it; UserError if not all could be written."""
        self._writer.shutdown()
        try:
            self._file.close()
        except OSError as error:  # what was left of a line
            self._failure = self._failure or error
        self._check()


def _locked(path: Path) -> TextIO:
    """A file that no other process has open this way; UserError if one has.

    Writing begins at its end.
    """
    while True:
        file = open_to_append(path)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError:
            file.close()
            raise UserError(f"Another tuning is writing '{path}'. Wait for its end, or give this "
                            "one another file with '--output'.") from None
        except OSError as error:
            if error.errno in (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK):
                return file  # a file system without locks
            file.close()
            raise
        file.close()  # it has been replaced meanwhile


def made_for(path: Path) -> frozenset[str]:
    """The ``made_for`` of the runs in a log, as far as they are noted."""
    found = set()
    for _, line in _lines(path):
        try:
            raw = parse(line)
        except MisshapenJson:
            continue
        if isinstance(raw, dict) and isinstance(raw.get("for"), str):
            found.add(raw["for"])
    return frozenset(found) - {""}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a log: a run, or the note that runs of a dataset are forgotten."""

    entry: str
    made_for: str
    forgotten: str | None
    run: LoggedRun | None


def read_log(path: Path, made_for: str | None = None) -> dict[str, Measurements]:
    """The measurements in a log, by entry point; UserError if it is damaged.

    An unfinished last line (the tuner was killed) is left out.  So are runs ``made_for`` something
    else, if that is given.
    """
    return _read_log(path, made_for)[0]


def _read_log(path: Path, made_for: str | None) -> tuple[dict[str, Measurements], bool]:
    """The measurements, and True if there are runs made for something else."""
    found: dict[str, Measurements] = {}
    last: dict[tuple[Any, ...], Record] = {}
    names: _Names = {}
    others = False
    for number, text in _lines(path):
        try:
            line = _line(text)
            if made_for not in (None, line.made_for):
                others = True
                continue
            if line.run is not None and line.run.record is not None:
                _check_encounters(line.run.record.encounters, names, line.entry)
        except MisshapenJson as error:
            if not text.endswith("\n"):
                continue
            raise UserError(f"{path}:{number}: error[malformed-log]: not a line of a tuning log: "
                            f"{error}.") from None
        measurements = found.setdefault(line.entry, Measurements(line.entry))
        run = line.run
        if run is None:
            measurements.runs = [each for each in measurements.runs
                                 if each.dataset != line.forgotten]
            continue
        versions = run.dataset, tuple(run.force.items()), run.place
        if run.again:
            if versions not in last:
                raise UserError(f"{path}:{number}: error[malformed-log]: not a line of a tuning "
                                f"log: it repeats a run that is not before it.")
            run = replace(run, record=last[versions])
        elif run.record:
            last[versions] = run.record
        measurements.runs.append(run)
    return found, others


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; UserError if it is no text."""
    try:
        text = read_text(path)
    except UnicodeDecodeError as error:
        raise UserError(f"Cannot read '{path}': {error}.") from None
    yield from enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), start=1)


def _line(text: str) -> _Line:
    """A line whose fields have been checked; MisshapenJson if it is none of a log."""
    raw = parse(text)
    if not isinstance(raw, dict):
        raise MisshapenJson("it should be an object")
    about = {name: raw.pop(name, "") for name in ("entry", "for")}
    for name, value in about.items():
        if not isinstance(value, str):
            raise MisshapenJson("should be a text", (name,))
    if not about["entry"]:
        raise MisshapenJson("it lacks the field 'entry'")
    if raw.pop(FORGOTTEN, False):
        if not isinstance(dataset := raw.get("dataset"), str):
            raise MisshapenJson("it lacks the field 'dataset'")
        return _Line(about["entry"], about["for"], dataset, None)
    run = read(LoggedRun, raw)
    if run.record is None and run.error is None and not run.again:
        raise MisshapenJson("it has neither a record nor an error")
    return _Line(about["entry"], about["for"], None, run)


_Names: TypeAlias = dict[tuple[str, str], tuple[Set[str], Set[str]]]
"""The names of sizes and of guards by entry point and site; all encounters of a site share them."""


def _check_encounters(encounters: Sequence[Encounter], names: _Names, entry: str) -> None:
    """MisshapenJson if encounters refer to what there is not, or have other names than before."""
    numbers = {each.number for each in encounters}
    for each in encounters:
        sizes, par = names.setdefault((entry, each.site), (each.sizes.keys(), each.par.keys()))
        if sizes != each.sizes.keys() or par != each.par.keys():
            raise MisshapenJson(f"it has other sizes or guards of '{each.site[:MOST_QUOTED]}' "
                                "than the encounters before")
        versions = range(len(each.par) + 1)  # one for each guard, and one without
        if each.chosen not in versions or not each.feasible or any(
                version not in versions for version in each.feasible):
            raise MisshapenJson(f"it has a version of '{each.site[:MOST_QUOTED]}' that there is "
                                "not")
        if each.parent is not None and (each.parent not in numbers or each.parent >= each.number):
            raise MisshapenJson("it has an encounter in one that is not before it")
    if len(numbers) != len(encounters):
        raise MisshapenJson("it has two encounters with one number")


def _raw(run: LoggedRun) -> dict[str, Any]:
    """The line of a run in the log; nested values are not copied."""
    raw = {each.name: getattr(run, each.name) for each in fields(run)}
    if not run.left_out:
        del raw["left_out"]
    if run.again:
        raw["record"] = None
        return raw
    del raw["again"]
    if run.record is not None:
        raw["record"] = {name: getattr(run.record, name) for name in RECORD_FIELDS}
        raw["record"]["encounters"] = [each._asdict() for each in run.record.encounters]
    return raw
