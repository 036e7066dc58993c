"""Inspection: the commands of a run that only find out what the run should do.

Kernels that look at the lengths of rows are such commands; the host compares what they find.  They
need not run again on arrays that have not changed.  The idea is that of inspector and executor,
whose schedules are reused (Ponnusamy, Saltz and Choudhary 1993).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from weakref import ref

from runelift.codegen.emit.signatures import given_buffers
from runelift.runtime.devices.kernel import LateScalar
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.commands import FUSED, Command, Copy, Expect, Launch, Slot
from runelift.runtime.execution.kernels import KernelSite

MOST_INSPECTED = 16
"""The most choices of arrays that a command buffer knows."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The ``places`` of commands that inspect, among the commands of a run.

    They read the ``given`` buffers, by number.  ``fallible``: other commands may fail, too.
    """

    places: frozenset[int]
    given: tuple[int, ...]
    fallible: bool


class Inspected:
    """The arrays that were inspected, as long as they cannot have changed.

    ``given`` are their numbers among the buffers of a run; None if nothing is inspected.
    """

    def __init__(self, given: Sequence[int] | None) -> None:
        self._given = given
        self._arrays: dict[tuple[int, ...], Sequence[ref[Buffer]]] = {}

    def has(self, buffers: Sequence[Buffer]) -> bool:
        """True if arrays among these buffers of a run were inspected."""
        if self._given is None:
            return False
        found = self._arrays.get(tuple([id(buffers[number]) for number in self._given]))
        return found is not None and all(
            [(buffer := array()) is not None and buffer.constant for array in found])

    def add(self, buffers: Sequence[Buffer]) -> None:
        """Note that a run has inspected arrays among its buffers."""
        if self._given is None:
            return
        arrays = [buffers[number] for number in self._given]
        if all(each.constant for each in arrays):
            if len(self._arrays) >= MOST_INSPECTED:
                self._arrays.clear()
            self._arrays[tuple(map(id, arrays))] = [ref(each) for each in arrays]

    def clear(self) -> None:
        """Forget all arrays."""
        self._arrays.clear()


def inspection(sites: Sequence[KernelSite], commands: Sequence[Command], given: int,
               results: Set[int]) -> Inspection | None:
    """The commands that inspect: the host alone uses what they write, and only to decide.

    The first ``given`` buffers are arguments, which no command writes.  None if no command
    inspects, or if a wait for its results also tells whether another command has failed.
    """
    if not any(isinstance(each, Expect) for each in commands):
        return None
    uses = [list(_uses(each)) for each in commands]
    users = defaultdict[Hashable, list[int]](list)
    for place, used in enumerate(uses):
        for each in used:
            users[each].append(place)
    inspects = set(range(len(commands)))
    others = [place for place, each in enumerate(commands) if _works(sites, each, given, results)]
    while others:  # what shares a buffer with work is work
        if (place := others.pop()) in inspects:
            inspects.remove(place)
            others += [user for each in uses[place] for user in users[each]
                       if not isinstance(each, Slot) or each.number >= given]
    fails = [place for place, each in enumerate(commands)
             if place not in inspects and _may_fail(sites, each)]
    waits = [place for place in inspects
             if isinstance(each := commands[place], Expect) and each.fallible]
    last = len(commands) - 1
    if not inspects or any(fails[0] < place < last for place in waits if fails):
        return None
    return Inspection(frozenset(inspects), tuple(sorted({
        each.number for place in inspects for each in uses[place]
        if isinstance(each, Slot) and each.number < given})), bool(fails))


def _uses(command: Command) -> Iterator[Hashable]:
    """The slots of a command, and its kernel, which keeps the arguments of a launch."""
    match command:
        case Copy(target=target, source=source):
            yield from (target, source)
        case Expect(elements=elements):
            yield from (buffer for buffer, _, _ in elements)
        case _:
            yield command.kernel
            yield from (arg for arg in command.args if isinstance(arg, Slot))


def _works(sites: Sequence[KernelSite], command: Command, given: int, results: Set[int]) -> bool:
    """True if a command takes part in making results, or if that is not known."""
    match command:
        case Expect():
            return False
        case Copy(target=Slot(number)):
            return number < given or number in results
        case Launch(number=number, args=args) if number != FUSED and not any(
                isinstance(arg, LateScalar) for arg in args):
            written = {arg.number for param, arg in given_buffers(
                sites[number].launch.kernel, args) if param.written and isinstance(arg, Slot)}
            return not written.isdisjoint(results) or any(each < given for each in written)
    return True


def _may_fail(sites: Sequence[KernelSite], command: Command) -> bool:
    """True if a command launches a kernel that may record a failure."""
    match command:
        case Launch(number=number) if number != FUSED:
            return bool(sites[number].launch.kernel.failures)
    return not isinstance(command, Copy | Expect)
