"""The look of what commands print: colours on terminals, and lines that fit their width.

Colours follow ``NO_COLOR`` and ``FORCE_COLOR``, the width ``COLUMNS``.  Pipes get plain text, whose
lines are not broken unless ``COLUMNS`` is set.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from importlib import import_module
from typing import TextIO

COLOURS = "runelift.runtime.tools.commands.colours"
"""The module that colours; only terminals need it."""
LEAST_WIDTH = 20
"""Columns below which nothing is broken."""
_UNBROKEN = re.compile(r" *\d* \| ")
"""The start of a line of a program in an error, or of the carets below."""
_INDENT = re.compile(r"[ │├└─]*(?:[A-Za-z]+: +|[-*] )?")
"""The start of a line, up to its first word."""


def coloured(stream: TextIO) -> bool:
    """True if what is printed to a stream gets colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def columns(stream: TextIO) -> int | None:
    """The width of lines of a stream; None if they may be of any length."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and len(given) < 6:
        found = int(given)
    else:
        try:
            found = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            return None
    return found if found >= LEAST_WIDTH else None


def show(text: str, stream: TextIO | None = None) -> None:
    """Print a message, a table or a tree, as it suits the stream: by default standard output."""
    out = sys.stdout if stream is None else stream
    width = columns(out)
    if width is not None:
        text = "\n".join(fitted(line, width) for line in text.split("\n"))
    _write(text, out)


def show_page(text: str) -> None:
    """Print paragraphs, filled to the width, and programs, which are indented, as they are."""
    width = columns(sys.stdout)
    if width is not None:
        text = "\n\n".join(part if part.startswith(" ") else textwrap.fill(
            part, width, break_long_words=False, break_on_hyphens=False)
            for part in text.split("\n\n"))
    _write(text, sys.stdout)


def _write(text: str, out: TextIO) -> None:
    if coloured(out):
        import_module(COLOURS).write(text, out)
    else:
        print(text, file=out, flush=True)


def show_code(text: str, language: str) -> None:
    """Print a program that is written in a language that Pygments knows."""
    if coloured(sys.stdout):
        import_module(COLOURS).write_code(text, language, sys.stdout)
    else:
        print(text)


def fitted(line: str, width: int) -> str:
    """A line, broken into several if longer than ``width``; branches of trees continue.

    >>> print(fitted("├─ true: one two three", 16))
    ├─ true: one two
    │        three
    """
    if len(line) <= width or _UNBROKEN.match(line):
        return line
    start = _INDENT.match(line)
    assert start is not None
    indent = "".join(" " if each not in "│├" else "│" for each in start[0])
    if len(indent) > width // 2:
        return line
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False, replace_whitespace=False)
