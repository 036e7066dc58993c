"""``runelift cache``."""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from pathlib import Path

import pytest

from runelift.runtime.cache import disk
from runelift.runtime.cache.inventory import inventory
from runelift.runtime.tools.commands.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cache"
    monkeypatch.setenv(disk.VARIABLE, str(found))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path / "nvidia"))
    disk.store("kernels", "c" * 64, bytes(2_000_000 - disk.CHECKSUM_BYTES))
    disk.store("trials", "c" * 64, b"content")
    return found


def test_files_are_shown_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert str(folder) in shown
    assert [line.split(maxsplit=3) for line in shown.splitlines()[1:]] == [
        ["1", "2.0", "MB", "binaries of kernels"],
        ["1", "39", "B", "results of probes of devices"], ["2", "2.0", "MB", "in all"]]
    assert main(["cache", "clear", "--json"]) == 0
    removed = json.loads(capsys.readouterr().out)["result"]
    assert removed["kinds"]["kernels"] == {"files": 1, "bytes": 2_000_000}
    assert not folder.exists()
    assert main(["cache", "info"]) == 0
    assert "0 B  in all" in capsys.readouterr().out


def test_every_kind_of_file_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path))
    root = Path(disk.__file__).parents[1]
    kinds = {vars(import_module(".".join(
        ("runelift.runtime", *path.relative_to(root).with_suffix("").parts))))[name]
        for path in root.rglob("*.py")
        for name in re.findall(r"disk\.store\((\w+), ", path.read_text())}
    assert len(kinds) >= 6
    for kind in kinds:
        disk.store(kind, disk.key(kind), b"content")
    found = inventory(tmp_path)
    assert {kind: found.count(kind) for kind in found.files} == dict.fromkeys(kinds, 1)
    assert found.others == 0


def test_kernels_that_drivers_keep_are_shown_and_left(
        folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "pocl" / "AB" / "kernel.so"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(bytes(3000))
    assert main(["cache", "info"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["1", "3.0", "kB", "of", "PoCL's", "own,", "in", str(tmp_path / "pocl")]
    assert main(["cache", "info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["drivers"] == [
        {"driver": "PoCL", "folder": str(tmp_path / "pocl"), "files": 1, "bytes": 3000}]
    assert main(["cache", "clear"]) == 0
    assert kept.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the root user")
def test_the_folder_of_another_user_is_left(folder: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    os.chown(folder, 65534, 65534)
    assert main(["cache", "clear"]) == 1
    assert "it belongs to another user" in capsys.readouterr().err
    assert (folder / "kernels" / ("c" * 64)).exists()
    assert main(["cache", "info"]) == 0
    assert "It is not used" in capsys.readouterr().out
