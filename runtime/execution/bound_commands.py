"""Bound commands: the calls that submit a command buffer on certain buffers.

Arguments that a kernel has from the run before are not set again
(:mod:`runelift.runtime.execution.submitting`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.runtime.devices.direct_launch import DirectCall, make
from runelift.runtime.devices.kernel import BoundKernel, LaunchArguments
from runelift.runtime.execution.free_values import filled_late

Call: TypeAlias = Callable[[], Any]


@dataclass(slots=True)
class BoundCommands:
    """The calls of a command buffer for certain buffers, which are known by identity.

    ``steady`` are the calls after a run on these buffers, as long as all kernels keep their
    arguments.  ``moved`` are the calls after a run of the same commands on other buffers.  ``full``
    are the calls in all other cases.  ``last`` has the arguments of the last launch of each kernel.
    ``late`` are the values of late scalars in the present run, a list for each command buffer.
    """

    handles: tuple[Any, ...]
    last: dict[BoundKernel, LaunchArguments]
    late: list[Any]
    full: list[Call] = field(default_factory=list)
    moved: list[Call] = field(default_factory=list)
    steady: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Add a call that is always made."""
        for calls in (self.full, self.moved, self.steady):
            calls.append(call)

    @property
    def is_current(self) -> bool:
        """True if no later run has set other arguments of the kernels."""
        return all(kernel.owner is self for kernel in self.last)

    def restore(self) -> None:
        """Set the arguments that the last run left in the kernels."""
        for kernel, (args, lengths) in self.last.items():
            kernel.set_args(filled_late(args, self.late), lengths)
            kernel.bound_by(self, lengths)

    def _follows_moved(self) -> bool:
        """True if all kernels ran last with other buffers of the same command buffer."""
        return all(isinstance(kernel.owner, BoundCommands) and kernel.owner.late is self.late
                   for kernel in self.last)

    def issue(self) -> None:
        """Issue the calls of the captured commands."""
        try:
            for kernel in self.last:
                if kernel.owner is not self:
                    break
            else:
                for call in self.steady:
                    if call() and type(call) is DirectCall:  # as make does, without a frame
                        call.again()
                return
            for call in self.moved if self._follows_moved() else self.full:
                make(call)
        except BaseException:
            for kernel in self.last:
                kernel.forget_args()
            raise
        for kernel, (_, lengths) in self.last.items():
            kernel.bound_by(self, lengths)
