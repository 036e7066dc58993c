"""A process that answers requests of the tuner (:mod:`.worker`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from multiprocessing import Pipe

GRACE = 5.0
"""How many seconds a process that has closed its connection may take to end."""
RUN = """
import json, sys
connection, lifeline, device, builds, path = json.loads(sys.argv[1])
sys.path[:] = path
from runelift.runtime.tuner.worker import main
main(connection, lifeline, device, builds)
"""
"""What such a process runs."""


class Process:
    """A process that runs programs on a device, or only ``builds``; it is ready when it answers."""

    def __init__(self, device: str | None, *, builds: bool = False) -> None:
        self.connection, theirs = Pipe()
        lifeline, self._lifeline = os.pipe()
        given = theirs.fileno(), lifeline
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, json.dumps([*given, device, builds, sys.path])],
            pass_fds=given, stdin=subprocess.DEVNULL,
            start_new_session=True)  # Ctrl-C is the tuner's
        theirs.close()
        os.close(lifeline)
        self._end = weakref.finalize(self, _end, self._process, self._lifeline)

    @property
    def is_there(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process, whatever it does; a thread waits until it has given back everything."""
        self.connection.close()
        if (ending := self._end.detach()) is not None:
            _, end, args, _ = ending
            threading.Thread(target=end, args=args, daemon=True).start()

    def kill(self) -> None:
        """End the process, and wait until it is gone."""
        self.connection.close()
        self._end()

    def how_it_ended(self) -> str:
        """What became of a process that answers no more."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "the process that ran it answered no more"
        if code < 0:
            return f"the process that ran it was ended by {signal.Signals(-code).name}"
        return f"the process that ran it ended with status {code}"


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    os.close(lifeline)
    process.kill()
    process.wait()
