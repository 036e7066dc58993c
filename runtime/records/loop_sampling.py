"""Records of long loops, of whose iterations only some were made.

Where all iterations launch the same kernels
(:func:`runelift.codegen.plan.steady_loops.may_persist`), a record of hundreds of them tells no more
than one of a few, but takes as much longer.  So a record that is for the tuner alone leaves such a
loop early, with what it has computed until then, and a few iterations stand for the others: the
commands and encounters of these follow in the record as if they had been made, each iteration as
long as one of those that were.  How long a whole run takes is timed without a record.

That what comes after the loop launches the same takes a plan that decides nothing by what the
device has computed (:func:`is_predictable`).
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

FEW = 8
"""So many iterations at least stand for the others,"""
PART = 16
"""and one in so many: those of longer loops may differ more."""


def how_many(iterations: int) -> int:
    """How many of these iterations of a loop stand for all."""
    count = max(FEW, -(-iterations // PART))
    return count if iterations >= 2 * count else iterations


def is_predictable(host: plan.Plan) -> bool:
    """Whether what a plan issues depends on nothing that the device computes."""
    issuing, _ = split_epilogue(host)
    return not any(isinstance(step, plan.Read | plan.WhileLoop)
                   for step in plan.all_steps(issuing))


@dataclass(frozen=True, slots=True)
class RecordPosition:
    """Where a record stands: after how many commands, some of them launches, and encounters.

    ``seconds`` is the time of the host.
    """

    commands: int
    launches: int
    encounters: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopSample:
    """Iterations from ``first`` to ``last``, ``count`` in all, which stand for ``left`` more.

    They lie in the encounters ``around``.
    """

    first: RecordPosition
    last: RecordPosition
    count: int
    left: int
    around: tuple[int, ...]

    @property
    def commands(self) -> int:
        """How many commands an iteration has."""
        return (self.last.commands - self.first.commands) // self.count

    @property
    def encounters(self) -> int:
        """How many encounters an iteration has."""
        return (self.last.encounters - self.first.encounters) // self.count

    @property
    def launches(self) -> int:
        """How many launches those would have that were not made."""
        return self.left * (self.last.launches - self.first.launches) // self.count

    @property
    def seconds(self) -> float:
        """How long the host would have taken for them."""
        return self.left * (self.last.seconds - self.first.seconds) / self.count

    def iterations(self) -> Iterator[tuple[int, int]]:
        """For each iteration that was not made, the one that stands for it, and in which round."""
        return ((number % self.count, number // self.count) for number in range(self.left))


def are_alike(encounters: Sequence[OpenEncounter], commands: int, count: int) -> bool:
    """Whether encounters and so many commands are those of ``count`` iterations, all alike."""
    each, uneven = divmod(len(encounters), count)
    if uneven or commands % count:
        return False
    done = [(opened.situation, opened.chosen, opened.launches) for opened in encounters]
    return done == done[:each] * count


def with_all_commands(commands: Sequence[Command], samples: Sequence[LoopSample]) -> list[Command]:
    """The commands, and those of iterations that were not made."""
    found: list[Command] = []
    done = late = 0
    for sample in samples:
        first, last = sample.first.commands, sample.last.commands
        found += _later(commands[done:last], late)
        done = last
        if first == last or not sample.left:
            continue
        end = commands[last - 1].end
        round_ = end - (commands[first - 1].end if first else commands[0].start)
        for which, number in sample.iterations():
            begin = first + which * sample.commands
            found += _later(commands[begin:begin + sample.commands], late + (number + 1) * round_)
        late = found[-1].end - end
    return found + _later(commands[done:], late)


def _later(commands: Sequence[Command], late: int) -> list[Command]:
    """The same commands so many nanoseconds later."""
    return [c._replace(queued=c.queued + late, start=c.start + late, end=c.end + late)
            for c in commands] if late else list(commands)


def with_all_encounters(encounters: Sequence[OpenEncounter],
                        samples: Sequence[LoopSample]) -> list[OpenEncounter]:
    """The encounters, and those of iterations that were not made, in all commands."""
    ends = [sample.last.commands for sample in samples]
    further = [0, *accumulate(sample.left * sample.commands for sample in samples)]
    inside = defaultdict[int, list[LoopSample]](list)
    for sample in samples:
        for number in sample.around:
            inside[number].append(sample)
    found: list[OpenEncounter] = []
    numbers: list[int] = []

    def moved(number: int) -> OpenEncounter:
        """An encounter that no sample has, where it lies among all commands."""
        opened = encounters[number]
        parent = None if opened.parent is None else numbers[opened.parent]
        return replace(
            opened, parent=parent,
            first=opened.first + further[bisect_right(ends, opened.first)],
            last=opened.last + further[bisect_right(ends, opened.last)],
            launches=opened.launches + sum(s.launches for s in inside[number]),
            issue=opened.issue + sum(s.seconds for s in inside[number]))

    def of_iteration(sample: LoopSample, which: int, commands: int) -> None:
        """Those of an iteration whose commands come so much later."""
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
        for which, round_ in sample.iterations():
            of_iteration(sample, which, further[number]
                         + (round_ + 1) * sample.count * sample.commands)
    while len(numbers) < len(encounters):
        numbers.append(len(found))
        found.append(moved(len(numbers) - 1))
    return found
