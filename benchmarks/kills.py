"""Kill commands at random moments, or close their terminals, and look for processes they leave.

``python -m benchmarks.kills [--kills N] [--jobs N] [--seed N]``

Each command runs an endless program, or one that takes long.  Two seconds after its end there must
be no process of it.  Prints each command that leaves some, and the number of all kills.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "RUNELIFT_KILLED"
"""A variable in the environment of a command and of all processes that it starts."""
LEFT_SECONDS = 2.0
"""The seconds after which no process is left."""
LATEST_SECONDS = 6.0
"""Kills come within so many seconds."""
ENDLESS = """\
-- ==
-- "a" input { 5i64 } output { 3i64 }
-- "b" input { 6i64 } output { 3i64 }
entry main (n: i64) : i64 = loop x = n while x > 0 do (x % 7) + 1
"""
LONG = """\
-- ==
-- "a" random input { [200][300]i32 }
-- "b" random input { [30][2000]i32 }
entry main [n][m] (xss: [n][m]i32) = map (\\xs -> reduce (+) 0 (scan (+) 1 xs)) xss
"""
EVALUATION = """
import runelift.runtime.tools.editors.evaluation as it
text = "entry main = 1i32\\n-- >>> loop x = 5 while x > 0 do (x % 7) + 1\\n"
(asked,) = it.evaluations(text)
it.result_lines(text, "p.fut", asked)
"""
"""The work of the language server on a comment that the user runs."""
CALL = "import runelift; runelift.compile('e.fut', device='interpreter').main(5)"
COMMANDS: Sequence[Sequence[str]] = (
    ("run", "e.fut", "-i", "in"), ("run", "--device", "interpreter", "e.fut", "-i", "in"),
    ("bench", "e.fut"), ("profile", "e.fut", "-i", "in"), ("autotune", "p.fut"),
    ("autotune", "e.fut", "--time-limit", "none"), ("autotune", "p.fut", "--schedules", "30s"),
    ("tune-compare", "p.fut"), ("rerun", "r.json"), ("demo",), ("test", "e.fut", "--interpreter"),
    ("test", "e.fut", "p.fut", "--interpreter", "--jobs", "2"), ("test", "p.fut", "--all-versions"),
    ("test", "p.fut", "--check-races"), ("test", "e.fut", "--sanitize"), ("doctor",), ("devices",),
    ("explain", "p.fut"), ("dump", "p.fut"), ("check", "p.fut"), ("repl",), ("lsp",),
    ("-c", EVALUATION), ("-c", CALL))


@dataclass
class Killed:
    """A command that is killed after a random time, in a new folder."""

    number: int
    seed: int

    def __post_init__(self) -> None:
        numbers = random.Random(f"{self.seed} {self.number}")
        self.command = COMMANDS[self.number % len(COMMANDS)]
        self.seconds = numbers.random() * LATEST_SECONDS
        self.closes = numbers.random() < 0.5
        self.mark = f"{os.getpid()}.{self.seed}.{self.number}"

    def left(self) -> list[str]:
        """The command lines of processes that are left, after they have been ended."""
        with tempfile.TemporaryDirectory() as folder:
            self._kill(Path(folder))
            time.sleep(LEFT_SECONDS)
            found = processes(self.mark)
            for process, _ in found:
                os.kill(process, signal.SIGKILL)
        return [line for _, line in found]

    def _kill(self, folder: Path) -> None:
        """Start the command, and end it by a kill or by closing its terminal."""
        for name, text in (("e.fut", ENDLESS), ("p.fut", LONG), ("in", "5i64"),
                           ("r.json", '{"command": ["test", "e.fut", "--json"]}')):
            (folder / name).write_text(text)
        start = () if self.command[0] == "-c" else ("-m", "runelift")
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-P", *start, *self.command], cwd=folder, stdin=theirs,
            stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=take_terminal, env={**os.environ, MARK: self.mark})
        os.close(theirs)
        time.sleep(self.seconds)
        if not self.closes:
            process.send_signal(signal.SIGKILL)
        os.close(ours)
        with suppress(subprocess.TimeoutExpired):  # it is found among those that are left
            process.wait(LEFT_SECONDS)


def take_terminal() -> None:
    """Let the standard input be the terminal of this session, so that its end is a hang-up."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def processes(mark: str) -> list[tuple[int, str]]:
    """The processes with a mark that have not ended, with their command lines."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and f"{MARK}={mark}".encode() in (
                    each / "environ").read_bytes().split(b"\0"):
                line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(each.name), line[-200:]))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def main() -> int:
    """Kill so many commands; the exit status is 1 if any has left a process."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    wrong = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        killed = [Killed(number, args.seed) for number in range(args.kills)]
        for each, left in zip(killed, pool.map(Killed.left, killed), strict=True):
            if left:
                wrong += 1
                how = "its terminal was closed" if each.closes else "it was killed"
                print(f"{each.number}: {' '.join(each.command)[:60]!r} left {left}, when {how} "
                      f"after {each.seconds:.1f} s", flush=True)
    print(f"{args.kills} kills and closings, {wrong} left processes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
