"""Prepared calls: entry points called again with arguments of known types and sizes.

A call checks its arguments, binds them to names, and looks for a command buffer.  All of this
depends on the *kinds* of the arguments: types and sizes of arrays, and values of scalars unless
these are free (:mod:`runelift.codegen.plan.free_scalars`).  Arrays that are one array are of
another kind than arrays that differ.
So once there is a command buffer, a call with these kinds only collects its buffers and submits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import ValueSpec
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.arguments import check_argument
from runelift.runtime.execution.command_buffer import shared
from runelift.runtime.execution.delivery import Delivery, on_device, on_host
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.submitting import CommandBuffer
from runelift.runtime.versions.size_guards import size_guards_of

NO_SCALARS: Mapping[str, Any] = {}
SCALARS = (float, int, np.generic)
"""The types of scalars; bool is an int."""


def kinds_of(args: Sequence[Any], free: Container[int] = ()) -> Hashable | None:
    """The kinds of arguments; None if calls with them are not prepared.

    Scalars in ``free`` places are of a kind if they have the same type.
    """
    kinds: list[Hashable] = [arg.kind for arg in args if type(arg) is DeviceArray]
    arrays = len(kinds)
    if arrays < len(args):
        kinds = [arg.kind if type(arg) is DeviceArray else _kind(arg, place in free)
                 for place, arg in enumerate(args)]
        if None in kinds:
            return None
    if arrays > 1:
        kinds += shared([id(arg.buffer.handle) for arg in args if type(arg) is DeviceArray])
    return tuple(kinds)


def _kind(arg: Any, is_free: bool) -> Hashable | None:
    """The kind of an argument that is not on the device."""
    type_ = type(arg)
    if type_ is np.ndarray:
        return (arg.dtype, arg.shape) if arg.ndim else None
    if not issubclass(type_, SCALARS):
        return None
    if is_free:
        return (type_,)
    if type_ is float:
        return struct.pack("d", arg)  # 0 and -0 differ, and NaN equals itself
    return type_, (arg.tobytes() if isinstance(arg, np.generic) else arg)


class PreparedCall:
    """A call that submits a command buffer; ``upload`` makes buffers of NumPy's arrays."""

    __slots__ = ("_arrays", "_device", "_found", "_free", "_upload")

    def __init__(self, found: CommandBuffer,
                 upload: Callable[[Any, list[Any] | None], Buffer]) -> None:
        self._found = found
        self._upload = upload
        executable = found.run.executable
        self._device = executable.device
        self._free = [(n, str(spec.name), spec) for n, spec in executable.free.specs.items()]
        params = executable.plan.params
        self._arrays = [n for n, spec in enumerate(params) if spec.shape is not None]

    def __call__(self, args: Sequence[Any], deliver: Delivery) -> tuple[Any, ...]:
        """Make the call; the results are what ``deliver`` makes of them.

        The run waits for the copies of arguments, unless Ctrl-C may end its wait.
        """
        device, found, copies = self._device, self._found, list[Any]()
        with device.lock:
            if device.copied or device.waits.abandoned is not None:
                device.check()
            buffers = []
            for place in self._arrays:
                arg = args[place]
                buffers.append(arg.buffer if type(arg) is DeviceArray else self._upload(
                    arg, None if found.run.waits_long else copies))
            scalars = {name: _number(spec, args[n]) for n, name, spec in self._free} if (
                self._free) else NO_SCALARS
            if found.warms:
                found.warm()
            return found.submit(buffers, scalars, deliver)


class PreparedEntry:
    """The prepared calls of an entry point under the thresholds of its last call."""

    __slots__ = ("_calls", "_free", "_guards", "_thresholds", "_values")
    on_device, on_host = staticmethod(on_device), staticmethod(on_host)

    def __init__(self, executable: Executable, thresholds: Mapping[str, int]) -> None:
        self._thresholds, self._values = thresholds, dict(thresholds)
        self._guards = dict(size_guards_of(thresholds))
        self._calls = executable.decisions.under(thresholds, {}).prepared
        self._free = executable.free.specs

    def find(self, args: Sequence[Any], thresholds: Mapping[str, int]) -> PreparedCall | None:
        """The prepared call with arguments of these kinds, if there is one."""
        if (thresholds is not self._thresholds or thresholds != self._values
                or (type(thresholds) is not dict and size_guards_of(thresholds) != self._guards)):
            return None
        call: PreparedCall | None = self._calls.get(kinds_of(args, self._free))
        return call


def _number(spec: ValueSpec, arg: Any) -> Any:
    """A scalar argument as Python's number; UserError if it is too large for its type."""
    value = arg if isinstance(arg, np.generic) else check_argument(spec, arg)
    return value.item()
