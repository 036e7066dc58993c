"""Trials in persistent loops: the times of settings where one kernel runs the iterations.

Single operations of such a loop have no times.  But its iteration is traced
(:mod:`runelift.runtime.execution.persistent_loops`).  The trace can also have the launches of an
operation with any other setting.  So there is a kernel for each setting, and the time of a setting
is that of some iterations of its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import Launch, RunLoop
from runelift.runtime.execution.persistent_loops import TracedIteration, persistent_loop
from runelift.runtime.geometry.parameter_space import Setting

if TYPE_CHECKING:
    from runelift.runtime.trials.protocol import OperationId, Search
    from runelift.runtime.trials.trial_run import TrialRun

MOST_TRIAL_ITERATIONS = 1 << 6
"""The most iterations of a trial; even, as
:data:`~runelift.runtime.execution.persistent_loops.FIRST_WHILE_ITERATIONS`.
"""
TOO_LONG = "the rows are too long"
NO_KERNEL = "one kernel cannot do the iterations of its loop"


@dataclass(slots=True)
class TracedTrials:
    """An iteration that is traced in a run for trials.

    ``operations`` are its operations.  The operation that is tried has the launches from ``first``
    to ``last``.  ``others`` has its launches with every setting, or the reason why there are none.
    """

    iteration: TracedIteration
    operations: list[OperationId] = field(default_factory=list)
    search: Search | None = None
    first: int = 0
    last: int = 0
    others: dict[Setting, tuple[Launch, ...] | str] = field(default_factory=dict)

    def note(self, setting: Setting, refusal: str) -> None:
        """Note the launches since ``first`` as those of a setting, and take them back."""
        launches = self.iteration.launches
        noted = tuple(launches[self.first:])
        del launches[self.first:]
        if any(launch.group == 0 for launch in noted):
            refusal = TOO_LONG
        self.others[setting] = refusal or noted

    def loop(self, run: TrialRun, setting: Setting) -> RunLoop | str:
        """The persistent loop with a setting, or the reason why there is none."""
        noted = self.others[setting]
        if isinstance(noted, str):
            return noted
        launches = self.iteration.launches
        return persistent_loop(run, replace(self.iteration, launches=[
            *launches[:self.first], *noted, *launches[self.last:]])) or NO_KERNEL


@contextmanager
def scratch(run: TrialRun) -> Iterator[Callable[[], None]]:
    """Memory for settings of which one is tried at a time; what is yielded begins another one.

    No other operation of the iteration may get it, so it is kept until the iteration is over.
    """
    allocate, sizes, taken = run.allocate, dict[int, list[Buffer]](), dict[int, int]()

    def again(size: int) -> Buffer:
        place = taken[size] = taken.get(size, -1) + 1
        buffers = sizes.setdefault(size, [])
        if place == len(buffers):
            buffers.append(allocate(size))
        return buffers[place]

    run.allocate = again
    try:
        yield taken.clear
    finally:
        run.allocate = allocate
