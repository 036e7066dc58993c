"""Drivers that are registered by files in a private folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runelift.runtime.cache import disk
from runelift.runtime.devices.info import _vendors

FILES = {"one.icd": b"libone.so\n", "two.icd": b"libtwo.so\n"}


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_each_set_of_drivers_has_a_folder(cache: Path) -> None:
    folder = _vendors(FILES)
    assert contents(folder) == FILES
    assert folder.is_relative_to(cache)
    assert folder.stat().st_mode & 0o077 == 0
    assert _vendors(FILES) == folder
    (folder / "one.icd").unlink()
    (folder / "one.icd").symlink_to(cache.parent / "evil.icd")
    (cache.parent / "evil.icd").write_bytes(b"evil.so\n")
    other = _vendors(FILES)
    assert contents(other) == FILES
    assert (cache.parent / "evil.icd").read_bytes() == b"evil.so\n"
    assert _vendors({"one.icd": b"libone.so\n"}) != folder


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes")
@pytest.mark.parametrize("mode", [0o777, None])
def test_without_a_cache_the_folder_is_temporary(mode: int | None, cache: Path) -> None:
    if mode is None:
        cache.write_text("a file")
    else:
        cache.mkdir()
        cache.chmod(mode)
    folder = _vendors(FILES)
    assert contents(folder) == FILES
    assert not folder.is_relative_to(cache)
    assert folder.stat().st_mode & 0o077 == 0
