"""Child processes that answer requests; they end with this process, however it ends."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.host.children import BEGIN, command, ending

_ANSWER = """
from runelift.runtime.host.answering import answer
answer(*given)
"""
"""The code of a process that answers requests."""


class Answering:
    """A process that answers requests by a function, given as ``MODULE:NAME``."""

    def __init__(self, function: str) -> None:
        self._link, theirs = Pipe()
        ours, self._lifeline = os.pipe()
        self._process = subprocess.Popen(
            command(BEGIN + _ANSWER, ours, theirs.fileno(), function),
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
