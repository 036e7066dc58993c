"""Make values: random ones for types, such as [10][20]f32, and others as they are given.

The same types and seed give the same data on every machine.  Prints text, or writes a file
whose name decides the format (.in and .txt text, .npy, .npz, else binary; .gz compresses).

  runelift dataset '[1024][4096]f32' 10i32 --i32-bounds=-5:5 --seed 1 -o data.in
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runelift.ir.prim import NUMBERS
from runelift.runtime.data.dataset import Generator, parse_bounds, parse_spec
from runelift.runtime.data.values import format_values, save_values


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift dataset``."""
    parser.add_argument("specs", nargs="+", metavar="TYPE|VALUE",
                        help="a type with sizes such as [10]i64, or a value")
    parser.add_argument("-s", "--seed", type=int, default=0, metavar="N",
                        help="another seed gives other data (default: 0)")
    parser.add_argument("-b", "--binary", action="store_true", help="print the binary format")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to a file")
    for prim in NUMBERS:
        parser.add_argument(f"--{prim.value}-bounds", metavar="LOW:HIGH",
                            help=f"the range of numbers of type {prim.value}")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift dataset``."""
    bounds = {prim: parse_bounds(prim, text) for prim in NUMBERS
              if (text := getattr(args, f"{prim.value}_bounds")) is not None}
    values = Generator(args.seed, bounds).values(parse_spec(text) for text in args.specs)
    if args.output is not None:
        save_values(args.output, values)
    else:
        sys.stdout.buffer.write(format_values(values, args.binary))
    return 0
