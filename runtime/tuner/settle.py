"""The last stage of a choice: it runs beside the default in turn, and is undone unless that helps.

All choices alternate, so that a drift of the machine affects them alike.  Other work on the machine
is answered by more turns.  On each dataset the first version is wanted that is alike the best.  The
default's version is the first, and further versions have a fixed order.  Thresholds and size guards
are fitted to them.  What these lead to has run already, or is run once more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runelift.runtime.records.statistics import ENOUGH
from runelift.runtime.tuner import confirm_size_guards, final_choice
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.paired_comparison import UNTUNED
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    TUNED,
    Choice,
    SideBySide,
    by_default,
    speedup,
)
from runelift.runtime.tuner.measure.turns import (
    BUSY,
    Turns,
    first_alike,
    halves_agree,
    run_until_decided,
)
from runelift.runtime.tuner.policy import ComparisonPolicy
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.searched_gains import searched_before
from runelift.runtime.tuner.state import State
from runelift.runtime.versions.size_guards import GuardedThresholds

FIRST = "first"
"""The name of a choice that has a fixed version where versions are alike."""
ALONE = "alone"
"""The name of a choice that runs beside the tuned choice: what is kept if that is not."""
FIRST_PART = 0.7
"""The part of the time for the first runs in turn; the other part is for a choice fitted anew."""
PLAIN_PARTS = 0.5, 0.4
"""These parts if runs with settings of kernels follow."""
DROPPED = "in the end, they did not help"
UNTRIED = "there was no time to run them in turn"
"""The reasons why size guards and settings are dropped: by runs in turn, and without any."""
LOADED = final_choice.Candidates(most=5, near=100.0)
"""The single versions that run where records are noisy: a run may wait for other work that long."""
ROUNDS = 2
"""Runs of each choice that there must be time for: one warms up.

Single versions run only if there is time for enough rounds.
"""


def settle_choice(job: TuningJob, state: State) -> State:
    """The choice that runs in turn bear out, with the times of these runs.

    Versions are chosen without settings of kernels, unless the policy lets settings decide.
    Because: which settings a search finds is chance, above all beside other work.  Settings are
    kept if they make the chosen versions faster.
    """
    turns = InTurn(job, state.wrong)
    if job.policy.parameters.decide or job.aim is Objective.MEMORY or not (
            state.values.keys() - state.thresholds.thresholds.keys()):
        return _settled(job, turns, state, FIRST_PART, 1.0)
    plain = _settled(job, turns, state.without_settings(DROPPED), *PLAIN_PARTS)
    settled = _with_settings(job, turns, state, plain)
    return settled if settled.final else settled.with_reason(DROPPED, UNTRIED)


def _settled(job: TuningJob, turns: InTurn, state: State, first: float, second: float) -> State:
    """The choice that runs in turn bear out, in parts of the time for first and further runs."""
    names = {TUNED: state}
    if state.guarded.finer or state.values != state.thresholds.thresholds:
        names |= {ALONE: state.without_settings(DROPPED)}
    found = turns.run(names, turns.end_of(first))
    taken = next((option for name, each in names.items()
                  for option in _options(job, name, each, found, turns.least_gain)
                  if option.verdict.proved), None)
    kept = taken.state if taken is not None else _undone(state, judged(
        found, TUNED, DEFAULT, job, _earlier(job, state, TUNED), turns.least_gain))
    final = tuple(map(by_default, _with_best(found, TUNED))) if taken is None else (
        _with_best(taken.runs, taken.name))
    anew = _like_first(job, kept, found)
    if anew is not None:
        again = turns.run({TUNED: anew, ALONE: kept}, turns.end_of(second))
        if judged(again, TUNED, DEFAULT, job, {}, turns.least_gain).proved and not (
                judged(again, TUNED, ALONE, job, {}, turns.least_gain).slower):
            return replace(anew, final=_with_best(again, TUNED))
    return replace(kept, final=final)


def _with_settings(job: TuningJob, turns: InTurn, state: State, plain: State) -> State:
    """The state's settings with the versions of the ``plain`` choice, if runs in turn gain by them.

    Else the plain choice.
    """
    paths = {costs.name: costs.launched(entry.choice)
             for entry in plain.concluded().thresholds.entries for costs in entry.costs.datasets}
    wanted = {costs.name: next(
        (each for each in final_choice.single_versions(entry.forest, state.guarded)
         if costs.launched(each) == paths[costs.name]), plain.guarded)
              for entry in state.concluded().thresholds.entries
              for costs in entry.costs.datasets if costs.name in paths}
    made = _fitted_to(job, state, wanted) or state
    again = turns.run({TUNED: made, ALONE: plain}, turns.end, final_choice.NONE)
    if all(judged(again, TUNED, over, job, {}, turns.least_gain).proved
           for over in (DEFAULT, ALONE)):
        return replace(made, final=_with_best(again, TUNED))
    return plain


def _with_best(runs: Sequence[RunsInTurn], name: str) -> tuple[SideBySide, ...]:
    return tuple(final_choice.with_best(each.found, name) for each in runs if each.found.seconds)


@dataclass(frozen=True, slots=True)
class Option:
    """A state that may be kept, its name in runs in turn, and what these say of it."""

    name: str
    state: State
    runs: Sequence[RunsInTurn]
    verdict: Judgement


def _options(job: TuningJob, name: str, state: State, runs: Sequence[RunsInTurn],
             least_gain: float) -> list[Option]:
    """The options of a state, the first choice first.

    Where versions are alike, a fixed one comes first.  If no dataset is slower then, nothing else
    may be kept.
    """
    earlier, found = _earlier(job, state, name), list[Option]()
    anew = _like_first(job, state, runs)
    ran = None if anew is None else _named(anew, name, state, runs)
    if anew is not None and ran is not None:
        found.append(Option(FIRST, anew, ran, judged(
            ran, FIRST, DEFAULT, job, earlier, least_gain)))
    if all(each.verdict.slower for each in found):
        found.append(Option(name, state, runs, judged(
            runs, name, DEFAULT, job, earlier, least_gain)))
    return found


def _entries(state: State) -> dict[str, EntryTuning]:
    return {entry.forest.entry: entry for entry in state.concluded().thresholds.entries}


def _undone(state: State, verdict: Judgement) -> State:
    """The state by default, unless it is so anyway."""
    if all(entry.fit.kept_default for entry in state.thresholds.entries) and (
            state.values == state.thresholds.thresholds and not state.guarded.finer):
        return state
    return state.untuned(verdict.why)


# Runs in turn


@dataclass(frozen=True, slots=True)
class RunsInTurn:
    """The runs of a dataset in turn, and the choices that ran; no runs if there was no time."""

    found: SideBySide
    choices: Mapping[str, Choice]

    def also(self, name: str, equal: str) -> RunsInTurn:
        """The runs, with a further name of an equal choice."""
        found = self.found
        return RunsInTurn(replace(
            found, versions={**found.versions, name: found.versions.get(equal, ())}, seconds={
                **found.seconds, **({name: found.seconds[equal]} if equal in found.seconds else {})
            }), {**self.choices, name: self.choices[equal]})


@dataclass(frozen=True)
class InTurn:
    """The runs of a job's datasets in turn; datasets that are ``wrong`` do not count."""

    job: TuningJob
    wrong: Collection[str]

    @cached_property
    def end(self) -> float:
        """The time when the last of these runs is over."""
        policy = self.job.policy.comparison
        now = time.perf_counter()
        whole = now + policy.final_seconds
        if math.isinf(self.job.end):
            return whole
        return min(whole, self.job.end + policy.final_part * (self.job.end - self.job.begun))

    def end_of(self, part: float) -> float:
        """The time when this part of the time that is left is over."""
        end, now = self.end, time.perf_counter()
        return now + part * max(0.0, end - now)

    @cached_property
    def busy(self) -> float:
        """The part of the processors that other work keeps busy."""
        return self.job.busy()

    @property
    def least_gain(self) -> float:
        """The fraction that a dataset must gain: under load, small gains are chance."""
        policy = self.job.policy.comparison
        return policy.alike if self.busy > BUSY else policy.tolerance / 2

    def run(self, states: Mapping[str, State], end: float,
            candidates: final_choice.Candidates | None = None) -> list[RunsInTurn]:
        """Run all choices on each dataset until they are decided, or its time is up.

        Single versions run with the settings of the first of the ``states``.
        """
        if candidates is None:
            candidates = LOADED if self.busy > BUSY else final_choice.USUAL
        entries = _entries(next(iter(states.values())))
        tuned = {name: each.guarded for name, each in states.items()}
        datasets = [each for each in self.job.datasets if each.name not in self.wrong]
        found = list[RunsInTurn]()
        for number, dataset in enumerate(datasets):
            now = time.perf_counter()
            share = max(0.0, end - now) / (len(datasets) - number)
            entry = entries.get(dataset.entry)
            whole = self._choices(entry, dataset, tuned, candidates)
            choices = _within(share, entry, dataset, whole)
            if not choices or now > end:
                choices = whole
                made: SideBySide | None = SideBySide(dataset.name, dataset.entry, {}, {})
            else:
                made = run_until_decided(self.job.program, dataset, choices, Turns(
                    list(tuned), self.job.policy.comparison, self.busy, now + share,
                    self._order(entry, dataset, choices, next(iter(tuned.values())))))
            if made is not None:
                found.append(RunsInTurn(made, choices))
        return found

    def _order(self, entry: EntryTuning | None, dataset: Dataset, choices: Mapping[str, Choice],
               tuned: GuardedThresholds) -> Sequence[str]:
        """The choices of which one is chosen, in a fixed order."""
        if entry is None or self.job.aim is Objective.MEMORY:
            return ()
        costs = entry.costs.of(dataset.name)
        return () if costs is None else final_choice.in_fixed_order(
            entry, costs, choices, final_choice.settings_of(entry, tuned))

    def _choices(self, entry: EntryTuning | None, dataset: Dataset,
                 tuned: Mapping[str, GuardedThresholds], candidates: final_choice.Candidates
                 ) -> dict[str, Choice]:
        costs = None if entry is None else entry.costs.of(dataset.name)
        if entry is not None and costs is not None:
            return final_choice.choices_on(entry, costs, tuned, candidates)
        default = Choice(UNTUNED)
        return {DEFAULT: default, **{name: Choice(each) if each else default
                                     for name, each in tuned.items()}}

def _within(seconds: float, entry: EntryTuning | None, dataset: Dataset,
            choices: Mapping[str, Choice]) -> dict[str, Choice]:
    """The choices that can run in so many seconds, by the records; none if too few can."""
    costs = None if entry is None else entry.costs.of(dataset.name)
    if entry is None or costs is None:
        return dict(choices)
    needed = {id(each): costs.total(each.thresholds or entry.defaults)
              for each in choices.values()}

    def in_time(kept: Mapping[str, Choice], rounds: int) -> bool:
        """True unless runs take longer; the time of a version that was not measured is unknown."""
        return not rounds * sum({id(each): needed[id(each)] for each in kept.values()}.values()
                                ) > seconds

    kept = dict(choices)
    for name in reversed([each for each in choices if each.startswith(BEST)]):  # slowest first
        if in_time(kept, ENOUGH):
            return kept
        del kept[name]
    return kept if in_time(kept, ROUNDS) else {}


# Judging


@dataclass(frozen=True, slots=True)
class Judgement:
    """The datasets that a choice makes ``slower``, and ``faster`` for certain."""

    slower: tuple[str, ...]
    faster: tuple[str, ...]
    unproved: tuple[str, ...] = ()
    """The datasets for which there was no time in the end, and no other proof."""
    aim: Objective = Objective.RELATIVE
    within: bool = True
    """The times are within what an objective of memory allows."""

    @property
    def proved(self) -> bool:
        """True if the choice is to be kept."""
        if self.aim is Objective.MEMORY:
            return self.within
        return bool(self.faster) and not self.slower and not self.unproved

    @property
    def why(self) -> str:
        """The reason for the default."""
        if self.slower:
            more = "" if self.faster else ", and none faster"
            return f"in the end {', '.join(self.slower)} got slower{more}"
        if self.unproved:
            return f"there was no time to run {', '.join(self.unproved)} in the end"
        return "in the end, runs in turn showed no certain gain"


def judged(runs: Sequence[RunsInTurn], name: str, over: str, job: TuningJob,
           earlier: Mapping[str, bool], least_gain: float) -> Judgement:
    """The judgement of runs in turn on a choice, beside another one.

    Datasets that gain less than ``least_gain`` do not count as faster.  With few rounds,
    ``earlier`` comparisons count: true if a dataset is faster for certain, false if no slower.
    """
    slower, faster, unproved, ratios = list[str](), list[str](), list[str](), list[float]()
    tolerance = job.policy.comparison.tolerance
    for runs_, each in ((runs_, runs_.found) for runs_ in runs):
        if not each.seconds:
            if runs_.choices[name] is not runs_.choices[over]:
                faster += [each.dataset] if earlier.get(each.dataset) else []
                unproved += [] if each.dataset in earlier else [each.dataset]
            continue
        if name not in each.seconds or over not in each.seconds:
            (faster if name in each.seconds else slower).append(each.dataset)
            continue
        ratio, low, high = speedup([each], name, over)
        ratios.append(1 / ratio if ratio else math.inf)
        certain = low > 1 or (each.rounds < ENOUGH and ratio > 1 and (
            earlier.get(each.dataset, False) or _always(each, name, over, job.policy.comparison)))
        if ratio < 1 - tolerance or high < 1 - tolerance:
            slower.append(each.dataset)
        elif certain and ratio > 1 + least_gain and halves_agree(
                each.seconds[name], each.seconds[over]):
            faster.append(each.dataset)
    within = bool(ratios) and sum(ratios) / len(ratios) <= (
        1 + job.policy.fit.memory_slack) * (1 + tolerance)
    return Judgement(tuple(slower), tuple(faster), tuple(unproved), job.aim, within)


def _always(found: SideBySide, name: str, over: str, policy: ComparisonPolicy) -> bool:
    """True if a choice was notably faster in each of a few rounds of long runs."""
    return found.rounds >= policy.long_pairs and all(
        one * (1 + policy.stake) < other
        for one, other in zip(found.seconds[name], found.seconds[over], strict=True))


def _earlier(job: TuningJob, state: State, name: str) -> dict[str, bool]:
    """The datasets on which earlier stages compared a choice with the default, and none was slower.

    True if it was faster for certain, or in a search over schedules.  Only thresholds alone were
    compared with the default.
    """
    if name == TUNED and (state.guarded.finer or
                          state.values != state.thresholds.thresholds):
        return {}
    found = dict[str, bool]()
    for entry in state.thresholds.entries:
        found |= searched_before(job.gains or (), entry, entry.fit.thresholds)
        found |= {dataset: both.faster or found.get(dataset, False)
                  for dataset, both in entry.verified.items() if not both.slower}
    return found


# A choice fitted to what runs in turn have shown


def _like_first(job: TuningJob, kept: State, runs: Sequence[RunsInTurn]) -> State | None:
    """A choice with the first versions that are alike the best in turn; None if it is that."""
    if job.aim is Objective.MEMORY:
        return None
    base = kept.concluded()
    return _fitted_to(job, kept, {
        name: first for entry in base.thresholds.entries
        for name, first in _first_versions(entry, base, runs, job.policy.comparison).items()})


def _fitted_to(job: TuningJob, kept: State, wanted: Mapping[str, Mapping[str, int]]
               ) -> State | None:
    """A choice that is fitted to what is ``wanted`` on datasets; None if it is that already."""
    base = kept.concluded()
    entries, guards = dict[str, EntryTuning](), {each.entry: each for each in kept.guards}
    for entry in base.thresholds.entries:
        name = entry.forest.entry
        if all(costs.launched(wanted.get(costs.name, entry.choice)) == costs.launched(entry.choice)
               for costs in entry.costs.datasets):
            continue
        preferred = replace(entry, costs=_preferring(entry, wanted))
        preferred = replace(preferred, unmoved=entry.unmoved - wanted.keys(), fit=fit(
            preferred.costs, entry.defaults, aim=entry.aim))
        if name in guards and job.size_guards is not SizeGuardKind.THRESHOLD:
            found = confirm_size_guards.fit_guards(preferred, job.size_guards)
            guarded = GuardedThresholds(preferred.fit.thresholds, found.finer)
            guards[name] = replace(
                found, after=entry.costs.totals(guarded),
                before=entry.costs.totals(preferred.fit.thresholds))
        predicted = {name: seconds for name, seconds in entry.costs.totals(
            preferred.fit.thresholds).items() if name in preferred.fit.predicted}
        entries[name] = replace(entry, unmoved=preferred.unmoved, fit=replace(
            preferred.fit, predicted=predicted, default=entry.fit.default, least=entry.fit.least))
    anew = kept.fitted_anew(entries, tuple(guards.values()))
    changed = any(d.launched(anew.guarded) != d.launched(base.guarded)
                  for entry in entries.values() for d in entry.costs.datasets)
    return anew if changed else None


def _first_versions(entry: EntryTuning, base: State, runs: Sequence[RunsInTurn],
                    policy: ComparisonPolicy) -> dict[str, Mapping[str, int]]:
    """The thresholds or versions that come first of choices alike, by dataset.

    Only choices count that ran with the settings of kernels that are kept.
    """
    settings = final_choice.settings_of(entry, base.values)
    found = dict[str, Mapping[str, int]]()
    for each in runs:
        costs = entry.costs.of(each.found.dataset) if (
            each.found.entry == entry.forest.entry) else None
        if costs is not None and each.found.rounds >= ENOUGH:
            order = final_choice.in_fixed_order(entry, costs, each.choices, settings)
            first = first_alike(each.found, order, policy)
            if first is not None:
                found[costs.name] = each.choices[first].thresholds or entry.defaults
    return found


def _named(anew: State, name: str, state: State, runs: Sequence[RunsInTurn]
           ) -> list[RunsInTurn] | None:
    """The runs, in which a choice has a name, too; None if runs of it have not been made.

    The choice is made of a ``state`` that has a ``name``.
    """
    entries, found = _entries(anew), list[RunsInTurn]()
    for each in runs:
        entry, equal = entries.get(each.found.entry), name
        costs = None if entry is None else entry.costs.of(each.found.dataset)
        if entry is not None and costs is not None:
            if entry.costs.incomplete.get(costs.name):
                return None
            if costs.launched(anew.guarded) != costs.launched(state.guarded):
                equal = final_choice.runs_like(entry, costs, each.choices, anew.guarded) or ""
                if equal not in each.found.seconds:
                    return None
        found.append(each.also(FIRST, equal))
    return found


def _preferring(entry: EntryTuning, wanted: Mapping[str, Mapping[str, int]]) -> Costs:
    """The costs with which each dataset prefers what is wanted there, or else what it runs.

    What is wanted is preferred by so much that a size guard for one dataset is worthwhile.
    """
    policy, count = entry.costs.policy.fit, len(entry.costs.datasets)
    much = max(policy.preference, 2 * policy.guard_worthwhile * count)
    return replace(entry.costs, datasets=tuple(
        dataset.preferring(wanted[dataset.name], much) if dataset.name in wanted
        else dataset.preferring(entry.choice, policy.preference)
        for dataset in entry.costs.datasets))
