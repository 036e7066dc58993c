"""Fused launches: commands in a row that one launch can do.

See :mod:`runelift.codegen.emit.fused` for the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runelift.codegen.emit.fused import CopyPhase, FusedPhase, fused_source
from runelift.ir.prim import Prim
from runelift.runtime.devices.context import RESERVED_BYTES
from runelift.runtime.execution.commands import FUSED, Command, Copy, Launch
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.loop_scalars import scalar_type
from runelift.runtime.execution.persistent_loops import (
    MOST_PHASES,
    PhaseArguments,
    in_common_groups,
    local_bytes_for,
)

MOST_COPIED_BYTES = 1 << 12
"""The most bytes of a copy that is fused; larger ones are better left to the device."""


def fuse_launches(executable: Executable, commands: Sequence[Command]) -> list[Command]:
    """The commands with fewer launches, if that is possible."""
    found: list[Command] = []
    for part in _parts(executable, commands):
        if len(part) > 1 and (one := _fuse(executable, part)) is not None:
            found.append(one)
        else:
            found += part
    return found


def fused_sources(executable: Executable, commands: Sequence[Command]) -> list[tuple[str, ...]]:
    """The programs of the kernels for fused launches."""
    return [(fused.source,) for part in _parts(executable, commands)
            if len(part) > 1 and (fused := _fused_launch(executable, part)) is not None]


def saved_commands(executable: Executable, commands: Sequence[Command]) -> int:
    """The number of commands that fusing saves, if the kernels build."""
    return len(commands) - sum(1 for _ in _parts(executable, commands))


def _parts(executable: Executable, commands: Sequence[Command]) -> Iterator[list[Command]]:
    """Commands in a row that one work-group can do, and single commands."""
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


def _launches(executable: Executable, part: Sequence[Command]) -> list[Launch] | None:
    """The launches among commands as they are in groups of one size; None if not one group each."""
    launches = [each for each in part if isinstance(each, Launch)]
    copies = [each for each in part if isinstance(each, Copy) and each.size <= MOST_COPIED_BYTES]
    if len(launches) + len(copies) < len(part) or any(each.groups != 1 for each in launches):
        return None
    found = in_common_groups(executable.sites, launches)
    if found is None:
        return None
    fits = local_bytes_for(found) + RESERVED_BYTES <= executable.device.info.local_bytes
    return found if fits and all(each.groups == 1 for each in found) else None


@dataclass(frozen=True, slots=True)
class _FusedLaunch:
    """A kernel to do commands with: its source, the launch's group, local memory and arguments."""

    source: str
    group: int
    local: int
    arguments: PhaseArguments


def _fused_launch(executable: Executable, part: Sequence[Command]) -> _FusedLaunch | None:
    """The kernel for all commands; None if there is nothing to launch among them."""
    launches = _launches(executable, part)
    if not launches:
        return None
    arguments, phases = PhaseArguments({}), list[FusedPhase]()
    following = iter(launches)
    for command in part:
        if isinstance(command, Copy):
            phases.append(CopyPhase(
                arguments.place(command.target), arguments.place(command.source),
                arguments.scalar(command.size, Prim.I64),
                arguments.scalar(command.offset, Prim.I64)))
            continue
        launch = next(following)  # there is nothing else
        phases.append(arguments.phase(
            launch, executable.sites[launch.number].launch.kernel))
    group = launches[0].group
    source = fused_source(phases, len(arguments.buffers), arguments.prims, group,
                           executable.bases)
    return _FusedLaunch(source, group, local_bytes_for(launches), arguments)


def _fuse(executable: Executable, part: Sequence[Command]) -> Launch | None:
    """One launch for all commands; None if the kernel does not build."""
    if (fused := _fused_launch(executable, part)) is None:
        return None
    arguments = fused.arguments
    one = executable.fused(fused.source, [*[None] * len(arguments.buffers),
                                           *map(scalar_type, arguments.prims)])
    args: tuple[Any, ...] = (*arguments.buffers, *arguments.scalars)
    return None if one is None else Launch(
        FUSED, (), 1, fused.group, (fused.local,), args, one)
