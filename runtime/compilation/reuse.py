"""Compiled programs on disk: a program that has not changed is not compiled again.

A snapshot of :class:`Compiled` has the host plans made so far, for one file and policy.  It serves
as long as the program's text, the texts of its imports, and Runelift's files are unchanged.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.shipped import imported, is_shipped
from runelift.ir.base.source import Source
from runelift.ir.names import is_skip_name
from runelift.runtime.cache import disk
from runelift.runtime.cache.programs import ProgramEntry, restored
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.host.lazy_dataclasses import while_importing


def if_current(found: Compiled | None, parameters: Mapping[str, int],
               schedule: Source | None = None) -> Compiled | None:
    """A program compiled before, if compiling it anew gives an equal one; it warns again."""
    if found is None or not _is_current(found, parameters, schedule):
        return None
    _repeat(found.warned)
    return found


def load_compiled(source: Source, *, policy: str, schedule: str = "",
                  rules: Source | None = None) -> Compiled | None:
    """The compiled program on disk of a text, a schedule's text and rules, current or not."""
    part = ProgramEntry.of(source, policy, schedule, rules).compiled
    if (content := part.read()) is None or not isinstance(found := restored(content), Compiled):
        return None
    return replace(found, snapshot=hashlib.sha256(content).hexdigest())


def store_compiled(compiled: Compiled) -> None:
    """Put a program on disk with the plans it has by now."""
    entry_of(compiled).compiled.store(compiled)


def entry_of(compiled: Compiled) -> ProgramEntry:
    """The entry of a program in the cache."""
    return ProgramEntry.of(compiled.source, compiled.policy, compiled.schedule_text,
                           compiled.rules)


def compile_anew(source: Source, *, policy: str, parameters: Mapping[str, int],
                 schedule: Source | None = None, rules: Source | None = None) -> Compiled:
    """Compile a program (:func:`~.pipeline.compile_source`); the result has the warnings given."""
    with while_importing():
        # late: start-up; a program on disk needs no compiler
        from runelift.runtime.compilation.pipeline import compile_source

    warned: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            compiled = compile_source(source, policy=policy, parameters=parameters,
                                      schedule=schedule, rules=rules)
    finally:
        messages = tuple(each.message for each in warned if isinstance(each.message, Warning))
        _repeat(messages)
    return replace(compiled, warned=messages)


def _repeat(messages: Iterable[Warning]) -> None:
    for message in messages:
        warnings.warn(message, stacklevel=5)


def _is_current(compiled: Compiled, parameters: Mapping[str, int], schedule: Source | None
                ) -> bool:
    """Test whether compiling anew gives an equal program."""
    text = None if schedule is None else schedule.text
    known = None if compiled.schedule is None else compiled.schedule.text
    skips = {name: value for name, value in parameters.items() if is_skip_name(name)}
    return (text == known and skips.items() <= compiled.numbers.items()
            and all(name in skips for name in compiled.numbers if is_skip_name(name))
            and all(parameters.get(name) == value for name, value in compiled.parameters.items())
            and all(_is_unchanged(each, compiled.source) for each in compiled.imports))


def _is_unchanged(source: Source, program: Source) -> bool:
    place = Path(source.name)
    if is_shipped(place) and imported(Path(program.name), f"std/{place.stem}") != place:
        return False  # the program has a file of its own now
    try:
        return read_source(place) == source
    except UserError:
        return False


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
