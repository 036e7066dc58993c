"""Times of settings of kernels: heat maps over two parameters, their importance, the search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages import document as html
from runelift.runtime.tools.pages.charts import courses_figure
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.reports.parameters import (
    METHOD,
    UNCLEAR,
    RelativeTimes,
    importance_rows,
    importances,
    overview,
    relative_times,
    short,
)
from runelift.runtime.tuner.analysis.importance import Importance
from runelift.runtime.tuner.kernel_parameters.tune import OperationResult, ParameterTuning


def parameter_charts(tuning: ParameterTuning) -> list[Markup]:
    """The outcome of all trials, and a picture for each operation that was tried."""
    tried = [each for each in tuning.settled if each.trials]
    found = importances(tuning)
    parts = [html.table(importance_rows(found), METHOD, kind="stacks")] if found else []
    why = [html.paragraph(f"The settings stay as they are: {tuning.why}.")] if tuning.why else []
    return [*why, html.table(overview(tuning), "Time of an operation, by its best setting, "
                             "relative to the default setting", kind="stacks"),
            *parts, *_search(tried),
            *(html.section(each.operation, list(_operation(each, found.get(each.operation))), 3)
              for each in sorted(tried, key=lambda each: each.ratio))]


# The search


def _search(tried: Sequence[OperationResult]) -> Iterator[Markup]:
    """The best time so far, over tries and over seconds, of the operations that gained most."""
    shown = sorted((each for each in tried if len(each.history) > 1),
                   key=lambda each: each.history[-1].score)[:charts.STYLES]
    if not shown:
        return
    ends = [(each.operation, each.history[-1]) for each in shown]
    text = "; ".join(f"{name} {end.score:.2f} after {end.runs} tries" for name, end in ends) + "."
    yield html.grid([courses_figure(
        f"Search for parameters over {what}", text, what,
        Axis("best time, relative to default", lambda v: f"{v:g}"),
        {each.operation: [(step[place], step.score) for step in each.history] for each in shown},
        f"The best setting so far of each operation over {what}, on its first dataset."
        + (f"  The {charts.STYLES} that gained most." if len(tried) > charts.STYLES else ""))
        for what, place in (("tries", 0), ("seconds", 1))])


# Operations


def _operation(settled: OperationResult, found: Importance | None) -> Iterator[Markup]:
    ratios = relative_times(settled.trials)
    names = _varied(ratios, found)
    best = min(ratios, key=lambda setting: ratios[setting], default=())
    text = "fastest with " + ", ".join(f"{short(name)} {value}" for name, value in best
                                       if name in names) + "."
    title = f"{settled.operation}: time relative to the default"
    refused = [dict(trial.setting) for trial in settled.trials if trial.seconds is None]
    if len(names) >= 2:
        down, across = names[0], names[1]
        columns, rows = (sorted({dict(s)[name] for s in ratios} | {s[name] for s in refused})
                         for name in (across, down))
        cells = [[_least(ratios, {across: x, down: y}) for x in columns] for y in rows]
        crosses = [[any(each[across] == x and each[down] == y for each in refused)
                    for x in columns] for y in rows]
        yield html.figure(
            charts.heat_map(title, text, (short(across), columns), (short(down), rows), cells,
                            crosses),
            f"{settled.operation}: the least time relative to the default, whatever the other "
            f"parameters are; {text}")
    elif names:
        values = sorted({dict(s)[names[0]] for s in ratios})
        yield html.figure(charts.curves(
            title, text, Axis(short(names[0]), lambda v: f"{v:g}", min(values) > 0),
            Axis("time relative to the default", lambda v: f"{v:g}"),
            [charts.Series("least", [(v, _least(ratios, {names[0]: v}) or math.nan)
                                     for v in values], 0)]), f"{settled.operation}: {text}")
    if settled.impossible:
        yield html.paragraph("Settings that were refused:")
        yield html.lines([f"{count}: {reason.strip().partition(chr(10))[0]}"
                          for reason, count in settled.impossible.items()])
    yield html.folded("All trials, as a table", [html.table([
        ["setting", "dataset", "time", "default"],
        *([", ".join(f"{short(n)} {v}" for n, v in trial.setting.items()), trial.dataset,
           "refused" if trial.seconds is None else show_seconds(trial.seconds),
           show_seconds(trial.default)] for trial in settled.trials)], kind="stacks")])


def _varied(ratios: RelativeTimes, found: Importance | None) -> list[str]:
    """The parameters that were tried with several values: most important, then most values."""
    values = defaultdict[str, set[int]](set)
    for setting in ratios:
        for name, value in setting:
            values[name].add(value)
    parts = found.parts if found is not None and found.fit >= UNCLEAR else {}
    return sorted((name for name in values if len(values[name]) > 1),
                  key=lambda name: (-parts.get(name, 0.0), -len(values[name])))


def _least(ratios: RelativeTimes, given: Mapping[str, int]) -> float | None:
    """The least time of settings with these values; None if there was no such trial."""
    return min((ratio for setting, ratio in ratios.items()
                if given.items() <= dict(setting).items()), default=None)
