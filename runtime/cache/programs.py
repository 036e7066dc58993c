"""Compiled programs kept on disk: one that has not changed is not compiled again.

What is kept is a snapshot of :class:`Compiled` with the host plans that were made so far, one for
each file and policy.  It serves as long as the text of the program, that of all it imports, and
Runelift's own files are the same.  ``RUNELIFT_KEEP=0`` turns it off.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.frontend.syntax.files import read_source
from runelift.ir.errors import UserError
from runelift.ir.source import Source
from runelift.runtime.cache import disk
from runelift.runtime.cache.fast_pickle import dumps

if TYPE_CHECKING:
    from runelift.runtime.compilation.compiled import Compiled

PROGRAMS = "programs"
"""Where programs lie in the cache."""
MADE_FROM = 64
"""How many bytes say what something was made from."""


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


def load(source: Source, policy: str, kind: str = PROGRAMS) -> memoryview | None:
    """What was kept of a kind, if it was made from the same text by the same Runelift."""
    if not _keeps(source):
        return None
    content = disk.load(kind, _place(source, policy))
    if content is None or not content.startswith(made_from := _made_from(source)):
        return None
    return memoryview(content)[len(made_from):]


def store(source: Source, policy: str, content: bytes, kind: str = PROGRAMS) -> None:
    """Keep something that was made from a text, in place of what there is of its kind."""
    if _keeps(source):
        disk.store(kind, _place(source, policy), _made_from(source) + content)


def load_from(name: str, kind: str) -> memoryview | None:
    """What was kept under the name that :func:`name_of` gave, whatever it was made from."""
    content = disk.load(kind, name)
    return None if content is None else memoryview(content)[MADE_FROM:]


def name_of(source: Source, policy: str, kind: str) -> str | None:
    """Under which name there is something of a kind."""
    return _place(source, policy) if is_kept(source, policy, kind) else None


def is_kept(source: Source, policy: str, kind: str = PROGRAMS) -> bool:
    """Whether there is something of a kind, without looking at all of it."""
    return _keeps(source) and disk.begins(kind, _place(source, policy), _made_from(source))


def compile_anew(source: Source, *, policy: str, parameters: Mapping[str, int]) -> Compiled:
    """As :func:`~runelift.runtime.compilation.pipeline.compile_source`, with what it warned of."""
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
    if not _keeps(compiled.source):
        return
    try:
        snapshot = dumps(compiled)
    except RecursionError:
        return
    store(compiled.source, compiled.policy, snapshot)


def _keeps(source: Source) -> bool:
    return os.environ.get("RUNELIFT_KEEP") != "0" and Path(source.name).is_file()


def _still_true(compiled: Compiled, parameters: Mapping[str, int]) -> bool:
    """Whether compiling anew would give the same."""
    return (all(parameters.get(name) == value for name, value in compiled.parameters.items())
            and all(map(_is_current, compiled.imports)))


def _is_current(source: Source) -> bool:
    try:
        return read_source(Path(source.name)) == source
    except UserError:
        return False


def _place(source: Source, policy: str) -> str:
    return disk.key(os.path.abspath(source.name), policy)


def _made_from(source: Source) -> bytes:
    """What a snapshot must have been made from; messages quote the name as it was given."""
    return disk.key(source.name, source.text, disk.ourselves()).encode()
