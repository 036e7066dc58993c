"""``runelift dataset``: make random values."""

from __future__ import annotations

import argparse
import re
import sys

import numpy as np

from runelift.ir.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.values import generate, write_binary, write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("types", nargs="+", metavar="TYPE",
                        help="types such as [10][20]f32, or literals such as 5i32")
    parser.add_argument("-b", "--binary", action="store_true", help="print values in binary")
    parser.add_argument("--seed", type=int, default=42, help="default: 42")
    for prim in Prim:
        if prim is not Prim.BOOL:
            parser.add_argument(f"--{prim.value}-bounds", metavar="LOW:HIGH",
                                help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the values, one a line."""
    rng = np.random.default_rng(options.seed)
    bounds = {}
    for prim in Prim:
        text = getattr(options, f"{prim.value}_bounds", None)
        if text is not None:
            if not re.fullmatch(r"-?[\d.e+-]+:-?[\d.e+-]+", text):
                raise UserError(f"Expected LOW:HIGH, found '{text}'.")
            low, _, high = text.partition(":")
            bounds[prim] = (float(low), float(high))
    for spec in options.types:
        value = generate(spec, rng, bounds)
        if options.binary:
            sys.stdout.buffer.write(write_binary(value))
        else:
            print(write_text(value))
    return 0
