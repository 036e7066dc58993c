"""What runs programs on devices, for :class:`~runelift.runtime.program.Program` to import at once.

Importing it takes longer than to compile a small program, and needs an installed OpenCL.
"""

from __future__ import annotations

from runelift.runtime.devices.memory import OutOfMemory
from runelift.runtime.execution import command_buffer
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.prebuild.prebuild import Prebuilder

__all__ = ["Executable", "OutOfMemory", "Prebuilder", "command_buffer", "open_device"]
