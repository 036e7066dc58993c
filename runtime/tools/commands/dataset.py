"""Make values: random values for types, such as [10][20]f32, and given values as they are.

A file that ends in .npy, .npz, .in or .data stands for the values in it.  So formats can be
converted, and given data joined with random data.

The same types and seed give the same data on every machine.  Prints text, or writes a file
whose name decides the format (.in and .txt text, .npy, .npz, else binary; .gz compresses).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from runelift.ir.prim import NUMBERS
from runelift.runtime.data.dataset import Generator, RandomArray, parse_bounds, parse_spec
from runelift.runtime.data.text import Value
from runelift.runtime.data.values import load_values, save_values, write_values
from runelift.runtime.tools.commands.options import natural

EXAMPLES = ("runelift dataset image.npy '[3][3]f32' -o data.in",
            "runelift dataset '[1024][4096]f32' 10i32 --i32-bounds -5:5 --seed 1 -o data.in")
FILES = frozenset({".npy", ".npz", ".in", ".data"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift dataset``."""
    parser.add_argument("specs", nargs="+", metavar="TYPE|VALUE|FILE",
                        help="a type with sizes such as [10]i64, a value, or a file of values")
    parser.add_argument("-s", "--seed", type=natural, default=0, metavar="N",
                        help="another seed gives other data (default: 0)")
    parser.add_argument("-b", "--binary", action="store_true", help="print the binary format")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to a file")
    parser._negative_number_matcher = re.compile(r"-\d")  # bounds begin so, and no option
    for prim in NUMBERS:
        parser.add_argument(f"--{prim.value}-bounds", metavar="LOW:HIGH",
                            help=f"the range of numbers of type {prim.value}")


def _values(generator: Generator, text: str) -> Sequence[Value | RandomArray]:
    """The values that an argument stands for.  Random values are made when they are written."""
    if Path(text).suffix in FILES:
        return load_values(Path(text))
    return generator.recipes([parse_spec(text)])


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift dataset``."""
    bounds = {prim: parse_bounds(prim, text) for prim in NUMBERS
              if (text := getattr(args, f"{prim.value}_bounds")) is not None}
    generator = Generator(args.seed, bounds)
    values = [value for text in args.specs for value in _values(generator, text)]
    if args.output is not None:
        save_values(args.output, values)
    else:
        write_values(values, sys.stdout.buffer, args.binary)
    return 0
