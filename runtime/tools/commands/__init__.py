"""The sub-commands of the command line, one module each, with the options that they share.

They may import everything.  :mod:`~runelift.runtime.tools.commands.cli` only imports the command
that is called, by its name, so that each command starts quickly.
"""

from __future__ import annotations

HELP = frozenset({"-h", "--help", "--help-all"})
STOPPED = "interrupted."
INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""
