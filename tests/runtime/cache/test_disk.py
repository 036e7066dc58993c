"""Files of the cache: full disks, damage, other users, links."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import runelift.codegen.emit.opencl
import runelift.frontend.load
import runelift.ir.syntax
import runelift.rewrite.pipeline
from runelift.runtime.cache import disk, private
from runelift.runtime.cache.inventory import inventory, remove
from runelift.runtime.research import dask_cluster

NAME, OTHER = "a" * 64, "b" * 64
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users and modes")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cache"
    monkeypatch.setenv(disk.VARIABLE, str(found))
    monkeypatch.delenv("RUNELIFT_CACHE_REFUSED", raising=False)
    return found


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_the_fingerprint_covers_every_package() -> None:
    modules = (runelift.ir.syntax, runelift.frontend.load, runelift.rewrite.pipeline,
               runelift.codegen.emit.opencl, disk)
    for module in modules:
        assert any(Path(str(module.__file__)).is_relative_to(f) for f in disk.folders()), module


@pytest.mark.parametrize("room", range(len(disk.ROOMS)))
def test_a_changed_file_of_any_package_changes_the_fingerprint(
        room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / name for name in disk.ROOMS]
    for place in places:
        place.mkdir()
        (place / "module.py").write_text("x = 1")
    monkeypatch.setattr(disk, "folders", lambda: places)
    found = set[str]()
    for text in ("x = 1", "x = 2 + 3"):
        (places[room] / "module.py").write_text(text)
        monkeypatch.setattr(disk, "_fingerprint", [])
        found |= {disk.fingerprint(), dask_cluster.edition()}
    assert len(found) == 4


def test_a_file_comes_back(folder: Path) -> None:
    disk.store("kernels", NAME, b"content")
    assert disk.load("kernels", NAME) == b"content"
    assert disk.exists("kernels", NAME)
    assert disk.has_any("kernels")
    assert disk.starts_with("kernels", NAME, b"cont")
    assert not disk.starts_with("kernels", NAME, b"cone")
    assert files(folder) == [f"kernels/{NAME}"]


@posix
def test_folders_and_files_are_for_the_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        disk.store("entries/x", NAME, b"content")
    finally:
        os.umask(before)
    for each in (folder, *folder.rglob("*")):
        assert each.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_full_disk_leaves_nothing_behind(step: str, folder: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "replace":
        monkeypatch.setattr(os, "replace", full)
        disk.store("kernels", NAME, b"content")
    else:
        code = ("import resource; from runelift.runtime.cache import disk\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                f"disk.store('kernels', {NAME!r}, bytes(100_000))")
        subprocess.run([sys.executable, "-c", code], check=True)
    assert files(folder) == []
    assert disk.load("kernels", NAME) is None
    monkeypatch.undo()
    monkeypatch.setenv(disk.VARIABLE, str(folder))
    disk.store("kernels", NAME, b"content")
    assert disk.load("kernels", NAME) == b"content"


def test_an_interrupted_write_leaves_nothing_behind(folder: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        disk.store("kernels", NAME, b"content")
    assert files(folder) == []


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(b""), lambda path: path.write_bytes(path.read_bytes()[:-1]),
    lambda path: path.write_bytes(path.read_bytes()[:20]),
    lambda path: path.write_bytes(os.urandom(200)),
    lambda path: (path.unlink(), path.mkdir()),
    lambda path: (path.unlink(), os.mkfifo(path)),
    lambda path: (path.rename(path.with_name("other")), path.symlink_to("other")),
    lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    lambda path: path.chmod(0o666),
])
@posix
def test_what_is_damaged_or_no_file_of_ours_is_missing(
        damage: Callable[[Path], object], folder: Path) -> None:
    disk.store("kernels", NAME, b"content")
    damage(folder / "kernels" / NAME)
    assert disk.load("kernels", NAME) is None


@posix
@pytest.mark.parametrize("kind", ["", "kernels"])
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(
        mode: int, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk.store("kernels", NAME, b"content")
    disk._trusted.clear()
    (folder / kind).chmod(mode)
    assert disk.load("kernels", NAME) is None
    disk.store("kernels", OTHER, b"content")
    assert files(folder) == [f"kernels/{NAME}"]
    _, said = capsys.readouterr()
    assert said.count("is not used: other users can write to it") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the root user")
def test_the_folder_of_another_user_is_not_used(
        folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(0o700)
    os.chown(folder, 65534, 65534)
    disk.store("kernels", NAME, b"content")
    assert disk.load("kernels", NAME) is None
    assert files(folder) == []
    assert capsys.readouterr().err.count(private.FOREIGN) == 1


def test_a_file_in_place_of_the_folder_is_said(folder: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    folder.write_text("mine")
    disk.store("kernels", NAME, b"content")
    assert disk.load("kernels", NAME) is None
    assert folder.read_text() == "mine"
    assert "it is not a folder" in capsys.readouterr().err


def test_without_a_home_nothing_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(disk.VARIABLE, raising=False)
    monkeypatch.setattr(disk.platformdirs, "user_cache_dir", lambda name: f"~/.cache/{name}")
    monkeypatch.chdir(tmp_path)
    disk.store("kernels", NAME, b"content")
    assert disk.load("kernels", NAME) is None
    assert not list(tmp_path.iterdir())


def test_threads_that_write_one_file_leave_one(folder: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=disk.store, args=("kernels", NAME, each))
               for each in contents]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert disk.load("kernels", NAME) in contents
    assert files(folder) == [f"kernels/{NAME}"]


def test_only_files_of_the_cache_are_removed(folder: Path, tmp_path: Path) -> None:
    for kind in ("kernels", "trials", f"entries/{NAME}"):
        disk.store(kind, "compiled" if "/" in kind else NAME, b"content")
    (folder / "kernels" / f"{private.TEMPORARY}00ff").write_bytes(b"left")
    (folder / "mine").mkdir()
    (folder / "mine" / NAME).write_text("mine")
    (folder / "kernels" / "notes").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / NAME).write_text("mine")
    (folder / "entries" / OTHER).symlink_to(tmp_path / "elsewhere")
    (folder / "kernels" / OTHER).symlink_to(tmp_path / "elsewhere" / NAME)
    found = inventory(folder)
    assert {kind: found.count(kind) for kind in found.files} == {
        "kernels": 1, "trials": 1, "entries": 1, "left": 1}
    assert found.others == 4
    assert found.size("left") == 4
    assert remove(found) == found
    assert files(folder) == [f"kernels/{OTHER}", "kernels/notes", f"mine/{NAME}"]
    assert (tmp_path / "elsewhere" / NAME).read_text() == "mine"
    assert not (folder / "trials").exists()
