"""Checks of a program's kernels for races: its runs with interpreted kernels, in small groups.

Each run is made with the kernels for processors.  It is also made with the kernels for devices that
run work-items in lockstep.  Groups and chunks are small, so that small data has several of each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from runelift.codegen.plan.origins import Origins
from runelift.codegen.plan.plan import Plan, kernels
from runelift.ir.base.errors import CompilerBug, UserError
from runelift.ir.imp.interpret import Race, TakesTooLong
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.delivery import on_host
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from runelift.runtime.tools.races.mistakes import NO_DEVICE, OTHER, RACE, KernelMistake, RunTooLong
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.version_names import names_of_plan

FORMS = {"processors": False, "lockstep": True}
"""The forms of kernels, and whether neighbouring work-items run together there."""
SHARES = ShareLimits(lanes=4, group=8, max_group=64, chunk=2, max_chunk=64, staged=False,
                     tile=2, window=4, busy_groups=64)
LOOKS = 2
"""The times that a group asks for the total of a tile before it: groups run in their order."""
SUBGROUP = 2


def small(info: DeviceInfo, *, lockstep: bool) -> DeviceInfo:
    """A device that holds the same buffers, with small groups of work-items."""
    return replace(info, group_size=8, num_groups=2, sequential_segment=3, local_bytes=1 << 15,
                   coherent=lockstep, interleaves=lockstep, shuffles=(),
                   shares=replace(SHARES, staged=lockstep, columns=0 if lockstep else 2))


class RaceChecks:
    """Runs a program with interpreted kernels, which find data races."""

    def __init__(self, program: Program) -> None:
        if program.device_info is None:
            raise UserError(NO_DEVICE)
        self._program = program
        self._info = program.device_info
        self._made: dict[tuple[str, str], FormChecks] = {}

    def forms(self, entry: str) -> Iterator[FormChecks]:
        """The entry point in each form of its kernels."""
        for form, lockstep in FORMS.items():
            if (entry, form) not in self._made:
                self._made[entry, form] = FormChecks(self._program, entry, form, self._devices[
                    lockstep], coherent=lockstep)
            yield self._made[entry, form]

    def versions(self, entry: str, *, each: bool) -> Iterator[tuple[str, Mapping[str, int]]]:
        """The names of versions, and the choices that lead there; the default has no name."""
        yield "", {}
        forest = self._program.tree.entry(entry)
        for force in plans(forest) if each else ():
            if force:
                yield names_of_plan(forest, force), force

    @cached_property
    def _devices(self) -> Mapping[bool, Device]:
        return {lockstep: Device(small(self._info, lockstep=lockstep), PROBES)
                for lockstep in FORMS.values()}


class FormChecks:
    """An entry point with kernels of one form."""

    def __init__(self, program: Program, entry: str, form: str, device: Device, *,
                 coherent: bool) -> None:
        self.form = form
        self._program = program
        self.plan: Plan
        self.origins: Origins
        self.plan, self.origins = program.compiled.explained_plan(
            entry, interleave=device.info.interleaves, coherent=coherent)
        self._kernels = {kernel.name: kernel for kernel in kernels(self.plan.steps)}
        self.device = device
        self.executable = Executable(self.plan, device)
        if coherent:
            device.shares = replace(device.info.shares, subgroup=SUBGROUP)
            device.patience = LOOKS

    def run(self, arguments: Sequence[Any], force: Mapping[str, int], seconds: float,
            kind: type[InterpretedRun] = InterpretedRun) -> list[Any]:
        """The results of a run; KernelMistake for a race, or RunTooLong after ``seconds``."""
        bound = self._program.loaded.bind(self.plan, list(arguments), self._upload)
        run = kind(self.executable, force, time.monotonic() + seconds)
        try:
            return list(run.call(self.executable.forms.main, bound, deliver=on_host).results)
        except Race as race:
            raise KernelMistake(self._told(race), RACE) from None
        except TakesTooLong:
            raise RunTooLong(f"given up, the kernels take longer than {seconds:g} s in the "
                             "interpreter; smaller data suffice") from None
        except CompilerBug as error:
            raise KernelMistake(str(error), OTHER) from None

    def _upload(self, value: Any) -> Buffer:
        buffer = self.device.pool.allocate(value.nbytes)
        if value.size:
            self.device.write(buffer, np.ascontiguousarray(value))
        return buffer

    def _told(self, race: Race) -> str:
        """A race in words: the kernel, the array, and the two lines of the source."""
        kernel = self._kernels[race.kernel]
        local = any(array.name == race.memory for array in kernel.locals)
        what = f"'{race.memory.base}' in {'local' if local else 'global'} memory"
        lines = dict.fromkeys(str(loc) for stm in (race.first, race.second)
                              if stm is not None and (loc := self.origins.of(stm)) is not None)
        places = f" ({' and '.join(lines)})" if lines else ""
        return f"data race on {what}{places}: {race}"
