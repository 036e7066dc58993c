"""Compiled programs on disk: a program that has not changed is not compiled again.

A snapshot of :class:`Compiled` has the host plans made so far, for one file and policy.  It serves
as long as the program's text, the texts of its imports, and Runelift's files are unchanged.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from runelift.ir.errors import UserError
from runelift.ir.files import read_source
from runelift.ir.source import Source
from runelift.runtime.cache.programs import ProgramEntry, restored
from runelift.runtime.compilation.compiled import Compiled


def if_current(found: Compiled | None, parameters: Mapping[str, int]) -> Compiled | None:
    """A program compiled before, if compiling it anew gives an equal one; it warns again."""
    if found is None or not _is_current(found, parameters):
        return None
    _repeat(found.warned)
    return found


def load_compiled(source: Source, *, policy: str, rules: Source | None = None
                  ) -> Compiled | None:
    """The compiled program on disk of this text and these rules, current or not."""
    part = ProgramEntry.of(source, policy, rules).compiled
    if (content := part.read()) is None or not isinstance(found := restored(content), Compiled):
        return None
    return replace(found, snapshot=hashlib.sha256(content).hexdigest())


def store_compiled(compiled: Compiled) -> None:
    """Put a program on disk with the plans it has by now."""
    ProgramEntry.of(compiled.source, compiled.policy, compiled.rules).compiled.store(compiled)


def compile_anew(source: Source, *, policy: str, parameters: Mapping[str, int],
                 rules: Source | None = None) -> Compiled:
    """Compile a program (:func:`~.pipeline.compile_source`); the result has the warnings given."""
    # late: start-up; a program on disk needs no compiler
    from runelift.runtime.compilation.pipeline import compile_source

    warned: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            compiled = compile_source(source, policy=policy, parameters=parameters, rules=rules)
    finally:
        messages = tuple(each.message for each in warned if isinstance(each.message, Warning))
        _repeat(messages)
    return replace(compiled, warned=messages)


def _repeat(messages: Iterable[Warning]) -> None:
    """Give the warnings of an earlier compilation."""
    for message in messages:
        warnings.warn(message, stacklevel=4)


def _is_current(compiled: Compiled, parameters: Mapping[str, int]) -> bool:
    """Test whether compiling anew gives an equal program."""
    return (all(parameters.get(name) == value for name, value in compiled.parameters.items())
            and all(map(_is_unchanged, compiled.imports)))


def _is_unchanged(source: Source) -> bool:
    try:
        return read_source(Path(source.name)) == source
    except UserError:
        return False
