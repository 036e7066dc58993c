"""Tunings of small programs that are killed at random moments, and go on with their logs.

``python -m tests.runtime.tuner.killed_tunings [--tunings N] [--kills N] [--device NAME]
[--writes]``

With ``--writes``, the k-th tuning is killed in the k-th write of its log, of which a part is done.
Prints the slowest tuning, and each that is wrong: it takes more than a minute, does not go on,
loses a run of its log, or leaves a process behind.  Each program has a cold cache.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runelift.runtime.tuner.costs.log import LoggedRun, read_log

LONGEST = 60.0
"""The seconds that a tuning of a small program may take."""
LEFT_SECONDS = 2.0
"""The seconds after which no process of a killed tuning is left."""
USUAL_SECONDS = 8.0
"""Kills come within so many seconds."""
PARTS = 0.0, 0.5, 1.0
"""The parts of a write that are done before a kill; a last one lacks the end of a line only."""
KILLED_WRITE = """
import os, signal, sys
from runelift.ir.base.written_files import Written
from runelift.runtime.tools.commands.cli import main

known, left, part = Written.write, int(sys.argv[1]), float(sys.argv[2])

def write(file, content):
    global left
    if os.readlink(f"/proc/self/fd/{file.fileno()}").endswith(".tuning.log"):
        if not left:
            content = memoryview(content)
            known(file, content[:len(content) - 1 if part > 1 else int(part * len(content))])
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
    return known(file, content)

Written.write = write
sys.exit(main(sys.argv[3:]))
"""
"""A program that is killed in its n-th write of a log, after a part of it is done."""
MARK = "RUNELIFT_KILLED_TUNING"
"""A variable in the environment of a tuning and of all processes that it starts."""
BODIES = (
    "map (\\xs -> reduce (+) 0 (map (* {a}) xs)) xss",
    "loop xss = copy xss for i < {a} do map (\\xs -> let s = reduce (+) 0 xs"
    " in map (\\x -> x * 3 + s) (scan (+) 0 xs)) xss",
    "map (\\xs -> let ys = scan (+) 0 xs in reduce i32.max {a} ys) xss",
    "let sums = map (\\xs -> reduce (+) {a} xs) xss in map (\\xs -> map2 (+) xs (scan (+) 0 xs)) "
    "(map2 (\\xs s -> map (+ s) xs) xss sums)",
    "map (\\xs -> reduce_by_index (replicate {a} 0) (+) 0"
    " (map (\\x -> i64.i32 x % {a}) xs) xs) xss",
    "map (\\xs -> map (\\x -> loop x for _i < {a} do x * 5 + 1) (scan i32.max 0 xs))"
    " (transpose xss)",
)


def program_text(number: int, numbers: random.Random) -> str:
    """A small program with three datasets, unlike those of other numbers."""
    sizes = [(2, 3), (3, 2), (1, 8), (40, 5), (5, 40), (16, 16)]
    data = "".join(f'-- "{name}" random input {{ [{n}][{m}]i32 }}\n'
                   for name, (n, m) in zip("abc", numbers.sample(sizes, 3), strict=True))
    body = BODIES[number % len(BODIES)].format(a=2 + number // len(BODIES) % 50)
    return f"-- ==\n{data}entry main [n][m] (xss: [n][m]i32) =\n  {body}\n"


def processes(mark: str) -> list[int]:
    """The processes with a mark that have not ended."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and f"{MARK}={mark}".encode() in (each / "environ").read_bytes():
                found.append(int(each.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


@dataclass
class KilledTuning:
    """A tuning of a program of its own."""

    number: int
    folder: Path
    device: str = "pocl"
    seed: int = 0

    def __post_init__(self) -> None:
        self.numbers = random.Random(f"{self.seed} {self.number}")
        self.program = self.folder / f"p{self.number}.fut"
        self.program.write_text(program_text(self.number, self.numbers))
        self.mark = f"{os.getpid()}.{self.seed}.{self.number}"

    def start(self, write: tuple[int, float] | None = None) -> subprocess.Popen[str]:
        """Start it, or let it go on, until a ``write`` of the log of which a part is done."""
        program = ["-m", "runelift"] if write is None else [
            "-c", KILLED_WRITE, *map(str, write)]
        command = [sys.executable, *program, "autotune", "--device", self.device,
                   "--resume", str(self.program)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={**os.environ, MARK: self.mark, "RUNELIFT_CACHE":
                                                str(self.folder / f"cache{self.number}")})

    def logged(self) -> list[LoggedRun]:
        """The runs in its log."""
        log = Path(f"{self.program}.tuning.log")
        return [run for found in read_log(log).values() for run in found.runs] if (
            log.exists()) else []

    def text(self) -> str:
        """The whole lines of its log."""
        log = Path(f"{self.program}.tuning.log")
        return "".join(re.findall(r".*\n", log.read_text())) if log.exists() else ""

    def kill(self) -> Iterator[str]:
        """Kill it after a random time; the result is all that is wrong then."""
        tuner = self.start()
        time.sleep(self.numbers.random() * USUAL_SECONDS)
        tuner.kill()
        killed = time.monotonic()
        tuner.communicate()
        if time.monotonic() - killed > LEFT_SECONDS:
            yield "a process holds the output"
        if left := self.left(killed):
            yield f"processes are left: {left}"

    def left(self, killed: float) -> list[int]:
        """The processes that are left so long after it was killed, or ended."""
        while (found := processes(self.mark)) and time.monotonic() < killed + LEFT_SECONDS:
            time.sleep(0.02)
        return found

    def kill_in_write(self, number: int) -> Iterator[str]:
        """Kill it in a write of its log; the result is all that is wrong then."""
        said, _ = self.start((number, self.numbers.choice((*PARTS, 2.0)))).communicate()
        runs, lines = len(self.logged()), self.text().count("\n")
        if runs not in (lines, lines + 1):
            yield f"the log has {runs} runs in {lines} lines: {said}"
        if left := self.left(time.monotonic()):
            yield f"processes are left: {left}"

    def finish(self) -> Iterator[str]:
        """Let it go on to its end; the result is all that is wrong then."""
        before, text, started = self.logged(), self.text(), time.monotonic()
        tuner = self.start()
        try:
            said, _ = tuner.communicate(timeout=2 * LONGEST)
        except subprocess.TimeoutExpired:
            tuner.kill()
            said, _ = tuner.communicate()
        self.seconds = time.monotonic() - started
        if self.seconds > LONGEST:
            yield f"it takes {self.seconds:.0f} s"
        if tuner.returncode != 0:
            yield f"it ends with {tuner.returncode}: {said}"
        if not self.text().startswith(text):
            yield f"the log has not only grown: {self.text()[:len(text)]!r} was {text!r}"
        if (after := self.logged())[:len(before)] != before:
            changed = [two for two in zip(before, after, strict=False) if two[0] != two[1]]
            yield f"runs are lost: {len(before)} were {len(after)} later; changed: {changed[:1]}"
        if not Path(f"{self.program}.tuning").exists():
            yield "no tuning file"
        if left := self.left(time.monotonic()):
            yield f"processes are left: {left}"
        if strays := [each.name for each in self.folder.glob(f"{self.program.name}.*")
                      if each.suffix not in (".tuning", ".log", ".json")]:
            yield f"files are left: {strays}"

    def clean(self) -> None:
        """Remove its cache."""
        shutil.rmtree(self.folder / f"cache{self.number}", ignore_errors=True)


def main() -> None:
    """Run so many tunings and kills, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tunings", type=int, default=300)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--device", default="pocl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writes", action="store_true")
    args = parser.parse_args()
    wrong, slowest = 0, (0.0, 0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(max(args.tunings, args.kills)):
            it = KilledTuning(number, Path(folder), args.device, args.seed)
            problems = [] if number >= args.kills else list(
                it.kill_in_write(number) if args.writes else it.kill())
            problems += it.finish()
            it.clean()
            wrong += bool(problems)
            slowest = max(slowest, (it.seconds, number))
            for problem in problems:
                print(f"{number}: {problem}", flush=True)
            if number % 10 == 9:
                print(f"{number + 1} tunings, {wrong} wrong; the slowest took {slowest[0]:.1f} s "
                      f"(number {slowest[1]})", flush=True)


if __name__ == "__main__":
    main()
