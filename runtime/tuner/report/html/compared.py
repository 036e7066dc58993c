"""The page about strategies: what each found, and how soon."""

from __future__ import annotations

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
from runelift.runtime.pages.markup import Markup
from runelift.runtime.pages.scales import Axis
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.report.html.environment import environment
from runelift.runtime.tuner.strategies.compare import Comparison, explanation, rows

LEAST = 1e-4
"""Regrets below this are drawn as this one."""


def compared(comparisons: Sequence[Comparison], about: Mapping[str, str]) -> list[Markup]:
    """The parts of the page about comparisons, and their sources."""
    return [*(section(f"Strategies on entry point {each.entry}", list(_comparison(each)))
              for each in comparisons), section("Environment", [facts(environment(about))])]


def _comparison(comparison: Comparison) -> Iterator[Markup]:
    yield paragraph(f"{comparison.versions} versions; datasets: {', '.join(comparison.datasets)}.")
    yield table(rows(comparison))
    yield lines(explanation(comparison))
    for what, unit in (("runs", "program runs"), ("seconds", "tuning time (s)")):
        yield figure(charts.curves(
            f"Convergence over {unit}", _summary(comparison),
            Axis(unit, lambda v: f"{v:g}", logarithmic=True),
            Axis("regret (%)", lambda v: f"{100 * v:g}", logarithmic=True),
            [charts.Series(name, _course(comparison, name, what), style, steps=True)
             for style, name in enumerate(comparison.searches)]),
            f"Regret of the best so far over {unit}, first seed; what is below "
            f"{100 * LEAST:g} % is drawn as that.")
    yield folded("The steps, as a table", [table([
        ["strategy", "runs", "tuning time", "regret"],
        *([name, str(step.runs), show_seconds(step.seconds),
           f"{100 * comparison.regret(step.score):.2f} %"]
          for name, found in comparison.searches.items() for step in found[0].search.history)])])


def _course(comparison: Comparison, name: str, what: str) -> list[tuple[float, float]]:
    """The regret of the best thresholds so far of the first seed, and of what it returned."""
    found = comparison.searches[name][0]
    points = [(float(step.runs if what == "runs" else step.seconds), step.score)
              for step in found.search.history]
    end = float(found.search.runs if what == "runs" else found.search.seconds)
    points.append((end, found.loss))
    return [(x, max(LEAST, comparison.regret(score))) for x, score in points if x > 0]


def _summary(comparison: Comparison) -> str:
    ends = [f"{name}: {100 * comparison.regret(found[0].loss):.2f} % after "
            f"{found[0].search.runs} runs" for name, found in comparison.searches.items()]
    return "; ".join(ends) + "."
