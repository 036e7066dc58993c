"""Time schedules with and without their steps of local memory, beside the program as it is.

``python benchmarks/local_memory.py [--device NAME] [--only PART,PART] [--turns N] [--json FILE]``

The programs and sizes are of :mod:`optimizer`, the schedules of :file:`examples/stages`.  Columns
are times of a call with inputs and outputs on the device.  ``default`` has no schedule,
``without`` has one but for its steps ``materialise(local)``, and ``with`` has all of it.  ``gain``
is what the copies gain, ``default`` how many times as long the schedule takes as the program
without one.

The three take turns, so that all have the same load; times are medians.  Their results are
compared.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optimizer import EXAMPLES, ROWS, SIZES, Row

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.data.compare import first_difference
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

LOCAL = "materialise(local)"
PROGRAMS = "conv1d,nbody,coulomb"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--only", default=PROGRAMS, help="parts of a program's name and size, with "
                        "commas between (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=15, help="runs of each (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where results are written")
    options = parser.parse_args()
    found = list[dict[str, Any]]()
    for row in ROWS:
        for number, size in enumerate(SIZES):
            if any(part in f"{row.name} {size}" for part in options.only.split(",")):
                found.append(measured(row, number, options.device, options.turns))
                print(shown(found[-1], first=len(found) == 1), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def schedules_of(name: str) -> tuple[str, str]:
    """The stages of a program without local memory, and all of them."""
    text = (EXAMPLES / "stages" / f"{name}.schedule").read_text()
    return "".join(line for line in text.splitlines(keepends=True) if LOCAL not in line), text


def measured(row: Row, number: int, device: str | None, turns: int) -> dict[str, Any]:
    """The times of a program for a size, in microseconds."""
    args, found = row.inputs(number), dict[str, list[float]]()
    programs, placed = dict[str, Program](), dict[str, Sequence[Any]]()
    for title, schedule in zip(("default", "without", "with"), (None, *schedules_of(row.name)),
                               strict=True):
        programs[title] = runelift.compile(EXAMPLES / f"{row.name}.fut", device=device, tuning={},
                                           schedule=schedule)
        placed[title] = MeasuredProgram(programs[title]).place(args)
    info = programs["default"].device_info
    fact: dict[str, Any] = {"device": info.label if info else "none", "program": row.name,
                            "size": SIZES[number], "copies": "box" in kernels(programs["with"])}
    try:
        results = {title: each.run("main", placed[title])[0] for title, each in programs.items()}
        fact["agree"] = all(first_difference(results["default"], each) is None
                            for each in results.values())
        for _ in range(turns):
            for title, each in programs.items():
                found.setdefault(title, []).append(
                    MeasuredProgram(each).time("main", placed[title]) * 1e6)
    except RuneliftError as error:
        return fact | {"error": str(error).splitlines()[0]}
    return fact | {title: median(times) for title, times in found.items()}


def kernels(program: Program) -> str:
    """The text of all kernels."""
    return str(program.source("kernels"))


def shown(fact: dict[str, Any], *, first: bool) -> str:
    """A row of the table, below its head if it is the first one."""
    head = (f"device: {fact['device']}\n{'program':18}{'default':>12}{'without':>12}{'with':>12}"
            f"{'gain':>8}{'default':>9}  (times in us)\n") if first else ""
    label = f"{fact['program'] + ' ' + fact['size']:18}"
    if "error" in fact:
        return f"{head}{label}{fact['error'][:100]}"
    default, without, whole = (fact[title] for title in ("default", "without", "with"))
    return (f"{head}{label}{default:>12.0f}{without:>12.0f}{whole:>12.0f}{without / whole:>7.2f}x"
            f"{whole / default:>8.2f}x" + "  RESULTS DIFFER" * (not fact["agree"])
            + "  NOTHING COPIED" * (not fact["copies"]))


if __name__ == "__main__":
    main()
