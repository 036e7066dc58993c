"""The progress of a long first call: a line on a terminal, which goes away when the call ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from runelift.runtime.execution.executable import Executable
from runelift.runtime.programs.loaded_program import LoadedProgram

PATIENCE, PERIOD = 2.0, 0.5
"""Seconds until the line is shown, and until it is drawn anew."""


@contextmanager
def shown(entry: str, loaded: LoadedProgram) -> Iterator[None]:
    """Show on standard error what is built for an entry point, while the context lasts."""
    over = Event()

    def draw() -> None:
        wait, before = PATIENCE, ""
        while not over.wait(wait):
            line, wait = progress(entry, loaded.made(entry)), PERIOD
            if line != before:
                print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
            before = line
        if before:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    thread = Thread(target=draw, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def progress(entry: str, executable: Executable | None) -> str:
    """The progress of the first call of an entry point, in words."""
    if executable is None:
        return f"runelift: first call of '{entry}': planning"
    built = {site.launch.kernel.name: bool(site.kernel or site.variants)
             for site in executable.sites}
    done = sum(built.values())
    return (f"runelift: first call of '{entry}': {done} kernel{'s' * (done != 1)} built, "
            f"{len(built) - done} left at most")
