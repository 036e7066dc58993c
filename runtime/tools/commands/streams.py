"""Standard output and error of the command line, on which control characters are escaped.

All that commands print passes here: messages, lines of programs, names of files and data sets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from runelift.ir.base.visible import visible
from runelift.runtime.host import supervisor


class _VisibleStream:
    """A stream of text that escapes what is written; everything else is that of ``raw``."""

    def __init__(self, raw: TextIO) -> None:
        self.raw_text = raw
        self._is_output = raw is sys.stdout

    def write(self, text: str) -> int:
        """Write with escapes; the number of characters of ``text``."""
        if self._is_output:
            supervisor.printed()
        self.raw_text.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer" and self._is_output:
            supervisor.printed()  # it will be written to
        return getattr(self.raw_text, name)


@contextmanager
def visible_streams() -> Iterator[None]:
    """Escape control characters in all output while the context lasts."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_wrapped(each) for each in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _wrapped(stream: TextIO | None) -> Any:
    if stream is None or isinstance(stream, _VisibleStream):
        return stream
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")  # letters that the terminal's encoding lacks
    return _VisibleStream(stream)


def drawing_stream() -> TextIO:
    """Standard error for what moves the cursor of a terminal; text must be made visible before."""
    return cast("TextIO", getattr(sys.stderr, "raw_text", sys.stderr))
