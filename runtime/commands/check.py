"""Check a program: parse it, infer types and sizes, and report every error and warning.

Prints nothing when there is none.
"""

from __future__ import annotations

import argparse

from runelift.frontend.load import check
from runelift.ir.files import read_source, require_file
from runelift.runtime.commands.options import add_json, add_program, print_json

EXAMPLES = ("runelift check examples/matmul.fut",
            "runelift check --json examples/matmul.fut")


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift check``."""
    add_program(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift check``."""
    check(read_source(require_file(args.program)))
    if args.json:
        print_json(None)
    return 0
