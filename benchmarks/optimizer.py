"""Time eight programs beside their naive kernels: what the kernel optimizer gains on a device.

``python benchmarks/optimizer.py [--device NAME] [--only PART] [--budget SECONDS] [--json FILE]``
``python benchmarks/optimizer.py --stages [--device NAME] [--only PART]``

The programs are convolutions, direct Coulomb summation, matrix products and n-body.  The columns
for each dataset are

- ``naive``: one work-item per point, without any of the optimizer's stages
  (:meth:`~.device.DeviceInfo.plain`);
- ``default``: the program without tuning;
- ``tuned``: the best version, with parameters found by ``--budget`` seconds of search;
- ``fma``, with ``--fp-contract``: multiplications and additions are contracted, as OpenCL does
  unless it is told not to.

With ``--stages``, the columns are the speed-ups over ``naive`` after each stage of the optimizer.
It is a schedule that begins with the steps of the stages before (``examples/stages/``).

Times are medians of host time for a call with inputs and outputs on the device; the results of all
are compared.  Rows that FILE has already, of this device and with no shorter search, are not
measured again.  So a run may go on where one ended.

Source of programs and sizes: Fernández-Fabeiro et al., An automatic optimizer for heterogeneous
devices.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from common import EXAMPLES, parser_of

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Generator, parse_spec
from runelift.runtime.programs.program import Program
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.kernel_parameters.proposals import EXPLORING
from runelift.runtime.tuner.kernel_parameters.search import LOCAL, SettingSearch
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

FAR = 2 * NORMAL.parameters.rival_factor
"""Versions that take so many times as long as the best are run once."""
SIZES = ("small", "medium", "large")


@dataclass(frozen=True, slots=True)
class Row:
    """A program with the rank of its points, and its inputs for every size.

    ``specs`` holds ``{0}``, ``{1}``, ... for the numbers of a size.
    """

    name: str
    rank: int
    sizes: tuple[tuple[int, ...], ...]
    specs: str

    def inputs(self, number: int) -> list[Any]:
        """The values for a size."""
        generator = Generator(42, {})
        specs = self.specs.format(*self.sizes[number]).split()
        return list(generator.values(parse_spec(spec) for spec in specs))

    @property
    def naive(self) -> int:
        """The number of the program's run that has one work-item per point."""
        return 2 * (self.rank - 1)


ROWS = (
    Row("conv1d", 1, ((32767, 16384), (65535, 32768), (131071, 65536)), "[{0}]f32 [{1}]f32"),
    Row("conv2d", 2, ((767, 256), (1279, 256), (2303, 256)), "[{0}][{0}]f32 [{1}][{1}]f32"),
    Row("conv3d", 3, ((63, 32), (127, 64), (255, 128)), "[{0}][{0}][{0}]f32 [{1}][{1}][{1}]f32"),
    Row("coulomb", 3, ((32, 2048), (64, 4096), (128, 8192)),
        "{0}i64 {0}i64 {0}i64 0.1f32 [{1}]f32 [{1}]f32 [{1}]f32 [{1}]f32"),
    Row("matmul", 2, ((1024,), (2048,), (4096,)), "[{0}][{0}]f32 [{0}][{0}]f32"),
    Row("nbody", 1, ((16384,), (32768,), (65536,)), "1i32 0.01f32" + " [{0}]f32" * 7),
    Row("syrk", 2, ((1024,), (2048,), (4096,)), "0.5f32 [{0}][{0}]f32 2f32 [{0}][{0}]f32"),
    Row("syr2k", 2, ((1024,), (2048,), (4096,)),
        "0.5f32 [{0}][{0}]f32 [{0}][{0}]f32 2f32 [{0}][{0}]f32"),
)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, "parts of a program's name and size, with commas between")
    parser.add_argument("--budget", type=float, default=0.0,
                        help="seconds of search for each dataset (default: no search)")
    parser.add_argument("--parameters", default=LOCAL, choices=[LOCAL, *EXPLORING],
                        help="how settings are searched (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=math.inf,
                        help="begin no search that would end after so many seconds")
    parser.add_argument("--fp-contract", action="store_true", help="measure with contraction, too")
    parser.add_argument("--stages", action="store_true",
                        help="measure the stages, as schedules, and nothing else")
    options = parser.parse_args()
    if options.stages:
        show_stages(options.device, options.only.split(","))
        return
    started = time.perf_counter()
    device = runelift.compile(EXAMPLES / f"{ROWS[0].name}.fut", device=options.device,
                              tuning={}).device_info
    label = device.label if device else "none"
    print(f"device: {label}\n{'program':20}{'naive':>12}{'default':>12}{'tuned':>12}"
          f"{'default':>10}{'tuned':>9}  (times in us, speed-up over naive)")
    found = Results(options.json, label)
    for row, contract in itertools.product(ROWS, (False, True)[:1 + options.fp_contract]):
        both = None
        for number, size in enumerate(SIZES):
            if (not any(part in f"{row.name} {size}" for part in options.only.split(","))
                    or found.has(row.name, size, contract, options.budget)):
                continue
            if time.perf_counter() - started + options.budget > options.seconds:
                break
            both = both or pair(row, options.device, contract)
            try:
                result = measure(row, number, *both, options.budget, options.parameters)
            except RuneliftError as error:
                result = {"error": str(error).splitlines()[0]}
            show(found.add({"program": row.name, "dataset": size, "fp_contract": contract,
                            "device": label, "budget": options.budget, **result}))
    found.summary()


def stages_of(name: str) -> dict[str, str]:
    """The stages of a program by name, each a schedule with all steps before."""
    lines = (EXAMPLES / "stages" / f"{name}.schedule").read_text().splitlines()
    titles = {n: line[3:].replace(":", ".").split(".")[0].split(" of")[0]
              for n, line in enumerate(lines) if n and line.startswith("-- ")}
    ends = [*titles, len(lines)][1:]
    return {title: "\n".join(lines[:end])
            for title, end in zip(titles.values(), ends, strict=True)}


def show_stages(device: str | None, parts: Sequence[str]) -> None:
    """Print the speed-up of each stage over the naive kernel, and the means."""
    ratios: dict[str, list[float]] = {}
    for row, (number, size) in itertools.product(ROWS, enumerate(SIZES)):
        if not any(part in f"{row.name} {size}" for part in parts):
            continue
        naive, _ = pair(row, device, False)
        args = row.inputs(number)
        force = plans(naive.tree.entry("main"))[row.naive]
        plain = MeasuredProgram(naive).place(args)
        expected = naive.run("main", plain, force=force)[0]
        slow = timed(naive, plain, [Run(force)])[0]
        found = list[str]()
        for title, schedule in {"default": None, **stages_of(row.name)}.items():
            program = runelift.compile(EXAMPLES / f"{row.name}.fut", device=device, tuning={},
                                       schedule=schedule)
            resident = MeasuredProgram(program).place(args)
            results = program.run("main", resident)[0]
            wrong = " RESULTS DIFFER" * (first_difference(expected, results) is not None)
            ratios.setdefault(title, []).append(slow / timed(program, resident, [Run()])[0])
            found.append(f"{title} {ratios[title][-1]:.2f}x{wrong}")
        print(f"{row.name + ' ' + size:16}{slow:>12.0f} us  {', '.join(found)}", flush=True)
    for title, each in ratios.items():
        print(f"naive/{title} over {len(each)} rows: arithmetic mean {sum(each) / len(each):.2f}")


def pair(row: Row, device: str | None, contract: bool) -> tuple[Program, Program]:
    """The program with naive kernels, and as it is."""
    naive, program = (runelift.compile(EXAMPLES / f"{row.name}.fut", device=device, tuning={},
                                       fp_contract=contract) for _ in range(2))
    assert naive.device_info is not None
    naive.loaded.info = naive.loaded.info.plain()
    return naive, program


class Results:
    """The rows of a device that were measured, in a file if there is one."""

    def __init__(self, path: Path | None, device: str) -> None:
        self.path = path
        self.device = device
        self.rows: list[dict[str, Any]] = (
            json.loads(path.read_text()) if path and path.exists() else [])

    def _of(self, program: str, dataset: str, contract: bool) -> list[dict[str, Any]]:
        return [row for row in self.rows if (self.device, program, dataset, contract) == (
            row["device"], row["program"], row["dataset"], row["fp_contract"])]

    def has(self, program: str, dataset: str, contract: bool, budget: float) -> bool:
        """True if a row was measured, with a search of so many seconds at least."""
        return any("error" not in row and row["budget"] >= budget
                   for row in self._of(program, dataset, contract))

    def add(self, result: dict[str, Any]) -> dict[str, Any]:
        """Keep a row in place of what there was."""
        for old in self._of(result["program"], result["dataset"], result["fp_contract"]):
            self.rows.remove(old)
        self.rows.append(result)
        if self.path:
            self.path.write_text(json.dumps(self.rows, indent=1))
        return result

    def summary(self) -> None:
        """Print the means over all rows of the device."""
        for contract, kind in itertools.product((False, True), ("default", "tuned")):
            ratios = [row["naive"] / row[kind] for row in self.rows if row.get(kind)
                      and row["device"] == self.device and row["fp_contract"] == contract]
            if ratios:
                print(f"naive/{kind}{' with fma' if contract else ''} over {len(ratios)} rows: "
                      f"geometric mean {geometric_mean(ratios):.2f}, "
                      f"arithmetic {sum(ratios) / len(ratios):.2f}")


def show(result: Mapping[str, Any]) -> None:
    """Print a row."""
    label = f"{result['program']} {result['dataset']}{' fma' if result['fp_contract'] else ''}"
    if "error" in result:
        print(f"{label:20} {result['error'][:100]}", flush=True)
        return
    naive, default, tuned = (result[kind] for kind in ("naive", "default", "tuned"))
    chosen = result["chosen"] and " ".join(
        [f"V{result['chosen']['version']}",
         *(f"{name.rpartition('.')[2]}={value}"
           for name, value in result["chosen"]["run"]["settings"].items())])
    print(f"{label:20}{naive:>12.0f}{default:>12.0f}"
          + (f"{tuned:>12.0f}" if tuned else f"{'-':>12}") + f"{naive / default:>9.2f}x"
          + (f"{naive / tuned:>8.2f}x" if tuned else f"{'-':>9}")
          + ("" if result["agree"] else "  RESULTS DIFFER")
          + f"  {chosen or ''}", flush=True)


def measure(row: Row, number: int, naive: Program, program: Program,
            budget: float, strategy: str) -> dict[str, Any]:
    """Microseconds of the three, and whether their results agree."""
    args = row.inputs(number)
    resident, plain = MeasuredProgram(program).place(args), MeasuredProgram(naive).place(args)
    force = plans(naive.tree.entry("main"))[row.naive]
    expected = naive.run("main", plain, force=force)[0]
    slow = timed(naive, plain, [Run(force)])[0]
    agree = first_difference(expected, program.run("main", resident)[0]) is None
    runs, chosen = [Run()], None
    if budget:
        chosen = search(row, program, resident, budget, strategy)
        runs.append(chosen.run)
        results = program.run("main", resident, force=chosen.run.force,
                              thresholds=chosen.run.settings)[0]
        agree &= first_difference(expected, results) is None
    times = dict(zip(("default", "tuned"), timed(program, resident, runs), strict=False))
    return {"naive": slow, "tuned": None, **times, "agree": agree,
            "chosen": chosen and asdict(chosen)}


@dataclass(frozen=True, slots=True)
class Run:
    """The settings of a run, and the version of each site that is not left to the guards."""

    force: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A version of a program, settings for its kernels, and how long it takes (microseconds).

    Versions are counted from 1; 0 is what runs by default.
    """

    version: int
    run: Run
    time: float


def search(row: Row, program: Program, args: Sequence[Any], budget: float,
           strategy: str) -> Chosen:
    """The best version and settings that are found in ``budget`` seconds.

    Versions with fewer work-items than points are left out: they take minutes.
    """
    started = time.perf_counter()
    end = started + budget
    found = [Chosen(0, Run(), timed(program, args, [Run()], 3)[0])]
    for number, force in enumerate(plans(program.tree.entry("main"))):
        if number < row.naive or time.perf_counter() > (started + end) / 2:
            continue
        with contextlib.suppress(RuneliftError):
            MeasuredProgram(program).time("main", args, force=force)
            once = MeasuredProgram(program).time("main", args, force=force) * 1e6
            if once > FAR * min(each.time for each in found):
                continue
            found.append(Chosen(number + 1, Run(force), timed(program, args, [Run(force)], 3)[0]))
    best = min(found, key=lambda each: each.time)
    rivals = sorted((each for each in found if
                     each.time <= NORMAL.parameters.rival_factor * best.time),
                    key=lambda each: each.time)
    for left, rival in zip(range(len(rivals), 0, -1), rivals, strict=True):
        seconds = (end - time.perf_counter()) / left
        run = Run(rival.run.force, settle(program, args, rival.run.force, seconds, strategy))
        tried = Chosen(rival.version, run, timed(program, args, [run], 5)[0])
        best = min(best, tried, key=lambda each: each.time)
    return best


def settle(program: Program, args: Sequence[Any], force: Mapping[str, int],
           seconds: float, strategy: str) -> dict[str, int]:
    """The best settings for the operations of a version that take a good part of its time."""
    spaces = {space.operation.name: space for space in program.spaces("main")}
    measured = MeasuredProgram(program)
    met = measured.try_settings("main", args, force=force, thresholds={})
    whole = sum(spent for _, spent in met)
    chosen: dict[str, int] = {}
    for operation, spent in met:
        if spent >= NORMAL.parameters.share * whole:
            contest = SettingSearch(spaces[operation[0]], strategy=strategy)
            measured.try_settings("main", args, force=force, thresholds={}, searches={
                operation: partial(contest.search, "", 1.0, seconds * spent / whole)})
            chosen |= contest.space.named(contest.best())
    return chosen


def timed(program: Program, args: Sequence[Any], runs: Sequence[Run],
          samples: int = 10) -> list[float]:
    """The medians of up to so many samples in microseconds, fewer if they take over a second.

    The runs are timed in turn, so that a drift of the clock frequency meets them alike.
    """
    found: list[list[float]] = [[] for _ in runs]
    measured = MeasuredProgram(program)
    for run in runs:
        measured.time("main", args, force=run.force, thresholds=run.settings)
    started = time.perf_counter()
    while len(found[0]) < samples and (not found[0] or time.perf_counter() - started < 1):
        for times, run in zip(found, runs, strict=True):
            times.append(measured.time("main", args, force=run.force, thresholds=run.settings))
    return [median(times) * 1e6 for times in found]


if __name__ == "__main__":
    main()
