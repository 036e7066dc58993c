"""Progress of long work: a bar on a terminal, and a line per step anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Self

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.commands.styles import show

if TYPE_CHECKING:
    from runelift.runtime.tuner.measure.protocols import Progress
    from runelift.runtime.tuner.search.trace import Best

PATIENCE, REMINDER = 1.0, 10.0
"""Seconds after which a terminal shows that something goes on, and between two lines of a pipe."""


class Display:
    """An observer of the steps of long work; this one shows nothing."""

    def begun(self, what: str) -> None:
        """Report that a short piece of work has begun."""

    def counted(self, what: str, done: int, total: int, so_far: str) -> None:
        """Report that ``done`` of ``total`` pieces of work are over.

        ``what`` is the result of the last piece, ``so_far`` the result of all pieces.
        """

    def measured(self, progress: Progress) -> None:
        """Report that a run is over."""

    def searched(self, step: Best) -> None:
        """Report a step of a search."""

    def trying(self, what: str) -> None:
        """Report that work of unknown length is done, such as trials of settings."""

    def within(self, seconds: float) -> None:
        """Learn the most seconds that the steps from here on take."""

    def expected(self, what: str, likely: float, most: float | None, started: float) -> None:
        """All that has ``started`` will be over in about so many seconds, and in ``most``."""

    def aside(self) -> AbstractContextManager[None]:
        """Leave the screen to other output while the context lasts."""
        return nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Lines(Display):
    """Shows each step as a line on standard error; ``datasets``: the number of datasets."""

    def __init__(self, datasets: int) -> None:
        self._total = datasets
        self._measured = set[str]()
        self._tried = set[str]()

    def expected(self, what: str, likely: float, most: float | None, started: float) -> None:
        """Print how long all will take."""
        show(f"runelift: {what}", sys.stderr)

    def counted(self, what: str, done: int, total: int, so_far: str) -> None:
        """Print what is over."""
        show(f"{what} ({done}/{total})", sys.stderr)

    def measured(self, progress: Progress) -> None:
        """Print what was found, at the last run of a dataset."""
        if progress.summary and progress.what not in self._measured:
            self._measured.add(progress.what)
            show(f"measured {progress.what}: {progress.summary} "
                 f"({len(self._measured)}/{self._total})", sys.stderr)

    def trying(self, what: str) -> None:
        """Print what is tried, once."""
        if what not in self._tried:
            self._tried.add(what)
            show(f"trying {what}", sys.stderr)


def display(datasets: int) -> Display:
    """A display for this process, which measures ``datasets`` datasets."""
    if not sys.stderr.isatty():
        return Lines(datasets)
    terminal: Display = import_module("runelift.runtime.tools.commands.terminal").Terminal()
    return terminal


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show the time that a piece of work without known length has taken."""
    over, since = Event(), perf_counter()

    def remind() -> None:
        while not over.wait(REMINDER):
            show(f"{what}: {show_seconds(perf_counter() - since)} so far", sys.stderr)

    def draw() -> None:
        if not over.wait(PATIENCE):
            with display(0) as shown:
                shown.begun(what)
                over.wait()

    thread = Thread(target=draw if sys.stderr.isatty() else remind, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
