"""Write types of a program's entry points for type checkers of Python.

The stub is written beside the program, with the suffix .pyi.  It has a class Program, for programs
from runelift.compile, and functions, for programs imported as modules (docs/python.md).
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from runelift.frontend.load import checked
from runelift.frontend.signatures import signatures
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.editors.stubs import stub

EXAMPLES = ("runelift stubs examples/matmul.fut", "runelift stubs examples/matmul.fut -o -")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift stubs``."""
    add_options(parser, "program")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="write to this file (default: the program's with .pyi; '-' prints)")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift stubs``."""
    path = Path(args.program)
    found = signatures(checked(read_source(require_file(path))))
    text = stub(path.name, found)
    output = path.with_suffix(".pyi") if args.output is None else Path(args.output)
    if args.output != "-":
        write_atomically(output, text)
    if args.json:
        print_json({"stub": str(output), "entries": {
            name: asdict(each) for name, each in found.items()}})
    elif args.output == "-":
        print(text, end="")
    else:
        print(f"Written: {output}")
    return 0
