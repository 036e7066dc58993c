"""The command line: ``runelift COMMAND ...``.

The module imports nothing heavy, so that ``runelift --help`` is quick.  Each command is a module of
:mod:`runelift.runtime.commands` with two functions, ``configure(parser)`` and
``execute(args) -> exit status``.  It is imported when it is asked for.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn, TextIO

from runelift import __version__
from runelift.ir.errors import CompilerLimitation, HiddenEntryWarning, ProgramWarning, UserError
from runelift.ir.policies import POLICIES, with_attributes_ignored
from runelift.ir.visible import shortened
from runelift.runtime.commands import HELP, INTERRUPTED, STOPPED
from runelift.runtime.commands.streams import visible_streams
from runelift.runtime.compilation.diagnostics import as_json, as_text
from runelift.runtime.devices import pyopencl_quirks
from runelift.runtime.host import supervisor
from runelift.runtime.host.gc_policy import collect_rarely, freeze_at_exit

COMMANDS = {
    "check": "check a program for errors, without running it",
    "fmt": "format programs",
    "lsp": "serve an editor: mistakes, types and more as you type",
    "repl": "try expressions and definitions, one after the other",
    "run": "run a program on values from a file or standard input",
    "test": "run the test blocks of programs",
    "bench": "time a program on its datasets",
    "autotune": "find the best thresholds for a program's datasets",
    "tune-compare": "compare ways to tune, on a program or on the log of a tuning",
    "dataset": "make random data",
    "dump": "print a program at a stage of compilation",
    "explain": "explain an error code, or which flattening rule fired where in a program",
    "rules": "print the rewrite rules",
    "cache": "show or empty the cache of compiled programs and kernels",
    "devices": "list the OpenCL devices",
    "doctor": "say what is found on this machine, what is not usable, and why",
}
RUNNING = frozenset({"run", "bench"})
"""The commands that run programs in this process, on a device."""
OK, USER_ERROR, LIMITATION, BUG = 0, 1, 2, 3
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Reasons of a system to refuse to write more."""


class _Parser(argparse.ArgumentParser):
    """A parser that exits as for any other mistake of the user."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line and exit."""
        self.print_usage(sys.stderr)
        self.exit(USER_ERROR, f"{self.prog}: {message}\n")

    def parse_known_args(  # type: ignore[override]
            self, args: Sequence[str] | None = None, namespace: Any = None
            ) -> tuple[argparse.Namespace, list[str]]:
        """The options; one that a command does not know is refused with that command's usage."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def make_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of the command line; only ``command`` gets its own arguments."""
    parser = _Parser(prog="runelift", description=(
        "Compile nested data-parallel programs into several versions, run, time and tune them."),
        epilog="Exit status: 0 success, 1 an error of yours, 2 a program that is right but not "
               "supported, 3 a bug in Runelift, 130 interrupted.")
    parser.add_argument("--version", action="version", version=f"runelift {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True,
                                     parser_class=_Parser)
    for name, summary in COMMANDS.items():
        if name == command:
            module = importlib.import_module(f"runelift.runtime.commands.{name.replace('-', '_')}")
            sub = commands.add_parser(
                name, help=summary, description=module.__doc__,
                formatter_class=argparse.RawDescriptionHelpFormatter)
            module.configure(sub)
            sub.set_defaults(execute=module.execute)
        else:
            commands.add_parser(name, help=summary)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with visible_streams():
            return _execute(arguments)
    finally:
        supervisor.end()


def _execute(arguments: list[str]) -> int:
    """Run a command; the exit status."""
    collect_rarely()
    pyopencl_quirks.disable_caches()
    freeze_at_exit()
    command = next((a for a in arguments if not a.startswith("-")), None)
    try:
        with _ahead(command, arguments):
            args = make_parser(command).parse_args(arguments)
            if getattr(args, "ignore_attributes", False):
                args.policy = with_attributes_ignored(args.policy)
            with warnings.catch_warnings(action="default", category=UserWarning):
                warnings.simplefilter("ignore", HiddenEntryWarning)
                warnings.showwarning = _remark
                status: int = args.execute(args)
        sys.stdout.flush()
        return status
    except (UserError, CompilerLimitation) as error:
        status = USER_ERROR if isinstance(error, UserError) else LIMITATION
        if "--json" in arguments:
            print(json.dumps(as_json(error), indent=2))
            return status
        return _complain(as_text(error), status)
    except RecursionError:
        return _complain("not supported: the program is nested too deeply.", LIMITATION)
    except KeyboardInterrupt:
        return _stopped()
    except BrokenPipeError:
        _silence()
        return OK
    except Exception as error:
        if supervisor.was_interrupted():
            return _stopped()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            _silence()
            return _complain(f"cannot write {error.filename or 'the output'}: "
                             f"{error.strerror}.", USER_ERROR)
        traceback.print_exc()
        return _complain("this is a bug in Runelift.  Please report it with the program, the "
                         "command and the text above.", BUG)


def _ahead(command: str | None, arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Begin slow work before the command has imported anything.

    That is to start a process that runs programs, or the driver of the device.
    """
    if not HELP.isdisjoint(arguments):
        return nullcontext()
    if command != "autotune" and command not in RUNNING:
        return nullcontext()
    # late: start-up; other commands begin nothing ahead
    from runelift.runtime.commands import ahead

    device = _option("--device", arguments)
    if command == "autotune":
        program = next((each for each in arguments if each.endswith(".fut")), None)
        if _option("--rules", arguments) is not None:
            program = None  # with rules it is another program
        policy = _option("--policy", arguments) or POLICIES[0]
        return ahead.tuning_ahead(device, program, with_attributes_ignored(policy) if
                                  "--ignore-attributes" in arguments else policy)
    ahead.begin_device(device)
    return nullcontext()


def _option(name: str, arguments: Sequence[str]) -> str | None:
    """The value of an option, as far as it is clear before the arguments are parsed."""
    for number, each in enumerate(arguments):
        if each == name:
            return next(iter(arguments[number + 1:]), None)
        if each.startswith(f"{name}="):
            return each.partition("=")[2]
    return None


def _silence() -> None:
    """Drop further output, as its reader is gone: Python must not complain when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _remark(message: Warning | str, category: type[Warning], filename: str, lineno: int,
            file: TextIO | None = None, line: str | None = None) -> None:
    """Show a warning as the user should see it; those about a program name their place."""
    print(message if isinstance(message, ProgramWarning) else f"runelift: warning: {message}",
          file=sys.stderr)


def _stopped() -> int:
    """Say that Ctrl-C has ended the command."""
    supervisor.told()
    return _complain(STOPPED, INTERRUPTED)


def _complain(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    print(f"runelift: {shortened(message)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
