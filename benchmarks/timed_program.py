"""A program whose calls are timed, in this process or in one with another Runelift.

``python timed_program.py FILE [--device NAME]`` serves requests of :class:`OtherTree`.
It uses the public interface only, so that trees of other days can run it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import runelift

Force = Mapping[str, int]


class TimedProgram:
    """A compiled program with arguments on its device."""

    def __init__(self, path: Path, device: str | None) -> None:
        self.program = runelift.compile(path, device=device, tuning={})
        self._call: tuple[str, list[Any]] = "", []

    def place(self, entry: str, args: Sequence[Any]) -> None:
        """Put arguments on the device, for the calls that follow."""
        self._call = entry, [self.program.to_device(each) if getattr(each, "ndim", 0) else each
                             for each in args]

    def times(self, runs: int, force: Force | None = None) -> list[float]:
        """The seconds of some calls, until their results are on the device."""
        entry, args = self._call
        found = []
        for _ in range(runs):
            start = time.perf_counter()
            results = self.program.run(entry, args, force=force, thresholds={},
                                       device_arrays=True)
            self.program.device.plain.finish()
            found.append(time.perf_counter() - start)
            del results  # the next call may have its memory
        return found


class OtherTree:
    """A :class:`TimedProgram` in a process of another Python, whose Runelift is another one."""

    def __init__(self, python: Path, path: Path, device: str | None) -> None:
        with Listener(family="AF_UNIX") as listener:
            address = str(listener.address)
            self._process = subprocess.Popen([
                str(python), __file__, str(path), "--address", address,
                *(["--device", device] if device else [])], stdin=subprocess.PIPE)
            self._connection: Connection = listener.accept()

    def ask(self, method: str, *args: Any) -> Any:
        """The result of a method of :class:`TimedProgram`; RuntimeError if it failed."""
        self._connection.send((method, args))
        failed, found = self._connection.recv()
        if failed:
            raise RuntimeError(found)
        return found

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _serve(timed: TimedProgram, connection: Connection) -> None:
    """Answer requests until the other side goes."""
    while True:
        try:
            method, args = connection.recv()
        except EOFError:
            return
        try:
            connection.send((False, getattr(timed, method)(*args)))
        except Exception as error:  # the other side reports it
            connection.send((True, f"{type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """End this process when the process that asks has ended, even within a long call."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Serve one program."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--address", required=True, help="the socket of the process that asks")
    options = parser.parse_args()
    with Client(options.address, "AF_UNIX") as connection:
        _serve(TimedProgram(options.path, options.device), connection)


if __name__ == "__main__":
    sys.exit(main())
