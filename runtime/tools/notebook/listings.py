"""Texts of programs at a stage, coloured where Pygments knows the language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer, PythonLexer

from runelift.runtime.displayed import Listing
from runelift.runtime.tools.notebook.fragments import fragment, title
from runelift.runtime.tools.pages.document import folded
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer

LEXERS = {"opencl": CLexer, "python": PythonLexer, "source": RuneliftLexer, "core": RuneliftLexer}
"""Lexers by language."""
KERNEL = re.compile(r"^(?://[^\n]*\n)*(?:__attribute__[^\n]*\n)*(?:__)?kernel ", re.M)
"""The beginning of the first kernel."""
NAME = re.compile(r"\bkernel void (\w+)")
MOST = 400_000
"""The most characters that a notebook gets; longer texts are cut."""


def html(listing: Listing) -> Markup:
    """A text in a box that scrolls; the prelude of kernels is folded."""
    text, language = str(listing), listing.language
    note = f"{text.count(chr(10)) + 1} lines"
    if len(text) > MOST:
        note += f", of which the first {MOST:,} characters"
        text = text[:MOST]
    begin = match.start() if language == "opencl" and (match := KERNEL.search(text)) else 0
    if language == "opencl":
        note = ", ".join([note, *NAME.findall(text)])
    prelude = [folded("Prelude", [box(text[:begin], language)])] if begin else []
    return fragment(title(listing.heading, note), *prelude, box(text[begin:], language))


def box(text: str, language: str) -> Markup:
    """A text in a box."""
    return element("pre", list(_coloured(text, language)))


def _coloured(text: str, language: str) -> Iterator[Markup | str]:
    """The text with marked tokens, or as it is if there is no lexer for it."""
    lexer = LEXERS.get(language)
    if lexer is None:
        yield text
    else:
        yield Markup(highlight(text, lexer(stripnl=False), HtmlFormatter(nowrap=True)))
