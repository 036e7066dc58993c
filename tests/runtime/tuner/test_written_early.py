"""What a tuning has found is on disk before it goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner import autotune
from tests.runtime.tuner.costs.test_log import TEXT


@pytest.mark.parametrize("dies_in", range(1, len(autotune.STAGES)))
def test_a_stage_that_dies_loses_nothing_of_those_before(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_in: int) -> None:
    """Every later step is optional; the file says that the tuning was not over."""
    program = tmp_path / "p.fut"
    program.write_text(TEXT)

    def die(*given: object) -> None:
        raise UserError("it died")

    stages = list(autotune.STAGES)
    stages[dies_in] = die  # type: ignore[call-overload]
    monkeypatch.setattr(autotune, "STAGES", tuple(stages))
    assert main(["autotune", "--device", "pocl", "--runs", "1", str(program)]) == 1
    assert (tmp_path / "p.fut.tuning").exists()
    assert json.loads((tmp_path / "p.fut.tuning.json").read_text())["unfinished"]
    assert main(["test", "--device", "pocl", str(program)]) == 0
    if dies_in not in (1, len(stages) - 1):
        return  # the least and the most that a file can have are enough
    monkeypatch.undo()
    assert main(["autotune", "--device", "pocl", "--runs", "1", "--no-parameters",
                 str(program)]) == 0
    assert "unfinished" not in json.loads((tmp_path / "p.fut.tuning.json").read_text())


def test_an_interruption_after_a_file_is_written_stays_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is not taken for a file that cannot be written."""
    path, replace = tmp_path / "p.fut.tuning", os.replace

    def interrupted(source: str, target: Path) -> None:
        replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "a=1\n")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
