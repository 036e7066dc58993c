"""Copies, made by ``fork``, of processes that use OpenCL: devices do not work there.

A copy has none of the threads of a driver, and maybe locks that they hold.  It would wait for them
without end.  So a copy that asks for a device gets an error.  The objects of OpenCL that it has
inherited are never released: that may wait, too.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any
from weakref import WeakSet

from runelift.ir.base.errors import UserError

_used = False
_copied = False
_kept = WeakSet[Any]()


def used() -> None:
    """Note that this process has used OpenCL; UserError if it is a copy of one that has."""
    global _used
    check()
    _used = True


def is_copy() -> bool:
    """Test whether this process is a copy of one that has used OpenCL."""
    return _copied


def check() -> None:
    """Raise UserError if this process is a copy of one that has used OpenCL."""
    if _copied:
        raise UserError(
            "Devices do not work in a process that was made by 'fork' from one that has used them. "
            " Start processes by multiprocessing.get_context('spawn') instead, or use Runelift "
            "only in the new processes.")


def keep(owner: Any) -> None:
    """Have :func:`leak` never release an object and all that it owns, as in copies.

    In a copy, the object's attribute ``copied`` is True.
    """
    owner.copied = False
    _kept.add(owner)


def leak(*further: Any) -> None:
    """Never release what is kept, and ``further`` objects: to release them would wait."""
    for owner in (*_kept, *further):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


def _mark() -> None:
    """Mark a new process as a copy, and give it references that it never drops."""
    global _copied
    if _used:
        _copied = True
        for owner in _kept:
            owner.copied = True
        leak()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark)
