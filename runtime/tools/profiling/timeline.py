"""The timeline of one profiled run: commands, versions, what the host did, and memory in use.

All times are seconds since the call began.  Clocks of devices have another zero than that of the
host.  A command is queued just after the host begins to issue it.  So the least difference of these
times, over all commands, is that of the clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from runelift.runtime.execution.executable import Executable
from runelift.runtime.records.recorder import Command, OpenEncounter, host_gaps
from runelift.runtime.tools.profiling.profiled_run import LOOP, READ, IssuedCommand, Observed

VersionName = Callable[[str, int], str]
"""The name of a version, such as V3, by its site and index."""
NO_ISSUE = IssuedCommand(READ, (), 0.0, 0.0)
"""Stands for how an element was read, which takes the host as long as it waits."""


@dataclass(frozen=True, slots=True)
class Span:
    """An activity from ``start`` to ``end`` (seconds); ``detail`` says more about it."""

    name: str
    start: float
    end: float
    detail: str = ""

    @property
    def seconds(self) -> float:
        """The length of the span in seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class VersionSpan(Span):
    """The device time of a version; ``detail`` names its site.

    Commands ran for ``busy`` seconds of it.
    """

    launches: int = 0
    busy: float = 0.0


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """A command on the device, and how it was issued; ``version`` is that around it, or empty."""

    span: Span
    version: str
    issued: IssuedCommand

    @property
    def is_kernel(self) -> bool:
        """True unless it only copies or reads."""
        return self.issued.kind in ("", LOOP)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the time of a call (seconds), which add up to it.

    ``late`` is the time in which the device waited for the host between commands, ``between`` the
    other time there.
    """

    before: float
    kernels: float
    copies: float
    late: float
    between: float
    after: float

    @property
    def whole(self) -> float:
        """The time of the whole call in seconds."""
        return (self.before + self.kernels + self.copies + self.late + self.between + self.after)

    @property
    def idle(self) -> float:
        """The time in which no kernel ran."""
        return self.whole - self.kernels


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run.  Spans on the host are nested.  So are the spans of versions on the device."""

    wall: float
    commands: tuple[DeviceCommand, ...]
    versions: tuple[VersionSpan, ...]
    host: tuple[Span, ...]
    memory: tuple[tuple[float, int], ...]
    peak_bytes: int
    parts: Parts


def timeline(executable: Executable, seen: Observed, wall: float, peak_bytes: int,
             name_of: VersionName) -> Timeline:
    """The timeline of a run that took ``wall`` seconds."""
    ahead = _clock_difference(seen)

    def on_host(nanoseconds: int) -> float:
        return min(max(nanoseconds * 1e-9 - ahead - seen.started, 0.0), wall)

    inside = _innermost(seen.encounters, len(seen.times))
    commands, last = list[DeviceCommand](), 0.0
    for number, times in enumerate(seen.times):
        issued = seen.commands.get(number, NO_ISSUE)
        around = inside[number]
        version = "" if around is None else name_of(around.kind.site, around.chosen)
        start = max(last, on_host(times.start))
        last = max(start, on_host(times.end))
        commands.append(DeviceCommand(Span(_name(executable, issued), start, last), version,
                                      issued))
    busy = [0.0, *accumulate(each.span.seconds for each in commands)]
    return Timeline(
        wall, tuple(commands),
        tuple(VersionSpan(name_of(each.kind.site, each.chosen), commands[each.first].span.start,
                          commands[each.last - 1].span.end, each.kind.site, each.launches,
                          busy[each.last] - busy[each.first])
              for each in seen.encounters if each.last > each.first),
        tuple(_host_spans(seen, wall, commands, name_of)),
        tuple((max(0.0, at - seen.started), size) for at, size in seen.memory), peak_bytes,
        _parts(wall, commands, seen.times))


def _clock_difference(seen: Observed) -> float:
    """The seconds by which the clock of the device is ahead of that of the host."""
    begun = [seen.times[number].queued * 1e-9 - each.begun
             for number, each in seen.commands.items()]
    if not begun:
        return seen.times[0].queued * 1e-9 - seen.started if seen.times else 0.0
    return min(begun)


def _innermost(encounters: Sequence[OpenEncounter], count: int) -> list[OpenEncounter | None]:
    """The innermost encounter of each command."""
    found: list[OpenEncounter | None] = [None] * count
    for each in encounters:  # an outer one comes before those inside of it
        found[each.first:each.last] = [each] * (each.last - each.first)
    return found


def _name(executable: Executable, issued: IssuedCommand) -> str:
    if issued.kind:
        return {LOOP: "loop in one kernel"}.get(issued.kind, issued.kind)
    return executable.sites[issued.launches[0].number].launch.kernel.name


def _host_spans(seen: Observed, wall: float, commands: Sequence[DeviceCommand],
                name_of: VersionName) -> list[Span]:
    """The work of the host: versions, issuing commands, waiting."""
    def span(name: str, start: float, end: float, detail: str = "") -> Span:
        begin = min(max(0.0, start - seen.started), wall)
        return Span(name, begin, min(max(begin, end - seen.started), wall), detail)

    found = [span(name_of(each.kind.site, each.chosen), each.started, each.started + each.issue,
                  each.kind.site) for each in seen.encounters]
    found += [span(f"issue {each.span.name}", each.issued.begun, each.issued.done)
              for each in commands if each.issued is not NO_ISSUE]
    found += [span("wait", *each) for each in seen.waits]
    return sorted(found, key=lambda each: (each.start, -each.end))


def _parts(wall: float, commands: Sequence[DeviceCommand], times: Sequence[Command]) -> Parts:
    if not commands:
        return Parts(wall, 0.0, 0.0, 0.0, 0.0, 0.0)
    kernels = sum(each.span.seconds for each in commands if each.is_kernel)
    copies = sum(each.span.seconds for each in commands if not each.is_kernel)
    first, last = commands[0].span.start, commands[-1].span.end
    gaps = max(0.0, last - first - kernels - copies)
    late = min(gaps, sum(host_gaps(times)) * 1e-9)
    return Parts(first, kernels, copies, late, gaps - late, wall - last)
