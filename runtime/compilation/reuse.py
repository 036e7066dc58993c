"""Compiled programs kept on disk: one that has not changed is not compiled again.

What is kept is a snapshot of :class:`Compiled` with the host plans that were made so far, one for
each file and policy.  It serves as long as the text of the program, that of all it imports, and
Runelift's own files are the same.  ``RUNELIFT_KEEP=0`` turns it off.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from runelift.frontend.syntax.files import read_source
from runelift.ir.errors import UserError
from runelift.ir.source import Source
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.cache.programs import keeps, load, store
from runelift.runtime.compilation.compiled import Compiled


def if_current(found: Compiled | None, parameters: Mapping[str, int]) -> Compiled | None:
    """A program that was compiled before, if that would give the same now; it warns again."""
    if found is None or not _still_true(found, parameters):
        return None
    _repeat(found.warned)
    return found


def read_kept(source: Source, *, policy: str) -> Compiled | None:
    """What was kept of this text, whether or not it would come out the same now."""
    content = load(source, policy)
    if content is None:
        return None
    found: Compiled = pickle.loads(content)
    return replace(found, snapshot=hashlib.sha256(content).hexdigest())


def compile_anew(source: Source, *, policy: str, parameters: Mapping[str, int]) -> Compiled:
    """As :func:`~runelift.runtime.compilation.pipeline.compile_source`, with what it warned of."""
    # late: start-up; a program that is kept needs no compiler
    from runelift.runtime.compilation.pipeline import compile_source

    warned: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            compiled = compile_source(source, policy=policy, parameters=parameters)
    finally:
        messages = tuple(each.message for each in warned if isinstance(each.message, Warning))
        _repeat(messages)
    return replace(compiled, warned=messages)


def _repeat(messages: Iterable[Warning]) -> None:
    """Warn of what compiling a program warned of."""
    for message in messages:
        warnings.warn(message, stacklevel=4)


def keep(compiled: Compiled) -> None:
    """Keep a program with the plans it has by now; one that is nested too deeply is not kept."""
    if not keeps(compiled.source):
        return
    try:
        snapshot = dumps(compiled)
    except RecursionError:
        return
    store(compiled.source, compiled.policy, snapshot)


def _still_true(compiled: Compiled, parameters: Mapping[str, int]) -> bool:
    """Whether compiling anew would give the same."""
    return (all(parameters.get(name) == value for name, value in compiled.parameters.items())
            and all(map(_is_current, compiled.imports)))


def _is_current(source: Source) -> bool:
    try:
        return read_source(Path(source.name)) == source
    except UserError:
        return False
