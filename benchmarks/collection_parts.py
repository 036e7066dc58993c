"""Processes that prepare at the same time, and of which one at a time has the device."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias, cast

from start import CACHES

Message: TypeAlias = dict[str, Any]
POLL = 0.5
JOIN_LIMIT = 2.0
"""The seconds for which a process that has said its last may go on."""
PEER_CACHE = "PEER_CACHE"
"""The variable that names the file where the peer keeps its kernels."""


class Turns:
    """A process's connection to the one that started it: it sends, and asks for the device."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, **message: Any) -> None:
        """Send a message.  One with a ``row`` also gives the device back."""
        self._connection.send(message)

    def wait(self) -> None:
        """Wait for the device."""
        self.send(asks=True)
        self._connection.recv()


class Part:
    """A process that measures some rows of a program, with its folder for caches."""

    def __init__(self, program: str, caches: Path, work: Callable[[Turns], None]) -> None:
        context = multiprocessing.get_context("fork")  # this process opens no device
        self.program = program
        self.connection, theirs = context.Pipe()
        self.asked: float | None = None
        self.heard = time.perf_counter()
        self.last_words = ""
        self._process = context.Process(target=_work, args=(caches, work, theirs))
        self._process.start()
        theirs.close()

    def end(self, silence: float | None = None) -> None:
        """End the process and the peer's servers.  ``last_words`` says why it ended.

        ``silence`` is the time limit that it exceeded, if that is the reason.
        """
        self.connection.close()
        self._process.join(JOIN_LIMIT if silence is None else 0.0)
        if self._process.is_alive():
            os.killpg(cast("int", self._process.pid), signal.SIGKILL)
            self._process.join()
        if silence is not None:
            self.last_words = f"ended: it took longer than {silence:g} s"
        elif not self.last_words and (code := self._process.exitcode):
            self.last_words = (f"ended by {signal.Signals(-code).name}" if code < 0
                               else f"ended with status {code}")


def _work(folder: Path, work: Callable[[Turns], None], connection: Connection) -> None:
    """Do the work in a new process group, with caches that are empty the first time."""
    os.setsid()
    for number, name in enumerate(CACHES):
        os.environ[name] = str(folder / str(number))
        Path(os.environ[name]).mkdir(parents=True, exist_ok=True)
    os.environ[PEER_CACHE] = str(folder / "peer")
    turns = Turns(connection)
    try:
        work(turns)
    except Exception as error:
        with suppress(OSError):
            turns.send(failed=f"{type(error).__name__}: {error}".splitlines()[0])
        raise
    connection.close()


def messages(following: Callable[[], Part | None], jobs: int, until: float, silence: float
             ) -> Iterator[tuple[Part, Message | None]]:
    """Each message of ``jobs`` processes at a time, and None after the last of each.

    A message with ``failed`` is not among them: it becomes the part's last words.

    Processes are ended when the clock says ``until``, and if they are silent for too long while
    they do not wait for the device.
    """
    parts: list[Part] = []
    owner: Part | None = None
    try:
        while time.perf_counter() < until:
            while len(parts) < jobs and (part := following()) is not None:
                parts.append(part)
            if not parts:
                return
            ready = wait([part.connection for part in parts], POLL)
            silent = [part for part in parts
                      if part.asked is None and time.perf_counter() - part.heard > silence]
            over = list(silent)
            for part in [each for each in parts if each.connection in ready]:
                message = _received(part)
                if message is None:
                    over.append(part)
                elif "failed" in message:
                    part.last_words = message["failed"]
                elif "asks" in message:
                    part.asked = part.heard
                else:
                    owner = None if owner is part and "row" in message else owner
                    yield part, message
            for part in dict.fromkeys(over):
                parts.remove(part)
                owner = None if owner is part else owner
                part.end(silence if part in silent else None)
                yield part, None
            waiting = [part for part in parts if part.asked is not None]
            if owner is None and waiting:
                owner = min(waiting, key=lambda part: cast("float", part.asked))
                owner.asked, owner.heard = None, time.perf_counter()
                with suppress(OSError):  # it has just ended, as its next message will tell
                    owner.connection.send(True)
    finally:
        for part in parts:
            part.end()


def _received(part: Part) -> Message | None:
    """The next message; None if there will be no more."""
    part.heard = time.perf_counter()
    try:
        return cast("Message", part.connection.recv())
    except (EOFError, OSError):
        return None
