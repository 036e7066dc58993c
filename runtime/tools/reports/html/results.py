"""The head of the page about a tuning: the verdict, and the final choice of each dataset."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.statistics import median
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages.charts import courses_figure
from runelift.runtime.tools.pages.document import figure, grid, paragraph, section, table
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.reports.text import show_gain
from runelift.runtime.tools.reports.verdict import SAME, Change, best_version, named, sentences
from runelift.runtime.tuner.costs.log import Measurements
from runelift.runtime.tuner.costs.noise import forced_seconds
from runelift.runtime.tuner.measure.side_by_side import DEFAULT, TUNED, SideBySide
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.search.trace import Best, note

IN_TURN = ("Times: host clock, whole runs, medians.  Default, tuned and best single version ran "
           "in turn.  Best single version: the quickest run in which every choice is forced to one "
           "version, found by trying.  Limits hold the gain with 95 % confidence.")
EARLIER = ("These times are from the runs that found the choice, or predicted from runs of single "
           "versions; nothing ran side by side in the end.")
NAMED = 8
"""Versions of a run that are named at most."""
MOST_DATASETS = 20
"""Most datasets in a chart with a row for each."""
LEGEND_LETTERS = 36
"""Letters of a name in a legend at most."""
SHORT = 14
"""Letters of a text that stands in one line."""


def verdict_parts(found: Sequence[Change], about: Mapping[str, str]) -> Iterator[Markup]:
    """The verdict in sentences, the device, and one table with the final choice per dataset."""
    yield element("p", " ".join(sentences(found)), class_="verdict")
    if "device" in about:
        yield paragraph(f"Measured on {_device(about)}"
                        + (f", {about['written'][:10]}" if "written" in about else "") + ".")
    if found:
        yield table(_rows(found), IN_TURN if any(each.final for each in found) else EARLIER,
                    kind="stacks")


def _device(about: Mapping[str, str]) -> str:
    inside = ", ".join(about[key] for key in ("platform", "driver") if key in about)
    return about["device"] + (f" ({inside})" if inside else "")


def _rows(found: Sequence[Change]) -> list[list[str]]:
    """The rows of the final choices, the head first; columns without any text are left out."""
    head = ["dataset", "default", "tuned", "gain", "limits", "certainty", "best single version",
            "ran by default", "runs now"]
    rows = [[each.dataset, show_seconds(each.before), show_seconds(each.after),
             show_gain(each.before, each.after), _limits(each), each.certainty,
             best_version(each, NAMED // 2), named(each.versions(DEFAULT), NAMED),
             _now(each)] for each in found]
    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]
    return [[_unbroken(row[k]) for k in kept] for row in (head, *rows)]


def _unbroken(text: str) -> str:
    """A short text without places at which a line may end."""
    return text.replace(" ", "\u00a0") if len(text) <= SHORT else text


def _limits(change: Change) -> str:
    _, low, high = change.speedup
    if math.isnan(low) or change.certainty == SAME:
        return ""
    return f"{low:.2f} to {high:.2f}×"


def _now(change: Change) -> str:
    now = named(change.versions(TUNED), NAMED)
    return f"{now} (by size guards)" if now and change.chosen_by_guards else now


# All versions on each dataset


def versions_chart(entry: EntryTuning, final: Sequence[SideBySide]) -> Iterator[Markup]:
    """The time of runs with forced versions, relative to the default, as dots in rows."""
    times = {name: {plan: median(each) for plan, each in plans.items()} for name, plans in
             forced_seconds(entry.forest, entry.measurements).items()}
    compared = {each.dataset: each for each in final if each.entry == entry.forest.entry}
    default = {name: compared[name].median(DEFAULT) if name in compared
               else entry.fit.default.get(name, math.nan) for name in times}
    rows = [name for name in times if math.isfinite(default[name])][:MOST_DATASETS]
    if not rows:
        return
    plans = dict.fromkeys(plan for name in rows for plan in times[name])
    best = {plan: min(times[name].get(plan, math.inf) / default[name] for name in rows)
            for plan in plans}
    kept = sorted(sorted(plans, key=lambda plan: best[plan])[:charts.STYLES - 1],
                  key=lambda plan: [int(each) for each in re.findall(r"\d+", plan)])
    series = [_series(plan, style + 1, [
        (times[name][plan] / default[name], row, f"{plan} on {name}: "
         f"{show_seconds(times[name][plan])}")
        for row, name in enumerate(rows) if plan in times[name]])
        for style, plan in enumerate(kept)]
    ran = [(compared[name].median(TUNED) / default[name], row,
            f"tuned on {name}: {show_seconds(compared[name].median(TUNED))}")
           for row, name in enumerate(rows) if name in compared]
    if ran:
        series.insert(0, _series("tuned", 0, ran))
    text = (f"{counted(len(plans), 'way')} to force versions on {counted(len(rows), 'dataset')}; "
            "1 is the default.")
    yield figure(charts.dots(
        f"{entry.forest.entry}: time of versions on each dataset", text,
        Axis("time of a run, relative to the default", lambda v: f"{v:g}×", logarithmic=True),
        rows, series), f"Left is faster.  Whole runs, host clock.  {text}" + (
            f"  Only the {len(kept)} fastest are shown." if len(kept) < len(plans) else "")
        + ("" if len(rows) == len(times) else f"  The first {len(rows)} datasets."))


def _series(name: str, style: int, points: Sequence[tuple[float, int, str]]) -> charts.Series:
    short = name if len(name) <= LEGEND_LETTERS else f"{name[:LEGEND_LETTERS - 1]}…"
    return charts.Series(short, [(value, row) for value, row, _ in points], style, lines=False,
                         tips=[tip for _, _, tip in points])


# How the tuning converged


def convergence_parts(entry: EntryTuning) -> Iterator[Markup]:
    """The best time so far of each dataset, over runs and over seconds."""
    found = {name: steps for name, steps in convergence(entry.measurements).items()
             if len(steps) > 2}
    shown = sorted(found, key=lambda name: -found[name][0].score / found[name][-1].score)
    shown = sorted(shown[:charts.STYLES], key=list(found).index)
    if not shown:
        return
    text = "; ".join(f"{name}: {found[name][0].score / found[name][-1].score:.2f}× better than the "
                     f"first version" for name in shown) + "."
    pictures = [courses_figure(
        f"{entry.forest.entry}: convergence over {what}", text, what,
        Axis("best time so far, relative to the last", lambda v: f"{v:g}×", logarithmic=True),
        {name: [(step[place], step.score / found[name][-1].score) for step in found[name]]
         for name in shown},
        f"The best version so far of each dataset over {what}; a dataset begins with its first "
        "run." + (f"  The {len(shown)} datasets that gained most." if len(shown) < len(found)
                  else "")) for what, place in OVER]
    yield section("Convergence of the tuning", [grid(pictures)], 3)


OVER = (("program runs", 0), ("seconds of runs", 1))
"""The axes of convergence."""


def convergence(measurements: Measurements) -> Mapping[str, Sequence[Best]]:
    """The least seconds of each dataset, in the order of the runs; the last is after its last run.

    Each run of a single version counts.  All versions of a replay count as one run.  Time to build
    kernels is not known.
    """
    found: dict[str, list[Best]] = {}
    last: dict[str, Best] = {}
    replays = set[tuple[str, int]]()
    runs, spent = 0, 0.0
    for run in measurements.runs:
        seconds = run.seconds
        if run.replay is None or (run.dataset, run.replay) not in replays:
            runs += run.executions
            spent += (seconds or 0.0) * run.executions
        if run.replay is not None:
            replays.add((run.dataset, run.replay))
        if seconds is None or run.replay is not None or run.reference:
            continue
        steps = found.setdefault(run.dataset, [])
        note(steps, Best(runs, spent, seconds))
        last[run.dataset] = Best(runs, spent, steps[-1].score)
    return {name: [*steps, last[name]] for name, steps in found.items()}
