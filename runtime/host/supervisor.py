"""The end of a command within a second, even while native code keeps its main thread.

Python handles Ctrl-C in its main thread, between two instructions of Python code.  A thread that
waits for an endless kernel never comes to the next one.  So a copy of the process does the
command's work.  The process that the user started waits for the copy.  It tells it of Ctrl-C and
``SIGTERM``, and kills it if that does not help.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import NoReturn

GRACE = 0.6
"""Seconds in which a command may end by itself after Ctrl-C; later it is killed."""
NOTICE = 0.05
"""Seconds until a process has surely noted a signal that the terminal sent to it."""
TOLD = 0
"""The note of a command that has said that it was interrupted; other notes are signals."""
SET_PARENT_DEATH_SIGNAL = 1
"""The option ``PR_SET_PDEATHSIG`` of Linux's ``prctl``."""
RESTORE = b"\r\x1b[K\x1b[?25h"
"""Clears a line of progress on a terminal, and shows the cursor."""

_notes: list[int] = []
"""The descriptor to which the command's process writes notes, if there is one."""
_interrupted = threading.Event()


def begin(message: str) -> None:
    """Go on in a copy of this process; this one waits, and ends like the copy.

    It prints ``message`` if it has to kill the copy.  Systems without ``fork`` go on as they are,
    and so do processes with threads, of which a copy has only one.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return
    before = {number: signal.getsignal(number)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    if None in before.values():  # a library's, which Python cannot set again
        return
    parent, ours = os.getpid(), os.pipe()
    notes, theirs = os.pipe()
    for number, handler in before.items():
        if number == signal.SIGCHLD or handler is not signal.SIG_IGN:
            signal.signal(number, _pass)
    os.set_blocking(ours[1], False)
    signal.set_wakeup_fd(ours[1], warn_on_full_buffer=False)
    if (child := os.fork()) != 0:
        os.close(theirs)
        _Supervisor(child, ours[0], notes, message).run()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    for number, handler in before.items():
        signal.signal(number, handler)
    if before[signal.SIGINT] is signal.default_int_handler:
        signal.signal(signal.SIGINT, _raise)
        if before[signal.SIGTERM] is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _forward)
    for descriptor in (*ours, notes):
        os.close(descriptor)
    _notes.append(theirs)
    _end_with(parent)


def end() -> None:
    """Let nothing disturb the end of a command; the process that waits limits its time."""
    if _notes:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def was_interrupted() -> bool:
    """Test whether Ctrl-C reached this command, even if it became another error."""
    return _interrupted.is_set()


def told() -> None:
    """Note that the user has been told of the interruption."""
    for descriptor in _notes:
        with suppress(OSError):
            os.write(descriptor, bytes([TOLD]))


def _pass(number: int, frame: FrameType | None) -> None:
    """Do nothing: the signal's number is in the pipe."""


def _raise(number: int, frame: FrameType | None) -> None:
    """Note Ctrl-C, and raise its exception."""
    _interrupted.set()
    raise KeyboardInterrupt


def _forward(number: int, frame: FrameType | None) -> None:
    """Handle ``SIGTERM`` as Ctrl-C, so that what was found is kept."""
    signal.raise_signal(signal.SIGINT)


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends, where it can do so."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it ended before
            os._exit(1)


class _Supervisor:
    """The process that waits for a command; ``signals`` and ``notes`` are pipes to read."""

    def __init__(self, child: int, signals: int, notes: int, message: str) -> None:
        self._child = child
        self._pipes = [signals, notes]
        self._message = message
        self._asked = 0
        """The signal that ends the command; 0 if there was none."""
        self._noted = self._killed = self._told = False
        self._forward_at = self._kill_at = float("inf")

    def run(self) -> NoReturn:
        """Wait for the command, and end as it did."""
        while True:
            self._hurry()
            wait = min(self._forward_at, self._kill_at) - time.monotonic()
            ready, _, _ = select.select(self._pipes, [], [],
                                        None if wait == float("inf") else max(wait, 0))
            for pipe in ready:
                self._take(pipe)
            found, status = os.waitpid(self._child, os.WNOHANG)
            if found:
                self._end(status)

    def _take(self, pipe: int) -> None:
        """Read signals that this process got, or notes of the command."""
        got = os.read(pipe, 64)
        if not got:  # the command's process is about to end
            self._pipes.remove(pipe)
        elif pipe == self._pipes[0]:
            for number in got:
                if number in (signal.SIGINT, signal.SIGTERM):
                    self._ask(number)
        else:
            self._told = self._told or TOLD in got
            self._noted = self._noted or any(number != TOLD for number in got)

    def _ask(self, number: int) -> None:
        """Ask the command to end; the second time, end it."""
        now = time.monotonic()
        if self._asked:
            self._kill_at = now
            return
        self._asked = number
        self._forward_at, self._kill_at = now + NOTICE, now + GRACE

    def _hurry(self) -> None:
        """Tell the command of a signal that it has not got from the terminal, or kill it."""
        now = time.monotonic()
        if now >= self._forward_at:
            self._forward_at = float("inf")
            if not self._noted:
                os.kill(self._child, self._asked)
        if now >= self._kill_at:
            self._kill_at = float("inf")
            self._killed = True
            os.kill(self._child, signal.SIGKILL)

    def _end(self, status: int) -> NoReturn:
        """End as the command's process did."""
        code = os.waitstatus_to_exitcode(status)
        if self._killed and code < 0:
            with suppress(OSError):
                if os.isatty(2):
                    os.write(2, RESTORE)
                if not self._told:
                    os.write(2, self._message.encode())
        if self._asked and code in (-signal.SIGKILL, -self._asked, 128 + signal.SIGINT):
            code = 128 + self._asked
        if code < 0:
            with suppress(OSError):  # the handler of SIGKILL cannot be set
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)
