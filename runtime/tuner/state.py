"""The state of a tuning: what its stages have found, and the choice that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.measure.side_by_side import SideBySide
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.thresholds import kept_default
from runelift.runtime.versions.size_guards import GuardedThresholds


@dataclass(frozen=True, slots=True)
class State:
    """The results of the stages so far.

    ``thresholds`` are by entry point, as are ``parameters`` and ``guards``.  ``validated`` has the
    times of datasets that are kept out of tuning.  ``final`` has the times of the default, the
    tuned and the best version, which are run in turn.  ``interrupted``: Ctrl-C ended a stage.
    ``searched``: there was a search over schedules, so there is a result in any case.  ``wrong``
    has the datasets that do not count and the reasons, ``spent`` the seconds of each stage by its
    name.
    """

    thresholds: Tuning = field(default_factory=lambda: Tuning(()))
    parameters: tuple[ParameterTuning, ...] = ()
    guards: tuple[ConfirmedSizeGuards, ...] = ()
    validated: Mapping[str, PairedTimes] = field(default_factory=dict)
    final: tuple[SideBySide, ...] = ()
    interrupted: bool = False
    searched: bool = False
    wrong: Mapping[str, str] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, int]:
        """The thresholds and parameters that were found."""
        found = dict(self.thresholds.thresholds)
        for each in self.parameters:
            found |= each.chosen
        return found

    def has_more_than(self, before: State) -> bool:
        """True if a stage has found something to be kept."""
        return self.thresholds is not before.thresholds or (
            len(self.parameters) + len(self.guards)
            > len(before.parameters) + len(before.guards))

    @property
    def guarded(self) -> GuardedThresholds:
        """The values with the size guards before them."""
        return GuardedThresholds(self.values, {site: guard for each in self.guards
                                               for site, guard in each.finer.items()})

    @property
    def tuned(self) -> bool:
        """True if anything else is chosen than what runs by default."""
        defaults = {name: value for entry in self.thresholds.entries
                    for name, value in entry.defaults.items()}
        return bool(self.guarded.finer) or any(
            defaults.get(name) != value for name, value in self.values.items())

    @property
    def measured(self) -> bool:
        """True if there is a result: some dataset was measured completely, or in a search."""
        return bool(self.parameters or self.datasets or self.searched)

    @property
    def datasets(self) -> set[str]:
        """The datasets that were measured completely."""
        return {dataset.name for entry in self.thresholds.entries
                for dataset in entry.costs.datasets}

    def latest(self, entry: EntryTuning) -> EntryTuning:
        """The costs and thresholds of an entry point with the parameters that were chosen."""
        names = {dataset.name for dataset in entry.costs.datasets}
        return next((each.refitted for each in self.parameters
                     if each.entry == entry.forest.entry and each.refitted is not None
                     and {d.name for d in each.refitted.costs.datasets} == names), entry)

    def untuned(self, why: str) -> State:
        """The state with the choices by default, and the reason for them."""
        thresholds = Tuning(tuple(kept_default(entry, why) for entry in self.thresholds.entries))
        return replace(self.without_settings(why), thresholds=thresholds)

    def without_settings(self, why: str) -> State:
        """The state with its thresholds alone: no parameters, and no size guards."""
        return replace(
            self.without_guards(why),
            parameters=tuple(replace(each, chosen={}, refitted=None, why=each.why or why)
                             for each in self.parameters))

    def with_reason(self, before: str, why: str) -> State:
        """The state with another reason for parameters and size guards that were dropped."""
        return replace(self, parameters=tuple(
            replace(each, why=why) if each.why == before else each for each in self.parameters),
                       guards=tuple(replace(each, why=why) if each.why == before else each
                                    for each in self.guards))

    def without_guards(self, why: str) -> State:
        """The state without size guards."""
        return replace(self, guards=tuple(
            replace(each, finer={}, after=each.before, why=each.why or why)
            for each in self.guards))

    def fitted_anew(self, entries: Mapping[str, EntryTuning],
                    guards: tuple[ConfirmedSizeGuards, ...]) -> State:
        """The state with other thresholds and size guards; settings of kernels stay."""
        anew = {name: value for entry in entries.values()
                for name, value in entry.fit.thresholds.items()}
        return replace(
            self, guards=guards,
            thresholds=replace(self.thresholds, entries=tuple(
                entries.get(each.forest.entry, each) for each in self.thresholds.entries)),
            parameters=tuple(replace(
                each, refitted=entries.get(each.entry, each.refitted) if each.refitted else None,
                chosen={**each.chosen, **{name: value for name, value in anew.items()
                                          if name in each.chosen}}) for each in self.parameters))

    def concluded(self) -> State:
        """The state whose entry points have the final choice, and the costs that hold for it.

        So pages, texts and files say what runs.
        """
        guarded = self.guarded
        return replace(self, thresholds=replace(self.thresholds, entries=tuple(
            _concluded(entry, self.latest(entry), guarded)
            for entry in self.thresholds.entries)))


def _concluded(entry: EntryTuning, latest: EntryTuning, guarded: GuardedThresholds) -> EntryTuning:
    sites = entry.forest.sites()
    finer = {site: guard for site, guard in guarded.finer.items() if site in sites}
    thresholds = {name: guarded.get(name, value) for name, value in entry.fit.thresholds.items()}
    fit = latest.fit if latest.fit.thresholds == thresholds else latest.fit_with(thresholds)
    return replace(entry, costs=latest.costs, untuned=entry.untuned or entry.costs,
                   fit=fit, finer=finer)
