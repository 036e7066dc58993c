"""Profiles of calls from Python: ``runelift.profile(program.main, xs, ys)``."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.displayed import Displayed
from runelift.runtime.execution.opaques import unpacked
from runelift.runtime.programs.entry_point import EntryPoint
from runelift.runtime.programs.program import Program
from runelift.runtime.programs.takes import COUNT, FLAG, FUNCTION, or_none, takes
from runelift.runtime.tools.profiling.data import data
from runelift.runtime.tools.profiling.next_step import next_step
from runelift.runtime.tools.profiling.page import page
from runelift.runtime.tools.profiling.profile import Profile
from runelift.runtime.tools.profiling.quantities import verdict
from runelift.runtime.tools.profiling.session import profiled, runs_of
from runelift.runtime.tools.profiling.text import print_profile
from runelift.runtime.tools.profiling.trace import trace
from runelift.runtime.tools.profiling.way import Call, NumpyFunction
from runelift.runtime.tools.profiling.ways import commands_in_python

WIDTH = 100
"""The width of a profile as text."""


class CallProfile(Displayed):
    """The profile of a call: a table as text, pictures in notebooks.

    ``profile`` has all that is known.
    """

    _looks = "profiles"

    def __init__(self, found: Profile) -> None:
        self.profile = found

    @property
    def verdict(self) -> str:
        """The most important finding of the profile."""
        return verdict(self.profile)

    @property
    def next(self) -> str:
        """The change that gains most, and how it is made; each change was measured."""
        return next_step({"": self.profile.steps}, "").text

    def to_dict(self) -> dict[str, Any]:
        """All numbers of the profile as a JSON object: seconds, bytes, operations and shares."""
        return data(self.profile)

    def write_html(self, path: str | Path) -> None:
        """Write a page with roofline and timeline."""
        write_atomically(Path(path), page(self.profile.entry, [self.profile]))

    def write_trace(self, path: str | Path) -> None:
        """Write Chrome trace events of the run with the median time."""
        write_atomically(Path(path), json.dumps(trace([self.profile])))

    def __repr__(self) -> str:
        out = io.StringIO()
        print_profile(self.profile, Console(file=out, width=WIDTH, markup=False, emoji=False,
                                            highlight=False, color_system=None,
                                            force_jupyter=False))
        words, _, command = self.next.partition("\n")
        return f"{out.getvalue().strip()}\n\n{textwrap.fill(words, WIDTH)}\n{command}".rstrip()


@takes(runs=COUNT, all_versions=FLAG, numpy=or_none(FUNCTION))
def profile(entry_point: EntryPoint, *args: Any, runs: int = 10, all_versions: bool = False,
            numpy: Callable[..., Any] | None = None) -> CallProfile:
    """Profile calls of an entry point, such as ``program.main``, with these arguments.

    At most ``runs`` calls are made.  Ways to make the call run in turn, also a ``numpy`` function
    of the same arguments, and the one that gains most is named.  ``all_versions`` also profiles
    each code version alone.  UserError if there is no device.
    """
    program = getattr(entry_point, "program", None)
    if not isinstance(entry_point, EntryPoint) or not isinstance(program, Program):
        raise UserError("A profile is of an entry point: runelift.profile(program.main, ...).")
    if program.device_info is None:
        raise UserError("A profile needs a device; the interpreter has none.")
    name = entry_point.__name__
    call = Call(program, name, unpacked(args, program.compiled.signatures[name]),
                numpy=None if numpy is None else NumpyFunction(
                    numpy, getattr(numpy, "__name__", "a function")))
    return CallProfile(profiled(call, runs_of(call, runs), runs, "call", commands_in_python(call),
                                all_versions=all_versions))
