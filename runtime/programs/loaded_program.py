"""A compiled program loaded on a device: plans, executables, bound arguments and prebuilt kernels.

:class:`~runelift.runtime.programs.program.Program` is for users; this is for the parts that run and
measure programs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from runelift.codegen.plan.plan import Interface, Plan, kernels
from runelift.ir.base.errors import unknown_entry
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import KernelTexts, store_compiled
from runelift.runtime.devices import forked
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.arguments import bound_arguments
from runelift.runtime.programs import running

if TYPE_CHECKING:
    from runelift.codegen.plan.origins import Origins
    from runelift.runtime.devices.context import Device
    from runelift.runtime.devices.memory import Buffer
    from runelift.runtime.execution.caller import Caller
    from runelift.runtime.execution.executable import Executable
    from runelift.runtime.memory.memory_run import MemoryEstimate
    from runelift.runtime.prebuild.first_run import FirstRun
    from runelift.runtime.prebuild.prebuild import Prebuilder
    from runelift.runtime.records.record import Record

Choices = Mapping[str, int]
"""Indices of versions by site, or thresholds by name."""
NO_FORCE: Choices = {}


class LoadedProgram:
    """A compiled program on the device ``info``, which is opened when first used, or ``device``.

    ``thresholds_of`` replaces missing thresholds of a run by the thresholds of the program.
    ``first`` has the processes that build the kernels of the first run.
    """

    def __init__(self, compiled: Compiled, info: DeviceInfo | None,
                 thresholds_of: Callable[[Choices | None], Choices], *,
                 fp_contract: bool = False, first: FirstRun | None = None,
                 device: Device | None = None) -> None:
        self.compiled = compiled
        self.info = info
        self.fp_contract = fp_contract
        self.first = first
        self.stores_plans = True
        """Plans are stored on disk as soon as they are made."""
        self.checks_kernels = True
        """Kernels are checked as soon as plans are made, not later."""
        self._thresholds_of = thresholds_of
        self._loading = threading.RLock()
        self._device = device
        self._executables: dict[str, Executable] = {}
        self._explained: dict[str, tuple[Plan, Origins]] = {}
        self._stored = len(compiled.plans)
        self._texts = KernelTexts()
        self._prebuilder: Prebuilder | None = None
        self._memory: int | None = None

    @property
    def memory(self) -> int | None:
        """The most bytes of device memory that a call may need; None if the device decides."""
        return self._memory

    @memory.setter
    def memory(self, bound: int | None) -> None:
        self._memory = bound
        for executable in self._executables.values():
            assert executable.memory is not None
            executable.memory.bound = bound

    def estimate_memory(self, entry: str, args: Sequence[Any], force: Choices | None = None,
                        thresholds: Choices | None = None) -> MemoryEstimate:
        """The device memory of a run before it runs, within the bound.

        Of elements of arrays, lengths that decide count alone.
        """
        executable = self.executable(entry)
        bound = running.without_memory(executable, args, self.bind)
        found: MemoryEstimate = running.MemoryRun(
            executable, self._thresholds_of(thresholds), force or {},
            bound=math.inf if self._memory is None else self._memory).estimate(bound)
        return found

    # Plans and what runs them

    def interface(self, entry: str) -> Interface:
        """The parameters and results of an entry point; UserError if there is none."""
        try:
            return self.compiled.interfaces[entry]
        except KeyError:
            raise unknown_entry(entry, tuple(self.compiled.interfaces)) from None

    def plan(self, entry: str, *, costed: bool = True) -> Plan:
        """The host plan of an entry point for the device (:meth:`Compiled.plan`)."""
        name, info = self.interface(entry).entry, self.info
        if info is None:
            return self.compiled.plan(name, checked=self.checks_kernels, costed=costed)
        if info.is_simulator:
            return self._explained_plan(name, info)[0]
        return self.compiled.plan(name, interleave=info.interleaves, coherent=info.coherent,
                                  checked=self.checks_kernels, costed=costed)

    def _explained_plan(self, name: str, info: DeviceInfo) -> tuple[Plan, Origins]:
        """The plan for a simulator, whose reports name places in the source."""
        if name not in self._explained:
            self._explained[name] = self.compiled.explained_plan(
                name, interleave=info.interleaves, coherent=info.coherent,
                checked=self.checks_kernels)
        return self._explained[name]

    def origins(self, entry: str) -> dict[str, str]:
        """The origin of each kernel of an entry point in the source, by the kernel's name."""
        return {kernel.name: kernel.comment for kernel in kernels(self.plan(entry).steps)}

    def executable(self, entry: str) -> Executable:
        """The executable of an entry point's plan on the device."""
        forked.check()
        if entry not in self._executables:
            info, plan = self.device.info, self.plan(entry)
            kept = origins = None
            if info.is_simulator:
                origins = self._explained_plan(plan.entry, info)[1]
            else:
                kept = self._texts.of(self.compiled, entry, interleave=info.interleaves,
                                      coherent=info.coherent)
            made = self._executables[entry] = running.Executable(
                plan, self.device, contract=self.fp_contract, kept=kept, origins=origins)
            made.memory = running.MemoryGuard(made, self._memory)
            self._store_new_plans()
        return self._executables[entry]

    def made(self, entry: str) -> Executable | None:
        """The executable of an entry point that has been called."""
        return self._executables.get(entry)

    @property
    def given_up(self) -> dict[str, str]:
        """Versions of runs so far that failed to build or launch, ``site/index``, and reasons."""
        return {version: reason for executable in self._executables.values()
                for version, reason in executable.given_up.items()}

    def prepare_first_run(self, entry: str, args: Sequence[Any], force: Choices,
                          thresholds: Choices) -> None:
        """Have processes build the kernels of a first run, and end them; else do nothing.

        The program is stored on disk meanwhile.
        """
        first = self.first
        if first is None:
            return
        stores, self.stores_plans = self.stores_plans, False
        try:
            executable, wanted = self.executable(entry), dict[Any, None]()
            self.first = self.device.trials = None
            self.prebuilder.collect(entry, args, force, wanted, thresholds)
            self.stores_plans = stores
            first.build(executable, list(wanted), self._store_new_plans)
        finally:
            self.first, self.stores_plans = None, stores
            first.end()
        self._store_new_plans()

    @property
    def command_buffer(self) -> ModuleType:
        """The module :mod:`runelift.runtime.execution.calls`, imported when first used."""
        return running.calls

    def perform(self, entry: str, args: Sequence[Any], force: Choices, thresholds: Choices, *,
                record: bool, to_host: bool) -> tuple[tuple[Any, ...], Record | None]:
        """Run an entry point on the device: its results, and its record if there is to be one.

        Without a record, arrays among the results are NumPy's or the device's, as ``to_host`` says.
        Otherwise the results are raw.
        """
        if self._device is None:
            forked.check()
        else:
            self._device.check()
        executable = self._executables.get(entry)
        is_first = executable is None
        if executable is None or self.first is not None:
            with self._loading:
                self.prepare_first_run(entry, args, dict(force), thresholds)
                executable = self.executable(entry)
        if record:
            return self._caller.record(executable, args, thresholds, force)
        results = self._caller.perform(executable, args, thresholds, force, to_host=to_host)
        if is_first:
            self._texts.store(self.compiled)
        return results, None

    def repeat(self, entry: str, args: Sequence[Any], thresholds: Choices,
               force: Choices = NO_FORCE, *, to_host: bool) -> tuple[Any, ...] | None:
        """The results of a call with arguments of known kinds; None if they are not known yet."""
        if (executable := self._executables.get(entry)) is None:
            return None
        return self._caller.repeat(executable, args, thresholds, force, to_host=to_host)

    def forget_prebuilt(self) -> None:
        """Forget executables and prebuilt kernels: the device is not as was presumed."""
        self._executables.clear()
        self._prebuilder = None

    def store_plans(self) -> None:
        """Store the program on disk if there are plans that have not been stored."""
        if len(self.compiled.plans) > self._stored:
            store_compiled(self.compiled)
            self._stored = len(self.compiled.plans)

    def _store_new_plans(self) -> None:
        if self.stores_plans:
            self.store_plans()

    @property
    def prebuilder(self) -> Prebuilder:
        """The builder of kernels before the runs that need them."""
        if self._prebuilder is None:
            self._prebuilder = running.Prebuilder(
                self.compiled, self.info, self.executable,
                lambda entry, args, upload: self.bind(self.plan(entry), args, upload),
                self._thresholds_of)
        return self._prebuilder

    # The device and arguments there

    @property
    def device(self) -> Device:
        """The device with its context and queues, opened when first used."""
        forked.check()
        if self._device is None:
            assert self.info is not None
            self._device = running.open_device(self.info)
            if self.first is not None:
                self._device.trials = self.first.leave_trial
        return self._device

    def bind(self, plan: Interface, args: list[Any],
             upload: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        """Arguments by the name of their parameter, arrays on the device."""
        return bound_arguments(plan, args, upload or self.upload)

    def upload(self, value: Any, copies: list[Any] | None = None) -> Buffer:
        """A buffer of the device with the elements of an array (:meth:`Caller.upload`)."""
        return self._caller.upload(value, copies)

    @cached_property
    def _caller(self) -> Caller:
        found: Caller = running.Caller(self.device)
        return found
