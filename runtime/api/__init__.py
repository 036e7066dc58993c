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

    from runelift.runtime.compile import compile
    from runelift.runtime.execution.device_array import DeviceArray
    from runelift.runtime.execution.opaques import Opaque
    from runelift.runtime.program import Program

__all__ = ["DeviceArray", "Opaque", "Program", "compile"]
__version__ = "0.1.0"

_HOMES = {
    "DeviceArray": "execution.device_array", "Opaque": "execution.opaques",
    "Program": "program", "compile": "compile",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when first used so that ``import runelift`` is fast."""
    if name in _HOMES:
        return getattr(import_module(f"runelift.runtime.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'runelift' has no attribute '{name}'")
