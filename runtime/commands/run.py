"""Run an entry point of a program.

Reads the arguments, one value after the other, from a file or standard input: text such as
'[1, 2, 3] 4.5f32', Futhark's binary format, either of them compressed with gzip, or .npy and
.npz.  Prints the results in the same text syntax.

  echo '[1, 2, 3]' | runelift run sum.fut
  runelift run matmul.fut --input a-and-b.npz --device pocl
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runelift.ir.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.commands.open_program import open_program, pick_entry
from runelift.runtime.commands.options import (
    add_contract,
    add_device,
    add_entry,
    add_policy,
    add_program,
    add_tuning,
)
from runelift.runtime.data.values import load_values, read_values, write_values


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift run``."""
    add_program(parser)
    add_entry(parser)
    parser.add_argument("-i", "--input", metavar="FILE", type=Path,
                        help="the file with the arguments (default: standard input)")
    parser.add_argument("-b", "--binary", action="store_true",
                        help="write the results in the binary format")
    parser.add_argument("--force", metavar="SITE=K", action="append", default=[],
                        help="run version K (from 0) at a site; --record says which sites there "
                             "are, and which version ran")
    parser.add_argument("--param", metavar="NAME=N", action="append", default=[],
                        help="set a threshold, a parameter of a kernel ('runelift explain "
                             "--parameters FILE' lists them) or the value of a #[param(NAME)] for "
                             "this run")
    parser.add_argument("--record", action="store_true",
                        help="print which version ran at each encounter, and its time, to "
                             "standard error")
    add_device(parser)
    add_tuning(parser)
    add_policy(parser)
    add_contract(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift run``."""
    program = open_program(args, settings=_assignments(args.param))
    entry = pick_entry(program, args.entry)
    values = _arguments(args, [p.prim for p in program.interface(entry).params])
    force = _assignments(args.force)
    sites = program.tree.entry(entry).sites() if force else {}
    for site, index in force.items():
        if site not in sites:
            raise UserError(f"The program has no site '{site}'; it has "
                            f"{', '.join(sites) or 'none'}.")
        if not 0 <= index < len(sites[site].alternatives):
            raise UserError(f"Site '{site}' has the versions 0 to "
                            f"{len(sites[site].alternatives) - 1}, not {index}.")
    results, record = program.run(entry, values, force=force, record=args.record)
    write_values(results, sys.stdout.buffer, args.binary)
    if record is not None:
        for e in record.encounters:
            sizes = " ".join(f"{name}={value}" for name, value in e.sizes.items())
            print(f"{e.site} version {e.chosen}: {e.time * 1e6:.0f} µs, {e.launches} launches"
                  f" ({sizes})", file=sys.stderr)
    return 0


def _arguments(args: argparse.Namespace, wanted: Sequence[Prim]) -> list[Any]:
    if args.input is not None:
        return load_values(args.input, wanted)
    if not wanted:
        return []
    if sys.stdin is None or sys.stdin.closed:
        return []
    if sys.stdin.isatty():
        print(f"runelift: reading {len(wanted)} values from the terminal; end with Ctrl-D.",
              file=sys.stderr)
    return read_values(sys.stdin.buffer.read(), "<standard input>", wanted)


def _assignments(texts: list[str]) -> dict[str, int]:
    """``NAME=INT`` as given on the command line."""
    found = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or not value.isdigit():
            raise UserError(f"'{text}' should be NAME=INT.")
        found[name] = int(value)
    return found
