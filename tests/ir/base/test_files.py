"""Files of every kind: pipes work, endless devices do not fill the memory."""

import os
import threading
from pathlib import Path

import pytest

from runelift.ir.base import files
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_bytes, read_source
from runelift.runtime.data.values import load_values


def test_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"[1, 2]",))
    writer.start()
    (found,) = load_values(tmp_path / "pipe")
    writer.join()
    assert found.tolist() == [1, 2]


def test_endless_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TYPED", 1 << 20)
    with pytest.raises(UserError, match="neither text"):
        load_values(Path("/dev/zero"))
    with pytest.raises(UserError, match="more than 1 MiB"):
        read_source(Path("/dev/zero"))


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
