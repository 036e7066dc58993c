"""Calls from Python on one device: arguments to buffers, calls that are known by their kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution import calls
from runelift.runtime.execution.arguments import bound_arguments
from runelift.runtime.execution.calls import Call
from runelift.runtime.execution.delivery import on_device, on_host
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Force
from runelift.runtime.records.record import Record


class Caller:
    """Calls of executables on ``device``, which is locked meanwhile.

    Arrays among the results are NumPy's or the device's, as ``to_host`` says.
    """

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    def repeat(self, executable: Executable, args: Sequence[Any], thresholds: Mapping[str, int],
               force: Force, *, to_host: bool) -> tuple[Any, ...] | None:
        """The results of a call with arguments of known kinds; None if they are not known yet."""
        with self.device.lock:
            decisions = executable.decisions.recent(thresholds, force)
            kinds = calls.kinds_of(args, executable)
            if decisions is None or (call := decisions.known.get(kinds)) is None:
                return None
            return call.repeat(args, on_host if to_host else on_device, self.upload)

    def perform(self, executable: Executable, args: Sequence[Any], thresholds: Mapping[str, int],
                force: Force, *, to_host: bool) -> tuple[Any, ...]:
        """The results of a call, whose arguments are of known kinds from then on."""
        device = self.device
        with device.lock:
            if (results := self.repeat(executable, args, thresholds, force,
                                       to_host=to_host)) is not None:
                return results
            bound = bound_arguments(executable.plan, list(args), self.upload)
            call: Call = calls.call_of(executable, bound, thresholds, force)
            call.prepare(bound)
            outcome = call.perform(bound, on_host if to_host else on_device)
            kinds = calls.kinds_of(args, executable)
            if kinds is not None and call.commands is not None and not any(
                    isinstance(arg, DeviceArray) and arg.device is not device for arg in args):
                call.decisions.known[kinds] = call
            return outcome.results

    def record(self, executable: Executable, args: Sequence[Any], thresholds: Mapping[str, int],
               force: Force) -> tuple[tuple[Any, ...], Record | None]:
        """The raw results of a call, and its record."""
        with self.device.lock:
            bound = bound_arguments(executable.plan, list(args), self.upload)
            outcome = calls.call_of(executable, bound, thresholds, force).record(bound)
            return outcome.results, outcome.record

    def upload(self, value: Any, copies: list[Any] | None = None) -> Buffer:
        """A buffer of the device with the elements of an array.

        With ``copies``, nothing waits: the event of the copy comes to them, and keeps the elements.
        """
        device = self.device
        if isinstance(value, DeviceArray):
            if value.device is device:
                buffer: Buffer = value.buffer
                return buffer
            value = value.get()
        try:
            buffer = device.pool.allocate(value.nbytes)
        except OutOfMemory as error:
            raise UserError(f"Out of device memory: {error}.") from None
        if value.size:
            event = device.write(buffer, np.ascontiguousarray(value), waits=copies is None)
            if copies is not None:
                copies.append(event)
        return buffer
