"""The entry of the cache for a program file, policy and schedule: four parts, each a file.

A part serves as long as the text of the program and Runelift's files do not change.
``RUNELIFT_KEEP=0`` turns entries off.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Source
from runelift.runtime.cache import disk
from runelift.runtime.cache.fast_pickle import dumps, loads

ENTRIES = "entries"
"""The folder of the cache with a folder for each entry."""
ORIGIN_BYTES = 64
"""The length of the digest of a part's origin, which precedes its content."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an entry, read and replaced alone.

    Without a ``source``, its origin is not checked, and nothing can be stored.
    """

    folder: str
    name: str
    source: Source | None
    rules: Source | None = None

    def read(self) -> memoryview | None:
        """The content; None if it is missing, damaged, or of another text or Runelift."""
        if self.source is not None and not is_cached(self.source):
            return None
        content = disk.load(self.folder, self.name)
        if content is None or (self.source is not None
                               and not content.startswith(_origin(self.source, self.rules))):
            return None
        return memoryview(content)[ORIGIN_BYTES:]

    def load(self) -> Any:
        """The object that was stored; None as for :meth:`read`, or if it cannot be restored."""
        content = self.read()
        return None if content is None else restored(content)

    def store(self, value: Any) -> None:
        """Replace the content by an object, unless that is nested too deeply for a pickle."""
        if self.source is None or not is_cached(self.source):
            return
        try:
            content = dumps(value)
        except CompilerLimitation:
            return
        disk.store(self.folder, self.name, _origin(self.source, self.rules) + content)

    def exists(self) -> bool:
        """Test whether there is a content of this origin, without reading all of it."""
        return self.source is not None and is_cached(self.source) and disk.starts_with(
            self.folder, self.name, _origin(self.source, self.rules))


def restored(content: memoryview) -> Any:
    """The object of a pickle; None if it cannot be restored."""
    try:
        return loads(content)
    except Exception:  # classes in a pickle of other packages' editions may raise anything
        return None


class ProgramEntry:
    """The entry with a key (:meth:`of`).

    ``compiled`` is the program with the host plans made so far.  ``kernels`` are manifests of
    prebuilt kernels by entry point (:mod:`~runelift.runtime.prebuild.manifest`).  ``driver_texts``
    are what the driver loads early (:mod:`~runelift.runtime.devices.driver.preload`).  ``texts``
    are the texts of kernels by plan, written in first runs
    (:mod:`~runelift.runtime.programs.loaded_program`).
    """

    def __init__(self, key: str, source: Source | None = None, rules: Source | None = None
                 ) -> None:
        self.key = key
        folder = f"{ENTRIES}/{key}"
        self.compiled, self.kernels, self.driver_texts, self.texts = (
            _Part(folder, name, source, rules)
            for name in ("compiled", "kernels", "driver_texts", "texts"))

    @classmethod
    def of(cls, source: Source, policy: str, schedule: str = "", rules: Source | None = None
           ) -> ProgramEntry:
        """The entry of a program under a policy, with a schedule's text and with rules."""
        further = [schedule] if schedule else []
        if rules is not None:
            further += ["rules", os.path.abspath(rules.name)]
        return cls(disk.key(os.path.abspath(source.name), policy, *further), source, rules)


def is_cached(source: Source) -> bool:
    """Test whether a program has an entry: it must be a file."""
    return os.environ.get("RUNELIFT_KEEP") != "0" and Path(source.name).is_file()


def _origin(source: Source, rules: Source | None) -> bytes:
    """A digest of what a part depends on; messages quote the names as they were given."""
    further = () if rules is None else (rules.name, rules.text)
    return disk.key(source.name, source.text, disk.fingerprint(), *further).encode()
