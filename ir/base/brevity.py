"""Errors in a few lines, as Python programmers see them: no frames of ours, no long excerpts."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Sequence
from types import TracebackType

MOST_LINES = 6
"""The most lines of an error."""
_MAGIC = re.compile(r"get_ipython\(\)\.run_(cell|line)_magic\('(\w+)', '([^']*)'.*")
"""A magic, as IPython writes it in Python."""
_OURS = ("runelift", "IPython", "ipykernel")


def brief_lines(lines: Sequence[str], most: int) -> list[str]:
    """At most ``most`` of the lines: if there are more, lines in the middle are left out."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most - 2], "  …", lines[-1]]


def keeps_frames() -> bool:
    """Test whether errors keep the frames inside of Runelift: ``RUNELIFT_TRACEBACK=1``."""
    return os.environ.get("RUNELIFT_TRACEBACK") == "1"


def callers_line(traceback: TracebackType | None) -> str:
    """The last stack frame in a user's code as text: `` at line 2: program.main(xs)``."""
    found = ""
    while traceback is not None:
        frame, line = traceback.tb_frame, traceback.tb_lineno
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _OURS and not frame.f_code.co_filename.startswith("<plan"):
            text = linecache.getline(frame.f_code.co_filename, line).strip()
            if magic := _MAGIC.fullmatch(text):
                kind, magic_name, rest = magic.groups()
                text = f"{'%%' if kind == 'cell' else '%'}{magic_name} {rest}".strip()
            found = f" at line {line}" + (f": {text}" if text else "")
        traceback = traceback.tb_next
    return found
