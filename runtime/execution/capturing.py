"""Capture: runs that fill a command buffer while they run a plan, or without a run.

A captured command has a number for each buffer, so that it can be issued again on other buffers
(:mod:`runelift.runtime.execution.submitting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, cast

from runelift.codegen.emit.signatures import given_buffers
from runelift.codegen.passes.failed_checks import led_by_elements
from runelift.codegen.plan.fact_uses import MERGES
from runelift.ir import imp
from runelift.ir.base import failures
from runelift.ir.base.errors import RuneliftError
from runelift.ir.guards import Kind
from runelift.ir.imp.traverse import asked
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Fact
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution.commands import Command, Copy, Expect, Launch, RunLoop, Slot
from runelift.runtime.execution.dry_run import DryRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.kernels import KernelSite
from runelift.runtime.execution.run import Ending, Force, Run
from runelift.runtime.execution.submitting import SCAN_STATUS, Capture, CommandBuffer
from runelift.runtime.versions.choose import Facts, LocalBytes

MOST_CAPTURED_COMMANDS = 1 << 13
"""Runs of more commands are too long to gain by it."""
ALL_LENGTHS = frozenset({Kind.ROW, Kind.LANES, Kind.GROUP})
"""The kinds of version whose kernels read lengths, and need no facts about them to be right."""
COMPLETE = frozenset({"merge_pieces", "merge_joined"})
"""The kinds that complete segments of another kernel along a merge path, or of bins."""
MOST_CAPTURED_BYTES = 1 << 30
"""The most memory of a captured run; a command buffer needs the sum of all its buffers."""


@dataclass(frozen=True, slots=True)
class _Late:
    """A comparison that may wait until all other commands have been issued.

    ``place`` is the number of commands before it.  ``total``: commands are right for one total.
    ``checked``: they are right only if no check of lengths has failed.
    """

    place: int
    expect: Expect
    total: bool
    checked: bool


class CapturingRun(Run):
    """The ``rt`` that fills a command buffer: it runs a plan and captures its commands."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 args: Mapping[str, Any]) -> None:
        super().__init__(executable, thresholds, force, record=False)
        self.allocate = self._allocate
        self._capture = Capture(
            [name for name, value in args.items() if isinstance(value, Buffer)],
            {name: value for name, value in args.items() if not isinstance(value, Buffer)})
        self._inputs = [args[name] for name in self._capture.inputs]  # keeps their memory
        self._slots = {id(b.handle): Slot(n) for n, b in enumerate(self._inputs)}
        self._handles: list[Any] = []  # so that nothing else has their identity
        self._unrepeatable = False
        self._read: Sequence[tuple[Buffer, str, int]] = ()
        self._late = list[_Late]()

    def command_buffer(self) -> CommandBuffer | None:
        """The command buffer of the run, which is over; None if it cannot be repeated."""
        capture = self._capture
        unrepeatable = (self._unrepeatable or sum(capture.sizes) > self._most_captured()
                        or len(capture.commands) > MOST_CAPTURED_COMMANDS)
        found = None if unrepeatable else CommandBuffer(self.uncaptured(), capture)
        self.allocate = self._pool.allocate
        self._unrepeatable = True
        self._inputs, self._handles, self._slots = [], [], {}
        return found

    def _most_captured(self) -> int:
        """The most bytes that a command buffer may take, besides its inputs."""
        guard = self.executable.memory
        most = None if guard is None else guard.most_taken(
            {id(buffer.handle): buffer for buffer in self._inputs})
        return MOST_CAPTURED_BYTES if most is None else min(most, MOST_CAPTURED_BYTES)

    def _allocate(self, size: int) -> Buffer:
        buffer = self._pool.allocate(size)
        if id(buffer.handle) not in self._slots:
            sizes = self._capture.sizes
            self._slots[id(buffer.handle)] = Slot(len(self._inputs) + len(sizes))
            sizes.append(buffer.size)
            self._handles.append(buffer.handle)
        return buffer

    def _slot(self, value: Any) -> Any:
        return self._slots.get(id(value), value)

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """Conclude; the epilogue is not captured, but run every time."""
        capture = self._capture
        for late in reversed(self._late):
            after = capture.commands[late.place:]
            if (late.total and not self._keeps_merged(after)) or (
                    late.checked and not self._heed_failures(after)):
                capture.commands.insert(late.place, late.expect)
                self._late.remove(late)
        if self._late:
            expects = [each.expect for each in self._late]
            capture.commands.append(_together(expects, fallible=self._fallible or any(
                each.fallible for each in expects)))
        capture.ending, capture.fallible = ending, self._fallible
        capture.values = tuple(self._slot(v.handle) if isinstance(v, Buffer) else v for v in values)
        return super().conclude(ending, *values)

    def statuses(self, words: int) -> Buffer:
        """The buffer of the device in which the groups of a scan publish their totals."""
        buffer = super().statuses(words)
        self._capture.scans.append(words)
        self._slots[id(buffer.handle)] = SCAN_STATUS
        self._handles.append(buffer.handle)
        return buffer

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a kernel, and capture the launch."""
        super().issue(number, groups, group, lengths, *args)
        self._note(number, (), groups, group, lengths, args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for constants, and capture the launch."""
        super().issue_built(number, constants, groups, group, lengths, *args)
        self._note(number, constants, groups, group, lengths, args)

    def _note(self, number: int, constants: tuple[int, ...], groups: int, group: int,
              lengths: tuple[int, ...], args: tuple[Any, ...]) -> None:
        site = self.executable.sites[number]
        if groups > 0 and group > 0 and site.kernel is not None and not self._unrepeatable:
            slots = self.executable.forms.free.placed(site.launch.args, [*map(self._slot, args)])
            self._capture.commands.append(Launch(
                number, constants, groups, group, lengths, slots, site.kernel))

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy bytes between buffers, and capture the copy."""
        super().copy(target, source, size, offset)
        if size > 0 and not self._unrepeatable:
            self._capture.commands.append(Copy(
                self._slot(target.handle), self._slot(source.handle), size, offset))

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel run the iterations of a loop, and capture its launch."""
        super().run_loop(loop)
        if not self._unrepeatable:
            self._capture.commands.append(replace(
                loop, rings=(), args=tuple(map(self._slot, loop.args))))

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements of buffers.  A run that repeats this one expects them, before the epilogue."""
        fallible, self._read = self._fallible, elements
        found = super().reads(*elements)
        if self._capture.ending is None and not self._unrepeatable:
            self._capture.commands.append(Expect(
                tuple([(self._slot(buffer.handle), prim, index)
                       for buffer, prim, index in elements]), tuple(found), fallible))
        return found

    def encounter(self, number: int, pars: tuple[int, ...], facts: Facts,
                  local: LocalBytes, sizes: dict[str, int]) -> Iterable[int]:
        """The versions of a site to try; the facts that decided may be compared in the end.

        That is so if no fact decides what the run does next, or if nothing uses what the version
        writes where lengths have another total.  Work-items of ``row`` also keep within arrays for
        the longest segment, so that fact may be compared in the end.  Only ``row`` looks for wrong
        lengths itself.  For the further versions, lengths below 0 are 0.
        """
        order = list(super().encounter(number, pars, facts, local, sizes))
        versions = self.executable.generated.sites[number].versions
        kind = versions[order[0]].kind if order else None
        lengths = next((each.guard.lengths for each in versions if each.guard is not None
                        and each.guard.lengths is not None), None)
        if lengths is not None and (kind in ALL_LENGTHS or kind is Kind.MERGE):
            names = [size.variable for size in lengths.sizes()[1:] if size.variable is not None]
            fixed = self.executable.deciding_facts(number, order[0], names)
            if fixed <= ({Fact.LONGEST} if kind is Kind.ROW else set()):
                self._compare_late([sizes[str(name)] for name in names], partial(
                    self._decides_alike, number, order[0], names, facts, local, sizes), fixed,
                    total=kind is Kind.MERGE,
                    checked=kind is not Kind.ROW and not self._only_signs())
        return order

    def _only_signs(self) -> bool:
        """True if kernels so far find no other failure than a size below 0."""
        sites = [self.executable.sites[each.number] for each in self._capture.commands
                 if isinstance(each, Launch)]
        return all(failure.message == failures.SIZE for site in sites
                   for failure in site.launch.kernel.failures)

    def _compare_late(self, found: Sequence[int], alike: Callable[[Sequence[Any]], bool],
                      fixed: frozenset[Fact], *, total: bool, checked: bool) -> None:
        """Expect the facts that were just read after all other commands; their buffer stays.

        The facts ``fixed`` must be as they were.  ``total`` and ``checked`` are as in
        :class:`_Late`.
        """
        commands = self._capture.commands
        if not commands or not isinstance(commands[-1], Expect) or self._unrepeatable or (
                len(found) != len(Fact)):
            return
        wanted = [(self._read[0][0], Prim.I64.value, place) for place in range(len(found))]
        if list(self._read) == wanted and list(commands[-1].values) == list(found):
            known = {fact: found[fact] for fact in {*fixed, *([Fact.TOTAL] if total else ())}}
            expect = replace(cast(Expect, commands.pop()), decides=lambda now: all(
                now[fact] == value for fact, value in known.items()) and alike(now))
            self._late.append(_Late(len(commands), expect, total, checked and expect.fallible))
            self._handles.append(self._read[0][0])

    def _heed_failures(self, commands: Sequence[Command]) -> bool:
        """True if all commands do nothing that a failed check would make wrong.

        A kernel reads whether a kernel before has failed, or no element decides where it
        works.  A completion works where a kernel before it says, which reads that.
        """
        kernels = [self.executable.sites[each.number].launch.kernel
                   for each in commands if isinstance(each, Launch)]
        return len(kernels) == len(commands) and all(
            kernel.kind in COMPLETE or imp.Id.FAILURE in asked(kernel.body)
            or not led_by_elements(kernel) for kernel in kernels)

    def _keeps_merged(self, commands: Sequence[Command]) -> bool:
        """True if no other command uses what kernels along a merge path write.

        If the lengths have another total, they may write nothing: any element may be there.
        """
        merged = set[Any]()
        for command in commands:
            if not isinstance(command, Launch):
                if merged:
                    return False
                continue
            kernel = self.executable.sites[command.number].launch.kernel
            used = {arg for arg in command.args if isinstance(arg, Slot)}
            if merged & used and kernel.kind not in COMPLETE:
                return False
            if kernel.kind.startswith(MERGES):
                merged |= {arg for param, arg in given_buffers(kernel, command.args)
                           if param.written}
        return True

    def _decides_alike(self, number: int, version: int, names: Sequence[VName], facts: Facts,
                       local: LocalBytes, sizes: Mapping[str, int], found: Sequence[int]) -> bool:
        """True if these facts about lengths lead to the version that the captured run chose."""
        site = self.executable.generated.sites[number]
        now = {**sizes, **{str(n): value for n, value in zip(names, found, strict=True)}}
        changed = dict(zip(names, found, strict=True))
        guards = [each.guard for each in site.versions]
        pars = tuple(0 if guard is None else guard.par.value(
            {name: now[str(name)] for name in guard.par.variables()}) for guard in guards)
        costs = tuple(changed.get(name, value)
                      for name, value in zip(site.facts, facts, strict=True))
        return self.chooser.versions(number, pars, costs, local, now)[0] == version

    # Runs that cannot be repeated

    def run_while_loop(self, loop: RunLoop) -> None:
        """Run iterations until the device ends the loop; their number is not captured."""
        self._unrepeatable = True
        super().run_while_loop(loop)

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Reject a version; it may run another time, so the run cannot be repeated."""
        self._unrepeatable = True
        super().abandon(number, version, reason)


class DryCapture(CapturingRun, DryRun):
    """The ``rt`` that fills a command buffer without running anything on the device.

    It counts the launches that would be the first with groups of a size.
    """

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        super()._enqueue(site, groups, group, lengths, args)
        if self._watches_launches and site.kernel is not None:
            self.first_launches += self.is_first(site.kernel, groups, group)

    def capture(self, args: dict[str, Any]) -> CommandBuffer | None:
        """The command buffer; None if the commands depend on results of the device."""
        try:
            self.follow(self.executable.forms.main, args)
        except (Infeasible, OutOfMemory, RuneliftError):
            return None
        return self.command_buffer()


def _together(late: Sequence[Expect], *, fallible: bool) -> Expect:
    """One read of all facts that are compared in the end, so that the host waits once.

    ``fallible``: kernels may have failed by then.
    """
    def decides(found: Sequence[Any]) -> bool:
        left = iter(found)
        return all([each.decides is not None and each.decides(list(islice(left, len(each.values))))
                    for each in late])

    return Expect(tuple(chain.from_iterable(each.elements for each in late)),
                  tuple(chain.from_iterable(each.values for each in late)), fallible, decides)
