"""Files of every kind: open pipes work, other pipes and devices are refused."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_bytes, read_source, require_file
from runelift.runtime.data.values import load_values
from runelift.runtime.tuner.costs.log import read_log
from runelift.runtime.versions.tuning_file import read_facts, read_tuning, schedule_of
from tests.time_limit import time_limit

READERS = (load_values, read_source, read_bytes, require_file, read_tuning, read_log, read_facts,
           schedule_of)
"""All that read files of users."""


def test_an_open_pipe_is_read() -> None:
    """As in 'runelift run p.fut -i <(other command)'."""
    ours, theirs = os.pipe()
    os.write(theirs, b"[1, 2]")
    os.close(theirs)
    (found,) = load_values(Path(f"/dev/fd/{ours}"))
    os.close(ours)
    assert found.tolist() == [1, 2]


@pytest.mark.parametrize("reader", READERS)
def test_only_files_are_read(reader: Callable[[Path], object], tmp_path: Path) -> None:
    """A pipe without a writer and a device without an end are refused at once."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    with time_limit(2):
        for path in (tmp_path / "pipe", tmp_path / "link", tmp_path / "socket", Path("/dev/zero"),
                     Path("/dev/null")):
            with pytest.raises(UserError, match=r"Cannot read .*(, not a file|No such device)"):
                reader(path)
    server.close()


def test_large_files(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(UserError, match="more than"):
        read_bytes(tmp_path / "sparse")


@pytest.mark.parametrize(("name", "message"), [
    ("", "Is a directory"), ("none", "No such file"), ("a\0b", "null"), ("x" * 999, "too long")])
def test_what_is_no_file(name: str, message: str, tmp_path: Path) -> None:
    for reader in (load_values, read_source):
        with pytest.raises(UserError, match=f"Cannot read .*{message}"):
            reader(tmp_path / name)
