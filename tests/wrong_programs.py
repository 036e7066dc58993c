"""The wrong programs of ``errors/``, and what is said of each, found once in a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Source
from runelift.runtime.tools.commands.check import diagnostics_of

PROGRAMS = {path.stem: path.read_text()
            for path in sorted((Path(__file__).parent / "errors").glob("*.fut"))}


@cache
def diagnostics(text: str) -> list[Diagnostic]:
    """The errors and warnings of a program, for tests that leave the checker as it is."""
    return diagnostics_of(Source("a.fut", text))
