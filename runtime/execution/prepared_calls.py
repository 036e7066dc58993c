"""Prepared calls: entry points called again with arguments of known types and sizes.

A call checks its arguments, binds them to names, and looks for a command buffer.  All of this
depends on the *kinds* of the arguments: types and sizes of arrays, and values of scalars unless
these are free (:mod:`runelift.codegen.plan.free_scalars`).  Arrays that are one array are of
another kind than arrays that differ.
So once there is a command buffer, a call with these kinds only collects its buffers and submits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Hashable, Sequence
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import ValueSpec
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.arguments import check_argument
from runelift.runtime.execution.command_buffer import CommandBuffer, shared
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.run import Outcome

SCALARS = (float, int, np.generic)
"""The types of scalars; bool is an int."""


def kinds_of(args: Sequence[Any], device: Any, free: Container[int] = ()) -> Hashable | None:
    """The kinds of arguments for calls on a device; None if calls with them are not prepared.

    Scalars in ``free`` places are of a kind if they have the same type.
    """
    kinds, handles = list[Hashable](), list[int]()
    for place, arg in enumerate(args):
        type_ = type(arg)
        if type_ is DeviceArray:
            if arg.device is not device:
                return None
            kinds.append(arg.kind)
            handles.append(id(arg.buffer.handle))
        elif type_ is np.ndarray and arg.ndim:
            kinds.append((arg.dtype, arg.shape))
        elif place in free and issubclass(type_, SCALARS):
            kinds.append((type_,))
        elif type_ is float:
            kinds.append(struct.pack("d", arg))  # 0 and -0 differ, and NaN equals itself
        elif type_ is int or type_ is bool:
            kinds.append((type_, arg))
        elif issubclass(type_, np.generic):
            kinds.append((type_, arg.tobytes()))
        else:
            return None
    return (*kinds, *shared(handles)) if len(handles) > 1 else tuple(kinds)


class PreparedCall:
    """A call that submits a command buffer; ``upload`` makes buffers of NumPy's arrays."""

    __slots__ = ("_arrays", "_executable", "_found", "_free", "_upload")

    def __init__(self, found: CommandBuffer,
                 upload: Callable[[Any, list[Any] | None], Buffer]) -> None:
        self._found = found
        self._upload = upload
        self._executable = found.run.executable
        self._free = [(n, str(spec.name), spec) for n, spec in self._executable.free.specs.items()]
        params = self._executable.plan.params
        self._arrays = [n for n, spec in enumerate(params) if spec.shape is not None]

    def __call__(self, args: Sequence[Any], deliver: Delivery | None) -> Outcome:
        """Make the call; the results are raw, or what ``deliver`` makes of them.

        The run waits for the copies of arguments, unless Ctrl-C may end its wait.
        """
        found, upload = self._found, self._upload
        copies: list[Any] | None = None if self._executable.waits_long else []
        buffers = [arg.buffer if type(arg := args[n]) is DeviceArray else upload(arg, copies)
                   for n in self._arrays]
        scalars = {name: _number(spec, args[n]) for n, name, spec in self._free}
        found.warm()
        return found.run.call(found.submit, (buffers, scalars), deliver=deliver)


def _number(spec: ValueSpec, arg: Any) -> Any:
    """A scalar argument as Python's number; UserError if it is too large for its type."""
    value = arg if isinstance(arg, np.generic) else check_argument(spec, arg)
    return value.item()
