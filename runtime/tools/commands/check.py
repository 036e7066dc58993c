"""Check programs: parse them, infer types and sizes, and report every error and warning.

Prints nothing when there is none.  Programs get JSON, or SARIF, which services and editors read.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from runelift.frontend.load import check
from runelift.ir.base.errors import Diagnostic, ProgramError, ProgramWarning
from runelift.ir.base.files import read_source
from runelift.runtime.tools.commands.fixes import fix
from runelift.runtime.tools.commands.options import (
    add_json_or_sarif,
    print_json,
    programs_in,
)
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.testing.block_mistakes import mistakes

EXAMPLES = ("runelift check examples/matmul.fut",
            "runelift check examples",
            "runelift check --sarif examples/matmul.fut",
            "runelift check --promises examples/matmul.fut",
            "runelift check --fix examples/matmul.fut")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift check``."""
    parser.add_argument("programs", type=Path, nargs="+", metavar="FILE|FOLDER",
                        help="programs (.fut), or folders with programs")
    parser.add_argument("--promises", action="store_true",
                        help="try operators of reduce, scan and the like on random small values: "
                             "it is an error if one is not associative, or its neutral element is "
                             "not neutral")
    parser.add_argument("--fix", action="store_true",
                        help="write what hints say into the program, as far as a hint is a text "
                             "for a place; then check again")
    add_json_or_sarif(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift check``."""
    wrong = list[Diagnostic]()
    for path in programs_in(args.programs):
        if args.fix:
            fixed = fix(path)
            if fixed and not (args.json or args.sarif):
                show(f"{path}: {fixed} place{'s' * (fixed != 1)} changed.")
        try:
            source = read_source(path)
            check(source, promises=args.promises)
            for each in mistakes(source):
                warnings.warn(ProgramWarning(each), stacklevel=1)
        except ProgramError as error:
            wrong += error.diagnostics
    if wrong:
        raise ProgramError(*wrong)
    if args.json or args.sarif:
        print_json(None)
    return 0
