"""The start of the command line: Ctrl-C is handled before anything else is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from runelift.runtime.host import supervisor

HELP = frozenset({"-h", "--help"})
STOPPED = "interrupted."


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, or that of this process in a copy of it; the exit status."""
    if argv is None:
        begin()
    status: int = import_module("runelift.runtime.commands.cli").main(argv)
    return status


def begin() -> None:
    """Go on in a copy of this process that can be killed, unless only help is asked for."""
    if HELP.isdisjoint(sys.argv[1:]):
        supervisor.begin(f"runelift: {STOPPED}\n")
