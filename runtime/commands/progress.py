"""What long work is doing, on a terminal; nothing is shown anywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from runelift.runtime.tuner.measure.protocols import Progress
from runelift.runtime.tuner.strategies.trials import SearchStep

if TYPE_CHECKING:
    from runelift.runtime.commands.terminal import Terminal


class Display(Protocol):
    """Hears of the steps of a tuning."""

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
        """What is done from here on takes at most so long."""
        ...


class NoDisplay:
    """Shows nothing."""

    def measured(self, progress: Progress) -> None:
        """Show nothing."""

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


def display() -> NoDisplay | Terminal:
    """A display for this process."""
    if not sys.stderr.isatty():
        return NoDisplay()
    # late: start-up; what draws on a terminal imports much
    from runelift.runtime.commands.terminal import Terminal

    return Terminal()
