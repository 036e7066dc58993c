"""Progress of long work: a bar on a terminal, and a line per dataset anywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from runelift.runtime.tuner.measure.protocols import Progress
from runelift.runtime.tuner.strategies.trials import SearchStep

if TYPE_CHECKING:
    from runelift.runtime.commands.terminal import Terminal


class Display(Protocol):
    """An observer of the steps of a tuning."""

    def measured(self, progress: Progress) -> None:
        """A run is over."""
        ...

    def searched(self, step: SearchStep) -> None:
        """A search has made a step."""
        ...

    def trying(self, what: str) -> None:
        """Settings are tried, or something else of unknown length is done."""
        ...

    def within(self, seconds: float) -> None:
        """The steps from here on take at most so long."""
        ...


class Lines:
    """A line on standard error for each of so many ``datasets``, once it has been measured."""

    def __init__(self, datasets: int) -> None:
        self._total = datasets
        self._measured = set[str]()

    def measured(self, progress: Progress) -> None:
        """Print what was found, at the last run of a dataset."""
        if progress.summary and progress.what not in self._measured:
            self._measured.add(progress.what)
            print(f"measured {progress.what}: {progress.summary} "
                  f"({len(self._measured)}/{self._total})", file=sys.stderr, flush=True)

    def searched(self, step: SearchStep) -> None:
        """Show nothing."""

    def trying(self, what: str) -> None:
        """Show nothing."""

    def within(self, seconds: float) -> None:
        """Show nothing."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def display(datasets: int) -> Lines | Terminal:
    """A display for this process, which measures so many datasets."""
    if not sys.stderr.isatty():
        return Lines(datasets)
    # late: start-up; what draws on a terminal imports much
    from runelift.runtime.commands.terminal import Terminal

    return Terminal()
