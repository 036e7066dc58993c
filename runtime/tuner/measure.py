"""Measuring every version of a program on every dataset.

Each run forces one version at every site at once (see :func:`runelift.runtime.tuner.forest.plans`),
so a dataset needs as many runs as the largest tree has leaf versions.  The runs are repeated in
turn (A B C A B C), so that a drift of the clock frequency meets all versions alike; short ones
more often.

Recording costs time: a launch with profiling takes the host twice as long on some devices, and
loops do not run as persistent kernels.  So each run is made twice, with and without a record,
and the record is corrected by the difference (:meth:`~.records.Record.without_recording`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from runelift.ir.errors import CompilerLimitation, UserError
from runelift.runtime.records import Encounter, Record, Timing
from runelift.runtime.tuner.forest import Forest, plans

PATIENCE = 2.0
"""A run that takes longer than this many seconds is measured once only."""
SHORT = 0.02
"""Runs that take fewer seconds are repeated more often: they are the ones that noise distorts."""
MORE = 5
"""How many times more often."""
FAR = 3.0
"""Runs that take so many times as long as the quickest are not."""


Args: TypeAlias = Sequence[Any]
"""The arguments of an entry point."""


class Measurable(Protocol):
    """A program that runs with chosen versions and says what that cost.

    ``force`` maps sites to the index of the version to run, where that is feasible; elsewhere
    ``thresholds`` decide, where they name a guard, and its default otherwise.
    """

    def place(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments where runs find them at no cost."""
        ...

    def record(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Record:
        """The record of a run of ``entry``."""
        ...

    def time(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        """The seconds that a run takes without a record."""
        ...

    def timing(self, entry: str, args: Sequence[Any], *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        """The same, and the part of it that the host needed to issue all commands."""
        ...


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named input of an entry point, made when it is needed."""

    name: str
    entry: str
    arguments: Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run with forced versions: its record, or the error that it ended in.

    ``time`` is how many seconds the same run took without recording, ``issue`` how many of them
    the host needed to issue all commands.  ``replay`` is the number of the dataset's run that it
    is a part of (:mod:`.replay`), if it was not one of its own.
    """

    dataset: str
    force: dict[str, int]
    record: Record | None
    error: str | None = None
    time: float | None = None
    issue: float | None = None
    replay: int | None = None


@dataclass(slots=True)
class Measurements:
    """All runs of one entry point; ``interrupted`` if there should have been more.

    There was no time left for the datasets ``left_out``.
    """

    entry: str
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False
    left_out: list[str] = field(default_factory=list)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets that were run, in order."""
        return tuple(dict.fromkeys(run.dataset for run in self.runs))

    @property
    def replayed(self) -> frozenset[str]:
        """The datasets whose versions were replayed in one run."""
        return frozenset(self._replays())

    @property
    def program_runs(self) -> int:
        """The runs that were needed to see every version, repetitions not counted."""
        forced = {(run.dataset, *sorted(run.force.items()))
                  for run in self.runs if run.replay is None}
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


class Log:
    """A JSON-lines file that every run is appended to as soon as it is over.

    ``made_for`` says what the runs are of: the program, the device and the like.  With ``resume``
    runs of the same that are in the file stay there, and are :meth:`known`.
    """

    def __init__(self, path: Path, made_for: str = "", *, resume: bool = False) -> None:
        self.path = path
        self._made_for = made_for
        self._known = read_log(path, made_for) if resume and path.exists() else {}
        try:
            self._file = path.open("w")
        except OSError as error:
            raise UserError(f"Cannot write '{path}': {error.strerror}.") from None
        for entry, measurements in self._known.items():
            for run in measurements.runs:
                self.append(entry, run)

    def known(self, entry: str, dataset: str, repeats: int, todo: Sequence[Mapping[str, int]]
              ) -> list[Run]:
        """The runs of a dataset from before, if every plan has been run often enough.

        They are known once: whoever asks again wants others.
        """
        measurements = self._known.get(entry, Measurements(entry))
        runs = [run for run in measurements.runs if run.dataset == dataset]
        measurements.runs = [run for run in measurements.runs if run.dataset != dataset]
        complete = all(any(run.error for run in own) or len(own) >= repeats for own in (
            [run for run in runs if run.force == force] for force in todo))
        return runs if complete else []

    def append(self, entry: str, run: Run) -> None:
        """Write one run and make sure that it is on disk."""
        self._file.write(json.dumps({"entry": entry, "for": self._made_for, **asdict(run)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


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
    try:
        lines = path.read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read '{path}': {error}.") from None
    for number, line in enumerate(lines, start=1):
        try:
            raw = json.loads(line)
            if made_for not in (None, raw.get("for")):
                continue
            record = raw["record"] and _record(raw["record"])
            run = Run(raw["dataset"], raw["force"], record, raw["error"], raw.get("time"),
                      raw.get("issue"), raw.get("replay"))
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


class Method(Protocol):
    """A way to find out what every version costs; runs are repeated ``repeats`` times if asked."""

    repeats: ClassVar[int]

    def runs(self, forest: Forest) -> int:
        """How many runs of a dataset it needs, repetitions not counted."""
        ...

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int, log: Log | None, progress: Callable[[Progress], None]
                ) -> Measurements:
        """The records of all plans on every dataset."""
        ...

    def surely(self) -> Method:
        """The same, but that all is measured and nothing is estimated."""
        ...


@dataclass(frozen=True, slots=True)
class Forced:
    """Measures by runs with forced versions."""

    repeats: ClassVar[int] = 3

    def runs(self, forest: Forest) -> int:
        """One for each plan."""
        return len(plans(forest))

    def measure(self, program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
                repeats: int = 3, log: Log | None = None,
                progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
        """See :func:`measure`."""
        return measure(program, forest, datasets, repeats=repeats, log=log, progress=progress)

    def surely(self) -> Forced:
        """There are no estimates."""
        return self


def measure(program: Measurable, forest: Forest, datasets: Sequence[Dataset], *,
            repeats: int = 3, log: Log | None = None,
            progress: Callable[[Progress], None] = lambda _: None) -> Measurements:
    """Run every plan on every dataset, once to warm up and then at least ``repeats`` times.

    Short runs are repeated :data:`MORE` times as often, which ``progress`` does not count.  An
    interruption (Ctrl-C) ends the measuring, and what has been measured is returned.
    """
    result = Measurements(forest.entry)
    todo = plans(forest)
    counted = len(todo) * repeats
    try:
        for index, dataset in enumerate(datasets):
            known = log.known(forest.entry, dataset.name, repeats, todo) if log else []
            result.runs += known
            runs = iter(()) if known else forced_runs(program, dataset, todo, repeats)
            for number, run in enumerate(runs, start=1):
                result.runs.append(run)
                if log:
                    log.append(forest.entry, run)
                progress(Progress(dataset.name, index * counted + min(number, counted),
                                  len(datasets) * counted))
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def forced_runs(program: Measurable, dataset: Dataset, todo: Sequence[dict[str, int]],
                repeats: int) -> Iterator[Run]:
    """Runs of every plan, in turn; short ones are repeated more often, unless they are far off."""
    values = dataset.arguments()
    try:
        args = program.place(values)
    except UserError as error:  # it does not fit on the device
        yield from (Run(dataset.name, force, None, str(error)) for force in todo)
        return
    walls: dict[int, float] = {}
    for number, force in enumerate(todo):
        warm_up = _run(program, dataset, args, force)
        if warm_up.record is None:
            yield warm_up
        else:
            walls[number] = warm_up.record.wall
    for repeat in range(MORE * repeats):
        far = FAR * min(walls.values(), default=0.0)
        for number, wall in walls.items():
            if repeat == 0 or wall < (PATIENCE if repeat < repeats else min(SHORT, far)):
                run = _run(program, dataset, args, todo[number])
                if run.record is not None:
                    walls[number] = run.record.wall
                yield run


def _run(program: Measurable, dataset: Dataset, args: Args, force: dict[str, int]) -> Run:
    try:
        record = program.record(dataset.entry, args, force=force)
        seconds, issue = program.timing(dataset.entry, args, force=force)
    except (UserError, CompilerLimitation) as error:
        return Run(dataset.name, force, None, str(error))
    return Run(dataset.name, force, record, time=seconds, issue=issue)
