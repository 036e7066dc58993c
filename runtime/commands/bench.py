"""``runelift bench``: time the datasets of a program."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.errors import UserError
from runelift.runtime.commands.options import add_device, add_program, compile_file, datasets
from runelift.runtime.program import Program
from runelift.runtime.statistics import mad, median, show_time
from runelift.runtime.values import read_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_program(parser)
    parser.add_argument("--runs", type=int, default=10, help="runs per dataset (default: 10)")
    parser.add_argument("-e", "--entry", help="time this entry point only")
    parser.add_argument("-i", "--input", type=Path, help="time the values of this file")
    parser.add_argument("--only", help="time datasets whose name contains this")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all samples to a file")
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Time and print a table."""
    program = compile_file(options)
    if program.device_info is None:
        raise UserError("There is no device to time; the interpreter's times mean nothing.")
    if options.input is not None:
        cases = [(options.entry or program.entries[0], str(options.input),
                  read_file(options.input))]
    else:
        cases = [(c.entry, c.name, c.arguments()) for c in datasets(options.file, without="nobench")
                 if options.entry in (None, c.entry)
                 and (options.only is None or options.only in c.name)]
    if not cases:
        raise UserError(f"'{options.file}' has no dataset to time; give one with --input.")
    print(f"device: {program.device_info.label}"
          + ("; tuned" if program.thresholds else "; not tuned"))
    print(f"{'dataset':30}  {'wall':>9}  {'± MAD':>8}  {'device':>9}  {'± MAD':>8}  "
          f"{'launches':>8}  {'memory':>9}")
    found = []
    for entry, name, args in cases:
        result = time_case(program, entry, args, options.runs)
        found.append({"entry": entry, "dataset": name, **result})
        print(f"{entry + ' ' + name:30}  {show_time(median(result['wall'])):>9}  "
              f"{show_time(mad(result['wall'])):>8}  {show_time(median(result['device'])):>9}  "
              f"{show_time(mad(result['device'])):>8}  {result['launches']:>8}  "
              f"{result['peak_bytes'] / 2**20:>7.1f}MB")
    if options.json is not None:
        options.json.write_text(json.dumps({
            "program": str(options.file), "device": program.device_info.label,
            "thresholds": program.thresholds, "results": found}, indent=1))
    return 0


def time_case(program: Program, entry: str, args: list[Any], runs: int) -> dict[str, Any]:
    """Samples of the wall and device time of an entry point, inputs and outputs on the device.

    Wall times are taken without profiling, device times with it, interleaved.
    """
    resident = [program.to_device(a) if np.ndim(a) else a for a in args]
    wall: list[float] = []
    device: list[float] = []
    launches = peak = 0
    for number in range(runs + 1):
        seconds = program.time(entry, resident)
        _, record = program.run(entry, resident, record=True, device_arrays=True)
        assert record is not None
        if number:  # the first run builds the kernels
            wall.append(seconds)
            device.append(record.span)
        launches, peak = record.launches, record.peak_bytes
    return {"wall": wall, "device": device, "launches": launches, "peak_bytes": peak}
