"""Adopting the results of another tuner: stale results are reported, usable results run first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from runelift.runtime.geometry.parameter_space import ParameterSpace
from runelift.runtime.research.t4 import T4Result, T4Results, best_configuration
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.strategies import Search
from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning, confirm
from runelift.runtime.versions.forest import Forest, Forests
from runelift.runtime.versions.tuning_file import PROGRAM, Identity, unknown_names

NAME = "T4"


class _T4Target(Protocol):
    """A program that knows its thresholds and the parameters of its kernels."""

    @property
    def tree(self) -> Forests:
        ...

    @property
    def identity(self) -> Identity:
        """The program and device that parameters of kernels hold for."""

    def kernel_parameters(self) -> dict[str, str]:
        """The names of parameters, with their entry points."""

    def spaces(self, entry: str | None = None) -> list[ParameterSpace]:
        ...


@dataclass(frozen=True, slots=True)
class _UsableResults:
    """The results of a file that a program can use, and the problems of all other results."""

    results: tuple[T4Result, ...]
    problems: tuple[str, ...]


def usable(program: _T4Target, found: T4Results, device: str) -> _UsableResults:
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


def _obstacle(program: _T4Target, configuration: Mapping[str, int]) -> str:
    return next((why for space in program.spaces()
                 if any(each.parameter.name in configuration for each in space.ranges)
                 and (why := space.obstacle(space.chosen(configuration)))), "")


def adopt(program: _T4Target, job: TuningJob, results: Sequence[T4Result]) -> list[SearchTuning]:
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


def _of_entry(program: _T4Target, forest: Forest, result: T4Result) -> T4Result:
    entries = {**program.kernel_parameters(), **dict.fromkeys(forest.guards(), forest.entry)}
    return replace(result, configuration={name: value for name, value
                                          in result.configuration.items()
                                          if entries.get(name) == forest.entry})
