"""The figure of a search or of several: the best so far, over what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages.document import figure
from runelift.runtime.tools.pages.markup import Markup
from runelift.runtime.tools.pages.scales import Axis


def courses_figure(title: str, text: str, over: str, best: Axis,
                   courses: Mapping[str, Sequence[tuple[float, float]]], note: str) -> Markup:
    """A step curve for each course by name, over runs or seconds; ``best`` is the other axis."""
    return figure(charts.curves(
        title, text, Axis(over, lambda v: f"{v:g}"), best,
        [charts.Series(name, [(float(x), y) for x, y in course], style, steps=True)
         for style, (name, course) in enumerate(courses.items())]), note)
