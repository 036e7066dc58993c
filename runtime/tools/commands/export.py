"""Write a folder with a Python module that runs a program without Runelift.

The module has a function for each entry point.  It needs NumPy, PyOpenCL and the files beside it,
and chooses between versions as the program does here, by the tuning or by predicted times.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.tools.commands.open_program import entries_of, require_entry
from runelift.runtime.tools.commands.options import add_options
from runelift.runtime.tools.commands.progress import waiting
from runelift.runtime.tools.export.folder import export

EXAMPLES = ("runelift export examples/matmul.fut -o exported/",
            "runelift export examples/lud.fut --tuning lud.fut.tuning -o exported/")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift export``."""
    add_options(parser, "program")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True,
                        help="write into this folder, which may exist")
    add_options(parser, "entries", "device", "tuning")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift export``."""
    program = compile_program(require_file(args.program), device=args.device, tuning=args.tuning,
                              runs=False)
    if args.device is not None and program.device_info is None:
        raise UserError("An exported program needs an OpenCL device: the interpreter stays here.")
    entries = entries_of(args, program.entries)
    require_entry(entries)
    with waiting(f"building the kernels of {args.program.name}"):
        found = export(program, entries, args.output, args.device)
    for entry, function in found.functions.items():
        print(f"{found.module.stem}.{function}: {program[entry].type}")
    print(f"Written: {found.module}, which needs the files beside it, NumPy and PyOpenCL.")
    return 0
