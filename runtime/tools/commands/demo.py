"""Tune a program that comes with Runelift, and say what that was good for, in a few seconds.

The program adds the squares of each row of a matrix.  It is compiled into three versions.  Each of
them runs on data of three shapes.  The best for each shape is then compared with the choice without
tuning.

Without an OpenCL device the interpreter runs the program on a few numbers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np

from runelift.ir.base.written_files import unwritable, write_atomically
from runelift.runtime.data.text import format_value
from runelift.runtime.devices.advice import advice
from runelift.runtime.devices.driver.device_spec import INTERPRETER, requested
from runelift.runtime.devices.info import find_devices, select
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.styles import show

EXAMPLES = ("runelift demo", "runelift demo --device interpreter")
PROGRAM = "rows.fut"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift demo``."""
    add_options(parser, "device")
    parser.add_argument("--keep", metavar="FOLDER", type=Path,
                        help="leave the program there, with its tuning and a report as HTML")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift demo``."""
    text = files("runelift.examples").joinpath(PROGRAM).read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="runelift-demo-") as folder:
        place = Path(folder) if args.keep is None else args.keep
        path = place / PROGRAM
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        write_atomically(path, text)
        if select(args.device) is None:
            return _interpreted(args, path)
        # late: it needs OpenCL
        from runelift.runtime.tools.commands.demo_tuning import tuned

        return tuned(args, path)


def source_lines(path: Path) -> Iterator[str]:
    """The lines of the program without comments."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("--"):
            yield f"    {line}"


def _interpreted(args: argparse.Namespace, path: Path) -> int:
    program = compile_program(path, device="interpreter")
    given = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    results, _ = program.run(program.entries[0], [given])
    versions = len(program.tree.entries[0].leaves())
    cure = advice(find_devices())
    text = [f"Tried:  one program on {given.size} numbers, in the interpreter; its {versions} "
            "versions need an OpenCL device.",
            "Gained: the right result, " + format_value(results[0]) + ", but no time.",
            "Sure:   the interpreter defines what programs mean."]
    if args.json:
        print_json({"program": PROGRAM, "device": "interpreter", "conclusion": text,
                    "advice": cure})
        return 0
    show("\n".join([*source_lines(path), "", program.tree.render(), ""]))
    for line in cure if requested(args.device) == INTERPRETER else ():  # else it has been said
        show(line, sys.stderr)
    show("\n".join(text))
    return 0
