"""A whole HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from runelift.runtime.tuner.report.html.markup import Markup, element, joined
from runelift.runtime.versions.tuning_file import write_atomically

STYLE = """\
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b6168; --paper: #fff; --line: #d9dce0;
  --accent: #b3261e; --band: #8a63d2; --s0: #1f6fb2; --s1: #c8560a; --s2: #2b7d3a; --s3: #9a3aa5;
  --s4: #8a6d00; --s5: #007d7d; --s6: #b3215e; --s7: #5a5f66; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a4abb3; --paper: #16181b;
  --line: #3a3f45; --accent: #ff8a80; --band: #b79cf0; --s0: #6cb6ff; --s1: #ffa657; --s2: #7ee08c;
  --s3: #e3a0ec; --s4: #e3c34a; --s5: #5fd7d7; --s6: #ff8fb8; --s7: #b5bcc4; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
p, li { max-width: 46rem; } figure { margin: 1rem 0; overflow-x: auto; }
figcaption, caption { color: var(--soft); font-size: .9rem; text-align: left; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } .scroll { overflow-x: auto; }
summary { cursor: pointer; color: var(--soft); }
svg { font: 12px system-ui, sans-serif; } svg text { fill: var(--ink); }
svg .tick { font-size: 11px; } svg .label { font-size: 12px; }
svg .branch { font-size: 10px; fill: var(--soft); }
.axis { fill: none; stroke: var(--soft); } .grid { stroke: var(--line); stroke-width: .6; }
.line { fill: none; stroke-width: 1.8; } .edge { fill: none; stroke: var(--soft); }
.mark { stroke: var(--accent); stroke-width: 1.6; } .mark.crossing { stroke-dasharray: 2 3; }
.mark.default { stroke: var(--soft); stroke-dasharray: 7 4; }
.band { fill: var(--band); fill-opacity: .16; } .sample { stroke: var(--s0); stroke-opacity: .75; }
.node { fill: var(--paper); stroke: var(--soft); } .node.version { fill: var(--soft); }
.time { fill: none; stroke: none; } .time.best { fill: var(--s2); fill-opacity: .22; }
.time.chosen { stroke: var(--accent); stroke-width: 1.4; }
.cell { fill: var(--s2); } .cell.empty { fill: none; stroke: var(--line); }
.s0 { stroke: var(--s0); } .s1 { stroke: var(--s1); } .s2 { stroke: var(--s2); }
.s3 { stroke: var(--s3); } .s4 { stroke: var(--s4); } .s5 { stroke: var(--s5); }
.s6 { stroke: var(--s6); } .s7 { stroke: var(--s7); }
.dot { fill: var(--paper); stroke-width: 1.6; }
.line.s1 { stroke-dasharray: 6 3; } .line.s2 { stroke-dasharray: 2 2; }
.line.s3 { stroke-dasharray: 8 3 2 3; } .line.s5 { stroke-dasharray: 6 3; }
.line.s6 { stroke-dasharray: 2 2; } .line.s7 { stroke-dasharray: 8 3 2 3; }
"""


def document(title: str, content: Sequence[Markup]) -> str:
    """The text of the page."""
    head = element("head", [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title), element("style", Markup(STYLE))])
    body = element("body", element("main", [element("h1", title), *content]))
    return f"<!doctype html>\n{element('html', [head, body], lang='en')}\n"


def write_page(path: Path, page: str) -> None:
    """Write a page in one step."""
    write_atomically(path, page)


def section(heading: str, content: Sequence[Markup], level: int = 2) -> Markup:
    """Some content below a heading."""
    return element("section", [element(f"h{level}", heading), *content])


def paragraph(text: str) -> Markup:
    """A paragraph."""
    return element("p", text)


def figure(picture: Markup, caption: str) -> Markup:
    """A picture and what it shows."""
    return element("figure", [picture, element("figcaption", caption)])


def table(rows: Sequence[Sequence[str]], caption: str = "") -> Markup:
    """Rows, of which the first is the head; the first column names them."""
    def cells() -> Iterator[Markup]:
        if caption:
            yield element("caption", caption)
        head, *body = rows
        yield element("thead", element("tr", [element("th", c, scope="col") for c in head]))
        yield element("tbody", [element("tr", [
            element("th", row[0], scope="row"), *(element("td", c) for c in row[1:])])
            for row in body])

    return element("div", element("table", list(cells())), class_="scroll")


def folded(summary: str, content: Sequence[Markup]) -> Markup:
    """Content that is shown when it is asked for."""
    return element("details", [element("summary", summary), *content])


def facts(about: Mapping[str, str]) -> Markup:
    """Names and values."""
    return table([["what", "value"], *([name, value] for name, value in about.items())])


def lines(items: Sequence[str]) -> Markup:
    """A list."""
    return element("ul", [element("li", item) for item in items]) if items else joined([])
