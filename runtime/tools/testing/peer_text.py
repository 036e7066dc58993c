"""Errors in the form in which Futhark words them, for test blocks that expect its text.

A failure of a program begins with ``Error:`` and ends with a backtrace, an error of a program that
is rejected begins with ``Error at``.
"""

from __future__ import annotations

import re

from runelift.ir.base.errors import ProgramError, ProgramFailure, UserError

_FAILURE = re.compile(r"(?P<place>.+?:\d+:\d+): error\[[a-z-]+\]: (?P<message>.*)")
_CALL = re.compile(r"  in .*, called at (?P<place>.+)")
_WORDING = {"Division by zero.": "division by zero",
            "Negative exponent:": "negative exponent:"}
"""The beginnings of our texts that Futhark words in another way."""
_INVALID_ARGUMENTS = "Error: entry point arguments have invalid sizes."


def peer_text(error: UserError) -> str:
    """The text that Futhark would print, as far as its words are known."""
    if isinstance(error, ProgramError):
        return "\n".join(f"Error at {each.span}:\n{each.message}" for each in error.diagnostics)
    first, *calls = str(error).split("\n")
    found = _FAILURE.match(first) if isinstance(error, ProgramFailure) else None
    if found is None:
        return f"{_INVALID_ARGUMENTS}\nError: {first}"
    message = found["message"]
    for ours, theirs in _WORDING.items():
        if message.startswith(ours):
            message = theirs + message.removeprefix(ours)
    places = [found["place"], *(call["place"] for call in map(_CALL.match, calls) if call)]
    trace = "\n".join(f"{'->' if number == 0 else '  '} #{number}  {place}"
                      for number, place in enumerate(places))
    return f"Error: {message}\n\nBacktrace:\n{trace}\n"
