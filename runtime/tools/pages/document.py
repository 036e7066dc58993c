"""A whole HTML page that needs nothing but itself, and the parts that pages are made of.

All pages have one style, ``page.css``, with colours for light and dark screens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path

from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.pages.markup import Markup, element, joined

SHELL = "page.html"
"""The template of a page.  Other templates extend its blocks ``style``, ``main`` and ``script``."""
MANY = 5
"""Headings from which on a page has contents."""
_HEADING = re.compile(r"<h([23])>(.*?)</h\1>", re.S)
TEMPLATES = f"{__package__}.templates"


def document(title: str, content: Sequence[Markup], *, template: str = SHELL,
             package: str = __package__, **values: object) -> str:
    """The text of the page; one with many headings begins with its contents.

    Another ``template``, of ``package``, gets further ``values``; it may extend :data:`SHELL`.
    """
    text: str = import_module(TEMPLATES).render(
        template, package, {"title": title, "content": _with_contents(joined(content)), **values})
    return text


def _with_contents(content: Markup) -> Markup:
    """The content behind a list of its headings, if these are many; each of them has a number."""
    found = _HEADING.findall(content)
    if len(found) < MANY:
        return content
    numbers = count(1)
    marked = Markup(_HEADING.sub(lambda each: f'<h{each[1]} id="s{next(numbers)}">{each[2]}'
                                              f"</h{each[1]}>", content))
    items: list[list[Markup]] = []
    for number, (level, heading) in enumerate(found, 1):
        link = element("a", Markup(heading), href=f"#s{number}")
        if level == "2" or not items:
            items.append([link])
        else:
            items[-1] += [Markup(" · "), link]
    return joined([element("nav", lines([joined(each) for each in items]),
                           aria_label="Contents"), marked])


def write_page(path: Path, page: str) -> None:
    """Write a page in one step."""
    write_atomically(path, page)


def section(heading: str, content: Sequence[Markup], level: int = 2) -> Markup:
    """A section: content below a heading of this level."""
    return element("section", [element(f"h{level}", heading), *content])


def paragraph(text: str) -> Markup:
    """A paragraph."""
    return element("p", text)


def figure(picture: Markup, caption: str) -> Markup:
    """A figure: a picture and its caption."""
    return element("figure", [picture, element("figcaption", caption)])


def table(rows: Sequence[Sequence[str]], caption: str = "", *, kind: str | None = None
          ) -> Markup:
    """Rows, of which the first is the head; the first column names them.

    Cells of the ``kind`` "numbers" are never broken into lines.  Tables of the kinds "numbers" and
    "stacks" show each row as a list on a small screen, with the heads beside it.
    """
    stacked = kind in ("numbers", "stacks")

    def cells() -> Iterator[Markup]:
        if caption:
            yield element("caption", caption)
        head, *body = rows
        yield element("thead", element("tr", [element("th", c, scope="col") for c in head]))
        yield element("tbody", [element("tr", [
            element("th", row[0], scope="row"),
            *(element("td", c, data_head=name if stacked and name and c else None)
              for name, c in zip(head[1:], row[1:], strict=True))])
            for row in body])

    return element("div", element("table", list(cells()), class_=kind), class_="scroll")


def folded(summary: str, content: Sequence[Markup]) -> Markup:
    """Content that is shown when it is asked for."""
    return element("details", [element("summary", summary), *content])


def facts(about: Mapping[str, str]) -> Markup:
    """A table of names and values."""
    return table([["what", "value"], *([name, value] for name, value in about.items())],
                 kind="facts")


def grid(figures: Sequence[Markup]) -> Markup:
    """Figures side by side, as many as the screen has room for."""
    return element("div", figures, class_="grid-of-figures") if figures else joined([])


def lines(items: Sequence[str]) -> Markup:
    """A list with an item for each piece of markup."""
    return element("ul", [element("li", item) for item in items]) if items else joined([])
