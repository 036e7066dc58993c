"""What a tuning has found is on disk before it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runelift.__main__ import main
from runelift.ir.errors import UserError
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
    monkeypatch.undo()
    assert main(["autotune", "--device", "pocl", "--runs", "1", "--no-parameters",
                 str(program)]) == 0
    assert "unfinished" not in json.loads((tmp_path / "p.fut.tuning.json").read_text())
