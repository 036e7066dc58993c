"""The command line: ``runelift COMMAND ...``.

The module imports nothing heavy, so that ``runelift --help`` is quick.  Each command is a module of
:mod:`runelift.runtime.tools.commands` with two functions, ``configure(parser)`` and
``execute(args) -> exit status``.  It is imported when it is asked for.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NoReturn, TextIO

from runelift import __version__
from runelift.ir.base.errors import (
    CompilerLimitation,
    HiddenEntryWarning,
    ProgramWarning,
    UserError,
)
from runelift.ir.base.policies import POLICIES, policy_with
from runelift.ir.base.visible import shortened
from runelift.runtime.compilation.diagnostics import as_json, as_text, diagnostic_json
from runelift.runtime.devices import pyopencl_quirks
from runelift.runtime.devices.bindings import HINT, bindings_problem
from runelift.runtime.host import supervisor
from runelift.runtime.host.gc_policy import collect_rarely, freeze_at_exit
from runelift.runtime.records.format import tables_within
from runelift.runtime.tools.commands import (
    HELP,
    INTERRUPTED,
    STOPPED,
    everyday,
    habits,
    json_output,
)
from runelift.runtime.tools.commands.streams import visible_streams
from runelift.runtime.tools.commands.styles import columns, show

COMMANDS = {
    "demo": "tune a program that comes with Runelift, in a few seconds",
    "check": "check a program for errors, without running it",
    "fmt": "format programs",
    "lsp": "serve an editor: mistakes, types and more as you type",
    "repl": "try expressions and definitions, one after the other",
    "run": "run a program on values from a file or standard input",
    "test": "run the test blocks of programs",
    "bench": "time a program on its datasets",
    "profile": "say where the time of a program goes: kernels, versions, host, memory",
    "autotune": "find the best thresholds for a program's datasets",
    "tune-compare": "compare ways to tune, on a program or on the log of a tuning",
    "rerun": "run the command of a result again, and say what differs",
    "dataset": "make random data",
    "dump": "print a program at a stage of compilation",
    "explain": "explain an error code, or which flattening rule fired where in a program",
    "rules": "print the rewrite rules",
    "stubs": "write types of a program's entry points for type checkers of Python",
    "export": "write a Python module that runs a program without Runelift",
    "literate": "write a document with the comments of a program and the values it computes",
    "pkg": "get packages of programs to import",
    "cache": "show or empty the cache of compiled programs and kernels",
    "doctor": "say what is found on this machine, what is not usable, and why",
    "completion": "print what makes a shell complete commands, options and files",
}
RENAMED = {"devices": "doctor"}
"""Commands of before, which go on working, and the commands that have taken their place."""
EXAMPLES = ("runelift demo", "runelift autotune examples/rows.fut -v")
RUNNING = frozenset({"run", "bench", "profile"})
"""The commands that run programs in this process, on a device."""
OK, USER_ERROR, LIMITATION, BUG = 0, 1, 2, 3
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Reasons of a system to refuse to write more."""


class _Parser(argparse.ArgumentParser):
    """A parser that exits as for any other mistake of the user."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", Path, _path)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line and exit."""
        message = _with_advice(message, [name for each in self._actions for name in (
            each.option_strings or tuple(each.choices or ()))])
        if json_output.is_wanted():
            print(json_output.as_text(None, [json_output.error(message)]))
            self.exit(USER_ERROR)
        self.print_usage(sys.stderr)
        self.exit(USER_ERROR, f"{self.prog}: {message}\n")

    def parse_known_args(  # type: ignore[override]
            self, args: Sequence[str] | None = None, namespace: Any = None
            ) -> tuple[argparse.Namespace, list[str]]:
        """The options; one that a command does not know is refused with that command's usage."""
        found, unknown = super().parse_known_args(args, namespace)
        rest = next((each.dest for each in self._actions if each.nargs == "*"), None)
        options = unknown[:unknown.index("--")] if "--" in unknown else unknown
        if rest is not None and not any(map(_OPTION.match, options)):
            setattr(found, rest, [  # words behind options, or behind --
                *getattr(found, rest), *options, *unknown[len(options) + 1:]])
            unknown = []
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def _path(text: str) -> Path:
    """A path.  An empty text, of an unset variable for one, would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name of a file or folder is empty")
    return Path(text)


_OPTION = re.compile(r"-[^\d.]")
_WRONG = re.compile(r"(?P<command>argument COMMAND: )?invalid choice: '(?P<choice>[^']*)' \(|"
                    r"unrecognized arguments: (?P<option>-\S+)|"
                    r"argument \S*?(?P<flag>--[\w-]+): ignored explicit argument")


def _with_advice(message: str, known: Sequence[str]) -> str:
    """A message of the parser, with the command or option that may be meant."""
    if (found := _WRONG.search(message)) is None:
        return message
    # late: start-up; only mistakes need it
    import difflib

    if found["flag"]:
        return (f"{found['flag']} takes no value."
                + "  It prints: write '> FILE' behind the command." * (found["flag"] == "--json"))
    wrong = (found["choice"] or found["option"] or "").partition("=")[0]
    if (found["command"] or found["option"]) and wrong in habits.HABITS:
        return f"There is no '{wrong}' here: {habits.HABITS[wrong]}."
    near = difflib.get_close_matches(wrong, known, n=1)
    if near and found["choice"]:
        return f"There is no '{wrong}'.  Did you mean '{near[0]}'?"
    if found["command"]:
        return f"There is no '{wrong}'.  'runelift --help' lists the commands."
    return f"{message}.  Did you mean '{near[0]}'?" if near else message


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help whose paragraphs follow the width of the terminal; indented lines stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if "\n " in f"\n{part}" else textwrap.fill(part, width)
            for part in text.strip().split("\n\n"))


def make_parser(command: str | None, *, everything: bool = True) -> argparse.ArgumentParser:
    """The parser of the command line; only ``command`` gets its own arguments.

    Its help has ``everything``, or the everyday options.
    """
    parser = _Parser(prog="runelift", formatter_class=_Help, description=(
        "Compile nested data-parallel programs into several versions, run, time and tune them."),
        epilog="Exit status: 0 success, 1 an error of yours, 2 a program that is right but not "
               "supported, 3 a bug in Runelift, 130 interrupted.\n\n" + _shown(EXAMPLES))
    parser.add_argument(everyday.HELP_ALL, action="help", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"runelift {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True,
                                     parser_class=_Parser)
    for name in (*COMMANDS, *RENAMED):
        summary: dict[str, Any] = {"help": COMMANDS[name]} if name in COMMANDS else {}
        if name == command:
            module = importlib.import_module(f"{__package__}.{name.replace('-', '_')}")
            sub = commands.add_parser(
                name, **summary, description=module.__doc__, formatter_class=_Help,
                epilog=_shown(module.EXAMPLES))
            module.configure(sub)
            for each in sub._actions:  # none of several is none too few
                each.required = each.required and each.nargs != "*"
            everyday.arrange(sub, name, everything=everything)
            sub.set_defaults(execute=module.execute)
        else:
            commands.add_parser(name, **summary)
    return parser


def _shown(examples: Sequence[str]) -> str:
    return "\n".join(["examples:", *(f"  {each}" for each in examples)])


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with (visible_streams(), json_output.output_of(arguments),
              tables_within(columns(sys.stdout))):
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
            args = make_parser(command, everything=everyday.HELP_ALL in arguments).parse_args(
                arguments)
            if hasattr(args, "policy"):
                args.policy = policy_with(args.policy, without=args.disable,
                                          ignores_attributes=args.ignore_attributes)
            with warnings.catch_warnings(action="default", category=UserWarning):
                warnings.simplefilter("ignore", HiddenEntryWarning)
                warnings.showwarning = _remark
                status: int = args.execute(args)
        sys.stdout.flush()
        return status
    except (UserError, CompilerLimitation) as error:
        status = USER_ERROR if isinstance(error, UserError) else LIMITATION
        return _complain(as_text(error, columns(sys.stderr)), status, as_json(error))
    except RecursionError:
        return _complain("not supported: the program is nested too deeply.", LIMITATION)
    except KeyboardInterrupt:
        return _stopped()
    except BrokenPipeError:
        _silence()
        return OK
    except ImportError:
        if (problem := bindings_problem()) is None:
            return _bug()
        return _complain(f"'{command}' needs OpenCL, and {problem}.\n  {HINT}", USER_ERROR)
    except Exception as error:
        if supervisor.was_interrupted():
            return _stopped()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            _silence()
            return _complain(f"cannot write {error.filename or 'the output'}: "
                             f"{error.strerror}.", USER_ERROR)
        return _bug()


def _bug() -> int:
    traceback.print_exc()
    address = importlib.import_module("runelift.ir.base.project_links").repository()
    where = "" if address is None else f" at {address}"
    return _complain(f"this is a bug in Runelift.  Please report it{where} with the program, the "
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
    from runelift.runtime.tools.commands import ahead

    device = _option("--device", arguments)
    if command == "autotune":
        program = next((each for each in arguments if each.endswith(".fut")), None)
        if any(_option(name, arguments) is not None for name in ("--rules", "--disable")):
            program = None  # it is another program with other rules
        return ahead.tuning_ahead(device, program, policy_with(
            _option("--policy", arguments) or POLICIES[0],
            ignores_attributes="--ignore-attributes" in arguments))
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
    about_program = isinstance(message, ProgramWarning)
    if json_output.is_wanted():
        json_output.add_warning(
            diagnostic_json(message.diagnostic) if isinstance(message, ProgramWarning) else
            {**json_output.error(str(message)), "severity": "warning"})
    else:
        show(str(message) if about_program else f"runelift: warning: {message}", sys.stderr)


def _stopped() -> int:
    supervisor.told()
    return _complain(STOPPED, INTERRUPTED)


def _complain(message: str, status: int, errors: Sequence[dict[str, Any]] | None = None) -> int:
    """Say why a command fails, as text or as the ``errors`` of its JSON; the exit status."""
    try:
        if json_output.is_wanted():
            print(json_output.as_text(None, [json_output.error(message)] if errors is None else
                                      errors))
            sys.stdout.flush()
            return status
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    show(f"runelift: {shortened(message)}", sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
