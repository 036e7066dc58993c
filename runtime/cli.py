"""The command line: ``runelift COMMAND ...``.

Each command is a module of :mod:`runelift.runtime.commands`, imported only when it runs, so
that ``--help`` is quick.  Exit status: 0 success, 1 the user's mistake (or a failed test), 2
something we do not support yet, 3 a bug of ours, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "check": "parse and type-check programs",
    "run": "run an entry point on values from a file or standard input",
    "test": "run the test blocks of programs, in every code version if asked",
    "bench": "time the datasets of a program: median and MAD",
    "autotune": "measure every code version and tune the thresholds",
    "dataset": "make random input values",
    "dump": "print a program at a stage: core, optimised, versioned, kernels, host, tree",
    "explain": "print the derivation: which flattening rule fired where, and why others did not",
    "rules": "print the rule book",
    "devices": "list the OpenCL devices",
    "doctor": "say what works on this machine, what does not, and why",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="runelift", description="Compile, run and tune nested data-parallel programs.",
        epilog="'runelift COMMAND --help' tells more about a command.")
    parser.add_argument("--version", action="version", version="runelift 0.1.0")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((a for a in arguments if not a.startswith("-")), None)
    for name, description in COMMANDS.items():
        sub = commands.add_parser(name, help=description, description=description.capitalize() + ".")
        if name == chosen:
            importlib.import_module(f"runelift.runtime.commands.{name}").configure(sub)
    options = parser.parse_args(arguments)
    return _guarded(options)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command, and turn our errors into messages and exit statuses."""
    from runelift.ir.errors import CompilerLimitation, UserError

    module = importlib.import_module(f"runelift.runtime.commands.{options.command}")
    try:
        status: int = module.run(options)
        return status
    except UserError as error:
        print(error.args[0] if error.args else error, file=sys.stderr)
        return 1
    except CompilerLimitation as error:
        print(f"not supported: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
