"""Lines from a terminal, with completion, history and colours where prompt_toolkit is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.runtime.compilation.diagnostics import as_text
from runelift.runtime.tools.interactive.answers import Answers, Quit
from runelift.runtime.tools.interactive.session import is_unfinished

PROMPT, MORE = "> ", ". "


Show: TypeAlias = Callable[[str, str], None]
"""Prints a text in a language, which is "" for messages and values."""


def talk(answers: Answers, show: Show) -> int:
    """Answer what is typed until the end of the input; 1 if a pipe has a mistake in it."""
    wrong = 0
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal:
        print("Expressions, definitions, or :help.  Ctrl-D ends.")
    for text in _inputs(answers, terminal):
        try:
            said = answers.answer(text)
        except Quit:
            break
        except (UserError, CompilerLimitation) as error:
            said, wrong = as_text(error), 1
        except RecursionError:
            said, wrong = "not supported: the program is nested too deeply.", 1
        except KeyboardInterrupt:
            said = "Stopped."
        for each in answers.session.warnings:
            show(each, "")
        if said:
            show(said, answers.language)
    return 0 if terminal else wrong


def _inputs(answers: Answers, terminal: bool) -> Iterator[str]:
    """The inputs: several lines where one is unfinished."""
    if terminal and find_spec("prompt_toolkit") is not None:
        rich_prompt = import_module("runelift.runtime.tools.interactive.rich_prompt")
        yield from rich_prompt.inputs(answers.session)
        return
    if terminal and find_spec("readline") is not None:
        import_module("readline")  # lines can be edited then
    ask: Callable[[str], str] = input if terminal else lambda _: _line()
    while True:
        try:
            text = ask(PROMPT)
            while is_unfinished(text) and not text.startswith(":"):
                line = ask(MORE)
                if not line.strip():
                    break
                text += "\n" + line
        except EOFError:
            return
        except KeyboardInterrupt:
            print()
            continue
        yield text


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
