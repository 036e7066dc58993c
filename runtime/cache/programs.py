"""What is kept on disk for each program file and policy, as bytes of several kinds.

It serves as long as the text of the program and Runelift's own files are the same.
``RUNELIFT_KEEP=0`` turns it off.
"""

from __future__ import annotations

import os
from pathlib import Path

from runelift.ir.source import Source
from runelift.runtime.cache import disk

PROGRAMS = "programs"
"""Where programs lie in the cache."""
MADE_FROM = 64
"""How many bytes say what something was made from."""


def load(source: Source, policy: str, kind: str = PROGRAMS) -> memoryview | None:
    """What was kept of a kind, if it was made from the same text by the same Runelift."""
    if not keeps(source):
        return None
    content = disk.load(kind, _place(source, policy))
    if content is None or not content.startswith(made_from := _made_from(source)):
        return None
    return memoryview(content)[len(made_from):]


def store(source: Source, policy: str, content: bytes, kind: str = PROGRAMS) -> None:
    """Keep something that was made from a text, in place of what there is of its kind."""
    if keeps(source):
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
    return keeps(source) and disk.begins(kind, _place(source, policy), _made_from(source))


def keeps(source: Source) -> bool:
    """Whether anything is kept of a program: it must be a file."""
    return os.environ.get("RUNELIFT_KEEP") != "0" and Path(source.name).is_file()


def _place(source: Source, policy: str) -> str:
    return disk.key(os.path.abspath(source.name), policy)


def _made_from(source: Source) -> bytes:
    """What a snapshot must have been made from; messages quote the name as it was given."""
    return disk.key(source.name, source.text, disk.ourselves()).encode()
