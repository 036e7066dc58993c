"""``runelift check``: parse and type-check programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.frontend.check import check_module
from runelift.frontend.load import read_source
from runelift.frontend.parser import parse
from runelift.ir.errors import ProgramError
from runelift.runtime.commands.options import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the errors of all files; 1 if there are any."""
    import sys

    found = []
    for path in options.files:
        try:
            check_module(parse(read_source(path)))
        except ProgramError as error:
            found += error.diagnostics
    if options.json:
        print_json([{"code": d.code, "file": d.span.source.name, "line": d.span.line,
                     "column": d.span.column, "message": d.message, "hints": d.hints}
                    for d in found])
    else:
        for diagnostic in found:
            print(diagnostic.render(), file=sys.stderr)
    return 1 if found else 0
