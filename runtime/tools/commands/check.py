"""Check a program: parse it, infer types and sizes, and report every error and warning.

Prints nothing when there is none.  Programs get JSON, or SARIF, which services and editors read.
"""

from __future__ import annotations

import argparse

from runelift.frontend.load import check
from runelift.ir.base.files import read_source, require_file
from runelift.runtime.tools.commands.fixes import fix
from runelift.runtime.tools.commands.options import add_json_or_sarif, add_program, print_json
from runelift.runtime.tools.commands.styles import show

EXAMPLES = ("runelift check examples/matmul.fut",
            "runelift check --sarif examples/matmul.fut",
            "runelift check --promises examples/matmul.fut",
            "runelift check --fix examples/matmul.fut")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift check``."""
    add_program(parser)
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
    if args.fix:
        fixed = fix(require_file(args.program))
        if fixed and not (args.json or args.sarif):
            show(f"{args.program}: {fixed} place{'s' * (fixed != 1)} changed.")
    check(read_source(require_file(args.program)), promises=args.promises)
    if args.json or args.sarif:
        print_json(None)
    return 0
