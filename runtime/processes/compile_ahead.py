"""A program is compiled by a process of its own while the command that needs it is imported.

Both take about as long, and what the command starts, processes and drivers, keeps it busy
afterwards.  Whatever goes wrong in that process, the command compiles the program itself, and says
what is wrong with it.
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

from runelift.frontend.syntax.files import read_source
from runelift.ir.errors import UserError
from runelift.ir.source import Source
from runelift.runtime.cache import disk
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.cache.programs import is_kept
from runelift.runtime.compilation.reuse import compile_anew
from runelift.runtime.host import fast_start
from runelift.runtime.host.gc_policy import look_seldom
from runelift.runtime.host.interpreter import command

if TYPE_CHECKING:
    from runelift.runtime.compilation.compiled import Compiled

CORES = 4
"""How many cores it takes for processes not to be in each other's way."""
RUN = """
from runelift.runtime.processes.compile_ahead import answer
answer(*given)
"""
"""What such a process runs."""


class _Compiling:
    """A process that compiles a program."""

    def __init__(self, path: str, policy: str) -> None:
        self.asked = str(Path(path)), policy
        self._process = subprocess.Popen(
            command(RUN, path, policy, disk.ourselves()),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)  # Ctrl-C is for the process that started it

    def result(self) -> Compiled | None:
        """The program, as soon as it is compiled; None if it is not."""
        content, _ = self._process.communicate()
        return pickle.loads(content) if self._process.returncode == 0 else None

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


_under_way: list[_Compiling] = []


@contextlib.contextmanager
def compiled_ahead(path: str | None, policy: str) -> Iterator[bool]:
    """Have a program compiled from now on, unless one of this path and policy is kept.

    Whether it is under way is the value of the context.
    """
    if path is not None and fast_start.enabled() and (os.cpu_count() or 1) >= CORES:
        with contextlib.suppress(UserError):  # the command will say that there is no such file
            if not is_kept(read_source(Path(path)), policy):
                _under_way.append(_Compiling(path, policy))
    try:
        yield bool(_under_way)
    finally:
        for each in _under_way:
            each.end()
        _under_way.clear()


def take(source: Source, policy: str) -> Compiled | None:
    """What has become of this text by another process, which may have to be waited for.

    None if there is no such process, or if it has failed.
    """
    for each in _under_way:
        if each.asked == (source.name, policy):
            found = each.result()
            _under_way.remove(each)
            return found if found is not None and found.source == source else None
    return None


def answer(path: str, policy: str, ourselves: str) -> None:
    """Compile a program and write it to the standard output."""
    look_seldom()
    disk.known_as(ourselves)
    compiled = compile_anew(read_source(Path(path)), policy=policy, parameters={})
    sys.stdout.buffer.write(dumps(compiled))
    sys.stdout.flush()
    os._exit(0)  # to take a program apart takes as long as to write it
