"""Comments ``-- >>> expression``, and the values of their expressions in the lines below.

A value stands behind ``-- =``, and what went wrong behind ``-- !``.  The interpreter runs each
expression in another process: an endless one is stopped, and the editor's server lives on.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import TimeoutExpired

from runelift.ir.base.errors import RuneliftError, UserError
from runelift.ir.base.source import Source
from runelift.ir.base.visible import shortened
from runelift.runtime.host.children import finished
from runelift.runtime.tools.interactive.session import Session
from runelift.runtime.tools.interactive.values import show_value

SECONDS = 20.0
"""The time that an expression has."""
RUN = """
from runelift.runtime.tools.editors.evaluation import main
main()
"""
"""The code of the process that evaluates."""
LONGEST = 2000
"""The most characters of a value that are shown."""
_COMMENT = re.compile(r"^(?P<indent>[ \t]*)--[ \t]*>>>[ \t]*(?P<text>[^\r\n]*?)[ \t]*\r?$",
                      re.MULTILINE)
_RESULT = re.compile(r"[ \t]*-- [=!] [^\n]*\n?")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A comment with an expression, and the place of its old result, which may be empty."""

    line: int
    indent: str
    text: str
    start: int
    result_start: int
    result_end: int


def evaluations(text: str) -> Iterator[Evaluation]:
    """The comments with expressions; lines count from 0."""
    for found in _COMMENT.finditer(text):
        if not found["text"]:
            continue
        following = text.find("\n", found.end())
        start = end = len(text) if following < 0 else following + 1
        while (result := _RESULT.match(text, end)) is not None and result.end() > end:
            end = result.end()
        yield Evaluation(text.count("\n", 0, found.start()), found["indent"], found["text"],
                         found.start("text"), start, end)


def result_lines(text: str, name: str, asked: Evaluation) -> str:
    """The lines with the value of an expression of a program, or with what went wrong."""
    mark, said = _run(text, name, asked.start, asked.start + len(asked.text))
    lines = "".join(f"{asked.indent}-- {mark} {line}\n" for line in said.splitlines() or [""])
    ends = text[:asked.result_start].endswith("\n")
    return lines if ends else "\n" + lines


def _run(text: str, name: str, start: int, end: int) -> tuple[str, str]:
    request = json.dumps({"text": text, "name": name, "start": start, "end": end})
    try:
        done = finished(RUN, text=request, seconds=SECONDS)
        mark, said = json.loads(done.stdout)
        return str(mark), str(said)
    except TimeoutExpired:
        return "!", f"stopped after {SECONDS:.0f} s."
    except ValueError:
        return "!", "the evaluation ended without a result."


def value_of(program: Source, start: int, end: int) -> str:
    """The value of the expression in a range of a program's text, as text."""
    session = Session()
    session.define(program)
    found = session.evaluate(Source(program.name, program.text[start:end]))
    if found.parts is None:
        raise UserError("This is a function: give it arguments.")
    return shortened(show_value(found.type, found.parts), LONGEST)


def main() -> None:
    """Answer a request on standard input."""
    asked = json.load(sys.stdin)
    try:
        answer = "=", value_of(Source(asked["name"], asked["text"]), asked["start"], asked["end"])
    except RuneliftError as error:
        answer = "!", str(error).partition("\n")[0]
    except RecursionError:
        answer = "!", "not supported: the program is nested too deeply."
    print(json.dumps(answer))
