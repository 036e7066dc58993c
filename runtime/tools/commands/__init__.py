"""The sub-commands of the command line, one module each, with the options that they share.

They may import everything.  :mod:`~runelift.runtime.tools.commands.cli` imports a command by its
name, so that others start quickly.
"""

from __future__ import annotations

HELP = frozenset({"-h", "--help"})
STOPPED = "interrupted."
INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""
