"""Child processes that this process waits for; they end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from runelift.runtime.host.interpreter import command

NATIVE = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE})
"""Signals by which mistakes of native code end a process."""
BEGIN = """
lifeline, *given = given
from runelift.runtime.host.lifeline import end_with_parent
end_with_parent(lifeline)
"""
"""The begin of the code of a child, whose first argument is its end of a pipe."""
_COMMAND_LINE = """
import sys
sys.argv[:] = ["runelift", *given]
from runelift.runtime.tools.commands.start import main
sys.exit(main())
"""
"""The code of a process that runs a command of Runelift."""


def finished(code: str, *given: Any, text: str = "", seconds: float | None = None,
             environment: Mapping[str, str] | None = None, shows_errors: bool = False
             ) -> subprocess.CompletedProcess[str]:
    """A process that has run ``code``, with its output; ``text`` is its input.

    The code finds the arguments in the list ``given``; they must be JSON.  TimeoutExpired if it
    takes longer than ``seconds``.  A process that ``shows_errors`` has this one's standard error.
    """
    ours, lifeline = os.pipe()
    try:
        return subprocess.run(
            command(BEGIN + code, ours, *given), pass_fds=(ours,), input=text,
            stdout=subprocess.PIPE, stderr=None if shows_errors else subprocess.PIPE,
            encoding="utf-8", errors="replace", check=False, timeout=seconds,
            env=None if environment is None else {**os.environ, **environment})
    finally:
        os.close(ours)
        os.close(lifeline)


def finished_command(*arguments: str, environment: Mapping[str, str] | None = None,
                     shows_errors: bool = False) -> subprocess.CompletedProcess[str]:
    """A process that has run a command of Runelift, such as ``test``, with these arguments."""
    return finished(_COMMAND_LINE, *arguments, environment=environment, shows_errors=shows_errors)


def ending(status: int) -> str:
    """The end of a process in words, by its exit status; a negative one is a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
