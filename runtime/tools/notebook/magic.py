"""The magic ``%%runelift`` of IPython: a cell in the language, whose entry points become functions.

``%load_ext runelift`` makes it known, and the command ``runelift`` to cells that are for a shell.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sysconfig
from typing import Any, NoReturn

from runelift.ir.base.errors import BriefErrors, UserError
from runelift.ir.base.source import Source
from runelift.runtime.programs.compile import compile, entries_are_names
from runelift.runtime.programs.program import Program


class _Options(argparse.ArgumentParser):
    """The options behind the magic.  A wrong option is an error like any other user error."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"%%runelift: {message}.  {self.format_usage().strip()}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Nothing ends the notebook: --help says its text only."""
        raise UserError(message or "%%runelift NAME: the cell is a program, bound to NAME.")


def options() -> argparse.ArgumentParser:
    """The parser of the line of the magic."""
    parser = _Options("%%runelift", description=__doc__)
    parser.add_argument("name", nargs="?", help="bind the program to this name, too")
    parser.add_argument("--device", help="the device, as for runelift.compile")
    parser.add_argument("--policy", default="all", help="the versions that are kept")
    parser.add_argument("--tuning", help="a tuning file")
    parser.add_argument("--rules", help="a file of rewrite rules")
    return parser


def _words(line: str) -> list[str]:
    """The words of a line, as a shell splits it; UserError if a quotation has no end."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UserError(f"%%runelift: {str(error).lower()} in '{line.strip()}'.") from None


def as_shown(shell: Any, cell: str) -> str:
    """The text of a cell with its lines where a reader sees them: below the lines of magics."""
    typed = [*shell.history_manager.input_hist_raw[-1:], ""][0].rstrip()
    own = cell.rstrip()
    above = typed[:-len(own)].count("\n") if own and typed.endswith(own) else 1
    return "\n" * above + cell


def _offer_command() -> None:
    """Let ``!runelift`` be the command of this Python, whose folder a notebook's PATH may lack."""
    folder, path = sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)
    if path.split(os.pathsep)[0] != folder:
        os.environ["PATH"] = folder + os.pathsep + path


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%runelift`` with IPython, and put the folder of the command on PATH."""
    _offer_command()

    def runelift(line: str, cell: str) -> Program:
        """Compile the cell and bind its entry points to their names; shows the program."""
        __tracebackhide__ = True
        with BriefErrors():
            args = options().parse_args(_words(line))
            if args.name is not None and not args.name.isidentifier():
                raise UserError(f"%%runelift: '{args.name}' is no name of Python.")
        with entries_are_names():
            program = compile(
                Source("<cell>", as_shown(shell, cell)), device=args.device, policy=args.policy,
                tuning=args.tuning, rules=args.rules)
        shell.user_ns.update({name: program[name] for name in program.entries})
        if args.name is not None:
            shell.user_ns[args.name] = program
        return program

    shell.register_magic_function(runelift, "cell")
