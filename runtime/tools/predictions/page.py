"""The page of ``runelift explain cost --html``: predicted times of all versions over a size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages import document as html
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.predictions.call import (
    HEAD,
    ExplainedCost,
    cells,
    legend,
    obstacles,
    rows,
)
from runelift.runtime.tools.predictions.curves import CostCurves, SiteCurves, changes_said, tip
from runelift.runtime.versions.version_names import described_version

NEAR = 1.02
"""Changes at sizes that differ by no more than this factor have one line in a picture."""


def page(title: str, about: Mapping[str, str], curves: Sequence[CostCurves],
         calls: Sequence[ExplainedCost]) -> str:
    """The page of an entry point's curves, and of its calls at some sizes."""
    return html.document(title, [
        html.facts(about), html.paragraph("Nothing was run: times are those of the model of cost."),
        *(part for each in curves for part in _curves(each)),
        *(part for each in calls for part in _call(each))])


def _curves(curves: CostCurves) -> Iterator[Markup]:
    x = Axis(curves.over, write_size, logarithmic=True)
    y = Axis("predicted time", show_seconds, logarithmic=True)
    figures = [_site(curves, each, x, y) for each in curves.sites]
    if len(figures) != 1:
        series = charts.Series("by default", [(size, call.totals.seconds) for size, call in
                                              curves.calls], 0)
        figures.insert(0, html.figure(charts.curves(
            f"The call over {curves.over}", "The predicted time of the whole call.", x, y,
            [series]), "The whole call, with the versions that run by default."))
    yield html.section(f"{curves.forest.entry} over {curves.over}"
                       + (f", {curves.label}" if curves.label else ""), [html.grid(figures)])
    for each in curves.sites:
        names = [described_version(one) for one in each.site.alternatives]
        rows = [[curves.over, *names, "runs"], *(
            [f"{size:,}", *(show_seconds(one.seconds) for one in choice.versions),
             names[choice.chosen] if choice.chosen >= 0 else "-"]
            for size, choice in each.points)]
        yield html.folded(f"Times at {each.site.name} as numbers", [
            html.table(rows, kind="numbers")])


def _site(curves: CostCurves, each: SiteCurves, x: Axis, y: Axis) -> Markup:
    """The picture of a choice, and its changes in words."""
    series = []
    for number, alternative in enumerate(each.site.alternatives):
        points = [(size, choice) for size, choice in each.points
                  if choice.versions[number].totals is not None]
        series.append(charts.Series(
            described_version(alternative),
            [(size, choice.versions[number].seconds) for size, choice in points], number,
            tips=[tip(size, curves.over, choice, number) for size, choice in points]))
    place = f" [{each.site.place}]" if each.site.place else ""
    said = [f"From {curves.over} = {size:,} on, {text}." for size, text in changes_said(
        each, curves.over)]
    picture = charts.curves(
        f"Versions at {each.site.name} over {curves.over}",
        " ".join(said) or "One version runs at all sizes.", x, y, series, list(_marks(each)))
    return html.figure(picture, f"{each.site.name}{place}. "
                       + (" ".join(said) or "One version runs at all sizes."))


def _marks(curves: SiteCurves) -> Iterator[charts.Mark]:
    """Lines in a chart at changes: of the default choice, and at other crossings of curves."""
    defaults = [each.size for each in curves.changes if each.default]
    for each in curves.changes:
        if each.default:
            yield charts.Mark(each.size, f"default changes at {each.size:,}", "default")
        elif all(max(each.size, other) > NEAR * min(each.size, other) for other in defaults):
            yield charts.Mark(each.size, f"curves cross at {each.size:,}", "crossing")


def write_size(value: float) -> str:
    """A size beside an axis.

    >>> write_size(1.0), write_size(1e4), write_size(2e7)
    ('1', '10^4', '2·10^7')
    """
    if value < 1000:
        return f"{value:g}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = value / 10.0**power
    return ("" if abs(factor - 1) < 1e-9 else f"{factor:g}·") + f"10^{power}"


def _call(call: ExplainedCost) -> Iterator[Markup]:
    """The versions of a call at given sizes, as tables."""
    parts = [html.table([[*HEAD], ["the call, by default", *cells(call.prediction.totals)]],
                        kind="numbers")]
    for site, choices in call.met():
        title = f"{site.name}: the first of {len(choices)} encounters" if len(choices) > 1 else (
            site.name)
        parts += [html.table(rows(site, choices[0], ""), title, kind="numbers"),
                  html.lines(obstacles(site, choices[0], described_version))]
    yield html.section(f"{call.forest.entry}, {call.label}", [
        *parts, html.paragraph(legend([call]))])
