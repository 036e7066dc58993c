"""An exported program: its entry points take NumPy's arrays, and raise Python's own errors."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import CompilerLimitation, ProgramFailure, UserError
from runelift.ir.signature import Signature
from runelift.runtime.devices import forked
from runelift.runtime.devices.info import select
from runelift.runtime.devices.waiting import begin_session
from runelift.runtime.execution.arguments import wrong_number
from runelift.runtime.execution.caller import Caller
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.opaques import packed, unpacked
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.exported.stored import StoredEntry, load
from runelift.runtime.versions.size_guards import GuardedThresholds

NO_FORCE: Mapping[str, int] = {}


class ExportedProgram:
    """The entry points in the files ``NAME.ENTRY.plan`` beside a module, on one device.

    ``thresholds`` choose versions, or else predicted times.  ``device`` is a part of the name of
    a device, or None as for :func:`~runelift.runtime.devices.info.select`.  It is opened when a
    function is first called.
    """

    def __init__(self, module: Path, device: str | None, thresholds: Mapping[str, int]) -> None:
        begin_session()
        self.device, self.thresholds = device, thresholds
        self._module = module
        self._opening = threading.RLock()

    @cached_property
    def caller(self) -> Caller:
        """The caller of executables on the device."""
        with self._opening:
            info = select(self.device, tells=False)
            if info is None:
                raise RuntimeError("No OpenCL device is usable, and exported programs need one.")
            return Caller(open_device(info))

    def entry(self, function: str) -> ExportedEntry:
        """The entry point of a function; its plan is read when it is first called."""
        return ExportedEntry(self, self._module.with_name(f"{self._module.stem}.{function}.plan"))


class ExportedEntry:
    """An entry point of an exported program, from a file."""

    def __init__(self, program: ExportedProgram, file: Path) -> None:
        self._program, self._file = program, file
        self._opening = threading.RLock()
        self._executable: Executable | None = None
        self._thresholds: Mapping[str, int] = program.thresholds

    @cached_property
    def _stored(self) -> StoredEntry:
        found: StoredEntry = load(self._file)
        return found

    @cached_property
    def _signature(self) -> Signature:
        return self._stored.signature

    def __call__(self, *args: Any) -> Any:
        """Run it: its result, or a tuple of several.

        ValueError if an argument is wrong.  RuntimeError if the program or the device fails; the
        message has the place in the program.
        """
        try:
            parts = self._parts(args)
        except (ProgramFailure, CompilerLimitation) as error:
            raise RuntimeError(str(error)) from None
        except UserError as error:
            raise ValueError(str(error)) from None
        results = packed(parts, self._signature)
        return results[0] if len(results) == 1 else tuple(results)

    def _parts(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        executable, caller = self._executable, self._program.caller
        if executable is not None:
            caller.device.check()
            parts = caller.repeat(executable, args, self._thresholds, NO_FORCE, to_host=True)
            if parts is not None:
                return parts
        else:
            executable = self._opened()
        declared = self._signature
        given = unpacked(args, declared)
        if len(given) != sum(each.parts for each in declared.params):
            raise wrong_number(self._stored.name, [f"{each.name or '_'}: {each.written}"
                                                    for each in declared.params], len(args))
        return caller.perform(executable, given, self._thresholds, NO_FORCE, to_host=True)

    def _opened(self) -> Executable:
        forked.check()
        with self._opening:
            if self._executable is None:
                device, stored = self._program.caller.device, self._stored
                if stored.guards:
                    self._thresholds = GuardedThresholds(self._thresholds, stored.guards)
                self._executable = Executable(
                    stored.plan(device.info.interleaves, device.info.coherent), device)
            return self._executable
