"""The time that tuning takes, beside Futhark's autotuner on the same device.

``python benchmarks/tuning.py --futhark FUTHARK [--theirs FOLDER] [--device NAME]
[--programs NAME...] [--sittings N] [--limit SECONDS] [--json OUT]``

Both tune the same program text for the datasets of the anchor rows.  With a folder of the public
futhark-benchmarks the peer tunes the text found there, if any.

A *sitting* begins with empty caches, also of the OpenCL driver.  It is a run of
``futhark autotune`` (which compiles the program first) and one of
``runelift autotune --no-parameters``.  Then each runs once more with what the first have left in
these caches.

The figures are seconds from start to end of the processes, medians over the sittings.  A run of the
peer that takes longer than the limit is ended and counts as the limit, with ``>``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from common import EXAMPLES, parser_of, write_json
from compare import VOLATILITY
from start import compile_modules, empty_caches

from runelift.runtime.devices.info import select
from runelift.runtime.records.statistics import median


@dataclass(frozen=True, slots=True)
class Datasets:
    """The datasets of a program: the tag ``random`` or nothing, and what each has in braces.

    ``theirs`` is the peer's own program in a folder of its benchmarks, with the same datasets as
    it takes them.
    """

    entry: str
    tag: str
    inputs: tuple[str, ...]
    theirs: tuple[str, Datasets] | None = None


def _numbers(*values: str) -> str:
    return " ".join((*values, *VOLATILITY))


PROGRAMS = {
    "lud": Datasets("dominant", "", ("32i64", "128i64", "512i64", "2048i64"),
                    ("rodinia/lud/lud.fut", Datasets("main", "random ", tuple(
                        f"[{n}][{n}]f32" for n in (32, 128, 512, 2048))))),
    "LocVolCalib": Datasets("main", "", (_numbers("16i64", "32i64", "256i64", "256i64"),
                                         _numbers("128i64", "256i64", "32i64", "64i64"),
                                         _numbers("256i64", "256i64", "256i64", "64i64")),
                            ("finpar/LocVolCalib.fut", Datasets("main", "", (
                                _numbers("16", "32", "256", "256"),
                                _numbers("128", "256", "32", "64"),
                                _numbers("256", "256", "256", "64"))))),
    "matmul": Datasets("main", "random ", ("[1024][1024]f32 [1024][1024]f32",
                                           "[4096][4096]f32 [4096][4096]f32",
                                           "[16][1048576]f32 [1048576][16]f32",
                                           "[262144][64]f32 [64][16]f32",
                                           "[32][64]f32 [64][32]f32")),
    "mapscan": Datasets("main", "random ", ("[1048576][16]i32", "[16][1048576]i32",
                                            "[4096][4096]i32", "[65536][256]i32")),
}


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds that a tuner took, and whether it was ended at the limit; ``said`` if it failed."""

    seconds: float
    ended: bool
    said: str


def main() -> None:
    """Print a row for each program."""
    parser = parser_of(__doc__)
    parser.add_argument("--futhark", type=Path, help="the peer's compiler (default: without it)")
    parser.add_argument("--theirs", type=Path, metavar="FOLDER",
                        help="the peer's benchmarks: it tunes its own texts")
    parser.add_argument("--futhark-device", metavar="NAME",
                        help="what the peer calls the device (default: the same)")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--sittings", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS")
    options = parser.parse_args()
    device = select(options.device)
    if device is None:
        parser.error("the interpreter has nothing to tune")
    print(f"device: {device.label}")
    compile_modules()
    print(f"{'program':14}{'':8}{'peer':>9}{'ours':>9}{'ratio':>8}  seconds")
    found = []
    for name in options.programs:
        sittings = [_sitting(name, options) for _ in range(options.sittings)]
        for state in ("cold", "built"):
            runs = {who: [sitting[who, state] for sitting in sittings if (who, state) in sitting]
                    for who in ("peer", "ours")}
            _show(name, state, runs)
            found += [{"program": name, "state": state, "who": who, "seconds": run.seconds,
                       "ended": run.ended, "said": run.said}
                      for who, all_runs in runs.items() for run in all_runs]
    write_json(options.json, found)


def _show(name: str, state: str, runs: dict[str, list[Run]]) -> None:
    """Print a row, and the failures."""
    columns, times = "", {}
    for who, all_runs in runs.items():
        times[who] = median([run.seconds for run in all_runs]) if all_runs else None
        text = "-" if times[who] is None else f"{times[who]:.2f}"
        columns += f"{'>' * any(run.ended for run in all_runs) + text:>9}"
    peer, ours = times["peer"], times["ours"]
    ratio = "" if peer is None or ours is None else f"{peer / ours:.2f}"
    every = " ".join(f"{run.seconds:.2f}" for run in runs["ours"])
    print(f"{name:14}{state:8}{columns}{ratio:>8}  ours {every}", flush=True)
    for who, all_runs in runs.items():
        for run in all_runs:
            if run.said:
                print(f"    {who}: {run.said}", flush=True)


def _sitting(name: str, options: argparse.Namespace) -> dict[tuple[str, str], Run]:
    """Run both tuners, cold and built."""
    found: dict[tuple[str, str], Run] = {}
    theirs = PROGRAMS[name].theirs
    texts = dict.fromkeys(("peer", "ours"), (EXAMPLES / f"{name}.fut", PROGRAMS[name]))
    if options.theirs is not None and theirs is not None:
        texts["peer"] = options.theirs / theirs[0], theirs[1]
    environment = dict[str, dict[str, str]]()
    with tempfile.TemporaryDirectory() as folder:
        for who in ("peer", "ours"):
            environment[who] = empty_caches(Path(folder, who))
            text, datasets = texts[who]
            Path(folder, who, f"{name}.fut").write_text(with_datasets(text.read_text(), datasets))
        for state in ("cold", "built"):
            if options.futhark is not None:
                device = options.futhark_device or options.device
                chosen = [f"--pass-option=--device={device}"] if device else []
                found["peer", state] = _run(
                    [str(options.futhark), "autotune", f"--futhark={options.futhark}", *chosen,
                     f"{name}.fut"], Path(folder, "peer"), environment["peer"], options.limit)
            chosen = ["--device", options.device] if options.device else []
            found["ours", state] = _run(
                [sys.executable, "-m", "runelift", "autotune", f"{name}.fut", "--no-parameters",
                 "-o", f"{state}.tuning", *chosen],
                Path(folder, "ours"), environment["ours"], options.limit)
    return found


def with_datasets(text: str, datasets: Datasets) -> str:
    """The program with these datasets as its only test block."""
    kept: list[str] = []
    in_block = False
    for line in text.splitlines():
        in_block = line.startswith("--") and (in_block or line.startswith("-- =="))
        if not in_block:
            kept.append(line)
    block = ["-- Tuned for the datasets of the anchor rows.", "-- ==",
             f"-- entry: {datasets.entry}",
             *(f"-- {datasets.tag}input {{ {each} }}" for each in datasets.inputs), ""]
    return "\n".join([*block, *kept]) + "\n"


def _run(command: list[str], place: Path, environment: dict[str, str], limit: float) -> Run:
    """Run a tuner to its end, or to the limit."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=place, env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # with the programs it runs
        process.communicate()
        return Run(limit, True, "")
    seconds = time.perf_counter() - started
    return Run(seconds, False, said.strip()[-600:] if process.returncode else "")


if __name__ == "__main__":
    main()
