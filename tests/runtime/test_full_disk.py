"""A disk that is full at the n-th write, for every n: no abort, nothing lost, nothing left behind.

All files are written by one class, in which the fault is injected, as SQLite's tests do.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.written_files import Written, write_atomically
from runelift.runtime.cache import disk
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.costs.log import LoggedRun, read_log
from runelift.runtime.versions.tuning_file import read_facts, read_tuning

PROGRAM = """\
-- ==
-- "a" input { [[1f32,2f32],[3f32,4f32]] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 (map (*2) xs)) xss
"""
ENOUGH = 40
"""More writes than any command below makes."""


class Disk:
    """A disk that takes so many writes, the next one by half, and nothing after that."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have all files written to it."""
        known = Written.write

        def write(file: Written, content: Any) -> int:
            self.left -= 1
            if self.left < 0:
                if self.left == -1:
                    known(file, memoryview(content)[:len(content) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            return known(file, content)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Written, "write", write)
            yield

    @property
    def was_full(self) -> bool:
        """True if a write has failed."""
        return self.left < 0


def content(folder: Path) -> dict[str, bytes]:
    """The files in a folder, without the cache."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*")
            if each.is_file() and "cache" not in each.parts}


def runs_in(log: Path) -> list[LoggedRun]:
    """The runs in a log, if there is one."""
    return [run for found in read_log(log).values() for run in found.runs] if log.exists() else []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.fut").write_text(PROGRAM)
    (tmp_path / "in").write_text("[[1f32, 2f32]]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    return tmp_path


COMMANDS = {
    "fmt": (["fmt", "p.fut"], "p.fut"),
    "dataset": (["dataset", "[1000]i32", "[20]f32", "-o", "out"], "out"),
    "packed": (["dataset", "[1000]i32", "-o", "out.in.gz"], "out.in.gz"),
    "npz": (["dataset", "[1000]i32", "[20]f32", "-o", "out.npz"], "out.npz"),
    "explain": (["explain", "p.fut", "--html", "out.html"], "out.html"),
    "stubs": (["stubs", "p.fut", "-o", "out.pyi"], "out.pyi"),
    "literate": (["literate", "p.fut", "-o", "out.md"], "out.md"),
    "run": (["run", "p.fut", "-i", "in"], ""),
}


@pytest.mark.parametrize(("command", "output"), COMMANDS.values(), ids=COMMANDS)
def test_each_write(command: list[str], output: str, folder: Path,
                    capsys: pytest.CaptureFixture[str]) -> None:
    """The file is the old one until all of the new one is on the disk."""
    if output:
        (folder / output).write_bytes(PROGRAM.encode())
    before = content(folder)
    for writes in range(ENOUGH):
        full = Disk(writes)
        with full.used():
            status = main(command)
        said = capsys.readouterr().err
        if not full.was_full:
            assert status == 0
            return
        if output:
            assert (status, "No space left" in said) == (1, True), said
        else:  # only the cache: its loss costs time
            assert (status, said) == (0, "")
        assert content(folder) == before
        assert "Traceback" not in said
    pytest.fail("there are more writes")


def test_each_write_of_a_tuning(folder: Path, sweeps: bool, capsys: pytest.CaptureFixture[str]
                                ) -> None:
    """The log keeps what it has, the files of the tuning are old or new."""
    command = ["autotune", "p.fut", "--effort", "quick", "--no-verify", "--no-parameters",
               "--runs", "1", "--resume", "--html", "p.html"]
    log, tuning = folder / "p.fut.tuning.log", folder / "p.fut.tuning"
    counts = itertools.count() if sweeps else iter((0, 2, 9, ENOUGH * 10))
    for writes in counts:
        runs = runs_in(log)
        full = Disk(writes)
        with full.used():
            status = main(command)
        said = capsys.readouterr().err
        assert status == (1 if "Cannot write" in said else 0), said
        assert "Traceback" not in said
        assert runs_in(log)[:len(runs)] == runs
        for path in (tuning, folder / "p.fut.tuning.json"):
            if path.exists():
                read_tuning(path) if path == tuning else read_facts(path)
        assert {*content(folder)} <= {"p.fut", "in", "p.html", *(
            f"p.fut.tuning{end}" for end in ("", ".json", ".log"))}
        if not full.was_full:
            assert json.loads((folder / "p.fut.tuning.json").read_text())["entries"]
            return


def test_each_write_of_the_cache(folder: Path) -> None:
    """What it has is whole, or not there."""
    for writes in range(3):
        full = Disk(writes)
        with full.used():
            disk.store("kind", "name", b"x" * 100_000)
        found = disk.load("kind", "name")
        assert found == (None if full.was_full else b"x" * 100_000)
        assert [each.name for each in (folder / "cache").rglob("*") if each.is_file()] == (
            [] if full.was_full else ["name"])


@pytest.mark.parametrize("special", ["/dev/null", "/dev/full", "pipe"])
def test_no_device_is_replaced(special: str, tmp_path: Path,
                               capsys: pytest.CaptureFixture[str]) -> None:
    """The administrator could replace '/dev/null' by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    target = pipe if special == "pipe" else Path(special)
    (tmp_path / "p.fut").write_text(PROGRAM)
    assert main(["explain", str(tmp_path / "p.fut"), "--html", str(target)]) == 1
    assert "not a file" in capsys.readouterr().err
    assert not target.is_file()


def test_a_link_is_replaced(tmp_path: Path) -> None:
    """What it leads to stays as it is."""
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "precious").read_text() == "kept"
    assert not (tmp_path / "link").is_symlink()
