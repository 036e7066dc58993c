"""Child processes that this process waits for; they end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.host.interpreter import command

NATIVE = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE})
"""Signals by which mistakes of native code end a process."""
_BEGIN = """
lifeline, *given = given
from runelift.runtime.host.lifeline import end_with_parent
end_with_parent(lifeline)
"""
_COMMAND_LINE = """
import sys
sys.argv[:] = ["runelift", *given]
from runelift.runtime.tools.commands.start import main
sys.exit(main())
"""
"""The code of a process that runs a command of Runelift."""


_ANSWER = """
from runelift.runtime.host.children import answer
answer(*given)
"""
"""The code of a process that answers requests."""


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
            command(_BEGIN + code, ours, *given), pass_fds=(ours,), input=text,
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


class Answering:
    """A process that answers requests by a function, given as ``MODULE:NAME``."""

    def __init__(self, function: str) -> None:
        self._link, theirs = Pipe()
        ours, self._lifeline = os.pipe()
        self._process = subprocess.Popen(
            command(_BEGIN + _ANSWER, ours, theirs.fileno(), function),
            pass_fds=(ours, theirs.fileno()), stdin=subprocess.DEVNULL,
            start_new_session=True)  # Ctrl-C is for the process that started it
        theirs.close()
        os.close(ours)

    def ask(self, *request: Any) -> Any:
        """The result of the function; an exception that it raises is raised here.

        EOFError or OSError if the process has ended.
        """
        self._link.send(request)
        found, error = self._link.recv()
        if error is not None:
            raise error
        return found

    def how_it_ended(self) -> str:
        """Describe the end of a process that does not answer."""
        return ending(self._process.wait())

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        os.close(self._lifeline)
        self._link.close()


def ending(status: int) -> str:
    """The end of a process in words, by its exit status; a negative one is a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def answer(connection: int, function: str) -> None:
    """Answer requests by a function until there are no more."""
    link = Connection(connection)
    module, _, name = function.partition(":")
    called = getattr(import_module(module), name)
    while True:
        try:
            request = link.recv()
        except EOFError:
            return
        found = failure = None
        try:
            found = called(*request)
        except Exception as error:  # code of others may raise anything
            failure = error
        link.send((found, failure))
