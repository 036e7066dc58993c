"""Error messages of commands: text for people, or JSON (``--json``) for programs.

:mod:`runelift.runtime.tools.commands.sarif_output` makes SARIF of the JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runelift.ir.base.errors import (
    FAILURE,
    ArgumentError,
    CompilerLimitation,
    Diagnostic,
    NoDerivative,
    ProgramError,
    Replacement,
    RuneliftError,
    RunFailure,
    TooLarge,
    UserError,
    rendered,
)
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source, Span


def as_text(error: RuneliftError, width: int | None = None) -> str:
    """The message of an error; a failure of a running program comes with its source line.

    Lines of programs are cut to ``width`` columns.
    """
    if isinstance(error, ProgramError) and width is not None and error.diagnostics:
        return rendered(error.diagnostics, width)
    if isinstance(error, CompilerLimitation) and not isinstance(
            error, TooLarge | NoDerivative | RunFailure):
        return f"not supported: {error}"
    if isinstance(error, ProgramError):
        return error.full
    if isinstance(error, ArgumentError):
        return error.message  # the cure is for Python
    if isinstance(error, RunFailure) and not error.sources:
        error.sources = _sources(error)
    return str(error)


def _sources(error: RunFailure) -> tuple[Source, ...]:
    """The file that a failure names, if it can be read."""
    if (place := FAILURE.match(str(error))) is None:
        return ()
    try:
        return (read_source(Path(place["file"])),)
    except UserError:
        return ()


def as_json(error: RuneliftError) -> list[dict[str, Any]]:
    """The errors, one object each (:func:`diagnostic_json`).

    An error without a place in a file has only a message.
    """
    if isinstance(error, ProgramError):
        return [diagnostic_json(each) for each in error.diagnostics]
    if isinstance(error, TooLarge):
        return [diagnostic_json(error.diagnostic)]
    first, *calls = as_text(error).split("\n")
    found = FAILURE.match(first) if isinstance(error, RunFailure) else None
    if found is None:
        return [{"severity": "error", "code": None, "message": as_text(error)}]
    return [{"severity": "error", "code": found["code"], "file": found["file"],
             "line": int(found["line"]), "column": int(found["column"]),
             "message": found["message"],
             "calls": [call.strip() for call in calls if call.startswith("  in ")]}]


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic: its place, message, hints, and other places (``labels``).

    ``end_line`` and ``end_column`` are the place after it.  ``fixes`` are the hints that are
    followed by writing ``text`` at a place, which may be another one.
    """
    return {"severity": diagnostic.severity, "code": diagnostic.code, **_place(diagnostic.span),
            "message": diagnostic.message, "hints": diagnostic.hints,
            "fixes": [{"hint": hint, "text": hint.new, **_place(hint.span or diagnostic.span)}
                      for hint in diagnostic.hints if isinstance(hint, Replacement)],
            "labels": [{**_place(label.span), "message": label.text}
                       for label in diagnostic.labels]}


def _place(span: Span) -> dict[str, Any]:
    end = Span(span.source, span.end, span.end)
    return {"file": span.source.name, "line": span.line, "column": span.column,
            "end_line": end.line, "end_column": end.column}
