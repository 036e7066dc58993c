"""Child processes that this process waits for; they end with it, however it ends.

When an interpreter starts, Python's ``site`` looks for packages and runs their start-up code, which
takes most of the time where many are installed.  A process that gets the path of its parent can do
without.

A file ``json.py`` beside a program is not Python's.  So no child has the working folder on its
path, unless Runelift itself is there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from runelift.runtime.host import fast_start

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


# Interpreters

_BEGIN = """
import sys
sys.path[:], sys.prefix, sys.exec_prefix = {}
import json
given = json.loads(sys.argv[1])
"""
"""Code that sets the path before it imports anything from there."""


def command(code: str, *given: Any) -> list[str]:
    """The command line that runs ``code`` in a process with the module path of this one.

    The code finds the arguments in the list ``given``; they must be JSON.
    """
    begin = _BEGIN.format(ascii((module_path(), sys.prefix, sys.exec_prefix)))
    without_site = fast_start.enabled() and not _needs_site()
    return [sys.executable, "-P", *(["-S"] if without_site else []), "-c", begin + code,
            json.dumps(given)]


def module_path() -> list[str]:
    """The path of modules without the working folder."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it has been deleted
        return [each for each in map(str, sys.path) if os.path.isabs(each)]
    paths = {each: os.path.realpath(each) for each in map(str, sys.path)}
    own = _own_folder()
    return [each for each in map(str, sys.path) if paths[each] != here or here == own]


def _own_folder() -> str:
    """The folder with Runelift's package; empty if a finder knows its parts (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(os.path.realpath(package.__path__[0]))
    return folder if name == package.__name__ else ""


def _needs_site() -> bool:
    """Test whether ``site`` is needed to import Runelift, as the path lacks it (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(package.__path__[0])
    return name != package.__name__ or folder not in sys.path
