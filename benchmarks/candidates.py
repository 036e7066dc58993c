"""Schedules of one program that differ in their numbers: which of them is the best on a device.

Run: python benchmarks/schedules.py --candidates [--device NAME] [--only PART,PART] [--seconds N]

Each schedule of :file:`examples/stages` is timed with other numbers, beside the program as it is.
They take turns, so that all have the same load.  Numbers are in the order of the steps, and a step
with the number 0 is left out.  Results are compared.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common import EXAMPLES
from optimizer import ROWS, SIZES, Row

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.data.compare import first_difference
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

Numbers = tuple[int, ...]

CANDIDATES: Mapping[str, Sequence[Numbers]] = {
    "conv1d": ((128, 16, 8, 4), (128, 16, 4, 4), (256, 16, 8, 4), (256, 16, 4, 4),
               (64, 16, 4, 4), (256, 8, 8, 4)),
    "nbody": ((64, 4, 4, 2), (64, 4, 4, 4), (64, 4, 4, 1), (128, 2, 8, 2), (32, 8, 2, 2),
              (128, 4, 4, 2)),
    "coulomb": ((8, 32, 2, 8, 1, 2), (8, 16, 2, 8, 1, 2), (4, 32, 4, 4, 1, 2),
                (4, 16, 4, 4, 1, 4), (4, 32, 2, 4, 1, 2), (8, 64, 2, 8, 1, 2)),
    "conv3d": ((4, 32, 4, 4, 1, 32, 4), (8, 64, 4, 8, 1, 32, 4), (8, 32, 1, 8, 1, 32, 4),
               (8, 32, 2, 8, 1, 16, 4), (8, 32, 4, 8, 1, 32, 4)),
    "conv2d": ((8, 128, 8, 8, 1, 64, 4), (8, 256, 4, 8, 1, 64, 4), (8, 128, 4, 8, 1, 128, 4)),
}
"""Numbers for the steps of schedules."""
USUAL = "conv1d,nbody,coulomb"
LONGEST = 0.3
"""Rows are left out if the program as it is takes so many seconds."""
ORDER = (0, 2, 1)
"""Sizes by number; a time limit cuts off the medium one."""


def texts_of(name: str) -> dict[str, str]:
    """The schedules of a program by their numbers; that of the examples is first."""
    text = (EXAMPLES / "stages" / f"{name}.schedule").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("--")]
    shipped = tuple(int(n) for line in lines for n in numbers_in(line))
    return {" ".join(map(str, numbers)): with_numbers(lines, numbers)
            for numbers in dict.fromkeys((shipped, *CANDIDATES[name]))}


def numbers_in(line: str) -> list[str]:
    """The arguments of a step that are numbers."""
    return re.findall(r"\d+", line[line.index("("):]) if "(" in line else []


def with_numbers(lines: Sequence[str], numbers: Numbers) -> str:
    """The steps with other numbers.

    >>> print(with_numbers(["fuse", "a.b[1] ab_tile(8, 1)", "c split_join(4)"], (2, 4, 0)))
    fuse
    a.b[1] ab_tile(2, 4)
    """
    left, found = list(numbers), list[str]()
    for line in lines:
        own = [left.pop(0) for _ in numbers_in(line)]
        if all(own):
            start = line.index("(") if own else len(line)
            found.append(line[:start] + (f"({', '.join(map(str, own))})" if own else line[start:]))
    return "\n".join(found)


@dataclass(slots=True)
class Contest:
    """The programs of a row of :mod:`optimizer` by title, and their ratios to the default."""

    row: Row
    programs: dict[str, Program]
    ratios: dict[str, list[float]] = field(default_factory=dict)

    def measured(self, number: int, turns: int) -> Iterator[str]:
        """Measure a size; yields a line of text for each program."""
        args, placed = self.row.inputs(number), dict[str, Sequence[Any]]()
        times, words = dict[str, list[float]](), dict[str, str]()
        expected = None
        for title, program in self.programs.items():
            try:
                placed[title] = MeasuredProgram(program).place(args)
                result = program.run("main", placed[title])[0]
                expected = result if expected is None else expected
                words[title] = " RESULTS DIFFER" * (
                    first_difference(expected, result) is not None)
                times[title] = [MeasuredProgram(program).time("main", placed[title])]
            except RuneliftError as error:
                words[title] = " " + str(error).splitlines()[0][:60]
            if times.get("default", [0.0])[0] > LONGEST:
                yield f"{self.row.name} {SIZES[number]}: left out, it takes too long"
                return
        for _ in range(turns):
            for title, each in times.items():
                each.append(MeasuredProgram(self.programs[title]).time("main", placed[title]))
        found = {title: median(each[1:]) for title, each in times.items()}
        for title in self.programs:
            if title not in found:
                yield f"{self.row.name} {SIZES[number]} {title:20}{words[title]}"
                continue
            ratio = found[title] / found["default"]
            self.ratios.setdefault(title, []).append(ratio)
            yield (f"{self.row.name + ' ' + SIZES[number]:16} {title:22}{1e6 * found[title]:>9.0f}"
                   f"{ratio:>7.2f}x{words[title]}")

    def verdict(self) -> str:
        """The numbers whose greatest ratio is the least."""
        most = {title: max(each) for title, each in self.ratios.items() if title != "default"
                and len(each) == len(self.ratios["default"])}
        if not most:
            return f"{self.row.name}: nothing was measured"
        order = sorted(most, key=lambda title: most[title])
        return f"{self.row.name}: best {order[0]}; greatest ratios: " + ", ".join(
            f"{title}: {most[title]:.2f}" for title in order)


def contest(row: Row, device: str | None) -> Contest:
    """The program of a row as it is, and with each of its schedules."""
    return Contest(row, {title: runelift.compile(
        EXAMPLES / f"{row.name}.fut", device=device, tuning={}, schedule=schedule)
        for title, schedule in {"default": None, **texts_of(row.name)}.items()})


def show(device: str | None, parts: Sequence[str], seconds: float, turns: int) -> None:
    """Print the times of all candidates; no row begins after so many seconds."""
    begun = time.perf_counter()
    print("program          numbers of steps             us  by default", flush=True)
    for row in ROWS:
        if row.name in CANDIDATES and any(part in row.name for part in parts):
            found = contest(row, device)
            for number in ORDER:
                if time.perf_counter() - begun < seconds:
                    for line in found.measured(number, turns):
                        print(line, flush=True)
            print(found.verdict(), flush=True)
