"""Replaying: at every encounter, all versions run one after the other on the same inputs.

Versions are functions, so running another one changes nothing but what they write in place; that
is saved before the first of them and put back before the next.  Their results are compared, and
those of the last one are used.  An encounter inside of a version that runs several times is only
replayed the first time.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.codegen.plan.plan import Choose, Plan, all_steps, kernels
from runelift.ir.guards import Kind
from runelift.ir.prim import Prim
from runelift.ir.types import Const
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Outcome, Run
from runelift.runtime.host import interrupts
from runelift.runtime.records.record import Record
from runelift.runtime.replay.compare_results import Differences, VersionPair
from runelift.runtime.replay.racing import Race, RaceState, rotated
from runelift.runtime.replay.replay_records import (
    ExclusiveCost,
    Key,
    Ledger,
    OutOfReplayMemory,
    ReplayedEncounter,
    ReplayRecord,
)
from runelift.runtime.versions.default_guards import Occupancy

ATTEMPTS = 3
"""How often a version is run at most until nothing disturbs its time any more."""
Value: TypeAlias = tuple[Any, str, tuple[int, ...] | None]
"""A result of a version: its buffer, type and shape, or a scalar without a shape."""
Saved: TypeAlias = Sequence[tuple[Buffer, Buffer]]
"""The memory from before an encounter that versions write into, each with its copy."""


@dataclass(slots=True)
class _Attempt:
    """A version under way: how often it has met each site, and whether it came to its end.

    It is ``disturbed`` where versions were replayed inside of it.
    """

    meeting: ReplayedEncounter
    version: int
    spent: ExclusiveCost
    met: Counter[str] = field(default_factory=Counter)
    done: bool = False
    disturbed: bool = False


@dataclass(slots=True)
class _Visit:
    """The attempts at an encounter on one way through the code around it.

    ``again``: all versions have run there on an earlier way.  ``reference`` has the results of the
    first of them.
    """

    meeting: ReplayedEncounter
    state: RaceState
    saved: Saved
    again: bool
    begun: bool = False
    compared: set[int] = field(default_factory=set)
    reference: tuple[int, Sequence[Value]] | None = None


class ReplayRun(Run):
    """The ``rt`` that runs all versions at every choice, one after the other."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], race: Race) -> None:
        super().__init__(executable, thresholds, {}, record=True)
        self.recorder = self.ledger = Ledger()
        self.race = race
        self.differences = Differences(self.device, self.queue)
        self._rounded = {choice.site: _computes_with_floats(choice)
                         for choice in executable.generated.sites}
        self.meetings: dict[Key, ReplayedEncounter] = {}
        self._met: Counter[str] = Counter()
        self._attempts: list[_Attempt] = []
        self._visits: list[_Visit] = []

    def _record(self, wall: float, issue: float) -> Record | None:
        self.differences.settle()
        self.ledger.settle()
        return None

    # What the plan calls

    def replays(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                local: tuple[int, ...], sizes: dict[str, int], changed: tuple[Any, ...]
                ) -> Iterator[int]:
        """The versions of a site to run; each finds the memory as it was before the first."""
        with self.ledger.untimed():
            order = self.chooser.order(number, pars, crowds, local)
            if not order:
                self.none_left(number)
            meeting = self._meet(number, pars, crowds, order, sizes)
            state = self.race.state(meeting.site, pars, meeting.feasible)
            again = bool(meeting.attempts)
            visit = _Visit(meeting, state, () if again else self._save(changed), again)
            self._visits.append(visit)
            agenda = self._once(meeting, state) if again else self._all(meeting, state, pars)
            for attempt in self._attempts:
                attempt.disturbed |= not again
            ended = False
            for version in agenda:
                ended = yield from self._attempted(visit, version)
            self._visits.pop()
            if not meeting.attempts:
                self.none_left(number)
            if not ended:  # the last one could not run
                self._visits.append(visit)
                ended = yield from self._attempted(visit, next(iter(meeting.attempts)))
                self._visits.pop()
            if not ended:
                raise OutOfReplayMemory("a version could run only once")

    def leave_replayed(self, number: int, results: Sequence[Value]) -> None:
        """A version has been issued."""
        attempt = self._attempts.pop()
        attempt.done = True
        self.ledger.finish()
        visit = self._visits[-1]
        if not (visit.again or attempt.version in visit.compared):
            visit.compared.add(attempt.version)
            self._compare(visit, attempt.version, results)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """A version could not run."""
        attempt = self._attempts.pop()
        if isinstance(reason, OutOfMemory):
            raise OutOfReplayMemory(str(reason))  # maybe for what replaying holds
        super().abandon(number, version, reason)
        attempt.meeting.fail(version)

    @staticmethod
    def either(filled: tuple[Buffer | None, ...], now: tuple[Buffer | None, ...]
               ) -> tuple[Buffer | None, ...]:
        """What one of the versions has filled."""
        return tuple(a if a is not None else b for a, b in zip(filled, now, strict=True))

    # Encounters

    def _meet(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
              order: Sequence[int], sizes: Mapping[str, int]) -> ReplayedEncounter:
        site, sizes, par, scarce = self.kind_of_encounter(number, pars, crowds, sizes)
        met, meetings = self._met, self.meetings
        if self._attempts:
            around = self._attempts[-1]
            met, meetings = around.met, around.meeting.inside.setdefault(around.version, {})
        key = site, met[site], tuple(sorted(sizes.items()))
        met[site] += 1
        if key not in meetings:
            meetings[key] = ReplayedEncounter(site, sizes, par, scarce, order[0], sorted(order))
        return meetings[key]

    def _once(self, meeting: ReplayedEncounter, state: RaceState) -> Iterator[int]:
        """The version to run where all have run before."""
        yield min(meeting.attempts, key=lambda version: state.ratios.get(version, math.inf))

    def _all(self, meeting: ReplayedEncounter, state: RaceState,
             pars: Sequence[int]) -> Iterator[int]:
        """The versions to run at an encounter that is new."""
        running = [k for k in meeting.feasible if not self.race.excludes(f"{meeting.site}/{k}")]
        state.met += 1
        left = state.left(1.0 if self.race.late else self.race.factor)
        if self.race.late and not left:  # nothing is known, and there is no time to find out
            yield meeting.default
            return
        if left and (self.race.late or self.race.repeated or not state.due):
            yield from rotated([k for k in running if k in left], state.met)
            if state.best in meeting.attempts:
                meeting.rival = state.best
                meeting.ratios = {k: state.behind(k) for k in running
                                  if k not in left and k in state.ratios}
                return
            running = [k for k in running if k not in left]
        lost = self.race.far_behind(meeting.site, pars, meeting.feasible)
        lost.pop(meeting.default, None)  # runs without a record are compared with it
        yield from self._rounds(meeting, state, [k for k in running if k not in lost], lost)
        if state.best in meeting.attempts:
            meeting.rival = state.best
            meeting.ratios |= {k: state.behind(k) for k in lost if k not in meeting.attempts}

    def _rounds(self, meeting: ReplayedEncounter, state: RaceState, running: Sequence[int],
                lost: Mapping[int, float]) -> Iterator[int]:
        """All versions, then those that stay in the race.

        The default comes first, so that what the others may take is known, and then the versions
        with more parallelism: they are not the ones that take very long.
        """
        started = time.perf_counter()
        if state.met == 1:
            running = sorted(running, key=lambda k: (k != meeting.default, -k))
        for turn in range(self.race.rounds if state.met == 1 else 1):
            for version in rotated([k for k in running if k in meeting.feasible],
                                   state.met - 1 + turn):
                if not self._hopeless(meeting, version):
                    yield version
            self.queue.finish()
            self.ledger.settle()
            if meeting.attempts:
                state.saw({k: meeting.quickest(k) for k in meeting.attempts})
                state.presume(lost)
            # One slow attempt may be chance.
            left = state.left(self.race.factor if turn else self.race.factor ** 2)
            running = [k for k in running if k in left]
            if self.race.late or time.perf_counter() - started > self.race.patience:
                break

    def _hopeless(self, meeting: ReplayedEncounter, version: int) -> bool:
        """Whether a version that has not run yet would take far too long."""
        name, par = f"{meeting.site}/{version}", self._points(meeting, version)
        if not meeting.attempts or version in meeting.attempts or par is None:
            return False
        why = self.race.estimates.hopeless(name, par, self._quickest(meeting))
        if why is not None:
            self.race.stopped[name] = why
        return why is not None

    def _points(self, meeting: ReplayedEncounter, version: int) -> int | None:
        """How many work-items an outer version has, at a site that is met once."""
        if meeting.site not in self.race.single:
            return None
        (choice,) = (each for each in self.executable.generated.sites
                     if each.site == meeting.site)
        guard = choice.versions[version].guard
        return meeting.par[guard.name] if guard and guard.kind is Kind.OUTER else None

    def _quickest(self, meeting: ReplayedEncounter) -> float:
        """The seconds of the version that was the fastest here so far."""
        self.queue.finish()
        self.ledger.settle()
        return min(meeting.quickest(k) for k in meeting.attempts)

    def _attempted(self, visit: _Visit, version: int) -> Generator[int, None, bool]:
        """Run a version, again if it was disturbed or built kernels; whether it came through."""
        meeting = visit.meeting
        for _ in range(ATTEMPTS):
            interrupts.check()
            if visit.begun:
                for buffer, copy in visit.saved:
                    self.copy(buffer, copy, buffer.size)
            visit.begun = True
            fresh = self._announced(visit, version)
            if self.ledger.waits:  # then the device has nothing to do when a version begins
                self.queue.finish()
            before = self.executable.build_seconds
            attempt = _Attempt(meeting, version, self.ledger.begin())
            self._attempts.append(attempt)
            yield version
            if fresh:
                self.queue.finish()
                self.race.watch(None, None, None)
            if not attempt.done and visit.again:
                raise OutOfReplayMemory("a version could run only once")
            if not attempt.done:
                return False
            if visit.again or not (attempt.disturbed or self.executable.build_seconds > before):
                break
        meeting.attempts.setdefault(version, []).append(attempt.spent)
        if fresh and (par := self._points(meeting, version)) is not None:
            self.ledger.settle()
            self.race.estimates.saw(f"{meeting.site}/{version}", par, meeting.quickest(version),
                                  self._quickest(meeting))
        if fresh and meeting.site in self.race.single:
            self.ledger.settle()
            self.race.estimates.saw_crowd(meeting.site, meeting.cost(version).crowd)
        return True

    def _announced(self, visit: _Visit, version: int) -> bool:
        """Whether a version that may take very long is about to run, which was said then.

        The device has nothing else to do, so that whatever takes long is that version.
        """
        meeting = visit.meeting
        if visit.again or version in visit.state.ratios or version in meeting.attempts:
            self.race.beat()
            return False
        self.queue.finish()
        self.race.watch(f"{meeting.site}/{version}",
                        self._quickest(meeting) if meeting.attempts else None,
                        self._points(meeting, version))
        return True

    # Memory

    def _save(self, changed: Sequence[Any]) -> Saved:
        """Copies of the buffers among these values."""
        buffers = {id(each.handle): each for each in changed if isinstance(each, Buffer)}
        return [(buffer, self.copied(buffer)) for buffer in buffers.values()]

    def copied(self, buffer: Buffer) -> Buffer:
        """A copy of a whole buffer; OutOfReplayMemory if there is none for it."""
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
        pair = VersionPair(visit.meeting.site, min(first, version), max(first, version))
        rounded = self._rounded[visit.meeting.site]
        for (one, prim, shape), (other, _, _) in zip(reference, results, strict=True):
            if shape is None:
                self.differences.scalars(pair, Prim(prim), one, other, rounded=rounded)
            elif isinstance(one, Buffer) and isinstance(other, Buffer):
                self.differences.arrays(pair, Prim(prim), one, other, math.prod(shape),
                                        rounded=rounded)


def _computes_with_floats(choice: Choose) -> bool:
    return any(param.prim.is_float for kernel in kernels([choice]) for param in kernel.params)


def replay(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
           race: Race) -> tuple[Outcome, ReplayRecord]:
    """Run a plan with all versions; :class:`OutOfReplayMemory` if there is too little memory for
    that.

    Versions whose results differ from those of the others are banned from the race.
    """
    run = ReplayRun(executable, thresholds, race)
    run.differences.given(*_given(executable.plan, args))
    outcome = run.call(executable.replaying, args)
    banned = wrong(executable.generated.sites, run.differences.differing,
                   run.differences.agreeing)
    race.banned.update(banned)
    return outcome, ReplayRecord(
        executable.plan.entry, run.ledger.rest, tuple(run.meetings.values()), run.peak_bytes,
        run.device.info.label, dict(run.infeasible), banned)


def _given(plan: Plan, args: Mapping[str, Any]
           ) -> tuple[list[float], list[tuple[Prim, Buffer, int]]]:
    """The floats among the arguments: numbers, and arrays with their lengths."""
    numbers, arrays = list[float](), list[tuple[Prim, Buffer, int]]()
    for spec in plan.params:
        value = args[str(spec.name)]
        if not spec.prim.is_float:
            continue
        if spec.shape is None:
            numbers.append(float(value))
        else:
            arrays.append((spec.prim, value, math.prod(
                int(size.value) if isinstance(size, Const) else args[str(size)]
                for size in spec.shape)))
    return numbers, arrays


def wrong(sites: Sequence[Choose], differing: Mapping[VersionPair, str],
          agreeing: Mapping[VersionPair, int]
          ) -> dict[str, str]:
    """The versions to blame for differences, ``site/index``, and how they differ.

    The one that differs from most others is to blame, or else the one that agrees with fewer, or
    else the one that comes first.  A version that another one to blame is inside of is not.
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
                        key=lambda version: (-len(partners[version]), agrees[version], version))
            other, how = next(iter(partners[worst].items()))
            found[f"{choice.site}/{worst}"] = (
                f"its results differ from those of version {choice.site}/{other}: {how}")
            _drop(partners, worst)
    return found


def _drop(partners: dict[int, dict[int, str]], version: int) -> None:
    """Forget a version and what differs from it."""
    for other in partners.pop(version):
        partners[other].pop(version, None)


def _inside(choice: Choose, version: int) -> set[str]:
    """The sites inside of a version."""
    return {step.site for step in all_steps(choice.versions[version].steps)
            if isinstance(step, Choose)}
