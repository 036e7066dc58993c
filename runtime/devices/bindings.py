"""PyOpenCL, through which devices are used: the reason if it cannot be imported."""

from __future__ import annotations

from importlib import import_module

HINT = ("hint: 'pip install --force-reinstall \"pyopencl[pocl]\"' brings PyOpenCL with all that it "
        "loads.")


def bindings_problem() -> str | None:
    """The reason why PyOpenCL cannot be imported; None if it can.

    The library that it loads may be missing, or made for another system.
    """
    try:
        import_module("pyopencl")
    except ImportError as error:
        return f"PyOpenCL cannot be imported: {str(error).rstrip('.')}"
    return None
