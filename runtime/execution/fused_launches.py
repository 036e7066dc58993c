"""Fused launches: commands that one launch can do.

Commands in a row that one work-group can do become the phases of one group.  Launches that do not
depend on each other become parts of one launch, side by side
(:mod:`runelift.runtime.execution.side_by_side`).  See :mod:`runelift.codegen.emit.fused` for the
kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from runelift.codegen.emit.fused import beside_source, fused_source
from runelift.codegen.emit.phases import CopyPhase, FusedPhase, Phase
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
from runelift.runtime.execution.side_by_side import independent_launches

MOST_COPIED_BYTES = 1 << 12
"""The most bytes of a copy that is fused; a larger copy is better left to the device."""

MOST_KERNELS = 12
"""The most kernels that are built for the fused launches of a command buffer."""


@dataclass(frozen=True, slots=True)
class FusedLaunch:
    """A kernel that does ``commands``: its source, groups, local memory and arguments."""

    commands: Sequence[Command]
    source: str
    groups: int
    group: int
    local: int
    arguments: PhaseArguments


Planned: TypeAlias = Command | FusedLaunch


def fuse_launches(executable: Executable, planned: Sequence[Planned]) -> list[Command]:
    """The commands of a plan; the launches of a fused launch that does not build stay apart."""
    found: list[Command] = []
    for each in planned:
        if not isinstance(each, FusedLaunch):
            found.append(each)
        elif (one := _built(executable, each)) is not None:
            found.append(one)
        else:
            found += each.commands
    return found


def plan_fusion(executable: Executable, commands: Sequence[Command]) -> list[Planned]:
    """The commands, with fused launches in place of neighbouring small launches."""
    found: list[Planned] = []
    single: list[Command] = []

    def beside() -> None:
        for part in independent_launches(executable, single):
            found.append(part[0] if len(part) == 1 else _beside(executable, part))
        single.clear()

    for part in _parts(executable, commands):
        if len(part) > 1 and (one := _in_one_group(executable, part)) is not None:
            beside()
            found.append(one)
        else:
            single += part
    beside()
    return _few(found)


def _few(planned: Sequence[Planned]) -> list[Planned]:
    """The commands, with few kernels for fused launches: the kernels that save most launches."""
    saved = Counter[str]()
    for each in planned:
        if isinstance(each, FusedLaunch):
            saved[each.source] += len(each.commands) - 1
    kept = {source for source, _ in saved.most_common(MOST_KERNELS)}
    found: list[Planned] = []
    for each in planned:
        if isinstance(each, FusedLaunch) and each.source not in kept:
            found += each.commands
        else:
            found.append(each)
    return found


# Phases of one group


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


def _in_one_group(executable: Executable, part: Sequence[Command]) -> FusedLaunch | None:
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
        phases.append(_phase(executable, arguments, launch))
    group = launches[0].group
    source = fused_source(phases, len(arguments.buffers), arguments.prims, group,
                           executable.kernels.bases)
    return FusedLaunch(part, source, 1, group, local_bytes_for(launches), arguments)


# Side by side


def _beside(executable: Executable, part: Sequence[Launch]) -> FusedLaunch:
    """The kernel whose groups do the work of the groups of several launches."""
    launches = in_common_groups(executable.sites, part)
    assert launches is not None
    arguments = PhaseArguments({})
    counted = [(_phase(executable, arguments, each), arguments.scalar(each.groups, Prim.I64))
               for each in launches]
    group = launches[0].group
    source = beside_source(counted, len(arguments.buffers), arguments.prims, group,
                           executable.kernels.bases)
    return FusedLaunch(part, source, sum(each.groups for each in launches), group,
                       local_bytes_for(launches), arguments)


# Kernels


def _phase(executable: Executable, arguments: PhaseArguments, launch: Launch) -> Phase:
    return arguments.phase(launch, executable.sites[launch.number].launch.kernel)


def _built(executable: Executable, fused: FusedLaunch) -> Launch | None:
    """The launch of a fused kernel; None if that does not build."""
    arguments = fused.arguments
    one = executable.kernels.fused(fused.source, [*[None] * len(arguments.buffers),
                                          *map(scalar_type, arguments.prims)])
    args: tuple[Any, ...] = (*arguments.buffers, *arguments.scalars)
    return None if one is None else Launch(
        FUSED, (), fused.groups, fused.group, (fused.local,), args, one)
