"""Check a program: parse it, infer types and sizes, and report every error.

Prints nothing when the program is right.
"""

from __future__ import annotations

import argparse

from runelift.frontend.load import load, read_source
from runelift.ir.errors import ProgramError
from runelift.ir.names import Names
from runelift.runtime.commands.options import add_json, add_program, existing, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift check``."""
    add_program(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift check``."""
    source = read_source(existing(args.program))
    try:
        load(source, Names())
    except ProgramError as error:
        if not args.json:
            raise
        print_json([{"code": d.code, "file": d.span.source.name, "line": d.span.line,
                     "column": d.span.column, "message": d.message, "hints": d.hints}
                    for d in error.diagnostics])
        return 1
    if args.json:
        print_json([])
    return 0
