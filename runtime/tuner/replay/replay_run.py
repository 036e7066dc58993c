"""Replay: at every encounter, all versions run one after the other on the same inputs.

Versions are functions, so running one changes nothing but the arrays that it writes in place.
These are saved before the first version and restored before the next.  The results are compared,
and the run goes on with the results of the last version.  An encounter inside of a version that
runs several times is replayed the first time only.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.codegen.plan.plan import Choose, all_steps, kernels
from runelift.ir.guards import Kind
from runelift.ir.prim import Prim
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Outcome, Run
from runelift.runtime.host import interrupts
from runelift.runtime.records.record import Record
from runelift.runtime.tuner.replay.compare_results import (
    Differences,
    VersionPair,
    computes_with_floats,
    float_inputs,
)
from runelift.runtime.tuner.replay.racing import Race, RaceState, rotated
from runelift.runtime.tuner.replay.replay_records import (
    EncounterKey,
    ExclusiveCost,
    Ledger,
    OutOfReplayMemory,
    ReplayedEncounter,
    ReplayRecord,
)
from runelift.runtime.versions.choose import Facts, LocalBytes

MOST_ATTEMPTS = 3
"""The most runs of a version until no build or inner replay disturbs its time."""
Value: TypeAlias = tuple[Any, str, tuple[int, ...] | None]
"""A result of a version: its buffer, type and shape, or a scalar without a shape."""
Saved: TypeAlias = Sequence[tuple[Buffer, Buffer]]
"""The buffers that versions write into, each with a copy from before the encounter."""


@dataclass(slots=True)
class _Attempt:
    """A run of a version at an encounter, which is ``done`` if it came to its end.

    ``occurrences`` counts the encounters of each site inside of it.  It is ``disturbed`` if
    versions were replayed there.
    """

    encounter: ReplayedEncounter
    version: int
    spent: ExclusiveCost
    occurrences: Counter[str] = field(default_factory=Counter)
    done: bool = False
    disturbed: bool = False


@dataclass(slots=True)
class _Visit:
    """The attempts at an encounter in one run of the version around it.

    ``again``: all versions have run there in an earlier run.  ``reference`` is the first version
    of this visit with its results.
    """

    encounter: ReplayedEncounter
    state: RaceState
    saved: Saved
    again: bool
    begun: bool = False
    compared: set[int] = field(default_factory=set)
    reference: tuple[int, Sequence[Value]] | None = None


class ReplayRun(Run):
    """The ``rt`` that runs all versions at every choice, one after the other."""

    copies = True

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], race: Race) -> None:
        super().__init__(executable, thresholds, {}, record=True)
        self.recorder = self.ledger = Ledger()
        self.race = race
        self.differences = Differences(self.device, self.queue, executable.watch)
        self._rounded = {choice.site: computes_with_floats(kernels([choice]))
                         for choice in executable.generated.sites}
        self.outermost: dict[EncounterKey, ReplayedEncounter] = {}
        self._occurrences: Counter[str] = Counter()
        self._attempts: list[_Attempt] = []
        self._visits: list[_Visit] = []

    def _record(self, wall: float, issue: float) -> Record | None:
        self.differences.settle()
        self.ledger.settle()
        return None

    # What the plan calls

    def replays(self, number: int, pars: tuple[int, ...], facts: Facts,
                local: LocalBytes, sizes: dict[str, int], changed: tuple[Any, ...]
                ) -> Iterator[int]:
        """The versions of a site to run; each finds the memory as it was before the first."""
        with self.ledger.untimed():
            order = self.chooser.timed(number, self.chooser.small_enough(
                number, pars, sizes, self.chooser.order(number, pars, facts, local)))
            if not order:
                self.none_left(number)
            encounter = self._encounter(number, pars, facts, order, sizes)
            state = self.race.state(encounter.site, pars, encounter.feasible)
            again = bool(encounter.attempts)
            visit = _Visit(encounter, state, () if again else self._save(changed), again)
            self._visits.append(visit)
            agenda = iter([min(encounter.attempts, key=lambda version: state.ratios.get(
                version, math.inf))]) if again else self._all(
                    encounter, state, pars, self.chooser.predicted(number, facts))
            for attempt in self._attempts:
                attempt.disturbed |= not again
            ended = False
            for version in agenda:
                ended = yield from self._attempted(visit, version)
            self._visits.pop()
            if not encounter.attempts:
                self.none_left(number)
            if not ended:  # the last one could not run
                self._visits.append(visit)
                ended = yield from self._attempted(visit, next(iter(encounter.attempts)))
                self._visits.pop()
            if not ended:
                raise OutOfReplayMemory("a version could run only once")

    def leave_replayed(self, number: int, results: Sequence[Value]) -> None:
        """Note that a version has been issued, and compare its results."""
        attempt = self._attempts.pop()
        attempt.done = True
        self.ledger.finish()
        visit = self._visits[-1]
        if not (visit.again or attempt.version in visit.compared):
            visit.compared.add(attempt.version)
            self._compare(visit, attempt.version, results)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Exclude a version that could not run."""
        attempt = self._attempts.pop()
        if isinstance(reason, OutOfMemory):
            raise OutOfReplayMemory(str(reason))  # maybe because of the copies
        super().abandon(number, version, reason)
        attempt.encounter.fail(version)

    @staticmethod
    def either(filled: tuple[Buffer | None, ...], now: tuple[Buffer | None, ...]
               ) -> tuple[Buffer | None, ...]:
        """The buffers that one of the versions has filled."""
        return tuple(a if a is not None else b for a, b in zip(filled, now, strict=True))

    # Encounters

    def _encounter(self, number: int, pars: tuple[int, ...],
                   facts: Facts, order: Sequence[int],
                   sizes: Mapping[str, int]) -> ReplayedEncounter:
        """The encounter of this place and sizes, which may have been replayed before."""
        site, sizes, par, scarce = self.kind_of_encounter(
            number, pars, facts, sizes, order)
        occurrences, encounters = self._occurrences, self.outermost
        if self._attempts:
            around = self._attempts[-1]
            occurrences = around.occurrences
            encounters = around.encounter.inside.setdefault(around.version, {})
        key = site, occurrences[site], tuple(sorted(sizes.items()))
        occurrences[site] += 1
        if key not in encounters:
            encounters[key] = ReplayedEncounter(site, sizes, par, scarce, order[0], sorted(order))
        return encounters[key]

    def _all(self, encounter: ReplayedEncounter, state: RaceState,
             pars: Sequence[int], predicted: Sequence[float]) -> Iterator[int]:
        """The versions to run at an encounter that is new.

        The default comes first, since its time limits the other versions.  The versions that are
        predicted to take least come next.
        """
        running = [k for k in encounter.feasible if not self.race.excludes(f"{encounter.site}/{k}")]
        if not state.encounters:
            running.sort(key=lambda k: (k != encounter.default, predicted[k], -k))
        state.encounters += 1
        left = state.left(1.0 if self.race.late else self.race.factor)
        if self.race.late and not left:  # nothing is known, and there is no time to find out
            yield encounter.default
            return
        if left and (self.race.late or self.race.repeated or not state.due):
            yield from rotated([k for k in running if k in left], state.encounters)
            if state.best in encounter.attempts:
                encounter.rival = state.best
                encounter.ratios = {k: state.behind(k) for k in running
                                  if k not in left and k in state.ratios}
                return
            running = [k for k in running if k not in left]
        lost = self.race.far_behind(encounter.site, pars, encounter.feasible)
        lost.pop(encounter.default, None)  # runs without a record are compared with it
        yield from self._rounds(encounter, state, [k for k in running if k not in lost], lost)
        if state.best in encounter.attempts:
            encounter.rival = state.best
            encounter.ratios |= {k: state.behind(k) for k in lost if k not in encounter.attempts}

    def _rounds(self, encounter: ReplayedEncounter, state: RaceState, running: Sequence[int],
                lost: Mapping[int, float]) -> Iterator[int]:
        """All versions, then only the versions that stay in the race."""
        started = time.perf_counter()
        for turn in range(self.race.rounds if state.encounters == 1 else 1):
            for version in rotated([k for k in running if k in encounter.feasible],
                                   state.encounters - 1 + turn):
                if not self._hopeless(encounter, version):
                    yield version
            self.queue.finish()
            self.ledger.settle()
            if encounter.attempts:
                state.saw({k: encounter.quickest(k) for k in encounter.attempts})
                state.presume(lost)
            # One slow attempt may be chance.
            left = state.left(self.race.factor if turn else self.race.factor ** 2)
            running = [k for k in running if k in left]
            if self.race.late or time.perf_counter() - started > self.race.patience:
                break

    def _hopeless(self, encounter: ReplayedEncounter, version: int) -> bool:
        """Test whether a version that has not run yet would take far too long."""
        name, par = f"{encounter.site}/{version}", self._points(encounter, version)
        if not encounter.attempts or version in encounter.attempts or par is None:
            return False
        why = self.race.estimates.hopeless(name, par, self._quickest(encounter))
        if why is not None:
            self.race.stopped[name] = why
        return why is not None

    def _points(self, encounter: ReplayedEncounter, version: int) -> int | None:
        """The work-items of an outer version; None at sites with several encounters."""
        if encounter.site not in self.race.single:
            return None
        (choice,) = (each for each in self.executable.generated.sites
                     if each.site == encounter.site)
        guard = choice.versions[version].guard
        return encounter.par[guard.name] if guard and guard.kind is Kind.OUTER else None

    def _quickest(self, encounter: ReplayedEncounter) -> float:
        """The seconds of the version that was the fastest here so far."""
        self.queue.finish()
        self.ledger.settle()
        return min(encounter.quickest(k) for k in encounter.attempts)

    def _begun(self) -> tuple[float, int]:
        """The seconds of builds and the number of first launches so far."""
        return self.executable.build_seconds, self.first_launches

    def _attempted(self, visit: _Visit, version: int) -> Generator[int, None, bool]:
        """Run a version, again if it was disturbed or built kernels; False if it cannot run."""
        encounter = visit.encounter
        for _ in range(MOST_ATTEMPTS):
            interrupts.check()
            if visit.begun:
                for buffer, copy in visit.saved:
                    self.copy(buffer, copy, buffer.size)
            visit.begun = True
            fresh = self._announced(visit, version)
            if self.ledger.waits:  # then the device has nothing to do when a version begins
                self.queue.finish()
            before = self._begun()
            attempt = _Attempt(encounter, version, self.ledger.begin())
            self._attempts.append(attempt)
            yield version
            if fresh:
                self.queue.finish()
                self.race.watch(None, None, None)
            if not attempt.done and visit.again:
                raise OutOfReplayMemory("a version could run only once")
            if not attempt.done:
                return False
            if visit.again or not (attempt.disturbed or self._begun() != before):
                break
        encounter.attempts.setdefault(version, []).append(attempt.spent)
        if fresh and (par := self._points(encounter, version)) is not None:
            self.ledger.settle()
            self.race.estimates.saw(f"{encounter.site}/{version}", par, encounter.quickest(version),
                                  self._quickest(encounter))
        if fresh and encounter.site in self.race.single:
            self.ledger.settle()
            self.race.estimates.saw_lone_seconds(encounter.site,
                                                  encounter.cost(version).lone_seconds)
        return True

    def _announced(self, visit: _Visit, version: int) -> bool:
        """Announce a version that may take very long to the watch; False for other versions.

        The device has nothing else to do then, so a long time is that of the version.
        """
        encounter = visit.encounter
        if visit.again or version in visit.state.ratios or version in encounter.attempts:
            self.race.beat()
            return False
        self.queue.finish()
        self.race.watch(f"{encounter.site}/{version}",
                        self._quickest(encounter) if encounter.attempts else None,
                        self._points(encounter, version))
        return True

    # Memory

    def _save(self, changed: Sequence[Any]) -> Saved:
        """Copies of the buffers among these values."""
        buffers = {id(each.handle): each for each in changed if isinstance(each, Buffer)}
        return [(buffer, self.copied(buffer)) for buffer in buffers.values()]

    def copied(self, buffer: Buffer) -> Buffer:
        """A copy of a whole buffer; OutOfReplayMemory if there is too little memory."""
        try:
            return super().copied(buffer)
        except OutOfMemory as error:
            raise OutOfReplayMemory(str(error)) from None

    def _compare(self, visit: _Visit, version: int, results: Sequence[Value]) -> None:
        if visit.reference is None:
            written = {id(buffer.handle) for buffer, _ in visit.saved}
            visit.reference = version, [
                (self.copied(value) if isinstance(value, Buffer) and id(value.handle) in written
                 else value, prim, shape) for value, prim, shape in results]
            return
        first, reference = visit.reference
        pair = VersionPair(visit.encounter.site, min(first, version), max(first, version))
        rounded = self._rounded[visit.encounter.site]
        for (one, prim, shape), (other, _, _) in zip(reference, results, strict=True):
            if shape is None:
                self.differences.scalars(pair, Prim(prim), one, other, rounded=rounded)
            elif isinstance(one, Buffer) and isinstance(other, Buffer):
                self.differences.arrays(pair, Prim(prim), one, other, math.prod(shape),
                                        rounded=rounded)


def replay(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
           race: Race) -> tuple[Outcome, ReplayRecord]:
    """Run a plan with all versions; :class:`OutOfReplayMemory` if there is too little memory.

    Versions whose results differ from the results of the other versions are banned from the race.
    """
    run = ReplayRun(executable, thresholds, race)
    run.differences.take_inputs(*float_inputs(executable.plan, args))
    outcome = run.call(executable.forms.replaying, args)
    banned = wrong_versions(executable.generated.sites, run.differences.differing,
                            run.differences.agreeing, _defaults(run.outermost.values()))
    race.banned.update(banned)
    return outcome, ReplayRecord(
        executable.plan.entry, run.ledger.rest, tuple(run.outermost.values()), run.peak_bytes,
        run.device.info.label, dict(run.infeasible), banned)


def _defaults(encounters: Iterable[ReplayedEncounter]) -> set[str]:
    """The versions that run without tuning at some encounter, ``site/index``."""
    found = set[str]()
    for each in encounters:
        found.add(f"{each.site}/{each.default}")
        for version, inside in each.inside.items():
            if version == each.default:
                found |= _defaults(inside.values())
    return found


def wrong_versions(sites: Sequence[Choose], differing: Mapping[VersionPair, str],
                   agreeing: Mapping[VersionPair, int], defaults: Set[str] = frozenset()
                   ) -> dict[str, str]:
    """The versions that cause differences, ``site/index``, and the differences in words.

    The version that differs from most other versions is the cause.  Among equals it is the version
    that agrees with fewer versions, then the version that comes first.  A version around another
    cause is none.  A version that runs by ``defaults`` is none either, if the other version does
    not run by them.
    """
    found: dict[str, str] = {}
    for choice in reversed(sites):  # those inside of others come first
        partners: dict[int, dict[int, str]] = defaultdict(dict)
        for pair, how in differing.items():
            if pair.site == choice.site:
                partners[pair.one][pair.other] = partners[pair.other][pair.one] = how
        agrees: Counter[int] = Counter()
        for pair in agreeing.keys() - differing.keys():
            if pair.site == choice.site:
                agrees.update([pair.one, pair.other])
        for version in list(partners):
            if any(name.rpartition("/")[0] in _inside(choice, version) for name in found):
                _drop(partners, version)
        while any(partners.values()):
            worst = min((version for version, others in partners.items() if others),
                        key=lambda version: (f"{choice.site}/{version}" in defaults,
                                             -len(partners[version]), agrees[version], version))
            other, how = next(iter(partners[worst].items()))
            found[f"{choice.site}/{worst}"] = (
                f"its results differ from those of version {choice.site}/{other}: {how}")
            _drop(partners, worst)
    return found


def _drop(partners: dict[int, dict[int, str]], version: int) -> None:
    for other in partners.pop(version):
        partners[other].pop(version, None)


def _inside(choice: Choose, version: int) -> set[str]:
    return {step.site for step in all_steps(choice.versions[version].steps)
            if isinstance(step, Choose)}
