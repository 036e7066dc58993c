"""Tuning finer guards: fitted to records, and kept if runs side by side bear them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from runelift.runtime.host.background import in_background
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.fit.cross_validation import fitted_to_others
from runelift.runtime.tuner.fit.fit import objective
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind, fit_size_guards, keeping
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.measure.paired_comparison import (
    UNTUNED,
    PairedRun,
    PairedTimes,
    compare_all_paired,
)
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.size_guards import (
    GuardedThresholds,
    NearestSizes,
    SizeGuard,
    to_json,
)
from runelift.runtime.versions.size_names import show_name
from runelift.runtime.versions.version_names import described_version


@dataclass(frozen=True, slots=True)
class ConfirmedSizeGuards:
    """The finer guards of an entry point.

    ``versions`` are the names of versions by site, ``titles`` what to call sites, and ``sizes``
    what to say of sizes.  ``before`` and ``after`` are times by dataset, computed from the records.
    ``before`` is with thresholds alone, and ``after`` is with the guards.  ``verified`` has the
    times of paired runs.  ``loss`` is the fraction by which datasets that are left out of the fit
    are slower than with thresholds.  It is 0 if that cannot be known, and None if it has not been
    worked out yet.  ``why`` tells why there are no guards.
    """

    entry: str
    guards: SizeGuardKind
    finer: dict[str, SizeGuard]
    depth: int = NORMAL.fit.guard_depth
    versions: dict[str, list[str]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    verified: dict[str, PairedTimes] = field(default_factory=dict)
    loss: float | None = 0.0
    why: str = ""


def fit_guards(tuning: EntryTuning, guards: SizeGuardKind, *,
               ahead: bool = False) -> ConfirmedSizeGuards:
    """The finer guards for the records of an entry point.

    Trees decide about sizes that were not measured, too.  Their depth is the best for datasets that
    are left out of the fit.  On these datasets, trees must not be slower than thresholds.  To know
    that, a fit to all other datasets is made for each dataset, once for an entry point.  With
    ``ahead``, these fits are made only if they decide whether anything is to be run.
    """
    if guards is SizeGuardKind.AUTO:
        return _automatic(tuning, ahead=ahead)
    if guards is not SizeGuardKind.TREE:
        return _fitted(tuning, _known(tuning, guards), guards)
    most = tuning.costs.policy.fit.guard_depth
    losses = _losses_of_guessing(tuning, SizeGuardKind.TREE, range(1, most + 1))
    depth = min(losses, key=lambda each: losses[each])
    found = _fitted(tuning, tuning.known, guards, depth)
    if found.finer and losses[depth] > 0:
        return _dropped(found, f"trees guess badly: on datasets left out of the fit, they are "
                               f"{100 * losses[depth]:.0f} % slower than thresholds")
    return replace(found, loss=losses[depth])


def _automatic(tuning: EntryTuning, *, ahead: bool) -> ConfirmedSizeGuards:
    """Nearest sizes, where they serve datasets or those left out better than thresholds do.

    Where they guess badly, a memo has the sizes that are known.
    """
    found = _fitted(tuning, _known(tuning, SizeGuardKind.NEAR), SizeGuardKind.NEAR)
    policy = tuning.costs.policy
    guarded = GuardedThresholds(tuning.fit.thresholds, found.finer)
    better = objective(tuning.known, tuning.fit.thresholds, tuning.aim) > (
        1 + policy.fit.guard_alone) * objective(tuning.known, guarded, tuning.aim)
    if better and ahead:
        return replace(found, loss=None)
    loss = _loss_of_nearby(tuning) if found.finer else 0.0
    if ((better and loss <= policy.comparison.guard_harm)
            or loss < -policy.fit.guard_worthwhile):
        return replace(found, loss=loss)
    return _remembered(tuning, found) if better else _by_memo(tuning)


def _remembered(tuning: EntryTuning, found: ConfirmedSizeGuards) -> ConfirmedSizeGuards:
    """The versions that nearby sizes choose for known sizes.

    No version is guessed for unknown sizes.
    """
    finer: dict[str, SizeGuard] = {site: each.memo() if isinstance(each, NearestSizes) else each
                                   for site, each in found.finer.items()}
    guarded = GuardedThresholds(tuning.fit.thresholds, finer)
    return replace(found, guards=SizeGuardKind.MEMO, finer=finer, loss=0.0,
                   after=tuning.costs.totals(guarded))


def _by_memo(tuning: EntryTuning) -> ConfirmedSizeGuards:
    return _fitted(tuning, tuning.known, SizeGuardKind.MEMO)


def _known(tuning: EntryTuning, guards: SizeGuardKind) -> Costs:
    """The costs by all runs.

    Where runs side by side refute forced runs, the runs side by side count.
    """
    return keeping(tuning.costs, tuning.unmoved, tuning.defaults, guards)


def _loss_of_nearby(tuning: EntryTuning) -> float:
    depth = tuning.costs.policy.fit.guard_depth
    return _losses_of_guessing(tuning, SizeGuardKind.NEAR, (depth,))[depth]


def _losses_of_guessing(tuning: EntryTuning, guards: SizeGuardKind, depths: Sequence[int]
                        ) -> dict[int, float]:
    """By what fraction left-out datasets are slower than with thresholds, by depth of trees.

    Negative if they are faster; 0 if there are too few datasets to say.
    """
    costs, defaults, aim = tuning.costs, tuning.defaults, tuning.aim
    fewest = costs.policy.comparison.guard_datasets
    most = costs.policy.pruning.cannot_run_factor

    def found() -> dict[int, float]:
        logs: dict[int, list[float]] = {depth: [] for depth in depths}
        for dataset, others, thresholds in fitted_to_others(costs, defaults, aim):
            before = dataset.total(thresholds)
            for depth, ratios in logs.items():
                after = dataset.total(fit_size_guards(others, thresholds, guards, aim, depth))
                ratios.append(_slowdown(before, after, most))
        return {depth: math.exp(sum(ratios) / len(ratios)) - 1 if len(ratios) >= fewest else 0.0
                for depth, ratios in logs.items()}

    return costs.once(("guessing", guards, tuple(depths), tuple(defaults.items()), aim), found)


def _slowdown(before: float, after: float, most: float) -> float:
    """Logarithm of a ratio of times, ``most`` at most and for versions that cannot run."""
    if before <= 0 or after <= 0 or (math.isinf(before) and math.isinf(after)):
        return 0.0
    ratio = 0.0 if math.isinf(before) else after / before
    return math.log(min(max(ratio, 1 / most), most))


def _fitted(tuning: EntryTuning, costs: Costs, guards: SizeGuardKind,
            depth: int | None = None) -> ConfirmedSizeGuards:
    depth = tuning.costs.policy.fit.guard_depth if depth is None else depth
    found = fit_size_guards(costs, tuning.fit.thresholds, guards, tuning.aim, depth)
    before, after = map(tuning.costs.totals, (tuning.fit.thresholds, found))
    why = "" if found.finer else "thresholds are about as good"
    sites = tuning.forest.sites().values()
    versions = {site.name: [described_version(each) for each in site.alternatives]
                for site in sites}
    titles = {site.name: f"{site.name} [{site.place}]" if site.place else site.name
              for site in sites}
    return ConfirmedSizeGuards(tuning.forest.entry, guards, found.finer, depth, versions, titles,
                               dict(tuning.forest.shown), before, after, why=why)


def confirm_guards(job: TuningJob, tuning: EntryTuning, refined: ConfirmedSizeGuards,
                   values: Mapping[str, int]) -> ConfirmedSizeGuards:
    """The guards as far as no dataset is slower with them than with ``values`` alone.

    Datasets that get slower keep their versions, and the guards are fitted again.  So do datasets
    without times of frequent runs.  Before anything is run, so do datasets that hardly gain by the
    records.  The guards are kept if some dataset is faster for certain.  They are also kept if
    datasets left out of the fit are faster by the records.  If that is not known yet, a thread
    works it out while guards run.  If the guards guess badly, a memo has their choices for known
    sizes.
    """
    def confirmed(refined: ConfirmedSizeGuards, loss: Callable[[], float]) -> ConfirmedSizeGuards:
        return _confirmed(job, tuning, refined, values, loss)

    if (known := refined.loss) is not None:
        return confirmed(refined, lambda: known)
    with in_background(partial(_loss_of_nearby, tuning)) as loss:
        found = confirmed(refined, loss)
    if loss() <= tuning.costs.policy.comparison.guard_harm:
        return replace(found, loss=loss())
    memo = _remembered(tuning, found) if found.finer else _by_memo(tuning)
    if found.finer and _paths(tuning, memo) == _paths(tuning, found):
        return memo
    return confirmed(memo, lambda: 0.0)


def _confirmed(job: TuningJob, tuning: EntryTuning, refined: ConfirmedSizeGuards,
               values: Mapping[str, int], loss: Callable[[], float]) -> ConfirmedSizeGuards:
    """The guards that runs confirm, if datasets that are left out become slower by ``loss``."""
    costs, policy = _known(tuning, refined.guards), tuning.costs.policy
    alone = UNTUNED if values == tuning.defaults else values

    def without(names: set[str]) -> ConfirmedSizeGuards:
        nonlocal costs
        costs = keeping(costs, names, tuning.fit.thresholds, refined.guards)
        return replace(_fitted(tuning, costs, refined.guards, refined.depth), loss=refined.loss)

    def guesses_well() -> bool:
        return loss() < -policy.fit.guard_worthwhile

    if idle := _idle(tuning, refined):
        refined = without(idle)
    seen: dict[tuple[str, tuple[int, ...]], PairedRun] = {}
    for _ in range(policy.fit.guard_rounds):
        if not refined.finer:
            return refined
        guarded = GuardedThresholds(values, refined.finer)
        paths = _paths(tuning, refined)
        same = _same(tuning, paths)
        pairs: dict[str, PairedRun] = {}
        for dataset in job.datasets:
            if dataset.name not in same:
                pair = PairedRun(job.program, dataset, alone, guarded,
                                 max(job.compared_repeats, policy.comparison.pairs), job.end,
                                 seconds=refined.before.get(dataset.name, 0.0),
                                 policy=policy.comparison)
                path = paths.get(dataset.name)
                pairs[dataset.name] = seen.setdefault((dataset.name, path), pair) if path else pair
        verified = compare_all_paired(pairs, anyway=guesses_well, must_last=False)
        slower = {name for name, both in verified.items() if both.slower}
        if not slower and not any(both.faster for both in verified.values()) and not guesses_well():
            return _dropped(refined, "no certain gain")
        slower |= {name for name, both in verified.items() if not both.lasting}
        if not slower:
            return replace(refined, verified=verified)
        refined = without(slower)
    return _dropped(refined, f"{', '.join(sorted(slower))} got slower")


def _same(tuning: EntryTuning, paths: Mapping[str, tuple[int, ...]]) -> set[str]:
    """The datasets on which guards, whose paths these are, and thresholds run the same versions."""
    return {d.name for d in tuning.costs.datasets
            if d.launched(tuning.fit.thresholds) == paths.get(d.name)}


def _paths(tuning: EntryTuning, refined: ConfirmedSizeGuards) -> dict[str, tuple[int, ...]]:
    """The versions that run with guards, by dataset, where they are known at all encounters."""
    return tuning.costs.paths(GuardedThresholds(tuning.fit.thresholds, refined.finer))


def _idle(tuning: EntryTuning, refined: ConfirmedSizeGuards) -> set[str]:
    """The datasets that run other versions with the guards, but gain little."""
    least = 1 - tuning.costs.policy.comparison.guard_gain
    gained = {name for name, before in refined.before.items()
              if refined.after[name] < least * before}
    return refined.before.keys() - gained - _same(
        tuning, _paths(tuning, refined)) if refined.finer else set()


def _dropped(refined: ConfirmedSizeGuards, why: str) -> ConfirmedSizeGuards:
    return replace(refined, finer={}, after=refined.before, why=why)


def render_guards(refined: ConfirmedSizeGuards) -> str:
    """The guards, and what they are worth."""
    lines = [f"Size guards of {refined.entry} ({refined.guards.value}):"]
    if refined.why:
        return "\n".join([*lines, f"  {no_guards(refined)}"])
    return "\n".join([*lines, *(f"  {line}" for line in described(refined)), "",
                      table(time_rows(refined), "  ")])


def no_guards(refined: ConfirmedSizeGuards) -> str:
    """The reason for no guards, as a sentence."""
    return f"Size guards were tried and dropped: {refined.why}."


def described(refined: ConfirmedSizeGuards) -> Iterator[str]:
    """The guards as indented text."""
    for site, finer in refined.finer.items():
        names = sorted(finer.mentioned())
        said = [show_name(name, refined.sizes) for name in names]
        shown = {name: text if said.count(text) == 1 else name
                 for name, text in zip(names, said, strict=True)}
        yield f"{refined.titles[site]}, before its thresholds:"
        yield from (f"  {line}" for line in finer.lines(refined.versions[site], shown.__getitem__))


def time_rows(refined: ConfirmedSizeGuards) -> list[list[str]]:
    """Rows with the times of datasets, the head first."""
    rows = [["dataset", "with thresholds", "with the guards", "gain"]]
    for name, before in refined.before.items():
        both = refined.verified.get(name)
        one = both.default.median if both else before
        other = both.tuned.median if both else refined.after[name]
        rows.append([name, show_seconds(one), show_seconds(other),
                     f"{one / other:.2f}×" if other else "-"])
    return rows


def guard_facts(found: Sequence[ConfirmedSizeGuards], device: str, policy: str) -> dict[str, Any]:
    """The content of the JSON file: the guards, and the device and policy that they are for."""
    return {"device": device, "policy": policy,
            "sites": {site: to_json(finer) for each in found
                      for site, finer in each.finer.items()},
            "entries": {each.entry: {
                "kind": each.guards.value, "kept_thresholds": each.why or None,
                "before": each.before, "after": each.after,
                "verified": {name: asdict(both) for name, both in each.verified.items()}}
                for each in found}}
