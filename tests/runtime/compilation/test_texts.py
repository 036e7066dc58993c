"""Texts of kernels on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.execution import kernels

TEXT = """
entry main [n] (xs: [n]i32): i32 = 3 * i32.sum (map (+ 1) xs)
entry other [n] (xs: [n]i32): [n]i32 = map (* 2) xs
"""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts written so far."""
    found: list[str] = []
    write = kernels.program_text

    def note(*args: object, **options: object) -> str:
        found.append(write(*args, **options))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(kernels, "program_text", note)
    return found


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RUNELIFT_KEEP", raising=False)
    (tmp_path / "p.fut").write_text(TEXT)
    return tmp_path / "p.fut"


def total(path: Path, entry: str = "main") -> object:
    program = runelift.compile(path, device="pocl", tuning={})
    return getattr(program, entry)(np.arange(5, dtype=np.int32))


def test_texts_are_written_in_the_first_run_of_an_entry_point(
        path: Path, written: list[str]) -> None:
    assert total(path) == 45
    assert written
    del written[:]
    assert total(path) == 45
    assert not written
    assert list(total(path, "other")) == [0, 2, 4, 6, 8]  # type: ignore[call-overload]
    assert written
    del written[:]
    total(path)
    total(path, "other")
    assert not written


def test_a_changed_program_has_other_texts(path: Path, written: list[str]) -> None:
    total(path)
    del written[:]
    path.write_text(path.read_text().replace("3 *", "4 *").replace("(+ 1)", "(+ 2)"))
    assert total(path) == 80
    assert written


@pytest.mark.parametrize("damaged", [b"", b"nonsense", [1, 2]])
def test_damaged_texts_are_written_anew(path: Path, written: list[str], damaged: object) -> None:
    total(path)
    program = runelift.compile(path, device="pocl", tuning={})
    entry = ProgramEntry.of(program.compiled.source, "all")
    entry.texts.store(damaged)
    del written[:]
    assert total(path) == 45
    assert written
