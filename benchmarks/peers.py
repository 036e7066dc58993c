"""Programs compiled by Futhark as servers, and calls of them.

A server reads commands and answers each with lines up to an end mark; its program and its values
stay on the device between calls.  Source: Futhark's user's guide, "Server protocol".
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from runelift.ir.base.errors import UserError
from runelift.runtime.data.values import write_values

END, FAILURE = "%%% OK", "%%% FAILURE"
MEMORY = Path("/dev/shm")
"""A folder whose files are in memory, on Linux."""


def compiled_name(program: str) -> str:
    """The file name of a compiled program, from its path without its suffix."""
    return program.replace("/", "+")


def build(futhark: str, source: Path, target: Path, limit: float) -> str | None:
    """Compile a program as a server for OpenCL; the error if that fails."""
    try:
        done = subprocess.run([futhark, "opencl", "--server", str(source), "-o", str(target)],
                              check=False, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"not compiled in {limit:g} s"
    target.with_name(target.name + ".c").unlink(missing_ok=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    subprocess.run(["strip", str(target)], check=False)
    return None


class Peer:
    """A running server.  Each command has a time limit, after which the server is ended."""

    def __init__(self, program: Path, options: Sequence[str], limit: float) -> None:
        self._limit = limit
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        started = time.perf_counter()
        self._process = subprocess.Popen([str(program), *options], text=True, stderr=self._log,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._held: list[tuple[Any, str]] = []
        self._count = 0
        self._answer()
        self.start_seconds = time.perf_counter() - started

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def place(self, entry: str, values: Sequence[Any]) -> list[str]:
        """The names of values on the device.  Those placed last are used again if they are equal.

        Equal means that they are the same objects: they stay alive as long as they are held.
        """
        types = [each.lstrip("*") for each in self.ask(f"inputs {entry}")]
        if len(types) != len(values):
            raise UserError(f"the peer's '{entry}' has {len(types)} parameters, not {len(values)}")
        before, self._held = self._held, []
        for value, kind in zip(values, types, strict=True):
            at = next((at for at, each in enumerate(before) if each[0] is value), None)
            same = None if at is None else before.pop(at)
            self._held.append(same or (value, self._restore(value, kind)))
        if before:
            self.ask("free " + " ".join(name for _, name in before))
        return [name for _, name in self._held]

    def _restore(self, value: Any, kind: str) -> str:
        self._count += 1
        name = f"in{self._count}"
        with tempfile.NamedTemporaryFile(dir=MEMORY if MEMORY.exists() else None) as file:
            write_values([value], cast("BinaryIO", file), binary=True)
            file.flush()
            self.ask(f"restore {file.name} {name} {kind}")
        return name

    def prepare(self, entry: str, values: Sequence[Any]) -> Callable[[], float]:
        """A function that calls an entry point and returns its microseconds.

        Inputs that a call consumes are placed again before the next one.
        """
        consumed = any(each.startswith("*") for each in self.ask(f"inputs {entry}"))
        names = self.place(entry, values)

        def run() -> float:
            nonlocal names
            if consumed:
                self.forget()
                names = self.place(entry, values)
            return self.call(entry, names)
        return run

    def call(self, entry: str, names: Sequence[str]) -> float:
        """Microseconds of a call, as the server measures them; its results are thrown away."""
        outputs = [f"out{number}" for number, _ in enumerate(self.ask(f"outputs {entry}"))]
        lines = self.ask(" ".join(["call", entry, *outputs, *names]))
        self.ask(" ".join(["free", *outputs]))
        return max(float(line.removeprefix("runtime:")) for line in lines
                   if line.startswith("runtime:"))

    def forget(self) -> None:
        """Free all values."""
        if self._held:
            self.ask("free " + " ".join(name for _, name in self._held))
            self._held = []

    def peak(self) -> int:
        """The most bytes of device memory so far."""
        found = json.loads("".join(self.ask("report")))["memory"]
        return max((int(size) for size in found.values()), default=0)

    def ask(self, command: str) -> list[str]:
        """The lines that answer a command; UserError if it failed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except OSError:
            self._fail("the peer ended")
        return self._answer()

    def _answer(self) -> list[str]:
        """The lines of an answer; UserError if the server failed, ended or took too long."""
        assert self._process.stdout is not None
        timer = threading.Timer(self._limit, self._process.kill)
        timer.start()
        lines: list[str] = []
        try:
            for line in self._process.stdout:
                if line.strip() == END:
                    break
                lines.append(line.strip())
            else:
                self._fail("the peer ended, or took too long")
        finally:
            timer.cancel()
        if FAILURE in lines:
            raise UserError("the peer failed: " + " ".join(lines[lines.index(FAILURE) + 1 :])[:200])
        return lines

    def _fail(self, message: str) -> None:
        self._process.kill()
        self._log.seek(0)
        tail = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
        raise UserError(": ".join([message, *tail])[:200])
