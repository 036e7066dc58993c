"""The progress of long work, drawn on a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from runelift.ir.base.visible import visible
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.commands.progress import Display
from runelift.runtime.tools.commands.streams import drawing_stream
from runelift.runtime.tools.commands.styles import coloured, show
from runelift.runtime.tuner.measure.protocols import Progress
from runelift.runtime.tuner.search.trace import Best


class _Time(ProgressColumn):
    """The time that is left, or that has passed where it is not known how much there is to do."""

    def __init__(self) -> None:
        super().__init__()
        self._left = TimeRemainingColumn()

    def render(self, task: Task) -> Text:
        if task.total is not None:
            return self._left.render(task)
        minutes, seconds = divmod(int(task.elapsed or 0), 60)
        return Text(f"{minutes // 60}:{minutes % 60:02}:{seconds:02}", style="progress.elapsed")


class Terminal(Display):
    """Shows a status line: the dataset, the progress, the best result so far, and the time left."""

    def __init__(self, console: Console | None = None) -> None:
        self._bars = Bars(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=20),
            TaskProgressColumn(), TextColumn("{task.fields[best]}", markup=False),
            _Time(), transient=True, console=console or Console(
                file=drawing_stream(), no_color=not coloured(drawing_stream())),
            redirect_stdout=sys.stdout.isatty())  # else it would not reach its file or pipe
        self._task = self._bars.add_task("starting", total=None, best="")
        self._best: dict[str, float] = {}
        self._from = time.perf_counter()
        self._seconds = math.inf
        self._most: float | None = None
        self._whole = False

    def expected(self, what: str, likely: float, most: float | None, started: float) -> None:
        """Say how long all will take; from here on, the bar is the part of this time."""
        with self.aside():
            show(f"runelift: {what}", sys.stderr)
        self._whole, self._most, self._from = True, most, started
        self._seconds = likely if most is None else min(likely, most)
        self._advance()

    def _advance(self) -> None:
        """Draw how much of the time has passed; what takes longer has until the end."""
        passed = time.perf_counter() - self._from
        if passed > self._seconds:
            self._seconds = max(self._most or 0.0, passed)
        self._bars.update(self._task, completed=passed, total=self._seconds)

    def begun(self, what: str) -> None:
        """Show the piece of work that has begun."""
        self._bars.update(self._task, description=visible(what))

    def counted(self, what: str, done: int, total: int, so_far: str) -> None:
        """Show how many are over."""
        self._bars.update(self._task, completed=done, total=total, best=so_far)

    def measured(self, progress: Progress) -> None:
        """Show the dataset that was measured, and the time of its quickest run so far."""
        best = min(progress.seconds, self._best.get(progress.what, math.inf))
        self._best[progress.what] = best
        self._bars.update(self._task, description=visible(progress.what),
                          best=f"best {show_seconds(best)}" if math.isfinite(best) else "")
        if self._whole:
            self._advance()
            return
        self._bars.update(self._task, completed=progress.done, total=progress.total)
        if progress.done >= progress.total:  # what comes now cannot tell how far it is
            self._bars.remove_task(self._task)
            self._task = self._bars.add_task("finishing", total=None, best="")

    def searched(self, step: Best) -> None:
        """Show how good the best thresholds are."""
        self._bars.update(self._task, description=f"run {step.runs}",
                          best=f"best score {step.score:.4g}")

    def trying(self, what: str) -> None:
        """Show what is tried."""
        self._bars.update(self._task, description=visible(what), best="")
        if self._whole:
            self._advance()
            return
        passed = time.perf_counter() - self._from
        self._bars.update(self._task, completed=min(passed, self._seconds),
                          total=self._seconds if math.isfinite(self._seconds) else None)

    def within(self, seconds: float) -> None:
        """Count the time from here on, unless the time of all is counted."""
        if self._whole:
            self._advance()
            return
        self._from, self._seconds = time.perf_counter(), seconds
        self._bars.reset(self._task, best="")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Remove the line while the context lasts."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
