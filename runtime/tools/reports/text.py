"""The results of a tuning, as text for people and as facts for the JSON file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import FORMAT, show_seconds, table
from runelift.runtime.records.statistics import median
from runelift.runtime.tools.reports.memory_fronts import front_facts
from runelift.runtime.tuner.analysis.conflicts import conflicts
from runelift.runtime.tuner.analysis.guard_curves import guard_curves, is_never, score_curves
from runelift.runtime.tuner.analysis.winners import Standing, forced_standings
from runelift.runtime.tuner.costs.cost_model import Costs, EncounterCosts
from runelift.runtime.tuner.costs.log import NO_TIME
from runelift.runtime.tuner.costs.noise import repeated_runs
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.cross_validation import HeldOut, finite, summary
from runelift.runtime.tuner.fit.exhaustive import combinations, exhaustive
from runelift.runtime.tuner.fit.fit import Fit, objective
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.version_names import (
    names_of_plan,
    with_version_names,
    without_versions,
)

PREDICTED = "by predicted time"
"""The word for thresholds of 0: the version runs if none that follow is predicted to be faster."""
LEGEND = (f"{PREDICTED}: the version predicted to be fastest runs; a threshold in the tuning file "
          "overrides that. never: this version is switched off. worst: score of its worst value.")
"""The meaning of the words for thresholds."""
CLOCK = "Recorded time of all that happens at a choice, if each version is forced"
"""The clock of a table of versions, on pages and in text."""
TRIABLE = 1_000_000_000
"""Most costs of encounters that an exhaustive search may look at."""
QUICK = 1_000_000
"""Most such costs if thresholds are exact, so that the search would find no better thresholds."""


def held_out_rows(found: list[HeldOut]) -> list[list[str]]:
    """Times of each dataset with thresholds fitted to all other datasets; the head first."""
    return [["left out", "default", "with the others'", "with its own", "slower by"],
            *([each.dataset, show_seconds(each.default), show_seconds(each.seconds),
               show_seconds(each.oracle),
               f"{100 * each.regret:.1f} %" if math.isfinite(each.regret) else "-"]
              for each in found)]


def render_held_out(entry: str, found: list[HeldOut]) -> str:
    """A table of the datasets that are left out of the fit, and a summary."""
    if not found:
        return f"{entry}: there are too few datasets to leave one out."
    return f"{entry}: datasets left out of the fit\n\n" + (
        table(held_out_rows(found), "  ") + f"\n  {summary(found)}")


def validation_rows(validated: Mapping[str, PairedTimes]) -> list[list[str]]:
    """Times of datasets that were not tuned for, the head first."""
    return [["not tuned for", "default", "tuned", "gain"],
            *([name, *both.texts] for name, both in validated.items())]


def render_validation(validated: Mapping[str, PairedTimes]) -> str:
    """A table of the datasets that are kept out of tuning; nothing if there are none."""
    return "Datasets kept out of tuning:\n" + table(
        validation_rows(validated), "  ") if validated else ""


def render(tuning: Tuning, *, times: bool = True) -> str:
    """The trees, the times of their versions on each dataset, and the choice.

    Without ``times``, the times of whole runs are left out: a verdict has them.
    """
    return "\n\n".join("\n".join(_render_entry(entry, times)) for entry in tuning.entries)


def _render_entry(entry: EntryTuning, times: bool) -> Iterator[str]:
    yield f"Program runs: {_runs(entry)}"
    if len(entry.measurements.places) > 1:
        yield (f"  measured on {len(entry.measurements.places)} devices: "
               f"{', '.join(entry.measurements.places)}")
    yield ""
    yield entry.forest.render()
    if not entry.costs.datasets:
        yield ""
        yield "No dataset has times of all versions; the default thresholds stay."
        yield from failures(entry)
        return
    yield ""
    yield f"{CLOCK} (* runs after tuning, ×n at n encounters):"
    head = ["version", *(d.name for d in entry.costs.datasets)]
    found = [forced_standings(entry.forest, d, entry.choice) for d in entry.costs.datasets]
    body = [[f"{leaf.label} ({leaf.kind.value})", *(_cell(each.get(leaf.label or ""))
                                                    for each in found)]
            for leaf in entry.forest.leaves()]
    yield table([head, *body], "  ")
    yield ""
    yield "Thresholds:"
    yield table(threshold_rows(entry), "  ")
    yield f"  {LEGEND}"
    if entry.fit.kept_default:
        yield f"  The defaults stay: {entry.fit.kept_default}."
    if times:
        yield ""
        yield f"Time of a run ({'host clock, in turn' if entry.verified else 'recorded'}):"
        yield table(run_times(entry), "  ")
        if not entry.verified:
            yield f"  (predicted from {_source(entry)})"
    yield from _losses(entry)
    yield from _observations(entry)
    yield from failures(entry, failed=times)


def show_threshold(value: int) -> str:
    """A threshold in words where it is none to compare with; predicted times decide for 0."""
    return "never" if is_never(value) else PREDICTED if value == 0 else f"{value:,}"


def threshold_rows(entry: EntryTuning) -> list[list[str]]:
    """The thresholds by default and tuned, and which make the same choices; the head first.

    The last column has the factor by which the score is worse with the worst value of that
    threshold alone.
    """
    rows = [["name", "default", "tuned", "equally good", "worst"]]
    scores = {curve.guard: curve.worst for curve in score_curves(
        entry.costs.compact(), entry.fit.thresholds)}
    for name, value in entry.fit.thresholds.items():
        interval = entry.fit.intervals.get(name)
        span = (f"{show_threshold(interval.low + 1)}..{show_threshold(interval.high)}"
                if interval else "")
        worst = scores.get(name, math.nan)
        rows.append([name, show_threshold(entry.defaults[name]), show_threshold(value), span,
                     "fails" if math.isinf(worst) else "-" if math.isnan(worst)
                     else f"{worst:.2f}×"])
    return rows


def run_times(entry: EntryTuning) -> list[list[str]]:
    """The time of a run on each dataset, the head first; measured where it was verified.

    The last column is the gain if every choice were the best, by the runs of single versions.
    Where the default versions cannot run, or had to be stopped, there is no gain.
    """
    rows = [["dataset", "default", "tuned", "gain", "possible (predicted)"]]
    for name, predicted in entry.fit.predicted.items():
        both = entry.verified.get(name)
        default = both.default.median if both else entry.fit.default[name]
        tuned = both.tuned.median if both else predicted
        rows.append([name, show_seconds(default), show_seconds(tuned), show_gain(default, tuned),
                     show_gain(entry.fit.default[name], entry.fit.least[name])])
    return rows


def show_gain(before: float, after: float) -> str:
    """The factor by which it is faster after than before, where both are known.

    >>> show_gain(3.0, 2.0), show_gain(math.inf, 2.0), show_gain(3.0, 0.0)
    ('1.50×', '-', '-')
    """
    return f"{before / after:.2f}×" if after and math.isfinite(before + after) else "-"


def _runs(entry: EntryTuning) -> str:
    count, datasets = len(plans(entry.forest)), len(entry.measurements.datasets)
    versions, data = counted(count, "version"), counted(datasets, "dataset")
    if not datasets:
        return "none"
    if not entry.measurements.replayed:
        further = max(0, entry.program_runs - count * datasets)
        return f"{versions} × {data} = {entry.program_runs - further}" + (
            f", and {further} with the best versions of other choices" if further else "")
    return (f"{entry.program_runs} for {data}; each replays all versions, in place of {count} "
            "forced runs")


def _losses(entry: EntryTuning) -> Iterator[str]:
    """The distance of the choice from the best of an exhaustive search."""
    loss = loss_to_exhaustive(entry.known, entry.defaults, entry.fit, entry.aim)
    if loss is not None:
        yield (f"  within {100 * loss:.2f} % of the best of an exhaustive search on these runs "
               f"({combinations(entry.costs):,} combinations)")
    elif entry.fit.exact:
        yield "  solved exactly: no thresholds do better on these runs"
    if entry.first is not None:
        ratio = _ratio(objective(entry.costs, entry.fit.thresholds, entry.aim),
                       objective(entry.costs, entry.first.thresholds, entry.aim))
        suggested = "a gain" if ratio is None else f"{max(1.0, ratio):.3g}×"
        names = ", ".join(sorted(entry.unmoved))
        kept = ("nothing was changed" if entry.fit.kept_default else
                f"{names} {'keeps its' if len(entry.unmoved) == 1 else 'keep their'} default "
                "versions" if names else "later runs in turn decided")
        yield (f"  {_source(entry).capitalize()} suggested {suggested}.  A direct comparison "
               f"showed no gain, so {kept}.")


def _ratio(one: float, other: float) -> float | None:
    return one / other if other and math.isfinite(one + other) else None


def _source(entry: EntryTuning) -> str:
    if not entry.measurements.replayed:
        return "single-version runs"
    others = set(entry.measurements.datasets) - entry.measurements.replayed
    return "replayed versions" + (" and single-version runs" if others else "")


def loss_to_exhaustive(costs: Costs, default: Mapping[str, int], fit: Fit,
                       aim: Objective = Objective.RELATIVE) -> float | None:
    """By what fraction the best thresholds that slow no dataset down would be better than a fit.

    None if there are too many combinations to try, or a dataset on which the default cannot run.
    """
    encounters = sum(len(d.points) for d in costs.compact().datasets)
    looks = costs.once("combinations", lambda: combinations(costs)) * encounters
    if looks > (QUICK if fit.exact else TRIABLE):
        return None
    found = costs.once(("exhaustive", tuple(default.items()), aim),
                       lambda: exhaustive(costs, default, aim=aim))
    if found is None or not found[0]:
        return 0.0
    ratio = _ratio(objective(costs, fit.thresholds, aim), found[0])
    return None if ratio is None else max(0.0, ratio - 1)


def _observations(entry: EntryTuning) -> Iterator[str]:
    """Notes: break-even points of guards, conflicts, and the noise of repeated runs."""
    thresholds, costs = entry.fit.thresholds, entry.costs.compact()
    idle = [curve.guard for curve in score_curves(costs, thresholds) if not curve.matters]
    if idle:
        yield f"  note: these thresholds change nothing by 1 % or more: {', '.join(idle)}"
    for curves in guard_curves(entry.costs, thresholds):
        if curves.guard not in idle and curves.crossovers:
            yield f"  note: {curves.guard}: {curves.break_even}"
    for conflict in conflicts(costs, thresholds):
        yield f"  note: {conflict}"
    if repeated := repeated_runs(entry.measurements):
        spread = sorted(each.deviation for each in repeated)
        within, worst = 100 * median(spread), 100 * spread[-1]
        yield (f"  Noise: half of the repeats are within {within:.0f} % of the median "
               f"(worst case {worst:.0f} %).")


def failed_versions(entry: EntryTuning) -> Iterator[str]:
    """A line for each reason why versions failed to build or launch, or gave wrong results.

    Runs that other runs rule out have not failed.  Nor have runs that there was no time for.
    Datasets whose runs met no choice between versions have a line each, too.
    """
    yield from _unused(entry, left_out=False)
    for dataset in entry.measurements.without_choices:
        yield f"{dataset}: its runs met no choice between versions, so thresholds change nothing"


def skipped_versions(entry: EntryTuning) -> Iterator[str]:
    """A line for each reason why versions were not run, as other runs rule them out."""
    yield from _unused(entry, left_out=True)


def _unused(entry: EntryTuning, *, left_out: bool) -> Iterator[str]:
    """The versions without a time, the reason, and the datasets."""
    found = dict[tuple[str, str], list[str]]()
    for run in entry.measurements.runs:
        if run.error and run.error != NO_TIME and bool(run.left_out) == left_out:
            names = names_of_plan(entry.forest, run.left_out or run.force)
            found.setdefault((run.dataset, _first_line(run.error)), []).append(names)
        elif run.record and not left_out:
            for version, reason in run.record.infeasible.items():
                found.setdefault((run.dataset, _first_line(reason)), []).append(version)
    lines = dict[str, list[str]]()
    for (dataset, reason), versions in found.items():
        names = with_version_names(", ".join(sorted(set(versions))), entry.forest)
        why = with_version_names(without_versions(reason), entry.forest)
        lines.setdefault(f"{names}: {why}", []).append(dataset)
    for line, datasets in lines.items():
        others = list(dict.fromkeys(datasets))
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        yield f"{line} ({others[0]}{more})"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def failures(entry: EntryTuning, *, failed: bool = True) -> Iterator[str]:
    """Notes on what was not measured.

    With ``failed`` unset, versions that failed are left out: they are told elsewhere.
    """
    without_time = Counter(run.dataset for run in entry.measurements.runs if run.error == NO_TIME)
    for line in (*(failed_versions(entry) if failed else ()), *skipped_versions(entry)):
        yield f"  note: {line}"
    for dataset in entry.costs.datasets:
        if count := dataset.estimates():
            yield (f"  note: {dataset.name}: {count} times of slow versions are estimates from "
                   "similar encounters")
    for name, count in without_time.items():
        if name not in entry.measurements.left_out:
            yield (f"  note: {name}: the budget was spent before {count} of "
                   f"{len(plans(entry.forest))} runs; versions not measured are not chosen")
    for name in entry.measurements.left_out:
        yield (f"  note: {name}: skipped, as the budget was spent" + (
            " before all default versions had been measured" if name in without_time else ""))
    for name, dropped in entry.costs.incomplete.items():
        if dropped:
            yield (f"  note: {name}: {counted(dropped, 'encounter')} skipped, as not every version "
                   f"had {'it' if dropped == 1 else 'them'}")


def _cell(standing: Standing | None) -> str:
    """The time if a version is forced, and how often it runs."""
    if standing is None:
        return "-"
    mark = " *" if standing.chosen else ""
    often = f"×{standing.chosen}" if standing.chosen not in (0, standing.encounters) else ""
    return f"{show_seconds(standing.seconds)}{mark}{often}"


def facts(tuning: Tuning, **about: Any) -> dict[str, Any]:
    """The content of the JSON file: ``about`` (device, driver, program), then every entry point."""
    return {"format": FORMAT, **about, "interrupted": tuning.interrupted,
            "entries": {entry.forest.entry: _entry_facts(entry) for entry in tuning.entries}}


def _entry_facts(entry: EntryTuning) -> dict[str, Any]:
    thresholds = {
        name: {"value": value, "default": entry.defaults[name],
               **({"low": interval.low, "high": interval.high}
                  if (interval := entry.fit.intervals.get(name)) else {})}
        for name, value in entry.fit.thresholds.items()}
    datasets = {
        d.name: {
            "default": finite(entry.fit.default[d.name]),
            "predicted": finite(entry.fit.predicted[d.name]), "least": entry.fit.least[d.name],
            "verified": asdict(entry.verified[d.name]) if d.name in entry.verified else None,
            "samples": [_point_facts(p) for p in d.points],
        } for d in entry.costs.datasets if d.name in entry.fit.predicted}
    return {"program_runs": entry.program_runs, "thresholds": thresholds, "datasets": datasets,
            "aim": entry.aim.value,
            "objective": finite(objective(entry.costs, entry.choice, entry.aim)),
            "loss_to_exhaustive": loss_to_exhaustive(entry.known, entry.defaults, entry.fit,
                                                     entry.aim),
            "loss_to_forced_runs": loss_to_exhaustive(entry.costs, entry.defaults, entry.fit,
                                                      entry.aim),
            "memory_front": front_facts(entry),
            "unmoved": sorted(entry.unmoved), "exact": entry.fit.exact,
            "kept_default": entry.fit.kept_default}


def _point_facts(point: EncounterCosts) -> dict[str, Any]:
    return {"site": point.site.name, "sizes": point.sizes, "par": point.par,
            "times": {str(k): c.device if math.isfinite(c.device) else None
                      for k, c in point.own.items()},
            "issue": {str(k): c.host for k, c in point.own.items()},
            "inner": [_point_facts(p) for ps in point.inner.values() for p in ps]}
