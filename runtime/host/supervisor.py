"""The end of a command within a second, even while native code keeps its main thread.

Python handles Ctrl-C in its main thread, between two instructions of Python code.  A thread that
waits for an endless kernel never comes to the next one.  So a copy of the process does the
command's work.  The process that the user started waits for the copy.  It tells it of Ctrl-C and
``SIGTERM``, and kills it if that does not help.  A copy that crashes may be made once more.
"""

from __future__ import annotations

import ctypes
import io
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

GRACE = 0.6
"""Seconds in which a command may end by itself after Ctrl-C; later it is killed."""
NOTICE = 0.05
"""Seconds until a process has surely noted a signal that the terminal sent to it."""
TOLD = 0
"""The note of a command that has said that it was interrupted; other notes are signals."""
PRINTED = 255
"""The note of a command that has printed something: it cannot be done again."""
SET_PARENT_DEATH_SIGNAL = 1
"""The option ``PR_SET_PDEATHSIG`` of Linux's ``prctl``."""
IMPORTS = "<frozen importlib._bootstrap>"
"""The name of the file with Python's code for imports."""
RESTORE = b"\r\x1b[K\x1b[?25h"
"""Clears a line of progress on a terminal, and shows the cursor."""

_notes: list[int] = []
"""The descriptor to which the command's process writes notes, if there is one."""
_interrupted = threading.Event()
_unprinted = [True]
"""Empty as soon as something was printed."""


def begin(message: str, crashes: Callable[[], Any] | None = None, repeats: bool = False) -> None:
    """Go on in a copy of this process; this one waits, and ends like the copy.

    It prints ``message`` if it has to kill the copy.  A copy goes on as it is.  So do systems
    without ``fork``, and processes with threads, of which a copy would have only one.
    ``crashes`` makes the object that knows what to do after a crash
    (:mod:`~runelift.runtime.devices.driver.crashes`).  A command that ``repeats`` may be done once
    more.
    """
    if _notes or not hasattr(os, "fork") or threading.active_count() > 1:
        return
    before = {number: signal.getsignal(number)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    if None in before.values():  # a library's, which Python cannot set again
        return
    parent, mask = os.getpid(), signal.pthread_sigmask(signal.SIG_BLOCK, before)
    seen = _Crashes(crashes, repeats)
    while True:
        signals, notes = _pipe(), _pipe()
        if (child := os.fork()) == 0:
            break
        os.close(notes[1])
        signal.set_wakeup_fd(signals[1], warn_on_full_buffer=False)
        for number, handler in before.items():
            if number == signal.SIGCHLD or handler is not signal.SIG_IGN:
                signal.signal(number, _pass)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _Supervisor(child, signals[0], notes[0], message, seen).run()
        signal.pthread_sigmask(signal.SIG_BLOCK, before)
        signal.set_wakeup_fd(-1)
        for descriptor in (*signals, notes[0]):
            os.close(descriptor)
    for number, handler in before.items():
        signal.signal(number, handler)
    for descriptor in (*signals, notes[0]):
        os.close(descriptor)
    _begin_copy(notes[1], before)
    _end_with(parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin_copy(notes: int, before: Mapping[signal.Signals, Any]) -> None:
    """Handle signals in the copy, which tells the process that waits of them."""
    _notes.append(notes)
    signal.set_wakeup_fd(notes, warn_on_full_buffer=False)
    if before[signal.SIGINT] is signal.default_int_handler:
        signal.signal(signal.SIGINT, _raise)
        if before[signal.SIGTERM] is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _forward)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a process that is killed flushes nothing


def _pipe() -> tuple[int, int]:
    """A pipe to which signal handlers write: they must not wait."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    return ours, theirs


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


def printed() -> None:
    """Note that something was printed."""
    while _unprinted:
        _unprinted.pop()
        for descriptor in _notes:
            with suppress(OSError):
                os.write(descriptor, bytes([PRINTED]))


def _pass(number: int, frame: FrameType | None) -> None:
    """Do nothing: the signal's number is in the pipe."""


def _raise(number: int, frame: FrameType | None) -> None:
    """Note Ctrl-C, and raise its exception, or end at once where that would be lost.

    An exception in an import may abort a native module, and one in a destructor is ignored.
    """
    _interrupted.set()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code.co_filename == IMPORTS:
            os.kill(os.getpid(), signal.SIGKILL)
        frame = frame.f_back
    raise KeyboardInterrupt


def _forward(number: int, frame: FrameType | None) -> None:
    """Handle ``SIGTERM`` as Ctrl-C, so that what was found is kept."""
    signal.raise_signal(signal.SIGINT)


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends, where it can do so.

    It watches the thread that made the process, here the main one.  Threads that end before their
    process make workers, which therefore have a :mod:`~runelift.runtime.host.lifeline`.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it ended before
            os._exit(1)


def _descendants(process: int) -> list[int]:
    """The processes that a process and its children have started, as far as the system tells."""
    found = list[int]()
    with suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as children:
                found += map(int, children.read().split())
    return [each for child in found for each in (*_descendants(child), child)]


class _Crashes:
    """Ends of a command by signals that were not sent to end it.

    The object that handles them is made at the first one: the start of a command imports little.
    """

    def __init__(self, made: Callable[[], Any] | None, repeats: bool) -> None:
        self._made = made
        self._repeats = repeats
        self._start = _position()
        self._known: Any = None
        self.printed = False

    def again(self, code: int) -> bool:
        """Test whether the command is to be done once more; then its input begins anew."""
        if code >= 0 or self._made is None:
            return False
        self._known = self._known or self._made()
        if not self._repeats or self.printed or self._start is None:
            return False
        os.lseek(0, self._start, os.SEEK_SET)
        return bool(self._known.again(-code))

    def tell(self, code: int) -> None:
        """Say why the command has ended, if a signal did that, this time or before."""
        if self._known is not None:
            with suppress(OSError):
                if said := self._known.told(code):
                    os.write(2, f"runelift: {said}\n".encode(errors="backslashreplace"))


def _position() -> int | None:
    """The position in the standard input; None if it cannot be read again."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR)
    except OSError:  # a pipe, or none
        return None


class _Supervisor:
    """The process that waits for a command; ``signals`` and ``notes`` are pipes to read."""

    def __init__(self, child: int, signals: int, notes: int, message: str,
                 crashes: _Crashes) -> None:
        self._child = child
        self._crashes = crashes
        self._pipes = [signals, notes]
        self._message = message
        self._asked = 0
        """The signal that ends the command; 0 if there was none."""
        self._noted = 0
        """The signal that the command has noted."""
        self._told = False
        self._forward_at = self._kill_at = float("inf")

    def run(self) -> None:
        """Wait for the command, and end as it did; return if it is to be done once more."""
        while True:
            self._hurry()
            wait = min(self._forward_at, self._kill_at) - time.monotonic()
            self._listen(None if wait == float("inf") else max(wait, 0))
            found, status = os.waitpid(self._child, os.WNOHANG)
            if found:
                self._listen(0)  # it may have ended before this process was told why
                self._asked = self._asked or self._noted
                code = os.waitstatus_to_exitcode(status)
                if not self._asked and self._crashes.again(code):
                    return
                self._end(code)

    def _listen(self, seconds: float | None) -> None:
        """Read what comes within a time."""
        ready, _, _ = select.select(self._pipes, [], [], seconds)
        for pipe in ready:
            self._take(pipe)

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
            self._crashes.printed = self._crashes.printed or PRINTED in got
            for number in got:
                if number in (signal.SIGINT, signal.SIGTERM):
                    self._noted = self._noted or number

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
            for process in (*_descendants(self._child), self._child):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def _end(self, code: int) -> NoReturn:
        """End as the command's process did."""
        if not self._asked:
            self._crashes.tell(code)
        if self._asked and code < 0:
            with suppress(OSError):
                if os.isatty(2):
                    os.write(2, RESTORE)
                if not self._told:
                    os.write(2, self._message.encode())
        if self._asked and (code < 0 or code == 128 + signal.SIGINT):
            code = 128 + self._asked
        if code < 0:
            with suppress(OSError):  # the handler of SIGKILL cannot be set
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)
