"""Launches on a tape that one launch can do: see :mod:`runelift.codegen.emit.fused`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from runelift.codegen.emit.fused import CopyPhase, JoinedPhase, joined_source
from runelift.ir.prim import Prim
from runelift.runtime.devices.context import RESERVED_BYTES
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.execution.executable import Executable, scalar_type
from runelift.runtime.execution.persistent_loops import (
    MOST_PHASES,
    Arguments,
    LaunchCommand,
    PersistentLaunch,
    in_common_groups,
    room_for,
)

FEW_BYTES = 1 << 12
"""A copy of more bytes is better left to the device."""
JOINED = -1
"""The number of a joined launch, which has no site in the plan."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The number of a buffer of a run: first those it is given, then those that it takes."""

    number: int


def filled(values: Sequence[Any], slots: Sequence[Any] | Mapping[int, Any]) -> tuple[Any, ...]:
    """The values, with what has their numbers in place of slots."""
    return tuple([slots[value.number] if isinstance(value, Slot) else value for value in values])


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of ``size`` bytes, from ``offset`` on, between numbered buffers."""

    target: Slot
    source: Slot
    size: int
    offset: int

    def renumbered(self, slots: Mapping[int, Slot]) -> Copied:
        """The same with other numbers for the buffers."""
        return replace(self, target=slots[self.target.number], source=slots[self.source.number])


@dataclass(frozen=True, slots=True)
class Issued:
    """A launch of a kernel, with the numbers of its buffers."""

    kernel: BoundKernel
    launched: LaunchCommand

    def renumbered(self, slots: Mapping[int, Slot]) -> Issued:
        """The same with other numbers for the buffers."""
        args = filled(self.launched.args, slots)
        return Issued(self.kernel, replace(self.launched, args=args))


@dataclass(frozen=True, slots=True)
class Rounds:
    """A kernel for ``count`` iterations of a loop, with the numbers of its buffers."""

    joined: PersistentLaunch
    first: int
    count: int

    def renumbered(self, slots: Mapping[int, Slot]) -> Rounds:
        """The same with other numbers for the buffers."""
        return replace(self, joined=replace(self.joined, args=filled(self.joined.args, slots)))


Command: TypeAlias = Issued | Copied | Rounds


def fuse_launches(executable: Executable, commands: Sequence[Command]) -> list[Command]:
    """The same with fewer launches, if that is possible."""
    found: list[Command] = []
    for part in _parts(executable, commands):
        if len(part) > 1 and (one := _join(executable, part)) is not None:
            found.append(one)
        else:
            found += part
    return found


def sources(executable: Executable, commands: Sequence[Command]) -> list[tuple[str, ...]]:
    """The programs of the kernels that this takes."""
    return [(joint.source,) for part in _parts(executable, commands)
            if len(part) > 1 and (joint := _joint(executable, part)) is not None]


def saved(executable: Executable, commands: Sequence[Command]) -> int:
    """How many of the commands are saved, if the kernels that this takes build."""
    return len(commands) - sum(1 for _ in _parts(executable, commands))


def _parts(executable: Executable, commands: Sequence[Command]) -> Iterator[list[Command]]:
    """Commands in a row that one group can do, and single ones."""
    part: list[Command] = []
    for command in commands:
        longer = [*part, command]
        if len(longer) > MOST_PHASES or _launches(executable, longer) is None:
            if part:
                yield part
            longer = [command]
        part = longer
    if part:
        yield part


def _launches(executable: Executable, part: Sequence[Command]) -> list[LaunchCommand] | None:
    """The launches among commands as they are in groups of one size; None if not one group each."""
    launches = [each.launched for each in part if isinstance(each, Issued)]
    copies = [each for each in part if isinstance(each, Copied) and each.size <= FEW_BYTES]
    if len(launches) + len(copies) < len(part) or any(each.groups != 1 for each in launches):
        return None
    found = in_common_groups(executable.sites, launches)
    if found is None:
        return None
    fits = room_for(found) + RESERVED_BYTES <= executable.device.info.local_bytes
    return found if fits and all(each.groups == 1 for each in found) else None


@dataclass(frozen=True, slots=True)
class _Joint:
    """A kernel to do commands with: its source, the launch's group, local memory and arguments."""

    source: str
    group: int
    local: int
    arguments: Arguments


def _joint(executable: Executable, part: Sequence[Command]) -> _Joint | None:
    """The kernel for all commands; None if there is nothing to launch among them."""
    launches = _launches(executable, part)
    if not launches:
        return None
    arguments, phases = Arguments({}), list[JoinedPhase]()
    following = iter(launches)
    for command in part:
        if isinstance(command, Copied):
            phases.append(CopyPhase(
                arguments.place(command.target), arguments.place(command.source),
                arguments.scalar(command.size, Prim.I64),
                arguments.scalar(command.offset, Prim.I64)))
            continue
        launched = next(following)  # there is nothing else
        phases.append(arguments.phase(
            launched, executable.sites[launched.number].launch.kernel))
    group = launches[0].group
    source = joined_source(phases, len(arguments.buffers), arguments.prims, group,
                           executable.bases)
    return _Joint(source, group, room_for(launches), arguments)


def _join(executable: Executable, part: Sequence[Command]) -> Issued | None:
    """One launch for all commands; None if the kernel does not build."""
    if (joint := _joint(executable, part)) is None:
        return None
    arguments = joint.arguments
    one = executable.joined(joint.source, [*[None] * len(arguments.buffers),
                                           *map(scalar_type, arguments.prims)])
    args: tuple[Any, ...] = (*arguments.buffers, *arguments.scalars)
    return None if one is None else Issued(
        one, LaunchCommand(JOINED, (), 1, joint.group, (joint.local,), args))
