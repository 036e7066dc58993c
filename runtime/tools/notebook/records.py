"""Records of runs: their times, and the versions that ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.record import Record
from runelift.runtime.records.records import Records, rows
from runelift.runtime.tools.notebook.fragments import fragment, note, numbers, title
from runelift.runtime.tools.pages.document import folded
from runelift.runtime.tools.pages.markup import Markup, element

SHOWN = 30
"""The most rows of a table."""
WIDTH = 120.0
"""The pixels of the longest bar."""


def html(shown: Record | Records) -> Markup:
    """One record with its choices, or a table of records."""
    return fragment(*(_record(shown) if isinstance(shown, Record) else _records(shown)))


def _records(records: Records) -> Iterator[Markup]:
    if not records:
        yield note("No records.  With program.recording = True, each call appends one.")
        return
    left = len(records) - SHOWN
    yield numbers(rows(records[:SHOWN]))
    if left > 0:
        yield note(f"… and {left} more: to_dicts(), to_pandas()")


def _record(record: Record) -> Iterator[Markup]:
    yield title(f"Run of {record.entry}", f"on {record.device}")
    yield numbers(rows([record]))
    choices = Counter[tuple[str, int]]()
    times = Counter[tuple[str, int]]()
    for each in record.encounters:
        choices[each.site, each.chosen] += 1
        times[each.site, each.chosen] += each.time  # type: ignore[assignment]
    longest = max(times.values(), default=0)
    shown = times.most_common(SHOWN)
    yield element("table", [element("tr", [element("th", head) for head in (
        "choice", "version", "times", "device time", "")]), *(
        element("tr", [element("td", site), element("td", str(version)),
                       element("td", str(choices[site, version])),
                       element("td", show_seconds(time)), element("td", _bar(time, longest))])
        for (site, version), time in shown)])
    if record.infeasible:
        yield folded("Versions that cannot run here", [element("ul", [
            element("li", f"{name}: {reason}") for name, reason in record.infeasible.items()])])


def _bar(time: float, longest: float) -> Markup:
    pixels = WIDTH * time / longest if longest else 0.0
    return element("span", "", class_="bar", style=f"width: {max(1.0, pixels):.0f}px")
