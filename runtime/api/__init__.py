"""Runelift: compile nested data-parallel programs into several versions, run and tune them.

>>> import runelift
>>> program = runelift.compile("entry main (xs: []i32): i32 = i32.sum xs", device="interpreter")
>>> import numpy as np
>>> int(program.main(np.array([1, 2, 3], np.int32)))
6
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of typing, whose import would delay the handling of Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from runelift.ir.errors import (
        ArgumentError,
        CompilerBug,
        CompilerLimitation,
        ProgramError,
        ProgramFailure,
        ProgramWarning,
        RuneliftError,
        UserError,
        VersionUnavailable,
    )
    from runelift.runtime.compile import compile
    from runelift.runtime.entry_point import EntryPoint
    from runelift.runtime.execution.device_array import DeviceArray
    from runelift.runtime.execution.opaques import Opaque
    from runelift.runtime.functions import fn
    from runelift.runtime.importer import import_programs
    from runelift.runtime.interchange import from_dlpack
    from runelift.runtime.notebook.magic import load_ipython_extension
    from runelift.runtime.profiling.call import profile
    from runelift.runtime.program import Program
    from runelift.runtime.records.records import Records

__all__ = [
    "ArgumentError", "CompilerBug", "CompilerLimitation", "DeviceArray", "EntryPoint", "Opaque",
    "Program", "ProgramError", "ProgramFailure", "ProgramWarning", "Records", "RuneliftError",
    "UserError", "VersionUnavailable", "compile", "fn", "from_dlpack", "import_programs",
    "load_ipython_extension", "profile",
]
__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(("ArgumentError", "CompilerBug", "CompilerLimitation", "ProgramError",
                     "ProgramFailure", "ProgramWarning", "RuneliftError", "UserError",
                     "VersionUnavailable"), "ir.errors"),
    "DeviceArray": "runtime.execution.device_array", "EntryPoint": "runtime.entry_point",
    "Opaque": "runtime.execution.opaques", "Program": "runtime.program",
    "Records": "runtime.records.records", "compile": "runtime.compile",
    "fn": "runtime.functions", "from_dlpack": "runtime.interchange",
    "import_programs": "runtime.importer",
    "load_ipython_extension": "runtime.notebook.magic", "profile": "runtime.profiling.call",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when first used so that ``import runelift`` is fast."""
    if name in _HOMES:
        return getattr(import_module(f"runelift.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'runelift' has no attribute '{name}'")


def __dir__() -> list[str]:
    """The public names, whether they are imported yet or not."""
    return sorted({*globals(), *__all__})
