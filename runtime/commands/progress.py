"""Progress of long work: a bar on a terminal, and a line per dataset anywhere else."""

from __future__ import annotations

import sys
from typing import Self

from runelift.runtime.tuner.measure.protocols import Progress
from runelift.runtime.tuner.strategies.trials import SearchStep


class Display:
    """An observer of the steps of a tuning; this one shows nothing."""

    def measured(self, progress: Progress) -> None:
        """A run is over."""

    def searched(self, step: SearchStep) -> None:
        """A search has made a step."""

    def trying(self, what: str) -> None:
        """Settings are tried, or something else of unknown length is done."""

    def within(self, seconds: float) -> None:
        """The steps from here on take at most so long."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Lines(Display):
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


def display(datasets: int) -> Display:
    """A display for this process, which measures so many datasets."""
    if not sys.stderr.isatty():
        return Lines(datasets)
    # late: start-up; what draws on a terminal imports much
    from runelift.runtime.commands.terminal import Terminal

    return Terminal()
