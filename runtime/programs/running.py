"""The machinery that runs programs on devices, which ``Program`` imports when it first runs.

Its import takes longer than the compilation of a small program, and needs an OpenCL loader.
"""

from __future__ import annotations

from runelift.runtime.devices.memory import OutOfMemory
from runelift.runtime.execution import command_buffer
from runelift.runtime.execution.delivery import on_device, on_host
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.prepared_calls import PreparedCall, PreparedEntry, kinds_of
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.memory.memory_guard import MemoryGuard
from runelift.runtime.memory.memory_run import MemoryRun
from runelift.runtime.prebuild.prebuild import Prebuilder

__all__ = ["Executable", "MemoryGuard", "MemoryRun", "OutOfMemory", "Prebuilder", "PreparedCall",
           "PreparedEntry", "command_buffer", "kinds_of", "no_memory", "on_device", "on_host",
           "open_device"]
