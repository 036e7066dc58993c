"""Waits for a device that Ctrl-C can end, in Python sessions such as notebooks.

Python handles Ctrl-C only between instructions, and OpenCL's wait is one of them.  So another
thread waits for the device, and this one for that thread.  Commands do without: another process
kills them (:mod:`~runelift.runtime.host.supervisor`).
"""

from __future__ import annotations

import signal
import threading
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.runtime.devices import forked

LONG = 0.05
"""Seconds from which a wait is long: only after a long one may the next be interrupted."""


class _Session:
    """True in ``is_open`` if this process is a session, which calls compiled programs."""

    is_open = False


def begin_session() -> None:
    """Let Ctrl-C end waits of this process, unless it handles Ctrl-C in another way."""
    _Session.is_open = signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Waits:
    """The waits for a device; ``abandoned`` is set when one ends that was interrupted."""

    def __init__(self) -> None:
        self.abandoned: threading.Event | None = None

    def wait(self, queue: Any, *events: Any) -> None:
        """Wait for all commands of a queue, and ``events`` of them; Ctrl-C may end it.

        Then the events, which wait when they are released, are never released.
        """
        if not _Session.is_open or threading.current_thread() is not threading.main_thread():
            queue.finish()
            return
        done, errors = threading.Event(), list[Exception]()

        def finish() -> None:
            try:
                queue.finish()
            except Exception as error:
                errors.append(error)
            finally:
                done.set()

        threading.Thread(target=finish, daemon=True).start()
        try:
            done.wait()  # a thread whose join is interrupted seems to have ended (Python 3.11)
        except BaseException:
            if not done.is_set():
                self.abandoned = done
                forked.leak(*events)
            raise
        for error in errors:
            raise error

    def recovered(self) -> bool:
        """True once, when an interrupted wait is over; UserError as long as it is not."""
        if self.abandoned is None:
            return False
        if not self.abandoned.is_set():
            raise UserError("The device still runs the program that was interrupted.  Wait for its "
                            "end, or restart Python.")
        self.abandoned = None
        return True
