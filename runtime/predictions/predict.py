"""Predictions of whole calls: all versions at every choice, on any device that has a profile.

Nothing is built or run.  Each choice goes on with the version that would run there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from runelift.codegen.cost.totals import ENTRY, Work
from runelift.codegen.plan.plan import DEVICE_SIZES, parameters
from runelift.ir.guards import Kind
from runelift.runtime.cost.model import LaunchTime
from runelift.runtime.cost.predictor import Predictor
from runelift.runtime.data.outline import outline
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.known_lengths import KnownLengths, without_memory
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.versions.choose import (
    Facts,
    KnownChoices,
    LocalBytes,
    VersionChooser,
)
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import ways_to_versions


@dataclass(frozen=True, slots=True)
class Totals:
    """The predicted cost of several launches.

    ``bytes`` move between memory and chip, as estimated.  ``longest`` are the steps of the
    work-item that has most.  Of ``unknown`` launches, and choices, the program computes the sizes:
    only the start of each counts.  Of ``loops`` it computes the length, as of recursions: one
    iteration counts, or one call.  ``start``, ``memory``, ``arithmetic``, ``atomics``, ``chain``
    and ``host`` are the parts of the time in seconds, which overlap within a launch.
    """

    seconds: float = 0.0
    launches: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0
    start: float = 0.0
    memory: float = 0.0
    arithmetic: float = 0.0
    atomics: float = 0.0
    chain: float = 0.0
    host: float = 0.0
    longest: float = 0.0
    unknown: float = 0.0
    loops: float = 0.0

    @property
    def partial(self) -> bool:
        """True if something counts less than it will cost."""
        return bool(self.unknown or self.loops)

    def __add__(self, other: Totals) -> Totals:
        sums = [a + b for a, b in zip(astuple(self), astuple(other), strict=True)]
        return replace(Totals(*sums), longest=max(self.longest, other.longest))

    def since(self, before: Totals, factor: float) -> Totals:
        """These totals, with all that was added after ``before`` taken ``factor`` times."""
        sums = [a + (b - a) * factor
                for a, b in zip(astuple(before), astuple(self), strict=True)]
        return replace(Totals(*sums), longest=max(before.longest, self.longest))

    @property
    def bound(self) -> str:
        """The part of the time that is largest."""
        return max(BOUNDS, key=lambda name: getattr(self, name))


BOUNDS = {"start": "launches", "memory": "memory", "arithmetic": "arithmetic",
          "atomics": "atomics", "chain": "longest work-item", "host": "waits of the host"}
"""The parts of a predicted time, in words."""


@dataclass(frozen=True, slots=True)
class PredictedVersion:
    """A version at a choice; without ``totals`` it cannot run, and ``obstacle`` says why."""

    number: int
    kind: Kind
    totals: Totals | None
    obstacle: str = ""

    @property
    def seconds(self) -> float:
        """The predicted time; infinite for a version that cannot run."""
        return math.inf if self.totals is None else self.totals.seconds


@dataclass(frozen=True, slots=True)
class PredictedChoice:
    """A choice at some sizes, its versions, and the number of the one that runs.

    ``pars`` are what the guards of the versions compare.
    """

    site: str
    sizes: Mapping[str, int]
    pars: tuple[int, ...]
    versions: tuple[PredictedVersion, ...]
    chosen: int

    @property
    def best(self) -> PredictedVersion:
        """The version that is predicted to take least."""
        return min(self.versions, key=lambda version: version.seconds)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted cost of a call, and its choices in the order in which they are met.

    At ``unknown`` sites the program computes the sizes that decide.
    """

    totals: Totals
    choices: tuple[PredictedChoice, ...]
    unknown: frozenset[str] = frozenset()


def predict(executable: Executable, args: Mapping[str, Any],
            thresholds: Mapping[str, int] | None = None, force: Mapping[str, int] | None = None
            ) -> Prediction:
    """The cost of a call with bound arguments, of which sizes, scalars and known lengths count.

    ``force`` are versions by site, which run whatever their guards say.
    """
    return _Tracing(executable, thresholds or {}, force or {}).call(args)


def predicted_seconds(executable: Executable, args: Mapping[str, Any],
                      thresholds: Mapping[str, int], force: Mapping[str, int]) -> float:
    """The seconds of a call, as :func:`predict` has it; infinite if no version can run."""
    found = _totals(executable, args, thresholds, force)
    return math.inf if found is None else found.seconds


def _totals(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Mapping[str, int]) -> Totals | None:
    """The cost of a call; None if no version can run."""
    try:
        return predict(executable, args, thresholds, force).totals
    except (Infeasible, ZeroDivisionError, OverflowError):
        return None


def seconds_of_call(program: LoadedProgram, entry: str, args: Sequence[Any]) -> float:
    """The seconds of a call without thresholds, as :func:`predict_call` has it; or infinite."""
    return predicted_seconds(program.executable(entry), _bound(program, entry, args), {}, {})


def predict_call(program: LoadedProgram, entry: str, args: Sequence[Any],
                 thresholds: Mapping[str, int] | None = None,
                 force: Mapping[str, int] | None = None) -> Prediction:
    """As :func:`predict`, of a call with these arguments.

    Arrays need no elements; where lengths of segments have elements, their facts decide.
    """
    return predict(program.executable(entry), _bound(program, entry, args), thresholds, force)


def outlined(program: LoadedProgram, entry: str, args: Sequence[Any]) -> list[Any]:
    """Arguments without elements, but for the lengths that decide."""
    known = program.executable(entry).given_lengths
    return outline(args, {number for number, spec in enumerate(program.interface(entry).params)
                          if spec.name in known})


def _bound(program: LoadedProgram, entry: str, args: Sequence[Any]) -> dict[str, Any]:
    """The arguments by name, with buffers that have no memory."""
    return without_memory(program.executable(entry), args, program.bind)


def predict_versions(program: LoadedProgram, forest: Forest, args: Sequence[Any]
                     ) -> dict[tuple[str, int] | None, Totals | None]:
    """The cost of a call with each version, by site and index; None if it cannot run.

    The key None has the cost of a call with the versions that run by default.
    """
    about = program.executable(forest.entry), _bound(program, forest.entry, args), dict[str, int]()
    return {None: _totals(*about, {}), **{
        (site, index): _totals(*about, way)
        for site, index, way in ways_to_versions(forest.trees)}}


class _Tracing(Predictor):
    """A predictor that keeps what it predicts of each version; ``seconds`` are totals."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int],
                 force: Mapping[str, int]) -> None:
        device, base = executable.device, executable.predictor
        super().__init__(executable.generated.sites, base.formulas, device.info,
                         executable.geometry, base.costs)
        self.functions = base.functions  # type: ignore[method-assign]
        self._plan, self._executable = executable.plan, executable
        self._settings = executable.decisions.under(thresholds, {}).settings
        self._met: dict[tuple[Any, ...], PredictedChoice] = {}
        self._unseen = set[str]()
        self._chooser = VersionChooser(self._sites, device.info, thresholds, force, KnownChoices(),
                                       dict(executable.infeasible), base)

    def call(self, args: Mapping[str, Any]) -> Prediction:
        lengths = frozenset(name for name in self._executable.given_lengths
                            if isinstance(args[str(name)].handle, KnownLengths))
        function, facts = self._executable.whole_cost(lengths)
        known = {**args, **{str(name): args[str(name)].handle for name in lengths}}
        known |= {str(name): getattr(self, name.base) for name in DEVICE_SIZES}
        known |= {str(each.variable): value for each, value in zip(
            parameters(self._plan.steps), self._settings, strict=True)}
        self.seconds = Totals()
        function(self, *(known[str(name)] for name in facts))
        return Prediction(self.seconds, tuple(self._met.values()),
                          frozenset(self._unseen & self._numbers.keys()))

    def _add(self, totals: Totals) -> None:
        self.seconds += totals

    def launched(self, work: Work, time: LaunchTime) -> None:
        self._add(Totals(
            time.seconds, 1.0, work.distinct, work.operations + work.doubles + work.special,
            time.start, time.memory, time.arithmetic, time.atomics, time.chain,
            longest=work.steps * max(work.uneven, 1.0)))

    def unseen(self, name: str) -> None:
        """Add a launch, or a choice, whose size is unknown."""
        self._unseen.add(name)
        self._add(Totals(self.costs.launch, 1.0, start=self.costs.launch, unknown=1.0))

    def once(self) -> None:
        self._add(Totals(loops=1.0))

    def copy(self, size: int) -> None:
        memory = 2 * size / self.costs.bandwidth
        self._add(Totals(self.costs.launch + memory, 1.0, 2 * size, start=self.costs.launch,
                         memory=memory))

    def wait(self) -> None:
        """Add a wait of the host for a value of the device."""
        self._add(Totals(self.costs.wait, host=self.costs.wait))

    def scale(self, before: Totals, factor: float) -> None:
        """Multiply what has been added since it was ``before``."""
        self.seconds = self.seconds.since(before, factor)

    def repeat(self, before: Totals, count: int, steady: bool) -> None:
        """Repeat what has been added since, for all iterations of a loop."""
        once = self.seconds.seconds - before.seconds
        merged = self.repeated(once, steady, count)
        every = self.seconds.since(before, count)
        self.seconds = replace(every, seconds=before.seconds + merged * count)

    def choice(self, site: str, pars: tuple[int, ...], facts: Facts, local: LocalBytes,
               sizes: Mapping[str, int]) -> None:
        """Add what the version costs that runs at a choice."""
        number = self._numbers[site]
        key = number, facts, local
        if key not in self._met:
            before = self.seconds
            versions = tuple(self._version(number, k, facts, local)
                             for k in range(len(self._sites[number].versions)))
            order = self._chooser.order(number, pars, facts, local)
            self._met[key] = PredictedChoice(site, dict(sizes), pars, versions,
                                             order[0] if order else -1)
            self.seconds = before
        choice = self._met[key]
        totals = choice.versions[choice.chosen].totals if choice.chosen >= 0 else None
        if totals is None:
            raise Infeasible(f"no version of {site} can run")
        self._add(totals)

    def _version(self, number: int, k: int, facts: Facts, local: LocalBytes
                 ) -> PredictedVersion:
        site = self._sites[number]
        kind = site.versions[k].kind
        if (obstacle := self._chooser.unable(number, k, local[k])) is not None:
            return PredictedVersion(k, kind, None, obstacle)
        self.seconds = Totals()
        try:
            self.functions(number)[f"{ENTRY}_{k}"](self, *facts)
        except (Infeasible, ZeroDivisionError, OverflowError) as error:
            return PredictedVersion(k, kind, None, str(error).splitlines()[0])
        return PredictedVersion(k, kind, self.seconds)
