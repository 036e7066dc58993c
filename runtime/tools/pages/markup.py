"""HTML and SVG as text: elements whose text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from markupsafe import Markup, escape

__all__ = ["Content", "Markup", "element", "joined", "read"]

Content: TypeAlias = str | Iterable[str]


def element(name: str, content: Content = "", **attributes: str | float | None) -> Markup:
    """An element; text that is no :class:`Markup` is escaped.

    Of an attribute ``class_`` the underscore is dropped, elsewhere it is a hyphen; numbers are
    rounded to hundredths.  Attributes that are None are left out.

    >>> element("text", "a < b", x=1.0, text_anchor="end", class_="tick")
    Markup('<text x="1" text-anchor="end" class="tick">a &lt; b</text>')
    """
    parts = [f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
             for key, value in attributes.items() if value is not None]
    return Markup(f"<{name}{''.join(parts)}>{joined(content)}</{name}>")


def joined(content: Content) -> Markup:
    """Pieces of markup, or text, joined in order."""
    return Markup("").join([content] if isinstance(content, str) else content)


@cache
def read(name: str, package: str = __package__) -> Markup:
    """The text of a style sheet or a script of a package."""
    return Markup((files(package) / name).read_text("utf-8"))


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"
