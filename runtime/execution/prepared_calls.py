"""Prepared calls: entry points called again with arguments of known types and sizes.

A call checks its arguments, binds them to names, and looks for a command buffer.  All of this
depends on the types and sizes of arrays and on the values of scalars: the *kinds* of the arguments.
So once there is a command buffer, a call with these kinds only collects its buffers and submits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.command_buffer import CommandBuffer
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.run import Outcome


def kinds_of(args: Sequence[Any], device: Any) -> Hashable | None:
    """The kinds of arguments for calls on a device; None if calls with them are not prepared."""
    kinds: list[Hashable] = []
    for arg in args:
        type_ = type(arg)
        if type_ is DeviceArray:
            if arg.device is not device:
                return None
            kinds.append(arg.kind)
        elif type_ is np.ndarray and arg.ndim:
            kinds.append((arg.dtype, arg.shape))
        elif type_ is float:
            kinds.append(struct.pack("d", arg))  # 0 and -0 differ, and NaN equals itself
        elif type_ is int or type_ is bool:
            kinds.append((type_, arg))
        elif issubclass(type_, np.generic):
            kinds.append((type_, arg.tobytes()))
        else:
            return None
    return tuple(kinds)


class PreparedCall:
    """A call that submits a command buffer; ``upload`` makes buffers of NumPy's arrays."""

    __slots__ = ("_arrays", "_executable", "_found", "_upload")

    def __init__(self, found: CommandBuffer,
                 upload: Callable[[Any, list[Any] | None], Buffer]) -> None:
        self._found = found
        self._upload = upload
        self._executable = found.run.executable
        params = self._executable.plan.params
        self._arrays = [n for n, spec in enumerate(params) if spec.shape is not None]

    def __call__(self, args: Sequence[Any], fetches: bool) -> Outcome:
        """Make the call; if it ``fetches``, arrays among the results are NumPy's.

        The run waits for the copies of arguments, unless Ctrl-C may end its wait.
        """
        found, upload = self._found, self._upload
        copies: list[Any] | None = None if self._executable.waits_long else []
        buffers = [arg.buffer if type(arg := args[n]) is DeviceArray else upload(arg, copies)
                   for n in self._arrays]
        found.warm()
        return found.run.call(found.submit, buffers, fetches=fetches)
