"""The start of the command line: Ctrl-C is handled before anything else is imported.

Until the handlers of :mod:`~runelift.runtime.host.supervisor` are there, it ends the process at
once.  Python itself reports an interruption that comes before this module.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from runelift.runtime.tools.commands import HELP, INTERRUPTED, STOPPED


def _end(*_: object) -> None:
    """Say that the command was interrupted, and end."""
    os.write(2, f"runelift: {STOPPED}\n".encode())
    os._exit(INTERRUPTED)


IN_PROCESS = frozenset({"repl", "lsp"})
"""Commands that outlive Ctrl-C, or whose end is up to an editor."""

REPEATED = frozenset({"run", "bench", "profile", "test"})
"""Commands that are done once more after a crash: they write nothing but what they print."""

_usual = signal.getsignal(signal.SIGINT)
if _usual is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)


def _open_closed_streams() -> None:
    """Have the null device where the caller has closed a standard stream.

    Otherwise the next file that is opened would take its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY
            if (nowhere := os.open(os.devnull, flags)) != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w",  # noqa: SIM115
                                    encoding="utf-8", errors="backslashreplace"))


def _crashes() -> object:
    """The object that handles crashes; commands that do not crash do without."""
    return import_module("runelift.runtime.devices.driver.crashes").Crashes()


def main() -> int:
    """Run the command line of this process in a copy that can be killed; the exit status.

    Help runs in this process, as it is over at once; so do commands that outlive Ctrl-C.
    """
    try:
        _open_closed_streams()
        supervisor = import_module("runelift.runtime.host.supervisor")
        if _usual is signal.default_int_handler:
            signal.signal(signal.SIGINT, _usual)
        if HELP.isdisjoint(sys.argv[1:]) and IN_PROCESS.isdisjoint(sys.argv[1:2]):
            supervisor.begin(f"runelift: {STOPPED}\n", _crashes,
                             repeats=not REPEATED.isdisjoint(sys.argv[1:2]))
        import_module("runelift.runtime.host.lazy_dataclasses").begin()
        status: int = import_module("runelift.runtime.tools.commands.cli").main()
        return status
    except KeyboardInterrupt:
        _end()
        raise
