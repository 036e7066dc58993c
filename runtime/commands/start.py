"""The start of the command line: Ctrl-C is handled before anything else is imported."""

from __future__ import annotations

import sys
from importlib import import_module

from runelift.runtime.host import supervisor

HELP = frozenset({"-h", "--help"})
STOPPED = "interrupted."


def main() -> int:
    """Run the command line of this process in a copy that can be killed; the exit status.

    Help runs in this process: it is over at once.
    """
    if HELP.isdisjoint(sys.argv[1:]):
        supervisor.begin(f"runelift: {STOPPED}\n")
    status: int = import_module("runelift.runtime.commands.cli").main()
    return status
