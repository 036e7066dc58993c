"""Time schedules with and without their steps of local memory, beside the program as it is.

``python benchmarks/local_memory.py [--device NAME] [--only PART,PART] [--seconds N] [--turns N]
[--json FILE]``

The programs and sizes are of :mod:`optimizer`, the schedules of :file:`examples/stages`.  Columns
are times of a call with inputs and outputs on the device.  ``default`` has no schedule,
``without`` has one but for its steps ``materialise(local)``, and ``with`` has all of it.  ``gain``
is what the copies gain, ``default`` how many times as long the schedule takes as the program
without one.  ``MiB`` are the bytes that sub-groups load from and store to global memory, by the
formulas of the kernels, without the copies and with them.

The three take turns, so that all have the same load; times are medians.  Their results are
compared.  Sizes are measured one after the other for all programs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from common import EXAMPLES, parser_of, write_json
from optimizer import ROWS, SIZES, Row

import runelift
from runelift.codegen.cost.totals import Work
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.cost.model import LaunchTime
from runelift.runtime.data.compare import first_difference
from runelift.runtime.predictions import predict as predictions
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

LOCAL = "materialise(local)"
TITLES = ("default", "without", "with")
LONGEST = 0.3
"""A row has one turn if a call takes so many seconds."""
ORDER = (0, 2, 1)
"""Sizes by number; a time limit cuts off the medium one."""


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, "parts of a program's name and size, with commas between")
    parser.add_argument("--seconds", type=float, default=80,
                        help="begin no row later (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=9, help="runs of each (default: %(default)s)")
    options = parser.parse_args()
    found, begun = list[dict[str, Any]](), time.perf_counter()
    for number in ORDER:
        for row in ROWS:
            if any(part in f"{row.name} {SIZES[number]}" for part in options.only.split(",")) and (
                    time.perf_counter() - begun < options.seconds):
                found.append(measured(row, number, options.device, options.turns))
                print(shown(found[-1], first=len(found) == 1), flush=True)
    write_json(options.json, found)


def schedules_of(name: str) -> tuple[str, str]:
    """The stages of a program without local memory, and all of them."""
    text = (EXAMPLES / "stages" / f"{name}.schedule").read_text()
    return "".join(line for line in text.splitlines(keepends=True) if LOCAL not in line), text


@cache
def programs_of(name: str, device: str | None) -> Mapping[str, Program]:
    """A program without a schedule, with a part of it, and with all of it."""
    return {title: runelift.compile(EXAMPLES / f"{name}.fut", device=device, tuning={},
                                    schedule=schedule)
            for title, schedule in zip(TITLES, (None, *schedules_of(name)), strict=True)}


def measured(row: Row, number: int, device: str | None, turns: int) -> dict[str, Any]:
    """The times of a program for a size, in microseconds, and bytes of global memory."""
    args, found = row.inputs(number), dict[str, list[float]]()
    programs = programs_of(row.name, device)
    info = programs["default"].device_info
    fact: dict[str, Any] = {"device": info.label if info else "none", "program": row.name,
                            "size": SIZES[number], "copies": has_copies(programs["with"])}
    try:
        placed = {title: MeasuredProgram(each).place(args) for title, each in programs.items()}
        results = {title: each.run("main", placed[title])[0] for title, each in programs.items()}
        fact["agree"] = all(first_difference(results["default"], each) is None
                            for each in results.values())
        for _ in range(turns):
            for title, each in programs.items():
                found.setdefault(title, []).append(
                    MeasuredProgram(each).time("main", placed[title]) * 1e6)
            if max(max(times) for times in found.values()) > LONGEST * 1e6:
                break
        fact["bytes"] = {title: moved_bytes(programs[title], args) for title in TITLES}
    except RuneliftError as error:
        return fact | {"error": str(error).splitlines()[0]}
    return fact | {title: median(times) for title, times in found.items()}


def has_copies(program: Program) -> bool:
    """True if a kernel copies to local memory what work-items share."""
    text = str(program.source("kernels"))
    return "_boxed" in text or "segmap_tiled" in text


class _Moving(predictions._Tracing):
    """Predicts calls; their bytes are all that compute units ask for, also of their caches."""

    def launched(self, work: Work, time: LaunchTime) -> None:
        """Add the work and the time of a launch."""
        super().launched(work._replace(distinct=work.read + work.written), time)


def moved_bytes(program: Program, args: Sequence[Any]) -> float:
    """The bytes that the kernels of a call load from and store to global memory."""
    found = _Moving(program.loaded.executable("main"), {}, {})
    return found.call(predictions._bound(program.loaded, "main", args)).totals.bytes


def shown(fact: dict[str, Any], *, first: bool) -> str:
    """A row of the table, below its head if it is the first one."""
    head = (f"device: {fact['device']}\n{'program':16}{'default':>9}{'without':>9}{'with':>9}"
            f"{'gain':>7}{'default':>9}{'MiB without':>13}{'with':>9}  (times in us)\n"
            ) if first else ""
    label = f"{fact['program'] + ' ' + fact['size']:16}"
    if "error" in fact:
        return f"{head}{label}{fact['error'][:100]}"
    default, without, whole = (fact[title] for title in TITLES)
    before, after = (fact["bytes"][title] / 2**20 for title in TITLES[1:])
    return (f"{head}{label}{default:>9.0f}{without:>9.0f}{whole:>9.0f}{without / whole:>6.2f}x"
            f"{whole / default:>8.2f}x{before:>13.4g}{after:>9.4g}"
            + "  RESULTS DIFFER" * (not fact["agree"])
            + "  NOTHING COPIED" * (not fact["copies"]))


if __name__ == "__main__":
    main()
