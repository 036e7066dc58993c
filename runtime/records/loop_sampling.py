"""Sampling of long loops: a record has a few measured iterations, which stand for all iterations.

All iterations of a steady loop launch the same kernels
(:func:`runelift.codegen.plan.steady_loops.may_persist`).  A record of hundreds of them tells no
more than a record of a few.  So a run for the tuner leaves such a loop early.  The record then
repeats the commands and encounters of the iterations that were run, as if all had been.  The time
of a whole run is measured without a record.

The rest of the program runs on wrong values then.  It still launches the same kernels if the plan
decides nothing by values that the device computes (:func:`is_predictable`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from runelift.codegen.plan import plan
from runelift.codegen.plan.epilogue import split_epilogue

if TYPE_CHECKING:
    from runelift.runtime.records.recorder import Command, OpenEncounter

LEAST_SAMPLE = 8
"""The least number of iterations that stand for all iterations of a loop."""
SAMPLED_PART = 16
"""One iteration in so many is sampled at least: iterations of longer loops may differ more."""


def sample_size(iterations: int) -> int:
    """The number of iterations to run of a loop with ``iterations``."""
    count = max(LEAST_SAMPLE, -(-iterations // SAMPLED_PART))
    return count if iterations >= 2 * count else iterations


def is_predictable(host: plan.Plan) -> bool:
    """True if the commands of a plan do not depend on values that the device computes."""
    issuing, _ = split_epilogue(host)
    return not any(isinstance(step, plan.Read | plan.WhileLoop | plan.Recursion)
                   for step in plan.all_steps(issuing))


@dataclass(frozen=True, slots=True)
class RecordPosition:
    """The length of a record so far, as the numbers of commands, launches and encounters.

    ``seconds`` is the time of the host.
    """

    commands: int
    launches: int
    encounters: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopSample:
    """The ``count`` iterations of a loop that were run, which stand for ``left`` more.

    They lie between ``first`` and ``last`` in the record, inside the encounters ``around``.
    """

    first: RecordPosition
    last: RecordPosition
    count: int
    left: int
    around: tuple[int, ...]

    @property
    def commands(self) -> int:
        """The number of commands of an iteration."""
        return (self.last.commands - self.first.commands) // self.count

    @property
    def encounters(self) -> int:
        """The number of encounters of an iteration."""
        return (self.last.encounters - self.first.encounters) // self.count

    @property
    def launches(self) -> int:
        """The number of launches of all iterations that were not run."""
        return self.left * (self.last.launches - self.first.launches) // self.count

    @property
    def seconds(self) -> float:
        """The seconds of the host for all iterations that were not run."""
        return self.left * (self.last.seconds - self.first.seconds) / self.count

    def iterations(self) -> Iterator[tuple[int, int]]:
        """For each iteration that was not run: the one that stands for it, and the repetition."""
        return ((number % self.count, number // self.count) for number in range(self.left))


def are_alike(encounters: Sequence[OpenEncounter], commands: int, count: int) -> bool:
    """True if the encounters and commands divide into ``count`` equal iterations."""
    each, uneven = divmod(len(encounters), count)
    if uneven or commands % count:
        return False
    done = [(opened.kind, opened.chosen, opened.launches) for opened in encounters]
    return done == done[:each] * count


def with_all_commands(commands: Sequence[Command], samples: Sequence[LoopSample]) -> list[Command]:
    """The commands, with the commands of iterations that were not run."""
    found: list[Command] = []
    done = late = 0
    for sample in samples:
        first, last = sample.first.commands, sample.last.commands
        found += _later(commands[done:last], late)
        done = last
        if first == last or not sample.left:
            continue
        end = commands[last - 1].end
        period = end - (commands[first - 1].end if first else commands[0].start)
        for which, number in sample.iterations():
            begin = first + which * sample.commands
            found += _later(commands[begin:begin + sample.commands], late + (number + 1) * period)
        late = found[-1].end - end
    return found + _later(commands[done:], late)


def _later(commands: Sequence[Command], late: int) -> list[Command]:
    """The commands, each ``late`` nanoseconds later."""
    return [c._replace(queued=c.queued + late, start=c.start + late, end=c.end + late)
            for c in commands] if late else list(commands)


def with_all_encounters(encounters: Sequence[OpenEncounter],
                        samples: Sequence[LoopSample]) -> list[OpenEncounter]:
    """The encounters, with the encounters of iterations that were not run."""
    ends = [sample.last.commands for sample in samples]
    further = [0, *accumulate(sample.left * sample.commands for sample in samples)]
    inside = defaultdict[int, list[LoopSample]](list)
    for sample in samples:
        for number in sample.around:
            inside[number].append(sample)
    found: list[OpenEncounter] = []
    numbers: list[int] = []

    def moved(number: int) -> OpenEncounter:
        """An encounter outside of all samples, at its place among all commands."""
        opened = encounters[number]
        parent = None if opened.parent is None else numbers[opened.parent]
        return replace(
            opened, parent=parent,
            first=opened.first + further[bisect_right(ends, opened.first)],
            last=opened.last + further[bisect_right(ends, opened.last)],
            launches=opened.launches + sum(s.launches for s in inside[number]),
            issue=opened.issue + sum(s.seconds for s in inside[number]))

    def of_iteration(sample: LoopSample, which: int, commands: int) -> None:
        """Append the encounters of an iteration, with command numbers larger by ``commands``."""
        first = sample.first.encounters + which * sample.encounters
        place = len(found)
        for opened in encounters[first:first + sample.encounters]:
            parent = opened.parent
            if parent is not None:
                parent = parent - first + place if parent >= first else numbers[parent]
            found.append(replace(opened, parent=parent, first=opened.first + commands,
                                 last=opened.last + commands))

    for number, sample in enumerate(samples):
        while len(numbers) < sample.first.encounters:
            numbers.append(len(found))
            found.append(moved(len(numbers) - 1))
        for which in range(sample.count):
            numbers += range(len(found), len(found) + sample.encounters)
            of_iteration(sample, which, further[number])
        for which, repetition in sample.iterations():
            of_iteration(sample, which, further[number]
                         + (repetition + 1) * sample.count * sample.commands)
    while len(numbers) < len(encounters):
        numbers.append(len(found))
        found.append(moved(len(numbers) - 1))
    return found
