"""Runs that try settings of operations where they stand, on the very inputs that they meet.

An operation that is to be tried is run once for each setting that a search asks for, its device
time is told to the search, and at last it is run with the setting that holds, so that the program
goes on as if nothing had happened.  Buffers that it both reads and writes are restored in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from runelift.runtime import interrupts
from runelift.runtime.executable import Infeasible, Wanted
from runelift.runtime.executor import Force, Run
from runelift.runtime.memory import Buffer
from runelift.runtime.parameters import Setting
from runelift.runtime.recording import busy

if TYPE_CHECKING:
    from runelift.runtime.executable import Executable, Site

@dataclass(frozen=True, slots=True)
class Coming:
    """Settings that will be asked for, so that their kernels can be built at the same time."""

    settings: tuple[Setting, ...]


Search: TypeAlias = Generator[Setting | Coming, "float | Setting | str | None", None]
"""Asks for settings and is sent the seconds that each took, or why one cannot run.

For one that launches the same kernels in the same way as another one did before, it is sent that.
What is said to be :class:`Coming` is answered with None.
"""
Meeting: TypeAlias = tuple[str, int]
"""The name of an operation, and how often it has been met before in a run."""
Searches: TypeAlias = Mapping[Meeting, Callable[[], Search]]


@dataclass(frozen=True, slots=True)
class Met:
    """An operation that was met in a run, and its device time (seconds)."""

    meeting: Meeting
    seconds: float


class TrialRun(Run):
    """A run of a plan's source for trials."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 searches: Searches) -> None:
        super().__init__(executable, thresholds, force, record=True)
        self._searches = searches
        self._spaces = [executable.spaces[each.name] for each in executable.tried.operations]
        self._met = Counter[str]()
        self._spans: list[tuple[Meeting, int, int]] = []
        self._merging = 0
        self._trying = False
        self._refusal = ""
        self._wanted: dict[Wanted, None] | None = None
        self._launched: list[tuple[int, int, int]] = []

    def trials(self, number: int, read: Sequence[Buffer], written: Sequence[Buffer],
               ) -> Iterator[Setting]:
        """The settings to run an operation with, the one that holds last."""
        assert self.recorder is not None
        space = self._spaces[number]
        meeting = space.operation.name, self._met[space.operation.name]
        self._met[space.operation.name] += 1
        search = self._searches.get(meeting)
        if search is not None:
            yield from self._try(search(), read, written)
        first = self.recorder.issued
        yield space.in_force(self._thresholds)
        if not self._merging:
            self._spans.append((meeting, first, self.recorder.issued))

    def _try(self, search: Search, read: Sequence[Buffer],
             written: Sequence[Buffer]) -> Iterator[Setting]:
        assert self.recorder is not None
        handles = {id(buffer.handle) for buffer in read}
        kept = [(buffer, self.copied(buffer)) for buffer in {
            id(b.handle): b for b in written}.values() if id(buffer.handle) in handles]
        setting = next(search, None)
        seen: dict[tuple[tuple[int, int, int], ...], Setting] = {}
        while setting is not None:
            if isinstance(setting, Coming):
                yield from self._prepared(setting.settings)
                setting = search.send(None)
                continue
            first = self.recorder.issued
            self._trying, self._refusal, self._launched = True, "", []
            yield setting
            self._trying = False
            commands = self.recorder.taken_back(first)
            found: float | Setting | str = self._refusal
            if not found:
                same = seen.setdefault(tuple(self._launched), setting)
                found = busy(commands) if same == setting else same
            for buffer, copy in kept:
                self.copy(buffer, copy, buffer.size)
            self.recorder.taken_back(first)
            interrupts.check()
            try:
                setting = search.send(found)
            except StopIteration:
                setting = None

    def _prepared(self, settings: Sequence[Setting]) -> Iterator[Setting]:
        """Build what settings need: each is gone through, but nothing is issued."""
        self._trying, self._wanted = True, {}
        yield from settings
        self._trying, wanted, self._wanted = False, self._wanted, None
        self.executable.prepare(wanted)

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a prepared kernel, or note it."""
        if self._wanted is None:
            super().issue(number, groups, group, lengths, *args)
        elif groups > 0 and group > 0:
            self._wanted[self.executable.wanted(number, ())] = None

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for constants, or note it."""
        if self._wanted is None:
            super().issue_built(number, constants, groups, group, lengths, *args)
        elif groups > 0 and group > 0:
            self._wanted[self.executable.wanted(number, constants)] = None

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy, unless launches are only noted."""
        if self._wanted is None:
            super().copy(target, source, size, offset)

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements, which nobody knows where launches are only noted."""
        if self._wanted is not None:
            raise Infeasible("a value of the device")
        return super().reads(*elements)

    def _enqueue(self, site: Site, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        if self._trying:
            self._launched.append((id(site.kernel), groups, group))
        super()._enqueue(site, groups, group, lengths, args)

    def gives_up(self, reason: Exception) -> bool:
        """An operation could not run; whether that was more than a trial."""
        self._refusal = str(reason) or type(reason).__name__
        return not self._trying

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterable[Any]:
        """All iterations; where one kernel would run them, what they launch is not tried."""
        return self._merged(range(bound)) if self.merges(bound) else range(bound)

    def rounds_while(self, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterable[None]:
        """The same where the device says whether there is another one."""
        return self._merged(iter(lambda: self.read(cond(), "bool", 0), False))

    def _merged(self, rounds: Iterable[Any]) -> Iterator[Any]:
        self._merging += 1
        yield from rounds
        self._merging -= 1

    def met(self) -> list[Met]:
        """The operations that were met, with their times; the queue has finished."""
        assert self.recorder is not None
        commands = self.recorder.commands()
        return [Met(meeting, busy(commands[first:last])) for meeting, first, last in self._spans]
