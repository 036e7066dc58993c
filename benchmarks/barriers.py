"""Count the barriers that groups execute, as placed here and by two published methods.

``python benchmarks/barriers.py [--only PART] [--json OUT]``

All versions of each example run on small data, with the kernels for devices that run work-items in
lockstep, in the interpreter of kernels.  Each launch of a kernel with barriers runs three times: as
it is, and with the barriers of ``benchmarks/barrier_baselines.py``.  A number is what a group
executes, summed over launches; ``needed`` counts the barriers that do not work around PoCL.  Beside
each method is ``needed`` for the launches in which it is right.  In all other launches the method
has a data race, or finds no place for a barrier.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from barrier_baselines import NotSynchronisable, by_paths, by_patterns
from compare import arguments

import runelift
from runelift.ir.base.errors import CompilerBug, RuneliftError
from runelift.ir.imp import Kernel, Placement
from runelift.ir.imp.interpret import Launch, Reported
from runelift.ir.imp.interpret import run as interpret_kernel
from runelift.ir.imp.traverse import has_barriers, statements
from runelift.runtime.tools.races.checks import RaceChecks
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from runelift.runtime.tools.races.mistakes import RunTooLong

EXAMPLES = Path(__file__).parent.parent / "examples"
METHODS = {"patterns": by_patterns, "paths": by_paths}
NEEDED = {Placement.LOWERING, Placement.DEPENDENCE, Placement.BEFORE_LOOP}
"""The placements that do not work around PoCL."""
SECONDS = 20.0

ROWS: list[tuple[str, list[str]]] = [
    ("matmul", ["[3][9]f32", "[9][5]f32"]), ("matmul", ["[2][40]f32", "[40][1]f32"]),
    ("mapscan", ["[2][20]i32"]), ("nn", ["2i64", "0f32", "0f32", "[40]f32", "[40]f32"]),
    ("conv1d", ["[30]f32", "[5]f32"]), ("mri-q", ["[9]f32"] * 5 + ["[5]f32"] * 3),
    ("nbody", ["1i32", "0.1f32", *["[9]f32"] * 7]), ("poisson", ["0.1f64", "2i32", "[5][6]f64"]),
    ("radix", ["[20]u32"]), ("srad", ["1i32", "[2][3][8]u8"]),
    ("stencil", ["1i32", "0.5f32", "0.1f32", "[4][5][6]f32"]),
    ("syrk", ["1f32", "[5][6]f32", "1f32", "[5][5]f32"]),
    ("coulomb", ["3i64", "4i64", "2i64", "1f32", *["[7]f32"] * 4]),
    ("sgemm", ["1f32", "[5][6]f32", "[6][4]f32", "1f32", "[5][4]f32"]),
    ("pathfinder", ["[2][4][20]i32"]), ("variant", ["[4][4]f32", "[4][4]f32"]),
    ("hotspot", ["1i32", "[6][7]f32", "[6][7]f32"]), ("conv2d", ["[7][8]f32", "[3][3]f32"]),
]


@dataclass(slots=True)
class Totals:
    """The barriers executed per group, by method; races, and kernels without a place."""

    launches: int = 0
    executed: Counter[str] = field(default_factory=Counter)
    races: Counter[str] = field(default_factory=Counter)
    none: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Print a row for each example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="examples with this in their names")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    print(f"{'example':12} {'launches':>8} {'all':>6} {'needed':>7}   "
          + "   ".join(f"{method:>9} {'needed':>7} {'races':>6} {'none':>5}" for method in METHODS))
    found: list[dict[str, Any]] = []
    for name, specs in ROWS:
        if options.only in name:
            totals = measured(name, specs)
            found.append({"example": name, "data": specs, "launches": totals.launches,
                          "executed": dict(totals.executed), "races": dict(totals.races),
                          "none": dict(totals.none)})
            e = totals.executed
            print(f"{name:12} {totals.launches:8} {e['all']:6} {e['needed']:7}   " + "   ".join(
                f"{e[method]:9} {e['beside ' + method]:7} {totals.races[method]:6} "
                f"{totals.none[method]:5}" for method in METHODS), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def measured(name: str, specs: list[str]) -> Totals:
    """The counts of an example, over all versions."""
    program = runelift.compile(EXAMPLES / f"{name}.fut", tuning={}, runs=False)
    checks, totals = RaceChecks(program), Totals()
    (form,) = (each for each in checks.forms("main") if each.form == "lockstep")

    class Counting(InterpretedRun):
        """Counts what each method executes in each launch."""

        def interpret(self, kernel: Kernel, launch: Launch) -> Reported | None:
            if not has_barriers(kernel.body):
                return interpret_kernel(kernel, launch)
            totals.launches += 1
            before = {key: arg.copy() if hasattr(arg, "ctypes") else arg
                      for key, arg in launch.args.items()}
            met = Counter[int]()
            reported = interpret_kernel(kernel, replace(launch, met=met))
            needed = {id(stm) for stm in statements(kernel.body)
                      if getattr(stm, "placement", None) in NEEDED}
            own = sum(count for key, count in met.items() if key in needed) // launch.groups
            totals.executed["all"] += sum(met.values()) // launch.groups
            totals.executed["needed"] += own
            for method, place in METHODS.items():
                counter = Counter[int]()
                try:
                    interpret_kernel(place(kernel, form.origins), replace(
                        launch, met=counter, args={
                            key: arg.copy() if hasattr(arg, "ctypes") else arg
                            for key, arg in before.items()}))
                except NotSynchronisable:
                    totals.none[method] += 1
                except CompilerBug:
                    totals.races[method] += 1
                else:
                    totals.executed[method] += sum(counter.values()) // launch.groups
                    totals.executed["beside " + method] += own
            return reported

    given = arguments(program, specs)
    for _, force in checks.versions("main", each=True):
        with suppress(RunTooLong, RuneliftError):
            form.run(given, force, SECONDS, Counting)
    return totals


if __name__ == "__main__":
    main()
