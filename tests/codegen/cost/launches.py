"""The launches of all versions of a program, found out without running it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import runelift
from runelift.codegen.plan.plan import Interface
from runelift.ir import imp
from runelift.ir.base.errors import UserError
from runelift.ir.names import VName
from runelift.ir.types import Const
from runelift.runtime.devices import info as infos
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo, DeviceKind
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.memory.memory_run import UNKNOWN, MemoryRun

SIZES = ((5, 37, 11), (64, 100, 32), (1000, 1000, 64), (300, 4000, 16))
"""The sizes of arrays, in turn."""
LARGEST_SCALAR = 100
"""Integer arguments are no larger: they may be numbers of iterations, or of bins."""
MOST = 2
"""The launches of a kernel that are kept for each of the sizes."""


class Seen(NamedTuple):
    """A launch: all that its work depends on."""

    kernel: imp.Kernel
    groups: int
    group: int
    built_for: tuple[int, ...]
    scalars: tuple[tuple[VName, Any], ...]

    @property
    def sizes(self) -> list[int]:
        """The arguments of a formula of work, but for the first two."""
        return [*self.built_for, *(int(value) for _, value in self.scalars)]

    @property
    def known(self) -> dict[VName, Any]:
        """The constants and scalars by name."""
        return {**dict(zip(self.kernel.built_for, self.built_for, strict=True)),
                **dict(self.scalars)}


class _Noting(MemoryRun):
    """A dry run of all versions, which notes launches."""

    seen: dict[str, dict[Seen, None]]

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        self.issue_built(number, (), groups, group, lengths, *args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        super().issue_built(number, constants, groups, group, lengths, *args)
        kernel = self._sites[number].launch.kernel
        scalars = tuple((param.name, arg) for param, arg in zip(kernel.params, args, strict=False)
                        if isinstance(param, imp.ScalarParam))
        if groups is UNKNOWN or groups <= 0 or any(arg is UNKNOWN for _, arg in scalars):
            return
        known = dict(zip(kernel.built_for, constants, strict=True))
        teams = 1 if kernel.teams is None else known[kernel.teams]
        found = self.seen.setdefault(kernel.name, {})
        found[Seen(kernel, groups * teams, group // teams, constants, scalars)] = None


def like_gpu(info: DeviceInfo) -> DeviceInfo:
    """A device with the limits of a large GPU."""
    shares = infos._shares(DeviceKind.GPU, 1024, 132)
    return replace(info, group_size=256, num_groups=132 * 8, sequential_segment=32, max_group=1024,
                   local_bytes=48 * 1024, shares=shares, coherent=True, interleaves=True,
                   shuffles=(), global_bytes=1 << 37, max_alloc=1 << 36)


def launches(path: Path, sizes: Sequence[Sequence[int]] = SIZES) -> Iterator[Seen]:
    """Launches of all versions of all entry points, as on a processor and as on a GPU."""
    program = runelift.compile(path, tuning={}, runs=False)
    assert program.device_info is not None
    for gpu in (False, True):
        device = Device(like_gpu(program.device_info) if gpu else program.device_info, PROBES)
        for entry in program.compiled.interfaces:
            plan = program.compiled.plan(entry, interleave=gpu, coherent=gpu)
            executable = Executable(plan, device)
            if gpu:
                device.shares = replace(device.info.shares, subgroup=32)
                device.patience = 1 << 26
            for numbers in sizes:
                with suppress(UserError):
                    args = _arguments(program.compiled.interfaces[entry], numbers)
                    run = _Noting(executable, {}, {})
                    run.seen = {}
                    run.estimate(program.loaded.bind(plan, args, lambda a: no_memory(a.nbytes)))
                    for found in run.seen.values():
                        yield from list(found)[:MOST]


def _arguments(interface: Interface, sizes: Sequence[int]) -> list[Any]:
    """Arguments without memory."""
    numbers = {name: sizes[k % len(sizes)] for k, name in enumerate(interface.sizes)}
    found: list[Any] = []
    for spec in interface.params:
        if spec.shape is None:
            number = min(sizes[len(found) % len(sizes)], LARGEST_SCALAR)
            found.append(spec.prim.dtype.type(number if spec.prim.is_int else 1))
            continue
        shape = tuple(int(n.value) if isinstance(n, Const) else numbers.setdefault(
            n, sizes[len(numbers) % len(sizes)]) for n in spec.shape)
        found.append(np.broadcast_to(spec.prim.dtype.type(1), shape))
    return found
