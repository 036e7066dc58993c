"""Runs that repeat what an earlier one issued.

What a plan issues follows from the sizes and scalars that it is given, unless it reads something
back on the way.  So when an entry point is called with the same ones again, the second run is put
on a *tape*: its launches and copies, with a number for each buffer.  From the third on nothing of
the plan is run but its ending: memory is taken for the buffers, and what is on the tape is issued,
setting those arguments of kernels only that differ from what they are.  (Graphs of CUDA and
command buffers of OpenCL are the same idea; drivers seldom have the latter.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pyopencl as cl

from runelift.runtime.decisions import Met
from runelift.runtime.executable import Executable, Site
from runelift.runtime.executor import Ending, Force, Outcome, Run, execute
from runelift.runtime.memory import Buffer, OutOfMemory, Pool
from runelift.runtime.prepared import Given, Prepared

MOST_COMMANDS = 1 << 11
"""Runs of more commands are too long to gain by it."""
MOST_BYTES = 1 << 30
"""So are those with more memory, of which a tape needs no less than the sum of all buffers."""
MOST_BOUND = 4
"""For how many choices of buffers the calls of a tape are kept: some take turns."""

Call: TypeAlias = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch; ``args`` has the number of a buffer as a :class:`Slot`."""

    kernel: Prepared
    items: int
    group: int
    lengths: tuple[int, ...]
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of ``size`` bytes, from ``offset`` on, between numbered buffers."""

    target: Slot
    source: Slot
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The number of a buffer of a run: first those it is given, then those that it takes."""

    number: int


@dataclass(slots=True)
class Bound:
    """The calls of a tape for certain buffers, which it keeps: they are known by identity.

    ``steady`` are those after a run with the same buffers, if nobody else has used the kernels.
    ``lengths`` are those of local memory that each kernel is launched with last.
    """

    handles: Sequence[Any]
    full: list[Call] = field(default_factory=list)
    steady: list[Call] = field(default_factory=list)
    lengths: dict[Prepared, tuple[int, ...]] = field(default_factory=dict)

    def add(self, call: Call) -> None:
        """Make a call whatever has been before."""
        self.full.append(call)
        self.steady.append(call)


def perform(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
            force: Force, *, record: bool) -> Outcome:
    """Run a plan on bound arguments, which are taken out of ``args``, or repeat an earlier run."""
    if record:
        return execute(executable, args, thresholds, force, record=True)
    tapes = executable.decisions.under(thresholds, force).tapes
    key = tuple(struct.pack("d", value) if isinstance(value, float) else value
                for value in args.values() if not isinstance(value, Buffer))
    tape = tapes.get(key)
    if isinstance(tape, Tape):
        return tape.run.call(tape.play, args)
    if tape is Met.ONCE:
        taping = Taping(executable, thresholds, force, args)
        outcome = taping.call(executable.main, args)
        tapes[key] = taping.tape() or Met.OFTEN
        return outcome
    if tape is None:
        tapes[key] = Met.ONCE
    return execute(executable, args, thresholds, force, record=False)


class Taping(Run):
    """A run that is put on a tape."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 args: Mapping[str, Any]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self.allocate = self._noted
        self._given = [name for name, value in args.items() if isinstance(value, Buffer)]
        self._buffers = [args[name] for name in self._given]  # their memory is for nothing else
        self._slots = {id(b.handle): Slot(n) for n, b in enumerate(self._buffers)}
        self._sizes: list[int] = []
        self._handles: list[Any] = []  # so that nothing else has their identity
        self._commands: list[Launched | Copied] = []
        self._ending: tuple[Ending, tuple[Any, ...]] | None = None
        self._failing = False
        self._lost = len(self._slots) < len(self._buffers)

    def tape(self) -> Tape | None:
        """The tape of the run, which is over; None if it cannot be repeated."""
        tape = None
        if not (self._lost or self._ending is None or self._pool.peak > MOST_BYTES
                or len(self._commands) > MOST_COMMANDS):
            ending, values = self._ending
            tape = Tape(self, self._given, self._sizes, self._commands, ending, values,
                        self._failing)
        self.allocate = self._pool.allocate
        self._lost = True
        self._buffers, self._commands, self._handles, self._slots = [], [], [], {}
        return tape

    def begin(self, *, fallible: bool) -> None:
        """The run begins again."""
        self._fallible, self._quiet = fallible, False

    def _noted(self, size: int) -> Buffer:
        buffer = self._pool.allocate(size)
        if id(buffer.handle) not in self._slots:
            self._slots[id(buffer.handle)] = Slot(len(self._slots))
            self._sizes.append(buffer.size)
            self._handles.append(buffer.handle)
        return buffer

    def _slot(self, value: Any) -> Any:
        return self._slots.get(id(value), value)

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """All is on the tape but for the ending."""
        if not self._lost:
            self._failing = self._fallible
            self._ending = ending, tuple(self._slot(v.handle) if isinstance(v, Buffer) else v
                                         for v in values)
        return super().conclude(ending, *values)

    def _enqueue(self, site: Site, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        super()._enqueue(site, groups, group, lengths, args)
        if not self._lost:
            assert site.kernel is not None
            self._commands.append(Launched(site.kernel, groups * group, group, lengths,
                                           tuple(map(self._slot, args))))

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy, and note it."""
        super().copy(target, source, size, offset)
        if size > 0 and not self._lost:
            self._commands.append(Copied(self._slot(target.handle), self._slot(source.handle),
                                         size, offset))

    # What cannot be repeated

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements; before the ending, what follows depends on them."""
        self._lost |= self._ending is None
        return super().reads(*elements)

    def statuses(self, words: int) -> Buffer:
        """What groups tell each other is another thing in each run."""
        self._lost = True
        return super().statuses(words)

    def enqueue_persistent(self, kernel: Prepared, groups: int, group: int) -> None:
        """A barrier of all groups counts on from run to run."""
        self._lost = True
        super().enqueue_persistent(kernel, groups, group)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Another time the version may run."""
        self._lost = True
        super().abandon(number, version, reason)


class Tape:
    """What a run issued, ready to be issued again.

    ``given`` are the names of the buffers that a run is given, ``sizes`` the sizes in bytes of
    those that it takes; they are numbered in this order.
    """

    def __init__(self, run: Taping, given: Sequence[str], sizes: Sequence[int],
                 commands: Sequence[Launched | Copied], ending: Ending, values: Sequence[Any],
                 fallible: bool) -> None:
        self.run = run
        self._given = tuple(given)
        self._commands = tuple(commands)
        self._ending = ending
        self._values = tuple(values)
        self._fallible = fallible
        self._sizes = tuple(sizes)
        self._classes: dict[int, list[int]] = {}
        for number, size in enumerate(sizes, len(given)):
            self._classes.setdefault(size, []).append(number)
        results = {value.number for value in values if isinstance(value, Slot)}
        self._lent = [(n, size) for n, size in enumerate(sizes, len(given)) if n not in results]
        self._kept = [(n, size) for n, size in enumerate(sizes, len(given)) if n in results]
        self._bound: dict[tuple[int, ...], Bound] = {}

    def play(self, run: Run, args: dict[str, Any]) -> tuple[Any, ...]:
        """Issue everything again, on the buffers among ``args``; the results."""
        pool = run.device.pool
        given: list[Buffer] = [args[name] for name in self._given]
        handles = [buffer.handle for buffer in given]
        try:
            handles += self._take(pool)
        except OutOfMemory:  # the plan itself gives back what it is done with, or does less
            return run.executable.main(run, args)
        self.run.begin(fallible=self._fallible)
        try:
            self._issue(run.queue, handles)
        finally:
            buffers = {number: Buffer(handles[number], size, pool) for number, size in self._kept}
            for number, size in self._lent:
                pool.give(size, handles[number])
        args.clear()
        buffers |= enumerate(given)
        values = [buffers[value.number] if isinstance(value, Slot) else value
                  for value in self._values]
        return run.conclude(self._ending, *values)

    def _take(self, pool: Pool) -> list[Any]:
        """Memory for the buffers that the run takes, in order."""
        taken: list[Any] = [None] * len(self._sizes)
        for size, numbers in self._classes.items():
            try:
                handles = pool.take(size, len(numbers))
            except OutOfMemory:
                for handle, held in zip(taken, self._sizes, strict=True):
                    if handle is not None:
                        pool.give(held, handle)
                raise
            for number, handle in zip(numbers, handles, strict=True):
                taken[number - len(self._given)] = handle
        return taken

    def _issue(self, queue: Any, handles: Sequence[Any]) -> None:
        """Issue the commands."""
        key = tuple(map(id, handles))
        bound = self._bound.get(key) or self._bind(queue, key, handles)
        steady = all(kernel.holder is bound for kernel in bound.lengths)
        try:
            for call in bound.steady if steady else bound.full:
                call()
        except cl.Error as error:
            for kernel in bound.lengths:
                kernel.holder = None
            if isinstance(error, cl.MemoryError):
                raise OutOfMemory("a launch needs more than the device has") from None
            raise
        if not steady:
            for kernel, lengths in bound.lengths.items():
                kernel.held(bound, lengths)

    def _bind(self, queue: Any, key: tuple[int, ...], handles: Sequence[Any]) -> Bound:
        """The calls for these buffers."""
        if len(self._bound) >= MOST_BOUND:
            self._bound.clear()
        bound = self._bound[key] = Bound(handles)
        given = [(tuple(handles[a.number] if isinstance(a, Slot) else a for a in command.args),
                  command.lengths) if isinstance(command, Launched) else None
                 for command in self._commands]
        last = {command.kernel: each for command, each in zip(self._commands, given, strict=True)
                if isinstance(command, Launched) and each is not None}
        bound.lengths = {kernel: lengths for kernel, (_, lengths) in last.items()}
        before: dict[Prepared, Given] = {}
        for command, each in zip(self._commands, given, strict=True):
            if isinstance(command, Copied):
                bound.add(partial(cl.enqueue_copy, queue, handles[command.target.number],
                                  handles[command.source.number], byte_count=command.size,
                                  src_offset=command.offset))
            elif each is not None:
                kernel = command.kernel
                known = before.get(kernel)
                bound.full += kernel.setters(each, known)
                bound.steady += kernel.setters(each, known or last[kernel])
                before[kernel] = each
                bound.add(kernel.launcher(queue, command.items, command.group))
        return bound
