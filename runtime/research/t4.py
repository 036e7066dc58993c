"""Measured configurations in the T4 format of auto-tuners, which Kernel Tuner writes and reads.

A T4 file is a JSON object with ``schema_version`` and ``results``.  A result has a configuration
(parameters by name), times in milliseconds, and a mark if it is valid.  The schema is version 1.0.0
of the Auto-Tuning Association.  ``metadata``, which it leaves open, has the program and device.
Times that were not taken, such as the time of compilation, are left out.

A forced version is written as the thresholds that lead to it.  Parallelism never reaches the
thresholds of the guards before it, and always reaches the threshold of its guard.  The dataset is
one more parameter.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_text
from runelift.ir.base.json_shape import LARGEST, MOST_QUOTED, MisshapenJson, parse
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.costs.log import LoggedRun, Measurements
from runelift.runtime.tuner.fit.chain_solver import NEVER
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.strategies import Search
from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning, confirm
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.tuning_file import PROGRAM, unknown_names

if TYPE_CHECKING:
    from runelift.runtime.tuner.kernel_parameters.search import Trial
    from runelift.runtime.tuner.state import State

SCHEMA = "1.0.0"
DATASET = "dataset"
"""The parameter of a configuration that says what it ran on."""
ALWAYS = 1
"""A threshold that all parallelism reaches."""
_MILLI = 1e3
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "": 1e-3}
"""Seconds by unit; without one Kernel Tuner means milliseconds."""


@dataclass(frozen=True, slots=True)
class T4Result:
    """A configuration on a dataset and its times (seconds), none if it is ``invalid``."""

    configuration: dict[str, int]
    dataset: str
    seconds: tuple[float, ...]
    invalid: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class T4Results:
    """The content of a file; ``skipped`` counts results that have no time or no whole numbers."""

    results: tuple[T4Result, ...]
    metadata: dict[str, str] = field(default_factory=dict)
    skipped: int = 0


# What was measured


def of_measurements(forest: Forest, measurements: Measurements) -> Iterator[T4Result]:
    """The runs with forced versions.  Repeated runs become one result."""
    runs: dict[tuple[str, tuple[tuple[str, int], ...]], list[LoggedRun]] = defaultdict(list)
    for run in measurements.runs:
        if not run.reference:
            runs[run.dataset, tuple(run.force.items())].append(run)
    for (dataset, force), made in runs.items():
        seconds = tuple(run.seconds for run in made if run.seconds is not None)
        yield T4Result(thresholds_of(forest, dict(force)), dataset, seconds,
                       "" if seconds else "runtime")


def thresholds_of(forest: Forest, force: Mapping[str, int]) -> dict[str, int]:
    """The thresholds that lead to forced versions."""
    return {guard.name: ALWAYS if force.get(name) == index else NEVER
            for name, site in forest.sites().items() for index, guard in enumerate(site.guards)}


def of_trials(trials: Iterable[Trial]) -> Iterator[T4Result]:
    """The settings of an operation that were tried; the same setting on a dataset together."""
    found: dict[tuple[str, tuple[tuple[str, int], ...]], list[float | None]] = defaultdict(list)
    for trial in trials:
        found[trial.dataset, tuple(trial.setting.items())].append(trial.seconds)
    for (dataset, setting), times in found.items():
        seconds = tuple(t for t in times if t is not None)
        yield T4Result(dict(setting), dataset, seconds, "" if seconds else "constraints")


# Files


def write_t4(path: Path, results: Iterable[T4Result], about: Mapping[str, str]) -> None:
    """Write a file; ``about`` is what the results hold for."""
    when = about.get("written", "")
    content = {"schema_version": SCHEMA, "metadata": dict(about),
               "results": [_written(result, when) for result in results]}
    write_atomically(path, json.dumps(content, indent=1) + "\n")


def _written(result: T4Result, when: str) -> dict[str, Any]:
    runtimes = [_MILLI * seconds for seconds in result.seconds]
    return {
        "timestamp": result.timestamp or when,
        "configuration": {**result.configuration, DATASET: result.dataset},
        "objectives": ["time"],
        "times": {"runtimes": runtimes},
        "invalidity": result.invalid or "correct",
        "correctness": 0 if result.invalid else 1,
        "measurements": [{"name": "time", "value": median(runtimes), "unit": "ms"}]
        if runtimes else []}


def read_t4(path: Path) -> T4Results:
    """The content of a file; UserError if it is no T4 file of a version that is known."""
    try:
        raw = parse(read_text(path))
        version = str(raw["schema_version"])
        results = list(raw["results"])
        found = [_read(each) for each in results]
    except MisshapenJson as error:
        raise _malformed(path, str(error)) from None
    except UnicodeDecodeError:
        raise _malformed(path, "not a text in UTF-8") from None
    except KeyError as error:
        raise _malformed(path, f"{str(error)[:MOST_QUOTED]} is missing") from None
    except (TypeError, AttributeError, ValueError):
        raise _malformed(path, "a value is of another type") from None
    if version.partition(".")[0] != SCHEMA.partition(".")[0]:
        raise _malformed(path, f"version {version[:MOST_QUOTED]} is not known, but {SCHEMA} is")
    metadata = raw.get("metadata")
    known = [result for result in found if result is not None]
    return T4Results(tuple(known), {str(k): str(v) for k, v in metadata.items()}
                     if isinstance(metadata, dict) else {}, len(found) - len(known))


def _malformed(path: Path, why: str) -> UserError:
    return UserError(f"{path}: error[malformed-results]: not results in the T4 format: {why}.")


def _read(raw: Mapping[str, Any]) -> T4Result | None:
    """A result; None if its parameters are no whole numbers or it says no time."""
    configuration = dict(raw["configuration"])
    dataset = str(configuration.pop(DATASET, ""))
    if not all(type(value) is int and abs(value) < LARGEST for value in configuration.values()):
        return None
    if raw["invalidity"] != "correct":
        return T4Result(configuration, dataset, (), str(raw["invalidity"]))
    seconds = _times(raw)
    return T4Result(configuration, dataset, seconds, timestamp=str(raw.get("timestamp", ""))
                    ) if seconds else None


def _times(raw: Mapping[str, Any]) -> tuple[float, ...]:
    """The times of a result, of single runs if it has them (seconds)."""
    runtimes = [t for t in raw["times"].get("runtimes", ()) if _is_time(t)]
    if runtimes:
        return tuple(t / _MILLI for t in runtimes)
    for each in raw.get("measurements", ()):
        scale = _UNITS.get(each.get("unit", ""))
        if each.get("name") == "time" and _is_time(each.get("value")) and scale:
            return (each["value"] * scale,)
    return ()


def _is_time(value: Any) -> bool:
    """True for a number that a time may be: neither negative, nor infinite, nor NaN."""
    return type(value) in (int, float) and 0 <= value < LARGEST


# What is best


def best_configuration(results: Iterable[T4Result]) -> dict[str, int]:
    """The configuration with the least sum of times, each relative to the best of its dataset.

    It must be valid on every dataset that any configuration is valid on; nothing if none is.
    """
    times: dict[tuple[tuple[str, int], ...], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list))
    for result in results:
        key = tuple(sorted(result.configuration.items()))
        times[key][result.dataset] += result.seconds or ((float("inf"),) if result.invalid else ())
    medians = {key: {d: median(each) for d, each in found.items()} for key, found in times.items()}
    least: dict[str, float] = {}
    for found in medians.values():
        for dataset, seconds in found.items():
            least[dataset] = min(seconds, least.get(dataset, float("inf")))
    solvable = {d: seconds for d, seconds in least.items() if seconds < float("inf")}

    def score(key: tuple[tuple[str, int], ...]) -> float:
        return sum(medians[key].get(d, float("inf")) / max(seconds, 1e-12)
                   for d, seconds in solvable.items())

    best = min(medians, key=score, default=())
    return dict(best) if solvable and score(best) < float("inf") else {}


def export_t4(path: Path, about: Mapping[str, str], state: State) -> None:
    """Write the files of ``--export-t4``."""
    write_t4(path, [result for entry in state.thresholds.entries
                       for result in of_measurements(entry.forest, entry.measurements)], about)
    for operation in (each for one in state.parameters for each in one.settled if each.trials):
        write_t4(path.with_name(f"{path.stem}.{operation.operation}{path.suffix}"),
                    of_trials(operation.trials), about)


NAME = "T4"


@dataclass(frozen=True, slots=True)
class _UsableResults:
    """The results of a file that a program can use, and the problems of all other results."""

    results: tuple[T4Result, ...]
    problems: tuple[str, ...]


def usable(program: Program, found: T4Results, device: str) -> _UsableResults:
    """The results without names that the program does not have, or that are of something else."""
    thresholds = {guard.name for guard in program.tree.guards()}
    kernels = program.kernel_parameters().keys()
    changed = found.metadata.get(PROGRAM, program.identity.program) != program.identity.program
    known = thresholds if changed else thresholds | kernels
    problems = list(_problems(found, changed, device))
    names = {name for result in found.results for name in result.configuration}
    problems += map(str, unknown_names(names - (kernels if changed else set()), known))
    results = [replace(result, configuration={
        name: value for name, value in result.configuration.items() if name in known})
        for result in found.results]
    possible = [r for r in results if r.configuration and not _obstacle(program, r.configuration)]
    if len(possible) < len(results):
        problems.append(f"{len(results) - len(possible)} configurations have nothing to set here, "
                        "or values that are not possible on this device; they are ignored.")
    return _UsableResults(tuple(possible), tuple(problems))


def _problems(found: T4Results, changed: bool, device: str) -> Iterator[str]:
    if changed:
        yield ("The program has changed since these configurations were measured, so the "
               "parameters of its kernels are ignored.")
    measured_on = found.metadata.get("device", device)
    if measured_on != device:
        yield f"The configurations were measured on another device, {measured_on}."
    if found.skipped:
        yield (f"{found.skipped} results without a time, or with values other than whole numbers, "
               "are ignored.")


def _obstacle(program: Program, configuration: Mapping[str, int]) -> str:
    return next((why for space in program.spaces()
                 if any(each.parameter.name in configuration for each in space.ranges)
                 and (why := space.obstacle(space.chosen(configuration)))), "")


def adopt(program: Program, job: TuningJob, results: Sequence[T4Result]) -> list[SearchTuning]:
    """The best configuration of each entry point, run beside the default before it is kept."""
    found = []
    for forest in program.tree.entries:
        own = [_of_entry(program, forest, result) for result in results]
        best = best_configuration(result for result in own if result.configuration)
        if not best:
            continue
        defaults = job.defaults(forest)
        each = SearchTuning(forest, defaults, Search(
            NAME, 0, {**defaults, **best}, sum(len(r.seconds) for r in own), len(own),
            sum(sum(r.seconds) for r in own), True, False, ()))
        runs = job.verify and job.datasets_of(forest.entry)
        found.append(confirm(job.on(forest), each) if runs else each)
    return found


def _of_entry(program: Program, forest: Forest, result: T4Result) -> T4Result:
    entries = {**program.kernel_parameters(), **dict.fromkeys(forest.guards(), forest.entry)}
    return replace(result, configuration={name: value for name, value
                                          in result.configuration.items()
                                          if entries.get(name) == forest.entry})
