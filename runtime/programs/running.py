"""The machinery that runs programs on devices, each part imported when it is first used.

All of it takes longer to import than a small program to compile, and needs an OpenCL loader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runelift.runtime.execution import calls
    from runelift.runtime.execution.caller import Caller
    from runelift.runtime.execution.executable import Executable
    from runelift.runtime.execution.known_lengths import without_memory
    from runelift.runtime.execution.probes.on_demand import open_device
    from runelift.runtime.memory.memory_guard import MemoryGuard
    from runelift.runtime.memory.memory_run import MemoryRun
    from runelift.runtime.prebuild.prebuild import Prebuilder

__all__ = ["Caller", "Executable", "MemoryGuard", "MemoryRun", "Prebuilder", "calls",
           "open_device", "without_memory"]

_HOMES = {
    "Caller": "runelift.runtime.execution.caller",
    "calls": "runelift.runtime.execution.calls",
    "without_memory": "runelift.runtime.execution.known_lengths",
    "Executable": "runelift.runtime.execution.executable",
    "open_device": "runelift.runtime.execution.probes.on_demand",
    "MemoryGuard": "runelift.runtime.memory.memory_guard",
    "MemoryRun": "runelift.runtime.memory.memory_run",
    "Prebuilder": "runelift.runtime.prebuild.prebuild",
}


def __getattr__(name: str) -> Any:
    """A part, from its module; it is an ordinary attribute from then on."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_HOMES[name])
    found = globals()[name] = module if _HOMES[name].endswith(f".{name}") else getattr(module, name)
    return found
