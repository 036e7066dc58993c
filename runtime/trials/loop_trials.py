"""What settings are worth in a loop of which one kernel does the iterations.

Operations of such a loop have no time of their own.  But the iteration that is traced to say what
the kernel does (:mod:`runelift.runtime.execution.persistent_loops`) can say as well what an
operation would launch with any other setting, so there is a kernel for each of them, and a setting
takes as long as its kernel needs for some iterations.
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
"""How many iterations a trial has at most; even
(:data:`~runelift.runtime.execution.persistent_loops.FIRST_WHILE_ITERATIONS`).
"""
TOO_LONG = "the rows are too long"
NO_KERNEL = "one kernel cannot do the iterations of its loop"


@dataclass(slots=True)
class TracedTrials:
    """An iteration that is traced in a run for trials.

    ``meetings`` are those of its operations; launches from ``first`` to ``last`` belong to the one
    that is tried, and ``others`` has those with every setting, or why there are none.
    """

    iteration: TracedIteration
    meetings: list[OperationId] = field(default_factory=list)
    search: Search | None = None
    first: int = 0
    last: int = 0
    others: dict[Setting, tuple[Launch, ...] | str] = field(default_factory=dict)

    def note(self, setting: Setting, refusal: str) -> None:
        """What was launched since ``first`` is what a setting launches, and is taken back."""
        launches = self.iteration.launches
        noted = tuple(launches[self.first:])
        del launches[self.first:]
        if any(launch.group == 0 for launch in noted):
            refusal = TOO_LONG
        self.others[setting] = refusal or noted

    def loop(self, run: TrialRun, setting: Setting) -> RunLoop | str:
        """The kernel with a setting, or why there is none."""
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
