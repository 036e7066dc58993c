"""The page about one tuning: its facts as pictures, and as tables for those who cannot see them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from runelift.runtime.pages import charts
from runelift.runtime.pages.document import (
    facts,
    figure,
    folded,
    lines,
    paragraph,
    section,
    table,
)
from runelift.runtime.pages.markup import Markup, element
from runelift.runtime.pages.scales import Axis
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.analysis.conflicts import conflicts
from runelift.runtime.tuner.analysis.guard_curves import (
    GuardCurves,
    ScoreCurve,
    guard_curves,
    is_never,
    score_curves,
)
from runelift.runtime.tuner.analysis.winners import standings
from runelift.runtime.tuner.confirm_size_guards import (
    ConfirmedSizeGuards,
    described,
    no_guards,
    time_rows,
)
from runelift.runtime.tuner.costs.noise import RepeatedRuns, repeated_runs
from runelift.runtime.tuner.fit.cross_validation import HeldOut, summary
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.report.html import trees
from runelift.runtime.tuner.report.html.environment import environment
from runelift.runtime.tuner.report.html.settings import parameter_charts
from runelift.runtime.tuner.report.memory_fronts import front_rows, notes
from runelift.runtime.tuner.report.text import (
    LEGEND,
    held_out_rows,
    run_times,
    show_threshold,
    threshold_rows,
    validation_rows,
)
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import described_version

MOST_ROWS = 60
"""Most rows of repeated runs that are drawn; the table has all."""
BEYOND = 2.0
"""The multiple of the greatest parallelism at which thresholds that nothing reaches are drawn."""


def tuned(tuning: Tuning, about: Mapping[str, str],
          tried: Sequence[ParameterTuning] = (), finer: Sequence[ConfirmedSizeGuards] = (),
          validated: Mapping[str, PairedTimes] | None = None,
          left_out: Mapping[str, list[HeldOut]] | None = None) -> list[Markup]:
    """The parts of the page: thresholds, parameters, size guards, and the environment."""
    measured = [entry.measurements for entry in tuning.entries]
    return [*(section(f"Entry point {entry.forest.entry}", list(
        _entry(entry, (left_out or {}).get(entry.forest.entry, []))))
              for entry in tuning.entries),
            *(section(f"Parameters of kernels of {each.entry}", parameter_charts(each))
              for each in tried if each.settled),
            *(section(f"Guards of {each.entry} ({each.guards.value})", list(_finer(each)))
              for each in finer),
            *([section("Datasets kept out of tuning", [table(
                validation_rows(validated))])] if validated else []),
            section("Environment", [facts(environment(about, measured))])]


def _entry(entry: EntryTuning, left_out: list[HeldOut]) -> Iterator[Markup]:
    if not entry.costs.datasets:
        yield paragraph("No dataset was measured completely; the default thresholds stay.")
        return
    yield section("Time of a run", list(_times(entry)), 3)
    if entry.front is not None:
        yield section("Time and device memory", [
            paragraph("Choices of thresholds of which no other one is better, by ascending memory; "
                      "* marks the one that was taken.  Memory is that of the dataset that needs "
                      "most."), table(front_rows(entry)), *map(paragraph, notes(entry))], 3)
    yield section("Threshold tree", list(_tree(entry)), 3)
    curves = list(guard_curves(entry.costs, entry.fit.thresholds))
    if curves:
        yield section("Versions over parallelism", [
            paragraph("Where the curves of a guard's two sides cross, switching from one to the "
                      "other begins to pay; the threshold should lie there.  Encounters with the "
                      "same parallelism, of other datasets too, are summed up by their median."),
            *(part for each in curves for part in _guard(entry, each))], 3)
    scores = score_curves(entry.costs, entry.fit.thresholds)
    if any(len(curve.scores) > 2 for curve in scores):
        yield section("Score over one threshold", [
            paragraph("How the mean over all datasets of the time, relative to the best possible, "
                      "depends on one threshold while the others are those chosen."),
            *(part for each in scores if each.matters and len(each.scores) > 2
              for part in _score(entry, each)),
            *(paragraph(f"No threshold of {each.guard} makes a difference of 1 %.")
              for each in scores if not each.matters)], 3)
    if found := list(conflicts(entry.costs, entry.fit.thresholds)):
        yield section("Conflicts between datasets", [lines([f"{each}." for each in found])], 3)
    if left_out:
        yield section("Datasets left out of the fit", [
            table(held_out_rows(left_out)), paragraph(f"{summary(left_out)}.")], 3)
    if repeated := repeated_runs(entry.measurements):
        yield section("Noise", list(_noise(entry.forest, repeated)), 3)


def _finer(refined: ConfirmedSizeGuards) -> Iterator[Markup]:
    if refined.why:
        yield paragraph(no_guards(refined))
        return
    yield element("pre", "\n".join(described(refined)))
    yield table(time_rows(refined))


def _times(entry: EntryTuning) -> Iterator[Markup]:
    yield table(run_times(entry))
    yield paragraph("Measured in a direct comparison." if entry.verified else
                    "Predicted from single-version runs.")
    if entry.fit.kept_default:
        yield paragraph(f"The default thresholds stay: {entry.fit.kept_default}.")
    yield table(threshold_rows(entry),
                f"Thresholds, and the values that make the same choices.  {LEGEND}")


# The tree


def _tree(entry: EntryTuning) -> Iterator[Markup]:
    forest = entry.forest
    guards = {name: f"g{k}" for k, name in enumerate(forest.guards(), start=1)}
    names = {leaf.label or "": described_version(leaf) for leaf in forest.leaves()}
    found = {d.name: standings(forest, d, entry.fit.thresholds) for d in entry.costs.datasets}
    best = {name: sorted(label for label, one in each.items() if one.wins)
            for name, each in found.items()}
    winners = [f"On {name} {' and '.join(labels) or 'no version'} "
               f"{'wins' if len(labels) < 2 else 'win'}." for name, labels in best.items()]
    yield figure(
        trees.draw(forest, guards, names, found, " ".join(winners)),
        "Guards are tested from the left; with each version, the device time spent in it on each "
        "dataset.  ★ on green: best at most of the encounters; framed: chosen; ↻: in a loop; "
        "~: the size compared changes there.")
    yield table([["guard", "name", "of the construct at", "compares", "threshold"], *(
        [guards[guard.name], guard.name, site.place, f"{forest.compared(guard)} with the threshold",
         show_threshold(entry.fit.thresholds[guard.name])]
        for site in forest.sites().values() for guard in site.guards)])
    yield folded("The versions on each dataset, as a table", [table([
        ["version", "dataset", "device time", "best at", "chosen at"],
        *([names[label], name, show_seconds(one.seconds), f"{one.best} of {one.encounters}",
           f"{one.chosen} of {one.encounters}"]
          for name, each in found.items() for label, one in each.items())])])


# Curves


def _guard(entry: EntryTuning, curves: GuardCurves) -> Iterator[Markup]:
    name = curves.guard
    greatest = max(value for value, _ in curves.holding + curves.failing)
    chosen = entry.fit.thresholds[name]
    x = Axis("parallelism (work-items)", _count, logarithmic=True)
    series = [charts.Series(version, [point for point in curve if point[0] > 0], style)
              for style, (version, curve) in enumerate(curves.versions.items())]
    marks = [charts.Mark(value, f"crossover {value:,.0f}", "crossing")
             for value in curves.crossovers]
    if 0 < chosen <= BEYOND * greatest:
        marks.append(charts.Mark(chosen, f"threshold {chosen:,}"))
    text = crossing(curves, chosen)
    yield figure(charts.curves(
        f"{name}: time of each version over the parallelism", text, x,
        Axis("time of an encounter", show_seconds, logarithmic=True), series, marks,
        _interval(entry, name, greatest)), f"{name}: {text}")
    yield folded(f"The times at {name}, as a table", [table([
        ["parallelism", *curves.versions], *(
            [f"{value:,}", *(show_seconds(dict(curve).get(value, math.nan))
                             for curve in curves.versions.values())]
            for value in sorted({v for curve in curves.versions.values() for v, _ in curve}))])])


def _interval(entry: EntryTuning, name: str, greatest: float) -> tuple[float, float] | None:
    """The thresholds that make the same choices, as far as they are drawn."""
    interval = entry.fit.intervals.get(name)
    if interval is None or interval.low < 1 or interval.low >= greatest:
        return None
    return interval.low, min(interval.high, BEYOND * greatest)


def crossing(curves: GuardCurves, chosen: int) -> str:
    """The break-even point of the two sides of a guard, and the threshold chosen, in words."""
    faster = "holds" if curves.holding and curves.failing and (
        curves.holding[-1][1] < dict(curves.failing).get(curves.holding[-1][0], math.inf)
        ) else "does not hold"
    crossed = curves.break_even or f"faster throughout where the guard {faster}"
    return f"{crossed}; the threshold is {show_threshold(chosen)}."


def _score(entry: EntryTuning, curve: ScoreCurve) -> Iterator[Markup]:
    numbers = [(value, score) for value, score in curve.scores if not is_never(value)]
    beyond = BEYOND * numbers[-1][0]
    points = [(min(value, beyond), score) for value, score in curve.scores
              if math.isfinite(score)]
    chosen = entry.fit.thresholds[curve.guard]
    least = min((score for _, score in points), default=math.nan)
    where = next((value for value, score in curve.scores if score == least), 0)
    what = show_threshold(chosen)
    text = f"least, {least:.3f}, at {show_threshold(where)}; {what} was chosen."
    marks = [charts.Mark(min(chosen, beyond), f"threshold {what}")] if chosen else []
    yield figure(charts.curves(
        f"{curve.guard}: score over the threshold", text,
        Axis("threshold (work-items)", _count, True, ((beyond, "never"),)),
        Axis("mean relative time", lambda v: f"{v:.4g}", True),
        [charts.Series("score", points, 0)], marks), f"{curve.guard}: {text}" + (
            f"  {curve.omitted} thresholds between those shown are left out." if curve.omitted
            else ""))
    yield folded(f"The scores of {curve.guard}, as a table", [table([
        ["threshold", "score"], *([show_threshold(value), f"{score:.4g}"]
                                  for value, score in curve.scores)])])


def _count(value: float) -> str:
    """A number of work-items, short.

    >>> _count(5000.0), _count(2e6)
    ('5,000', '2 M')
    """
    for unit, scale in ((" G", 1e9), (" M", 1e6)):
        if value >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:,.0f}"


# Noise


def _noise(forest: Forest, repeated: Sequence[RepeatedRuns]) -> Iterator[Markup]:
    worst = max(repeated, key=lambda each: each.deviation)
    ranked = sorted(repeated, key=lambda each: -each.deviation)[:MOST_ROWS]
    text = (f"half of the repeated runs lie within {100 * worst.deviation:.1f} % of their median "
            f"even where it is worst ({worst.dataset}, {worst.versions(forest)}).")
    yield figure(charts.spreads(
        "Repeated runs relative to their median", text,
        Axis("time relative to the median of the same runs", lambda v: f"{v:g}×"),
        [(f"{each.dataset}, {each.versions(forest)}", [s / each.middle for s in each.seconds
                                               if each.middle]) for each in ranked]),
        f"Each stroke is a run, named by its dataset and its versions; "
        f"{text}" + (
            f"  The {MOST_ROWS} that vary most of {len(repeated)}."
            if len(repeated) > MOST_ROWS else ""))
    yield folded("Repeated runs, as a table", [table([
        ["dataset and versions", "runs", "median", "half within", "least", "greatest"],
        *([f"{each.dataset}, {each.versions(forest)}", str(len(each.seconds)),
           show_seconds(each.middle), f"±{100 * each.deviation:.1f} %",
           show_seconds(min(each.seconds)), show_seconds(max(each.seconds))]
          for each in repeated)])])
