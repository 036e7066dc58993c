"""Output for programs: what is asked for, and the one form of all output with ``--json``.

That is a result with what it was made by, and its errors.  With ``--sarif`` the errors are all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from runelift import __version__

OPTION = "--json"
SARIF = "--sarif"
FORMAT = 1
"""The version of the form, which docs/json.md describes."""
PACKAGES = ("numpy", "pyopencl")
"""Packages whose versions are named, where they have been imported."""


class _Command:
    """A command line, and the warnings that it has led to."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = list(arguments)
        self.warnings: list[dict[str, Any]] = []


_COMMAND: ContextVar[_Command | None] = ContextVar("command", default=None)


@contextmanager
def output_of(arguments: Sequence[str]) -> Iterator[None]:
    """Mark the output as that of a command line while the context lasts."""
    token = _COMMAND.set(_Command(arguments))
    try:
        yield
    finally:
        _COMMAND.reset(token)


def command_line() -> list[str]:
    """The arguments of the command that runs; none outside of the command line."""
    command = _COMMAND.get()
    return [] if command is None else list(command.arguments)


def is_wanted() -> bool:
    """True if the command line asks for JSON or SARIF."""
    return not {OPTION, SARIF}.isdisjoint(command_line())


def add_warning(warning: dict[str, Any]) -> None:
    """Keep a warning for the output."""
    command = _COMMAND.get()
    if command is not None:
        command.warnings.append(warning)


def as_text(result: Any, errors: Sequence[dict[str, Any]] = ()) -> str:
    """A result, or none, and errors, in the form that all commands share, or in SARIF."""
    command = _COMMAND.get() or _Command([])
    if SARIF in command.arguments:
        # late: start-up; it imports what all codes mean
        from runelift.runtime.tools.commands.sarif_output import sarif_log

        return json.dumps(sarif_log([*errors, *command.warnings], command.arguments), indent=2)
    return json.dumps({
        "format": FORMAT, "command": command.arguments, "versions": _versions(),
        "errors": list(errors), "warnings": command.warnings, "result": result}, indent=2)


def error(message: str) -> dict[str, Any]:
    """The JSON object of an error without a place: severity, code (null) and message."""
    return {"severity": "error", "code": None, "message": message}


def _versions() -> dict[str, str]:
    found = {"runelift": __version__, "python": sys.version.split()[0]}
    for name in PACKAGES:
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "VERSION_TEXT", None) or module.__version__)
    return found
