"""Check a program: parse it, infer types and sizes, and report every error and warning.

Prints nothing when there is none.
"""

from __future__ import annotations

import argparse
import warnings

from runelift.frontend.load import check
from runelift.ir.errors import Diagnostic, ProgramError, ProgramWarning
from runelift.ir.files import read_source, require_file
from runelift.runtime.commands.options import add_json, add_program, print_json
from runelift.runtime.compilation.diagnostics import diagnostic_json


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift check``."""
    add_program(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift check``."""
    source = read_source(require_file(args.program))
    if not args.json:
        check(source)
        return 0
    errors: tuple[Diagnostic, ...] = ()
    with warnings.catch_warnings(record=True, action="default") as caught:
        try:
            check(source)
        except ProgramError as error:
            errors = error.diagnostics
    remarks = [w.message.diagnostic for w in caught if isinstance(w.message, ProgramWarning)]
    print_json([diagnostic_json(d) for d in (*errors, *remarks)])
    return 1 if errors else 0
