"""Preloading: NVIDIA's driver loads kernels while Python still imports the code that runs them.

A process that runs programs has a context of its device long before it has imported everything.  If
the program was tuned before, a thread meanwhile has the driver load the kernels that were built
then (:mod:`~runelift.runtime.devices.driver.build`).  A loaded kernel is used only for an equal
text, equal options and the same context.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.devices.driver import build, icd
from runelift.runtime.host import fast_start
from runelift.runtime.host.background import frequent_switches

DriverText: TypeAlias = tuple[str, str]
"""The text of a program and the options, as the driver gets them."""

_changed = threading.Condition()
_pending: dict[DriverText, None] = {}
_loaded: dict[DriverText, int] = {}
"""Addresses of loaded programs that nothing has taken yet."""


def message_for(path: str | None, policy: str) -> str:
    """The message that tells :func:`begin` which program's kernels to load; empty for none."""
    with suppress(UserError):
        if path is not None and build.driver_has_cache():
            entry = ProgramEntry.of(read_source(Path(path)), policy)
            return entry.key if entry.driver_texts.exists() else ""
    return ""


def begin() -> None:
    """Begin to load what the message names that came with leave to open the device."""
    if not fast_start.enabled():
        return
    thread = threading.Thread(target=_load, daemon=True)
    thread.start()
    atexit.register(thread.join)  # it must not be under way when the driver is unloaded


def take(context: int, text: str, options: str) -> int | None:
    """The address of a loaded program in this context, which is the caller's; None if none is.

    Waits for a program that is still to be loaded.
    """
    key, driver = (text, options), icd.driver_context()
    with _changed:
        while key in _pending:
            _changed.wait()
        return _loaded.pop(key, None) if driver is not None and driver.context == context else None


def _load() -> None:
    driver = icd.driver_context()
    if driver is None or not driver.message:
        return
    stored: tuple[str, tuple[DriverText, ...]] | None = ProgramEntry(
        driver.message).driver_texts.load()
    if stored is None:
        return
    device, texts = stored
    if device != driver.device:
        return  # it would be built, one program after the other
    with _changed:
        _pending.update(dict.fromkeys(texts))
    try:
        with frequent_switches():
            for each in texts:
                program = build.built_program(*each, driver)
                with _changed:
                    del _pending[each]
                    if program is not None:
                        _loaded[each] = program
                    _changed.notify_all()
    finally:
        with _changed:
            _pending.clear()
            _changed.notify_all()
