"""A child process that compiles a program while the command that needs it is imported.

Both take about as long, and processes and drivers keep the command busy afterwards.  If the process
fails, the command compiles the program itself, and reports the error.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.runtime.cache import disk
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.compilation.reuse import compile_anew
from runelift.runtime.host import fast_start
from runelift.runtime.host.children import command
from runelift.runtime.host.gc_policy import collect_rarely

if TYPE_CHECKING:
    from runelift.runtime.compilation.compiled import Compiled

MIN_CORES = 4
"""The number of cores from which processes do not delay each other."""
RUN = """
from runelift.runtime.host.lifeline import end_with_parent
end_with_parent(0)
from runelift.runtime.host import lazy_dataclasses
lazy_dataclasses.begin()
from runelift.runtime.processes.compile_ahead import answer
answer(*given)
"""
"""The code of such a process."""


class _Compiling:
    """A process that compiles a program."""

    def __init__(self, path: str, policy: str) -> None:
        self.program = str(Path(path)), policy
        self._process = subprocess.Popen(
            command(RUN, path, policy, disk.fingerprint()),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)  # Ctrl-C is for the process that started it

    def result(self) -> Compiled | None:
        """The program, as soon as it is compiled; None if that fails."""
        assert self._process.stdout is not None
        content = self._process.stdout.read()  # its input stays open: it ends with that
        self._process.wait()
        self._close()
        return pickle.loads(content) if self._process.returncode == 0 else None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


_under_way: list[_Compiling] = []


@contextlib.contextmanager
def compiled_ahead(path: str | None, policy: str) -> Iterator[bool]:
    """Begin to compile a program, unless its path and policy have an entry in the cache.

    The value is true if a process compiles.
    """
    if path is not None and fast_start.enabled() and (os.cpu_count() or 1) >= MIN_CORES:
        with contextlib.suppress(UserError):  # the command will say that there is no such file
            if not ProgramEntry.of(read_source(Path(path)), policy).compiled.exists():
                _under_way.append(_Compiling(path, policy))
    try:
        yield bool(_under_way)
    finally:
        for each in _under_way:
            each.end()
        _under_way.clear()


def take(source: Source, policy: str) -> Compiled | None:
    """The program that another process has compiled from this text; waits for it.

    None if there is no such process, or if it has failed.
    """
    for each in _under_way:
        if each.program == (source.name, policy):
            found = each.result()
            _under_way.remove(each)
            return found if found is not None and found.source == source else None
    return None


def answer(path: str, policy: str, fingerprint: str) -> None:
    """Compile a program and write it to the standard output."""
    collect_rarely()
    disk.set_fingerprint(fingerprint)
    compiled = compile_anew(read_source(Path(path)), policy=policy, parameters={})
    _ = compiled.versioned  # all entry points, not only those that are called
    sys.stdout.buffer.write(dumps(compiled))
    sys.stdout.flush()
    os._exit(0)  # to take a program apart takes as long as to write it
