"""Texts of kernels on disk: to write them takes longer than to load what was built of them.

They serve while the plan does not change.  It depends on the texts of the program, of its imports
and of Runelift's files, and on values of attributes ``#[param(name)]``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from runelift.runtime.cache import disk
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import entry_of


class KernelTexts:
    """The texts of a program's kernels that are known, by plan and by what they are for."""

    def __init__(self) -> None:
        self._found: dict[str, dict[Hashable, str]] | None = None
        self._stored = 0

    def of(self, compiled: Compiled, entry: str, *, interleave: bool, coherent: bool
           ) -> dict[Hashable, str]:
        """The texts of a plan (:meth:`Compiled.plan`), to which more texts may be added."""
        if self._found is None:
            found = entry_of(compiled).texts.load()
            self._found = found if isinstance(found, dict) else {}
            self._stored = _count(self._found)
        key = disk.key(*(each.text for each in compiled.imports), repr(compiled.parameters),
                       repr(compiled.numbers), compiled.interfaces[entry].entry,
                       str((interleave, coherent)))
        return self._found.setdefault(key, {})

    def store(self, compiled: Compiled) -> None:
        """Put the texts on disk if there are new texts."""
        if self._found is not None and _count(self._found) > self._stored:
            self._stored = _count(self._found)
            entry_of(compiled).texts.store(self._found)


def _count(found: Mapping[str, Mapping[Hashable, str]]) -> int:
    return sum(map(len, found.values()))
