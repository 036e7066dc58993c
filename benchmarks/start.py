"""Time commands from the start of a process: short commands, and the first answer of each example.

``python benchmarks/start.py [--device NAME] [--only PART] [--lines N] [--runs N] [--json OUT]``

Each run is a separate process.  First ``runelift --help``, and ``runelift check`` of an empty
program and of one with N lines: medians of processor time and wall time, in milliseconds.

Then ``runelift run`` on the first test input of each example, in seconds of wall time.  Cold:
neither Runelift's caches nor the OpenCL driver's hold anything.  Warm: the median of N more runs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from common import EXAMPLES, parser_of, write_json
from made_program import made

from runelift.runtime.data.values import format_values
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.records.statistics import median
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import cases_of

CACHES = ("RUNELIFT_CACHE", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME")
IMPORT_ALL = """
import contextlib, importlib, pkgutil, runelift
for each in pkgutil.walk_packages(runelift.__path__, "runelift."):
    with contextlib.suppress(ImportError):  # of packages that are optional
        importlib.import_module(each.name)
"""
"""Has Python compile the modules, as it does when a package is installed."""


def main() -> None:
    """Print a row for each example."""
    parser = parser_of(__doc__, "a part of the name of an example")
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    compile_modules()
    found += _short_commands(options.lines, options.runs)
    print(f"\n{'program':20}{'cold':>8}{'warm':>8}  seconds to the first answer")
    for path in sorted(EXAMPLES.glob("*.fut")):
        if options.only not in path.stem:
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = _command(path, Path(folder), options.device)
            environment = empty_caches(Path(folder))
            cold, *warm = [_seconds(command, environment) for _ in range(1 + options.runs)]
        found.append({"program": path.stem, "cold": cold, "warm": median(warm)})
        print(f"{path.stem:20}{cold:>8.2f}{median(warm):>8.2f}", flush=True)
    if programs := [each for each in found if "cold" in each]:
        print(f"{'slowest':20}{max(f['cold'] for f in programs):>8.2f}"
              f"{max(f['warm'] for f in programs):>8.2f}")
    write_json(options.json, found)


def _short_commands(lines: int, runs: int) -> list[dict[str, Any]]:
    """The times of commands that run nothing on a device, printed as they are found."""
    found: list[dict[str, Any]] = []
    print(f"{'command':20}{'processor':>12}{'wall':>8}  milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        short, long = Path(folder, "short.fut"), Path(folder, "long.fut")
        short.write_text("entry main (x: i32) = x\n")
        long.write_text(made(lines))
        for name, arguments in (("--help", ["--help"]), ("check, 1 line", ["check", str(short)]),
                                (f"check, {lines} lines", ["check", str(long)])):
            times = [_processor_time([sys.executable, "-m", "runelift", *arguments])
                     for _ in range(2 * runs + 1)]
            processor, wall = (1e3 * median(each) for each in zip(*times, strict=True))
            found.append({"command": name, "processor": processor, "wall": wall})
            print(f"{name:20}{processor:>12.0f}{wall:>8.0f}", flush=True)
    return found


def _processor_time(command: list[str]) -> tuple[float, float]:
    """The seconds of processor time, and of wall time, of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = _seconds(command, _keeping())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def compile_modules() -> None:
    """Have Python compile all modules, so that no process that is timed does."""
    subprocess.run([sys.executable, "-c", IMPORT_ALL], env=_keeping(), check=True)


def empty_caches(folder: Path) -> dict[str, str]:
    """The variables of processes whose caches are in this folder, and hold nothing."""
    for name in CACHES:
        (folder / name).mkdir(parents=True)
    return {**_keeping(), **{name: str(folder / name) for name in CACHES}}


def _keeping() -> dict[str, str]:
    """The variables of this process, but that Python keeps what it compiles."""
    return {name: value for name, value in os.environ.items()
            if name != "PYTHONDONTWRITEBYTECODE"}


def _command(path: Path, folder: Path, device: str | None) -> list[str]:
    """The command that runs a program on the first of its test inputs."""
    program = compile_program(path, device="interpreter")
    case = next(cases_of(program.compiled.source))
    entry = case.entries[0]
    prims = [p.prim for p in program.interface(entry).params]
    inputs = folder / "inputs"
    scripts = partial(evaluate, program=program.compiled.source, device=None)
    inputs.write_bytes(format_values(case.arguments(scripts, prims), binary=True))
    chosen = ["--device", device] if device else []
    return [sys.executable, "-m", "runelift", "run", str(path), "--entry", entry,
            "--input", str(inputs), *chosen]


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
