"""Try expressions and definitions, one after the other.

Values come from the interpreter at once; ':time' runs on a device.  Definitions are kept, and a
later one replaces an earlier one of its name.  ':help' lists the commands.  Input from a pipe is
answered line by line, with exit status 1 if there is a mistake in it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.runtime.tools.commands.options import add_options
from runelift.runtime.tools.commands.styles import show, show_code
from runelift.runtime.tools.interactive.answers import Answers
from runelift.runtime.tools.interactive.prompt import talk
from runelift.runtime.tools.interactive.session import Session

EXAMPLES = ("runelift repl", "runelift repl examples/matmul.fut")

LANGUAGES = {"core": "runelift", "opencl": "c", "python": "python"}
"""Names of lexers by language."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift repl``."""
    parser.add_argument("programs", type=Path, nargs="*", metavar="FILE",
                        help="programs (.fut) whose definitions are there from the start")
    add_options(parser, "device")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift repl``."""
    session = Session()
    for path in args.programs:
        session.load(path)
    return talk(Answers(session, args.device), _show)


def _show(text: str, language: str) -> None:
    if language:
        show_code(text, LANGUAGES[language])
    else:
        show(text)
