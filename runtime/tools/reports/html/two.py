"""The page about two tunings: which one is faster, and what differs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages.document import figure, lines, paragraph, section, table
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.reports.two_tunings import TwoTunings, sentence, time_rows


def page_of_two(found: TwoTunings) -> list[Markup]:
    """The parts of the HTML page about two tunings."""
    return [element("p", sentence(found), class_="verdict"), *_times(found),
            *_differences(found)]


def _times(found: TwoTunings) -> Iterator[Markup]:
    yield lines([f"first: {found.names[0]}", f"second: {found.names[1]}"])
    if not found.times:
        return
    yield table(time_rows(found), f"Times of {found.what}.  Speed: of the second relative to the "
                "first.", kind="stacks")
    rows = [each for each in found.times if not math.isnan(each.speedup[1])]
    if rows:
        yield figure(charts.ranges(
            "Speed of the second tuning", "; ".join(
                f"{each.dataset}: {each.speedup[0]:.2f}×" for each in rows) + ".",
            Axis("speed of the second relative to the first", lambda v: f"{v:g}×", True),
            [(each.dataset, *each.speedup) for each in rows], 1.0),
            "Right of the line, the second is faster.  Bars hold the ratio with 95 % confidence.")


def _differences(found: TwoTunings) -> Iterator[Markup]:
    head = ["", "first", "second"]
    if found.facts:
        yield section("They are of different", [table([head, *map(list, found.facts)],
                                                      kind="stacks")])
    yield section("Values that differ", [
        table([head, *map(list, found.values)]) if found.values else paragraph("None."),
        paragraph(f"{found.same} are equal.")])
