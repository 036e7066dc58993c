"""Pages about comparisons: of strategies, and of two tunings.

The first say what each strategy found, and how soon.  The second say which tuning is faster, and
what differs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.statistics import median
from runelift.runtime.research.compare_strategies import Comparison, JudgedSearch, explanation, rows
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages import document as html
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.reports.environment import environment
from runelift.runtime.tools.reports.two_tunings import TwoTunings, sentence, time_rows

LEAST = 1e-4
"""Regrets below this are drawn as this one."""
PLACES = 60
"""Places of a curve at most; of more, some are left out."""
OVER = (("runs", "program runs"), ("seconds", "tuning time (s)"))

Curve = list[tuple[float, float]]


def compared(comparisons: Sequence[Comparison], about: Mapping[str, str]) -> list[Markup]:
    """The parts of the page about comparisons, and their sources."""
    return [*(html.section(f"Strategies on entry point {each.entry}", list(_comparison(each)))
              for each in comparisons),
            html.section("Environment", [html.facts(environment(about))])]


def _comparison(comparison: Comparison) -> Iterator[Markup]:
    yield html.paragraph(
        f"{comparison.versions} versions; datasets: {', '.join(comparison.datasets)}.")
    yield html.table(rows(comparison), kind="stacks")
    yield html.lines(explanation(comparison))
    groups = _groups(list(comparison.searches))
    yield html.grid([html.figure(charts.curves(
        f"Convergence over {unit}" + (f", part {number}" if len(groups) > 1 else ""),
        _summary(comparison, names), Axis(unit, lambda v: f"{v:g}", logarithmic=True),
        Axis("regret (%)", lambda v: f"{100 * v:g}", logarithmic=True),
        [_series(comparison, name, what, style) for style, name in enumerate(names)]),
        f"Regret of the best so far over {unit}: the median of all seeds, and a band with half of "
        f"them.  Below {100 * LEAST:g} % it is drawn as that.")
        for number, names in enumerate(groups, start=1) for what, unit in OVER])
    yield html.folded("The steps of the first seed, as a table", [html.table([
        ["strategy", "runs", "tuning time", "regret"],
        *([name, str(step.runs), show_seconds(step.seconds),
           f"{100 * comparison.regret(step.score):.2f} %"]
          for name, found in comparison.searches.items() for step in found[0].search.history)])])


def _groups(names: Sequence[str]) -> list[Sequence[str]]:
    """The strategies of each picture: as many as there are colours at most.

    >>> [len(group) for group in _groups(list("abcdefghijklmnop"))], _groups(["a"])
    ([8, 8], [['a']])
    """
    count = -(-len(names) // charts.STYLES)
    size = -(-len(names) // max(1, count))
    return [names[k: k + size] for k in range(0, len(names), size)]


def _series(comparison: Comparison, name: str, what: str, style: int) -> charts.Series:
    """The median over the seeds, and a band from the first to the third quarter of them."""
    courses = [_course(comparison, found, what) for found in comparison.searches[name]]
    courses = [course for course in courses if course]
    places = _thinned(sorted({x for course in courses for x, _ in course}))
    started = max((course[0][0] for course in courses), default=0.0)
    points, band = Curve(), list[tuple[float, float, float]]()
    for x in (place for place in places if place >= started):
        here = sorted(_at(course, x) for course in courses)
        points.append((x, median(here)))
        if len(here) > 1:
            quarter = (len(here) - 1) // 4
            band.append((x, here[quarter], here[-1 - quarter]))
    return charts.Series(name, points, style, steps=True, band=band)


def _thinned(places: Sequence[float]) -> Sequence[float]:
    """Some of the places, the first and the last among them."""
    if len(places) <= PLACES:
        return places
    return [places[k * (len(places) - 1) // (PLACES - 1)] for k in range(PLACES)]


def _at(course: Curve, x: float) -> float:
    """The value that holds at a place, from the step before it."""
    return course[bisect_right(course, x, key=lambda step: step[0]) - 1][1]


def _course(comparison: Comparison, found: JudgedSearch, what: str) -> Curve:
    """The regret of the best thresholds so far, and of what the search returned."""
    points = [(float(step.runs if what == "runs" else step.seconds), step.score)
              for step in found.search.history]
    end = float(found.search.runs if what == "runs" else found.search.seconds)
    points.append((end, found.loss))
    return [(x, max(LEAST, comparison.regret(score))) for x, score in points if x > 0]


def _summary(comparison: Comparison, names: Sequence[str]) -> str:
    ends = [f"{name}: {100 * comparison.regret(found[0].loss):.2f} % after "
            f"{found[0].search.runs} runs" for name, found in comparison.searches.items()
            if name in names]
    return "; ".join(ends) + "."


def page_of_two(found: TwoTunings) -> list[Markup]:
    """The parts of the HTML page about two tunings."""
    return [element("p", sentence(found), class_="verdict"), *_times(found),
            *_differences(found)]


def _times(found: TwoTunings) -> Iterator[Markup]:
    yield html.lines([f"first: {found.names[0]}", f"second: {found.names[1]}"])
    if not found.times:
        return
    yield html.table(time_rows(found), f"Times of {found.what}.  Speed: of the second relative to "
                     "the first.", kind="stacks")
    rows = [each for each in found.times if not math.isnan(each.speedup[1])]
    if rows:
        yield html.figure(charts.ranges(
            "Speed of the second tuning", "; ".join(
                f"{each.dataset}: {each.speedup[0]:.2f}×" for each in rows) + ".",
            Axis("speed of the second relative to the first", lambda v: f"{v:g}×", True),
            [(each.dataset, *each.speedup) for each in rows], 1.0),
            "Right of the line, the second is faster.  Bars hold the ratio with 95 % confidence.")


def _differences(found: TwoTunings) -> Iterator[Markup]:
    head = ["", "first", "second"]
    if found.facts:
        yield html.section("They are of different", [html.table([head, *map(list, found.facts)],
                                                      kind="stacks")])
    yield html.section("Values that differ", [
        html.table([head, *map(list, found.values)]) if found.values else html.paragraph("None."),
        html.paragraph(f"{found.same} are equal.")])
