"""Kernels are loaded while Python still imports what runs them.

A process that runs programs has a context of its device long before it has imported all that it
takes to use one.  If the program was tuned before, a thread has NVIDIA's driver load meanwhile what
was built then (:mod:`~runelift.runtime.devices.driver.build`).  Nothing depends on it: what is not
asked for by the same text and options, in the same context, is not used.
"""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from runelift.frontend.syntax.files import read_source
from runelift.ir.errors import UserError
from runelift.ir.source import Source
from runelift.runtime.cache import programs as kept
from runelift.runtime.devices.driver import build as bare
from runelift.runtime.devices.driver import icd as early
from runelift.runtime.host import fast_start
from runelift.runtime.host.background import short_turns

LOADS = "loads"
"""Where it is kept in the cache what a program wants loaded."""
Told: TypeAlias = tuple[str, str]
"""What the driver is told to build: a text, and options."""

_changed = threading.Condition()
_coming: dict[Told, None] = {}
_loaded: dict[Told, int] = {}


def keep(source: Source, policy: str, device: str, wanted: Iterable[Told]) -> None:
    """Have what was built for a device (:func:`~.early.identity`) loaded when it is tuned again."""
    content = pickle.dumps((device, tuple(wanted)), pickle.HIGHEST_PROTOCOL)
    kept.store(source, policy, content, LOADS)


def word_for(path: str | None, policy: str) -> str:
    """What :func:`begin` takes to know what to load for a program; empty if that is nothing."""
    with suppress(UserError):
        if path is not None and bare.driver_keeps():
            return kept.name_of(read_source(Path(path)), policy, LOADS) or ""
    return ""


def begin() -> None:
    """Begin to load what the word says that came with leave to open the device."""
    if not fast_start.enabled():
        return
    thread = threading.Thread(target=_load, daemon=True)
    thread.start()
    atexit.register(thread.join)  # it must not be under way when the driver is unloaded


def take(context: int, text: str, options: str) -> int | None:
    """The address of a program in this context, which is the caller's; None if it is not there.

    Waits if it will be loaded.
    """
    told, made = (text, options), early.made()
    with _changed:
        while told in _coming:
            _changed.wait()
        return _loaded.pop(told, None) if made is not None and made.context == context else None


def _load() -> None:
    made = early.made()
    if made is None or not made.word or (content := kept.load_from(made.word, LOADS)) is None:
        return
    kept_for: tuple[str, tuple[Told, ...]] = pickle.loads(content)
    device, wanted = kept_for
    if device != made.device:
        return  # it would be built, one program after the other
    with _changed:
        _coming.update(dict.fromkeys(wanted))
    try:
        with short_turns():
            for told in wanted:
                program = bare.built(*told, made)
                with _changed:
                    del _coming[told]
                    if program is not None:
                        _loaded[told] = program
                    _changed.notify_all()
    finally:
        with _changed:
            _coming.clear()
            _changed.notify_all()
