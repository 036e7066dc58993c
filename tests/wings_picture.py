"""The picture of the wings in ``docs/architecture.md``: boxes from the table of the layers.

A wing stands above all wings that it imports.  Imports that follow from other imports are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import networkx as nx

from runelift.runtime.tools.pages.markup import Markup, element

CAPTIONS = {
    "ir.base": "errors, source texts, files, JSON, plug-ins",
    "ir": "the languages, their checkers and interpreters",
    "frontend": "text to typed trees to core",
    "rewrite": "rules, passes, flattening, schedules",
    "codegen": "host plans, kernels, costs",
    "runtime": "all that a run needs",
    "runtime.tuner": "records to thresholds and parameters",
    "runtime.research": "comparisons of strategies, T4, Dask",
    "runtime.tools": "commands, editors, pages, profiles",
    "runelift": "what Python users import",
}
WIDTH, HEIGHT = 290, 46
ACROSS, DOWN = 24, 40
STYLE = (".wing{fill:#eef3f8;stroke:#35607f} .arrow{stroke:#35607f;fill:none} "
         ".head{fill:#35607f} text{font-family:sans-serif;text-anchor:middle;fill:#1c2b36} "
         ".name{font-size:15px;font-weight:bold} .caption{font-size:11.5px}")


class Box(NamedTuple):
    """The place of a wing: the middle of its upper edge."""

    x: float
    y: float


def picture(wings: Mapping[str, str]) -> str:
    """An SVG of the wings, from each wing's name to the names that it may import."""
    graph = nx.DiGraph((wing, other) for wing, others in wings.items() for other in others.split())
    graph.remove_edges_from([("runtime.tools", "runelift")])  # tools are users of the package, too
    layers = [sorted(layer, key=list(wings).index)
              for layer in nx.topological_generations(graph)]
    widest = max(map(len, layers))
    width = widest * (WIDTH + ACROSS) + ACROSS
    boxes = {wing: Box(width / 2 + (k - (len(layer) - 1) / 2) * (WIDTH + ACROSS),
                       ACROSS + row * (HEIGHT + DOWN))
             for row, layer in enumerate(layers) for k, wing in enumerate(layer)}
    height = len(layers) * (HEIGHT + DOWN) - DOWN + 2 * ACROSS
    head = element("defs", element("marker", element("path", d="M0,0 L8,4 L0,8 z", class_="head"),
                                   id="head", viewBox="0 0 8 8", refX=8, refY=4, markerWidth=8,
                                   markerHeight=8, orient="auto"))
    arrows = [_arrow(boxes[wing], boxes[other])
              for wing, other in sorted(nx.transitive_reduction(graph).edges)]
    parts = [element("style", STYLE), head, *arrows,
             *(_wing(wing, box) for wing, box in boxes.items())]
    return element("svg", parts, xmlns="http://www.w3.org/2000/svg", role="img",
                   viewBox=f"0 0 {width} {height}") + "\n"


def _wing(wing: str, box: Box) -> Markup:
    name = "import runelift" if wing == "runelift" else f"{wing.replace('.', '/')}/"
    return element("g", [
        element("rect", x=box.x - WIDTH / 2, y=box.y, width=WIDTH, height=HEIGHT, rx=6,
                class_="wing"),
        element("text", name, x=box.x, y=box.y + 19, class_="name"),
        element("text", CAPTIONS[wing], x=box.x, y=box.y + 36, class_="caption")])


def _arrow(above: Box, below: Box) -> Markup:
    return element("path", d=f"M{above.x:g},{above.y + HEIGHT:g} L{below.x:g},{below.y:g}",
                   class_="arrow", marker_end="url(#head)")
