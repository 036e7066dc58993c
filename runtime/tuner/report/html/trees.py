"""A threshold forest as a picture: guards at the left, versions and their times at the right.

Each version has a row, and each dataset a column with the time of the version there.  The best
version of a dataset and the chosen one are marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runelift.runtime.pages.charts import LETTER, picture
from runelift.runtime.pages.markup import Markup, element
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.analysis.winners import Standing
from runelift.runtime.versions.forest import Alternative, Forest, Site

ROW, STEP, COLUMN = 30.0, 52.0, 104.0
TOP = 40.0


@dataclass(slots=True)
class _Drawing:
    """Places for the nodes of a forest; versions get rows from the top."""

    labels: Mapping[str, str]
    left: float
    lines: list[Markup] = field(default_factory=list)
    texts: list[Markup] = field(default_factory=list)
    rows: dict[str, float] = field(default_factory=dict)
    depth: int = 0

    def forest(self, forest: Forest) -> None:
        places = [self.site(tree, 1) for tree in forest.trees]
        self.node(0, sum(places) / len(places), forest.entry, "root")
        for place in places:
            self.edge(0, sum(places) / len(places), 1, place, "")

    def site(self, site: Site, depth: int) -> float:
        """The chain of guards; the place of the first."""
        first, *later = site.alternatives
        if first.guard is None:
            return self.version(first, depth)
        holds = self.version(first, depth + 1)
        rest = self.site(Site(site.name, 0, tuple(later), site.size_variant), depth + 1)
        place = (holds + rest) / 2
        self.edge(depth, place, depth + 1, holds, "yes")
        self.edge(depth, place, depth + 1, rest, "no")
        self.node(depth, place, self.labels[first.guard.name] + (
            " ↻" if site.loops else "") + (
            " ~" if first.guard.name in site.size_variant else ""), "guard")
        return place

    def version(self, alternative: Alternative, depth: int) -> float:
        """A version, or the sites inside of it side by side."""
        if alternative.label:
            self.depth = max(self.depth, depth)
            place = TOP + ROW * (len(self.rows) + 0.5)
            self.rows[alternative.label] = place
            self.node(depth, place, "", "version")
            return place
        places = [self.site(site, depth + 1) for site in alternative.sites]
        middle = sum(places) / len(places)
        for place in places:
            self.edge(depth, middle, depth + 1, place, "")
        self.node(depth, middle, "", "version")
        return middle

    def node(self, depth: int, y: float, label: str, kind: str) -> None:
        x = self.left + STEP * depth
        self.texts.append(element("circle", cx=x, cy=y, r=4, class_=f"node {kind}"))
        if label:
            self.texts.append(element("text", label, x=x - 6, y=y - 5, class_="tick",
                                      text_anchor="end"))

    def edge(self, depth: int, y: float, to: int, other: float, label: str) -> None:
        x, end = self.left + STEP * depth, self.left + STEP * to
        self.lines.append(element("path", d=f"M{x:g} {y:.1f}V{other:.1f}H{end:g}", class_="edge"))
        if label:
            self.texts.append(element("text", label, x=x + 5, y=other - 3, class_="branch"))


def draw(forest: Forest, labels: Mapping[str, str], names: Mapping[str, str],
         standings: Mapping[str, Mapping[str, Standing]], description: str) -> Markup:
    """The forest with guards by ``labels`` and versions by ``names``.

    ``standings`` are by dataset and version.
    """
    drawing = _Drawing(labels, 14 + LETTER * len(forest.entry))
    drawing.forest(forest)
    left = drawing.left + STEP * drawing.depth + 14
    table = left + LETTER * max(map(len, names.values()), default=0) + 24
    width = table + COLUMN * len(standings) + 10
    height = TOP + ROW * len(drawing.rows) + 12
    content = [*drawing.lines, *drawing.texts, *_table(
        drawing.rows, names, standings, left, table)]
    return picture(f"Threshold tree of {forest.entry}", description, width, height, content)


def _table(rows: Mapping[str, float], names: Mapping[str, str],
           standings: Mapping[str, Mapping[str, Standing]], left: float, table: float
           ) -> Iterator[Markup]:
    for number, dataset in enumerate(standings):
        letters = int(COLUMN / LETTER)
        yield element("text", [dataset if len(dataset) <= letters else dataset[:letters - 1] + "…",
                               element("title", dataset)],
                      x=table + COLUMN * (number + 0.5), y=16, text_anchor="middle",
                      class_="label")
    for label, y in rows.items():
        yield element("text", names[label], x=left, y=y + 4, class_="tick")
        for number, by_version in enumerate(standings.values()):
            if (standing := by_version.get(label)) is not None:
                yield from _cell(standing, table + COLUMN * number, y)


def _cell(standing: Standing, x: float, y: float) -> Iterator[Markup]:
    look = "time" + " best" * standing.wins + " chosen" * (standing.chosen > 0)
    yield element("rect", x=x + 2, y=y - ROW / 2 + 3, width=COLUMN - 4, height=ROW - 6, rx=4,
                  class_=look)
    yield element("text", show_seconds(standing.seconds) + " ★" * standing.wins,
                  x=x + COLUMN / 2, y=y + 4, text_anchor="middle", class_="tick")
