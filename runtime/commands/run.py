"""``runelift run``: run an entry point."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runelift.ir.errors import UserError
from runelift.runtime.commands.options import add_device, add_program, compile_file
from runelift.runtime.values import read_file, read_values, write_binary, write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_program(parser)
    parser.add_argument("-e", "--entry", help="the entry point (default: main)")
    parser.add_argument("-i", "--input", type=Path, help="values: text, binary, .gz, .npy, .npz "
                        "(default: standard input)")
    parser.add_argument("-b", "--binary", action="store_true", help="print values in binary")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=INT",
                        help="set a threshold")
    parser.add_argument("--force", action="append", default=[], metavar="SITE=VERSION",
                        help="force a version at a site (numbered from 0)")
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Run and print the results, one a line."""
    program = compile_file(options)
    entry = options.entry or ("main" if "main" in program.entries else program.entries[0])
    known = {g.name for g in program.tree.guards()}
    thresholds = dict(program.thresholds)
    for name, value in map(_assignment, options.param):
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise UserError(f"Unknown threshold '{name}'.  The program has {names}.")
        thresholds[name] = value
    sites = {s.name for s in program.tree.sites()}
    force = dict(map(_assignment, options.force))
    if unknown := set(force) - sites:
        raise UserError(f"Unknown site '{unknown.pop()}'.  The program has "
                        f"{', '.join(sorted(sites)) or 'none'}.")
    if options.input is not None:
        args = read_file(options.input)
    elif program.compiled.plans.get(entry) and not program.compiled.plans[entry].params:
        args = []
    else:
        args = read_values(sys.stdin.buffer.read(), "<stdin>")
    results, _ = program.run(entry, args, force=force, thresholds=thresholds)
    for result in results:
        if options.binary:
            sys.stdout.buffer.write(write_binary(result))
        else:
            print(write_text(result))
    return 0


def _assignment(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not value.lstrip("-").isdigit():
        raise UserError(f"Expected NAME=INT, found '{text}'.")
    return name, int(value)
