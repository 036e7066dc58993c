"""Runelift: compile nested data-parallel programs into several versions, run and tune them.

>>> import runelift
>>> program = runelift.compile("entry main (xs: []i32): i32 = i32.sum xs", device="interpreter")
>>> import numpy as np
>>> int(program.main(np.array([1, 2, 3], np.int32)))
6
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # that of typing, whose import would delay the handling of Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from runelift.ir.base.errors import (
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
    from runelift.runtime.execution.device_array import DeviceArray
    from runelift.runtime.execution.opaques import Opaque
    from runelift.runtime.programs.compile import compile
    from runelift.runtime.programs.entry_point import EntryPoint
    from runelift.runtime.programs.functions import fn
    from runelift.runtime.programs.importer import import_programs
    from runelift.runtime.programs.interchange import from_dlpack
    from runelift.runtime.programs.program import Program
    from runelift.runtime.records.records import Records
    from runelift.runtime.tools.notebook.magic import load_ipython_extension
    from runelift.runtime.tools.profiling.call import profile

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
                     "VersionUnavailable"), "ir.base.errors"),
    "DeviceArray": "runtime.execution.device_array", "EntryPoint": "runtime.programs.entry_point",
    "Opaque": "runtime.execution.opaques", "Program": "runtime.programs.program",
    "Records": "runtime.records.records", "compile": "runtime.programs.compile",
    "fn": "runtime.programs.functions", "from_dlpack": "runtime.programs.interchange",
    "import_programs": "runtime.programs.importer",
    "load_ipython_extension": "runtime.tools.notebook.magic",
    "profile": "runtime.tools.profiling.call",
}


_IMPORT_FRAMES = 8000
"""The greatest depth of Python's calls while modules are imported."""


def __getattr__(name: str) -> Any:
    """The public names, imported when first used so that ``import runelift`` is fast."""
    if name in _HOMES:
        home = f"runelift.{_HOMES[name]}"
        if home not in sys.modules:
            _imported(home)
        return getattr(sys.modules[home], name)
    raise AttributeError(f"module 'runelift' has no attribute '{name}'")


def _imported(home: str) -> None:
    """Import a module, also for a caller that has left hardly any frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _IMPORT_FRAMES))
    try:
        with import_module("runelift.runtime.host.lazy_dataclasses").while_importing():
            import_module(home)
    finally:
        sys.setrecursionlimit(before)


def __dir__() -> list[str]:
    """The public names, whether they are imported yet or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
