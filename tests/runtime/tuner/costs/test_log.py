"""The log of a tuning: written by one process at a time, and never lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.tuner.costs import log as logs
from runelift.runtime.tuner.costs.log import Log, LoggedRun, read_log

TEXT = """
-- ==
-- "a" input { [[1i32, 2i32], [3i32, 4i32]] }
-- "b" input { [[1i32, 2i32, 3i32, 4i32]] }
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss
"""


def run(dataset: str) -> LoggedRun:
    """A run that failed."""
    return LoggedRun(dataset, {"main.versions_0": 1}, None, "it failed")


def written(path: Path, *datasets: str) -> None:
    """Write a log."""
    log = Log(path, "this")
    for each in datasets:
        log.append("main", run(each))
    log.close()


@pytest.mark.parametrize("resume", [False, True])
def test_a_log_has_one_writer(tmp_path: Path, resume: bool) -> None:
    """Another one is refused, and changes nothing."""
    path = tmp_path / "log"
    written(path, "a")
    first = Log(path, "this", resume=resume)
    first.append("main", run("b"))
    for again in (False, True):
        with pytest.raises(UserError, match="Another tuning is writing"):
            Log(path, "this", resume=again)
    first.close()
    assert [each.dataset for each in read_log(path)["main"].runs] == ["a", "b"][not resume:]
    Log(path, "this").close()


def test_a_resumed_log_is_whole_at_any_time(tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while the earlier runs are written again, it has all of them.

    They are written again where runs of another program are left out.
    """
    path = tmp_path / "log"
    written(path, "a", "b")
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[0].replace('"this"', '"other"') + "\n")
    with path.open("a") as file:
        file.write('{"entry": "ma')
    raw, seen = logs._raw, list[list[str]]()

    def look(each: LoggedRun) -> object:
        seen.append([found.dataset for found in read_log(path, "this")["main"].runs])
        return raw(each)

    monkeypatch.setattr(logs, "_raw", look)
    log = Log(path, "this", resume=True)
    log.close()
    assert seen == [["a", "b"]] * 2
    assert path.read_text().count("\n") == 2
    assert [each.name for each in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize("cut", [0, 1, *range(2, 400, 20)])
def test_a_log_only_grows(tmp_path: Path, cut: int) -> None:
    """Wherever a kill ends it: what was written whole stays, byte for byte."""
    path = tmp_path / "log"
    written(path, "a", "b", "c")
    content = path.read_bytes()
    path.write_bytes(content[:max(0, len(content) - cut)])
    whole = path.read_bytes()
    if not (complete := cut == 1):
        whole = whole[:whole.rfind(b"\n") + 1]
    known = [each.dataset for each in read_log(path)["main"].runs] if whole else []
    log = Log(path, "this", resume=True)
    log.append("main", run("d"))
    log.forget("main", "a")
    log.close()
    assert path.read_bytes().startswith(whole + b"\n" * complete)
    assert [each.dataset for each in read_log(path)["main"].runs] == [
        each for each in [*known, "d"] if each != "a"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A log in place of which somebody has put a link, a pipe or a device."""
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "loose").symlink_to(tmp_path / "made")
    os.mkfifo(tmp_path / "pipe")
    for resume in (False, True):
        for name, why in (("link", "it is a link"), ("loose", "it is a link"),
                          ("pipe", "it is a pipe")):
            with pytest.raises(UserError, match=f"Cannot write '.*{name}': {why}"):
                Log(tmp_path / name, "this", resume=resume)
    assert (tmp_path / "precious").read_text() == "kept"
    assert not (tmp_path / "made").exists()


def test_a_full_disk_leaves_no_broken_lines(tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines after half a line would be malformed."""
    path = tmp_path / "log"
    log = Log(path, "this")
    flush, full = log._file.flush, [True]

    def fail() -> None:
        flush()
        if full:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(log._file, "flush", fail, raising=False)

    def write() -> None:
        log.append("main", run("a"))
        log.append("main", run("b"))
        log._writer.shutdown()
        full.clear()
        log.close()

    with pytest.raises(UserError, match="No space left"):  # at the next line, or at the end
        write()
    assert path.read_text().count("\n") == 1


@pytest.mark.parametrize("together", [4])
def test_tunings_of_one_program_at_a_time(tmp_path: Path, together: int) -> None:
    """One of them has the log, and the others say so; or they come one after the other."""
    program = tmp_path / "p.fut"
    program.write_text(TEXT)
    command = [sys.executable, "-m", "runelift", "autotune", "--device", "pocl",
               "--no-parameters", str(program)]
    tunings = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True) for _ in range(together)]
    said = [each.communicate()[1] for each in tunings]
    statuses = Counter(each.returncode for each in tunings)
    assert set(statuses) <= {0, 1}
    assert statuses[0] >= 1
    for each, errors in zip(tunings, said, strict=True):
        assert ("Another tuning is writing" in errors) == (each.returncode == 1), errors
    found = read_log(tmp_path / "p.fut.tuning.log")["main"]
    assert set(found.datasets) == {"a", "b"}
    assert {each.name for each in tmp_path.iterdir()} == {"p.fut", *(
        f"p.fut.tuning{end}" for end in ("", ".log", ".json"))}
