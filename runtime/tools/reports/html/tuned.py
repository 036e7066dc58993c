"""The page of a tuning: its facts as pictures, and as tables for readers who cannot see these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from runelift.ir.guards import KIND_IN_WORDS
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages import document as html
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.reports import text as report
from runelift.runtime.tools.reports.environment import environment
from runelift.runtime.tools.reports.html.results import (
    convergence_parts,
    verdict_parts,
    versions_chart,
)
from runelift.runtime.tools.reports.html.settings import parameter_charts
from runelift.runtime.tools.reports.html.trees import CHOSEN, MARKS, decision_table
from runelift.runtime.tools.reports.memory_fronts import front_rows, notes
from runelift.runtime.tools.reports.verdict import changes
from runelift.runtime.tuner.analysis.conflicts import conflicts
from runelift.runtime.tuner.analysis.guard_curves import (
    GuardCurves,
    ScoreCurve,
    guard_curves,
    is_never,
    score_curves,
)
from runelift.runtime.tuner.analysis.winners import forced_standings
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
from runelift.runtime.tuner.measure.side_by_side import SideBySide
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import described_version

COLUMNS = 6
"""Datasets that have a column beside the conditions at most."""
MOST_ROWS = 40
"""Most rows of repeated runs that are drawn; the table has all."""
BEYOND = 2.0
"""The multiple of the greatest parallelism at which thresholds that nothing reaches are drawn."""


def tuned(tuning: Tuning, about: Mapping[str, str],
          tried: Sequence[ParameterTuning] = (), finer: Sequence[ConfirmedSizeGuards] = (),
          validated: Mapping[str, PairedTimes] | None = None,
          left_out: Mapping[str, list[HeldOut]] | None = None,
          final: Sequence[SideBySide] = ()) -> list[Markup]:
    """The parts of the page: the verdict, how versions are chosen, and what this is based on."""
    measured = [entry.measurements for entry in tuning.entries]
    guards = {each.entry: each for each in finer}
    return [*verdict_parts(changes(tuning, tried, finer, final), about),
            *([html.section("Datasets kept out of tuning", [html.table(
                report.validation_rows(validated), kind="stacks")])] if validated else []),
            *(html.section(f"Entry point {entry.forest.entry}", list(
                _entry(entry, (left_out or {}).get(entry.forest.entry, []),
                       guards.get(entry.forest.entry), final)))
              for entry in tuning.entries),
            *(html.section(f"Parameters of kernels of {each.entry}", parameter_charts(each))
              for each in tried if each.settled),
            html.section("Environment", [html.facts(environment(about, measured))])]


def _entry(entry: EntryTuning, left_out: list[HeldOut], finer: ConfirmedSizeGuards | None,
           final: Sequence[SideBySide]) -> Iterator[Markup]:
    if not entry.costs.datasets:
        yield html.paragraph("No dataset has times of all versions; the default thresholds stay.")
        yield html.lines([each.strip().removeprefix("note: ") for each in report.failures(entry)])
        return
    yield html.section("Which version runs when", list(_decisions(entry, finer)), 3)
    if finer is not None:
        yield html.section("Size guards", list(_finer(finer)), 3)
    if len(shown := [*versions_chart(entry, final)]) > 0:
        yield html.section("Versions on each dataset", shown, 3)
    if entry.front is not None:
        yield html.section("Time and device memory", [
            html.paragraph("Choices of thresholds of which no other one is better, by ascending "
                           f"memory; {CHOSEN} marks the one that was taken.  Memory is that of the "
                           "dataset that needs most."),
            html.table([[CHOSEN if row[0] else "", *row[1:]] for row in front_rows(entry)],
                       kind="stacks"), *map(html.paragraph, notes(entry))], 3)
    curves = list(guard_curves(entry.costs, entry.fit.thresholds))
    if curves:
        yield html.section("Versions over parallelism", [
            html.paragraph("A point is the recorded time of a version at one parallelism.  Where "
                           "the points of a guard's two sides swap places, the threshold should "
                           "lie.  Encounters with the same parallelism, of other datasets too, are "
                           "summed up by their median."),
            html.grid([_guard(entry, each) for each in curves]),
            *(_guard_times(each) for each in curves)], 3)
    yield from _scores(entry)
    if found := list(conflicts(entry.costs, entry.fit.thresholds)):
        yield html.section("Conflicts between datasets", [
            html.lines([f"{each}." for each in found])], 3)
    if left_out:
        yield html.section("Datasets left out of the fit", [
            html.table(report.held_out_rows(left_out), kind="stacks"),
            html.paragraph(f"{summary(left_out)}.")], 3)
    yield from _unused(entry)
    yield from convergence_parts(entry)
    if repeated := repeated_runs(entry.measurements):
        yield html.section("Noise", list(_noise(entry.forest, repeated)), 3)


def _finer(refined: ConfirmedSizeGuards) -> Iterator[Markup]:
    if refined.why:
        yield html.paragraph(no_guards(refined))
        return
    yield html.paragraph("Size guards know the sizes that were measured.  They decide before the "
                         "thresholds.  Numbers behind versions: how many times as long as the "
                         "first.")
    yield html.folded("The sizes, and the order of versions at each", [*_guard_lines(refined)])
    yield html.folded("Times when the guards were tried", [
        html.table(time_rows(refined), kind="stacks")])


def _guard_lines(refined: ConfirmedSizeGuards) -> Iterator[Markup]:
    """A paragraph for each site, and a list of what it knows."""
    items = list[str]()
    for line in described(refined):
        if line.startswith(" "):
            items.append(line.strip())
            continue
        if items:
            yield html.lines(items)
        items = []
        yield html.paragraph(line)
    yield html.lines(items)


def _unused(entry: EntryTuning) -> Iterator[Markup]:
    """The versions that could not run, and the versions that were not worth a run."""
    found = [*(f"Not used: {line}" for line in report.failed_versions(entry)),
             *report.skipped_versions(entry)]
    if found:
        yield html.section("Versions without a time", [html.lines(found)], 3)


# Decisions


def _decisions(entry: EntryTuning, finer: ConfirmedSizeGuards | None) -> Iterator[Markup]:
    forest, fit = entry.forest, entry.fit
    found = {d.name: forced_standings(forest, d, entry.choice) for d in entry.costs.datasets}
    if finer is not None and finer.finer:
        yield html.paragraph("Size guards come first (below); where they do not know the sizes, "
                             "these conditions decide.")
    if fit.kept_default:
        yield html.paragraph(f"The default thresholds stay: {fit.kept_default}.")
    columns = found if len(found) <= COLUMNS else {}
    yield html.figure(decision_table(forest, columns, fit.thresholds),
                      f"Conditions are tested from the top.  {_kinds(forest)}" + (
                          f"  Times: {report.CLOCK[0].lower()}{report.CLOCK[1:]}.  {MARKS}"
                          if columns else ""))
    if not columns:
        names = {leaf.label or "": described_version(leaf) for leaf in forest.leaves()}
        yield html.folded("The versions on each dataset, as a list", [html.table([
            ["version", "dataset", "time", "fastest", "chosen at"],
            *([names[label], name, show_seconds(one.seconds), "★" * one.wins,
               f"{one.chosen} of {one.encounters}"]
              for name, each in found.items() for label, one in each.items())])])
    yield html.folded("The thresholds, and the values that make the same choices", [html.table(
        report.threshold_rows(entry), report.LEGEND, kind="stacks")])


def _kinds(forest: Forest) -> str:
    """The meaning of the kinds of versions that there are."""
    kinds = dict.fromkeys(leaf.kind for leaf in forest.leaves())
    return "; ".join(f"{kind.value}: {KIND_IN_WORDS[kind]}" for kind in kinds) + "."


def _scores(entry: EntryTuning) -> Iterator[Markup]:
    """The score over each threshold that matters.  One line names all other thresholds."""
    scores = score_curves(entry.costs, entry.fit.thresholds)
    shown = [each for each in scores if each.matters and len(each.scores) > 2]
    idle = [each.guard for each in scores if not each.matters]
    parts = list[Markup]()
    if shown:
        parts.append(html.paragraph(
            "How the mean over all datasets of the time, relative to the best possible, depends on "
            "one threshold while the others are those chosen."))
        parts.append(html.grid([_score(entry, each) for each in shown]))
        parts += [_score_table(each) for each in shown]
    if idle:
        parts.append(html.paragraph(f"No effect (less than 1 %): {', '.join(idle)}."))
    if parts:
        yield html.section("Score over one threshold", parts, 3)


# Curves


def _guard(entry: EntryTuning, curves: GuardCurves) -> Markup:
    name = curves.guard
    greatest = max(value for value, _ in curves.holding + curves.failing)
    chosen = entry.fit.thresholds[name]
    x = Axis("average parallelism" if curves.average else "parallelism (work-items)", _count,
             logarithmic=True)
    series = [charts.Series(version, [point for point in curve if point[0] > 0], style, lines=False,
                            tips=[f"{version} at {value:,}: {show_seconds(seconds)}"
                                  for value, seconds in curve if value > 0])
              for style, (version, curve) in enumerate(curves.versions.items())]
    marks = [charts.Mark(value, f"crossover {value:,.0f}", "crossing")
             for value in curves.crossovers]
    if 0 < chosen <= BEYOND * greatest:
        marks.append(charts.Mark(chosen, f"threshold {chosen:,}"))
    text = crossing(curves, chosen)
    return html.figure(charts.curves(
        f"{name}: time of each version over the parallelism", text, x,
        Axis("time of an encounter", show_seconds, logarithmic=True), series, marks,
        _interval(entry, name, greatest)), f"{name}: {text}")


def _guard_times(curves: GuardCurves) -> Markup:
    return html.folded(f"The times at {curves.guard}, as a table", [html.table([
        ["parallelism", *curves.versions], *(
            [f"{value:,}", *(show_seconds(dict(curve).get(value, math.nan))
                             for curve in curves.versions.values())]
            for value in sorted({v for curve in curves.versions.values() for v, _ in curve}))])])


def _interval(entry: EntryTuning, name: str, greatest: float) -> tuple[float, float] | None:
    """The interval of thresholds with equal choices, cut to the range of the picture."""
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
    shown = report.show_threshold(chosen)
    decision = {"never": "this version is switched off",
                report.PREDICTED: "predicted times decide"}.get(shown, f"the threshold is {shown}")
    return f"{crossed}; {decision}."


def _score(entry: EntryTuning, curve: ScoreCurve) -> Markup:
    numbers = [(value, score) for value, score in curve.scores if not is_never(value)]
    beyond = BEYOND * numbers[-1][0]
    points = [(min(value, beyond), score) for value, score in curve.scores
              if math.isfinite(score)]
    chosen = entry.fit.thresholds[curve.guard]
    least = min((score for _, score in points), default=math.nan)
    where = next((value for value, score in curve.scores if score == least), 0)
    what = report.show_threshold(chosen) if chosen else "the choice by predicted time"
    text = f"least, {least:.3f}, at {report.show_threshold(where)}; {what} was chosen."
    marks = [charts.Mark(min(chosen, beyond), f"threshold {what}")] if chosen else []
    return html.figure(charts.curves(
        f"{curve.guard}: score over the threshold", text,
        Axis("threshold" if curve.average else "threshold (work-items)", _count, True,
             ((beyond, "never"),)),
        Axis("mean relative time", lambda v: f"{v:.4g}", True),
        [charts.Series("score", points, 0, lines=False)], marks), f"{curve.guard}: {text}" + (
            f"  {curve.omitted} thresholds between those shown are left out." if curve.omitted
            else "") + ("" if all(math.isfinite(score) for _, score in curve.scores) else
                        "  Thresholds with which a version cannot run have no point."))


def _score_table(curve: ScoreCurve) -> Markup:
    return html.folded(f"The scores of {curve.guard}, as a table", [html.table([
        ["threshold", "score"], *(
            [report.show_threshold(value), f"{score:.4g}" if math.isfinite(score) else "cannot run"]
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
    yield html.figure(charts.spreads(
        "Repeated runs relative to their median", text,
        Axis("time relative to the median of the same runs", lambda v: f"{v:g}×",
             logarithmic=True),
        [(f"{each.dataset}, {each.versions(forest)}", [s / each.middle for s in each.seconds
                                               if each.middle]) for each in ranked]),
        f"Each stroke is a run, named by its dataset and its versions; "
        f"{text}" + (
            f"  The {MOST_ROWS} that vary most of {len(repeated)}."
            if len(repeated) > MOST_ROWS else ""))
    yield html.folded("Repeated runs, as a table", [html.table([
        ["dataset and versions", "runs", "median", "half within", "least", "greatest"],
        *([f"{each.dataset}, {each.versions(forest)}", str(len(each.seconds)),
           show_seconds(each.middle), f"±{100 * each.deviation:.1f} %",
           show_seconds(min(each.seconds)), show_seconds(max(each.seconds))]
          for each in repeated)])])
