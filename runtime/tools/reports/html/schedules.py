"""The part of a page about a search over schedules: how it converged, beside random drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runelift.runtime.tools.pages.charts import courses_figure
from runelift.runtime.tools.pages.document import folded, paragraph, section, table
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tuner.schedules.search import ScheduleSearch
from runelift.runtime.tuner.search.trace import Convergence, Curve


def schedule_sections(searched: Mapping[str, ScheduleSearch]) -> list[Markup]:
    """A section for each entry point whose schedules were searched."""
    return [section(f"Schedules of {entry}", list(_section(search)))
            for entry, search in searched.items()]


def _section(search: ScheduleSearch) -> Iterator[Markup]:
    if search.winners:
        yield table([["schedule", *search.datasets], *(
            [str(each.drawn), *(f"{each.ratios[name]:.3g}" if name in each.ratios else "does not "
                                "run" for name in search.datasets)] for each in search.winners)],
                    kind="stacks")
        yield paragraph("Times are relative to the program without a schedule.")
    else:
        yield paragraph("No schedule was worth a version of the program.")
    found = search.convergence
    if len(found.search) < 2:
        return
    yield courses_figure(
        "The best schedule so far", _summary(found), "program runs",
        Axis("relative time", lambda v: f"{v:.2g}", logarithmic=True), _curves(found),
        "Time relative to the program without a schedule, mean of all datasets, by first "
        "comparisons.  Random drawing is computed from the schedules that were drawn at random: "
        "nothing was run for it.  One in ten of its courses is below the lucky one, and one in ten "
        "above the unlucky one.")
    yield folded("The steps, as a table", [table([
        ["runs", *_curves(found)],
        *([str(rows[0][0]), *(f"{score:.3f}" for _, score in rows)]
          for rows in zip(*_curves(found).values(), strict=True))])])


def _curves(found: Convergence) -> dict[str, Curve]:
    """The curves by name.

    There are curves of random drawing only if a schedule was drawn at random.
    """
    random = {"random, mean": found.random_mean, "random, lucky": found.random_lucky,
              "random, unlucky": found.random_unlucky} if found.random_mean else {}
    return {"search": found.search, **random}


def _summary(found: Convergence) -> str:
    runs, score = found.search[-1]
    random = f"; random drawing: {found.random_mean[-1][1]:.3g}" if found.random_mean else ""
    return f"Search: {score:.3g} after {runs} runs{random}."
