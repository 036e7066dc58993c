"""HTML fragments for notebooks: they need nothing around them, and fit dark and light themes.

Colours are mixed from that of the text, or of medium lightness.  Every rule of the style sheet,
``fragments.css``, is for what is inside of a fragment.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.runtime.tools.pages.document import table
from runelift.runtime.tools.pages.markup import Content, Markup, element, read


def fragment(*content: Content) -> Markup:
    """A piece of a notebook's output, with its style sheet."""
    return element("div", [element("style", read("fragments.css", __package__)), *(
        each if isinstance(each, Markup) else element("div", each) for each in content)],
        class_="runelift")


def title(name: str, note: str = "") -> Markup:
    """The name of what is shown, and a note behind it."""
    return element("div", [element("span", name, class_="name"), " ",
                           element("span", note, class_="note")])


def numbers(rows: Sequence[Sequence[str]], caption: str = "") -> Markup:
    """A table whose columns are numbers, but for the first."""
    return element("div", table(rows, caption), class_="numbers")


def note(text: str) -> Markup:
    """A remark in small print."""
    return element("div", text, class_="note")


def code(text: str) -> Markup:
    """A short piece of program text."""
    return element("code", text)
