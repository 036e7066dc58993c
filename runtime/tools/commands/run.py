"""Run an entry point of a program.

Arguments stand behind the program, or come one after the other from a file or standard input.  They
are text such as '[1, 2, 3]' and 4.5, Futhark's binary format, either of them compressed with gzip,
or .npy and .npz.  Prints the results in the syntax of such text, or as JSON.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.data.text import as_lists, type_of
from runelift.runtime.data.values import load_values, read_stdin, read_values, write_values
from runelift.runtime.programs.entry_point import is_long
from runelift.runtime.records.observers import Observers
from runelift.runtime.records.record import Record
from runelift.runtime.tools.commands.open_program import (
    forced,
    open_program,
    pick_entry,
    tell_failed_versions,
    version_names_in_errors,
)
from runelift.runtime.tools.commands.options import COMPILATION, add_options, print_json
from runelift.runtime.versions.size_names import show_name
from runelift.runtime.versions.version_names import version_name

if TYPE_CHECKING:
    from runelift.runtime.programs.program import Program
    from runelift.runtime.versions.forest import Forest

EXAMPLES = ("runelift run examples/matmul.fut '[[1, 2]]' '[[3], [4]]'",
            "echo '[[1, 2]] [[3], [4]]' | runelift run examples/matmul.fut",
            "runelift run examples/matmul.fut --input a-and-b.npz --force V3 --record")
_DIGITS = re.compile(r"[0-9]{1,19}")
"""As many digits as the largest value has."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift run``."""
    add_options(parser, "program")
    parser.add_argument("values", nargs="*", metavar="VALUE",
                        help="an argument, such as 3 or '[1, 2]' (default: standard input)")
    add_options(parser, "entry")
    parser.add_argument("-i", "--input", metavar="FILE", type=Path,
                        help="the file with the arguments")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("-b", "--binary", action="store_true",
                      help="write the results in the binary format")
    add_options(form, "json")
    add_options(parser, "force", "memory")
    parser.add_argument("--param", metavar="NAME=N", action="append", default=[],
                        help="set a threshold, a parameter of a kernel ('runelift explain "
                             "parameters FILE' lists them) or the value of a #[param(NAME)] for "
                             "this run")
    parser.add_argument("--record", action="store_true",
                        help="print which version ran at each encounter, and its time, to "
                             "standard error")
    add_options(parser, *COMPILATION, "observe")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift run``."""
    observers = Observers(args.observe)
    program = open_program(args, settings=_assignments(args.param))
    info = program.device_info
    entry = pick_entry(program, args.entry)
    values = _arguments(args, [p.prim for p in program.interface(entry).params])
    force = forced(args, program, entry)
    started = time.perf_counter()
    with version_names_in_errors(program), _waiting(program, entry):
        results, record = program.run(
            entry, values, force=force,
            record=args.record or (bool(observers) and info is not None))
    observers.of(args.program, entry, "", info.label if info else "interpreter")(
        time.perf_counter() - started, record)
    ran = _encounters(program.tree.entry(entry), record) if args.record and record else []
    if args.json:
        print_json({"entry": entry, "device": info.label if info else "interpreter",
                    "results": [{"type": str(type_of(value)), "value": as_lists(value)}
                                for value in results], "encounters": ran})
    else:
        write_values(results, sys.stdout.buffer, args.binary)
        for each in ran:
            sizes = ", ".join(f"{show_name(name, program.tree.entry(entry).shown)} = {value:,}"
                              for name, value in each["sizes"].items())
            print(f"{each['site']} {each['version']}: {each['seconds'] * 1e6:.0f} µs, "
                  f"{each['launches']} launch{'es' * (each['launches'] != 1)} ({sizes})",
                  file=sys.stderr)
        if args.record and not ran:
            print("runelift: No version was chosen: " + (
                "the interpreter has none." if info is None else
                "this run met no choice between versions."), file=sys.stderr)
    tell_failed_versions(program)
    return 0


def _encounters(forest: Forest, record: Record) -> list[dict[str, Any]]:
    """The versions that ran, in order, as JSON objects."""
    sites = forest.sites()
    return [{"site": each.site, "version": version_name(sites[each.site].alternatives[each.chosen]),
             "seconds": each.time, "launches": each.launches, "sizes": dict(each.sizes)}
            for each in record.encounters]


def _waiting(program: Program, entry: str) -> AbstractContextManager[None]:
    """Show how long an entry point has been interpreted, or which kernels are built."""
    if program.device_info is None:
        # late: start-up; most runs are on devices
        from runelift.runtime.tools.commands.progress import waiting

        return waiting(f"interpreting {entry}")
    if not is_long(program.loaded, entry):
        return nullcontext()
    # start-up: most runs are not the first
    found: AbstractContextManager[None] = import_module(
        "runelift.runtime.programs.first_call").shown(entry, program.loaded)
    return found


def _arguments(args: argparse.Namespace, wanted: Sequence[Prim]) -> list[Any]:
    if args.values and args.input is not None:
        raise UserError("The arguments come from the command line or from --input, not from both.")
    if args.values:
        return read_values(" ".join(args.values).encode(), "<command line>", wanted)
    if args.input is not None:
        return load_values(args.input, wanted)
    if not wanted:
        return []
    if sys.stdin is None or sys.stdin.closed:
        return []
    if sys.stdin.isatty():
        print(f"runelift: reading {len(wanted)} values from the terminal; end with Ctrl-D.",
              file=sys.stderr)
    return read_stdin(wanted)


def _assignments(texts: list[str]) -> dict[str, int]:
    """``NAME=INT`` as given on the command line."""
    found = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or _DIGITS.fullmatch(value) is None:
            raise UserError(f"'{text:.80}' should be NAME=INT, with an integer from 0 to 2^63 - 1.")
        found[name] = int(value)
    return found
