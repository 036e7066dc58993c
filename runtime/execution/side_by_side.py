"""Launches side by side: launches of a command buffer that do not depend on each other.

A launch takes the host, and often the device, longer than small kernels take.  Two launches depend
on each other if one writes into a buffer that the other uses.  Between two waits, each command has
a *level*: one more than the greatest level of a command that it depends on.  Launches of a level
can share one launch, which has the groups of all of them.  This is list scheduling without costs.

Small launches share one, and go along with a large launch that needs as much local memory.  Two
large launches stay apart: each fills the device by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from runelift.codegen.emit.signatures import given_buffers
from runelift.ir.imp import Id, Peek
from runelift.ir.imp.traverse import asked, statements
from runelift.runtime.devices.context import RESERVED_BYTES
from runelift.runtime.execution.commands import Command, Copy, Launch, Slot
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.persistent_loops import (
    MOST_PHASES,
    in_common_groups,
    local_bytes_for,
)

FAILURES = "failures"
"""Stands for the buffer in which kernels report failures: the order of these is kept."""
TRIED = 4
"""The most parts of a level that a launch is tried with."""
SMALL_SHARE = 4
"""Groups that use this part of the local memory that a group may have keep no other group away.

A compute unit of a GPU has memory for several groups that use all that one may have.
"""

Parts: TypeAlias = Iterator[Sequence[Any]]


class _Access(NamedTuple):
    """The buffers that a command uses, and the buffers that it writes into."""

    used: set[Hashable]
    written: set[Hashable]


def independent_launches(executable: Executable, commands: Sequence[Command]) -> Parts:
    """The commands in an order that keeps their meaning; launches that can share one together."""
    stretch: list[Launch | Copy] = []
    for command in commands:
        if isinstance(command, Launch | Copy):
            stretch.append(command)
            continue
        yield from _stretch(executable, stretch)
        stretch = []
        yield [command]
    yield from _stretch(executable, stretch)


def _stretch(executable: Executable, commands: Sequence[Launch | Copy]) -> Parts:
    """As :func:`independent_launches`, for commands without a wait between them."""
    levels: dict[int, list[list[Launch | Copy]]] = {}
    for command, level in zip(commands, _levels(executable, commands), strict=True):
        parts = levels.setdefault(level, [])
        room = next((part for part in parts[-TRIED:] if _fit(executable, [*part, command])), None)
        if room is None:
            parts.append([command])
        else:
            room.append(command)
    if sum(map(len, levels.values())) == len(commands):
        yield from ([command] for command in commands)
        return
    for level in sorted(levels):
        yield from levels[level]


def _levels(executable: Executable, commands: Sequence[Launch | Copy]) -> Iterator[int]:
    free_to_read: dict[Hashable, int] = {}
    free_to_write: dict[Hashable, int] = {}
    for command in commands:
        access = _access(executable, command)
        level = max([0, *(free_to_read.get(each, 0) for each in access.used),
                     *(free_to_write.get(each, 0) for each in access.written)])
        for each in access.used:
            free_to_write[each] = max(free_to_write.get(each, 0), level + 1)
        for each in access.written:
            free_to_read[each] = level + 1
        yield level


def _access(executable: Executable, command: Launch | Copy) -> _Access:
    if isinstance(command, Copy):
        return _Access(_known([command.target, command.source]), _known([command.target]))
    kernel = executable.sites[command.number].launch.kernel
    given = given_buffers(kernel, command.args)
    access = _Access(_known(arg for _, arg in given),
                     _known(arg for param, arg in given if param.written))
    if kernel.failures or Id.FAILURE in asked(kernel.body):
        access.used.add(FAILURES)
    if kernel.failures:
        access.written.add(FAILURES)
    return access


def _known(buffers: Iterable[Any]) -> set[Hashable]:
    """Identities of buffers: numbers of slots, or the identity of other objects."""
    return {each if isinstance(each, Slot) else id(each) for each in buffers}


def _fit(executable: Executable, part: Sequence[Launch | Copy]) -> bool:
    """True if one launch can do all, and it is worth it."""
    info = executable.device.info
    launches = [each for each in part if isinstance(each, Launch)]
    large = [each for each in launches if each.groups > info.num_groups]
    if len(launches) < len(part) or len(part) > MOST_PHASES or len(large) > 1 or any(
            _waits(executable, each) for each in launches):
        return False
    found = in_common_groups(executable.sites, launches)
    if found is None or found[0].group != max(each.group for each in launches):
        return False
    most = max(local_bytes_for(large), info.local_bytes // SMALL_SHARE) if large else (
        info.local_bytes - RESERVED_BYTES)
    return local_bytes_for(found) <= most


def _waits(executable: Executable, launch: Launch) -> bool:
    """True if groups of a launch wait for each other: no other group must take their place."""
    kernel = executable.sites[launch.number].launch.kernel
    return any(isinstance(stm, Peek) for stm in statements(kernel.body))
