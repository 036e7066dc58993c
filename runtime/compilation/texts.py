"""Texts of kernels on disk: to write them takes longer than to load what was built of them.

They serve as long as the plan is the same: for a text of the program, of its imports and of
Runelift's files, and for values of its attributes ``#[param(name)]``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from runelift.runtime.cache import disk
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.devices.info import DeviceInfo


class KernelTexts:
    """The texts of a program's kernels that are known, by plan and by what they are for."""

    def __init__(self) -> None:
        self._found: dict[str, dict[Hashable, str]] | None = None
        self._stored = 0

    def of(self, compiled: Compiled, entry: str, info: DeviceInfo) -> dict[Hashable, str]:
        """The texts of an entry point's plan for a device, to which others may be added."""
        if self._found is None:
            found = ProgramEntry.of(compiled.source, compiled.policy).texts.load()
            self._found = found if isinstance(found, dict) else {}
            self._stored = _count(self._found)
        key = disk.key(*(each.text for each in compiled.imports), repr(compiled.parameters),
                       compiled.interfaces[entry].entry, str((info.interleaves, info.coherent)))
        return self._found.setdefault(key, {})

    def store(self, compiled: Compiled) -> None:
        """Put the texts on disk if there are new ones."""
        if self._found is not None and _count(self._found) > self._stored:
            self._stored = _count(self._found)
            ProgramEntry.of(compiled.source, compiled.policy).texts.store(self._found)


def _count(found: Mapping[str, Mapping[Hashable, str]]) -> int:
    return sum(map(len, found.values()))
