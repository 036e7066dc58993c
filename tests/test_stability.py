"""What ``benchmarks/stability.py`` concludes of tunings that were made in several runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "stability.py"


def outcome(load: int, version: str, most: float = 1.2, seconds: float = 9.0) -> dict[str, Any]:
    """A tuning that called its dataset certainly faster."""
    return {"program": "rows", "load": load, "seconds": seconds, "versions": {"a": version},
            "certain": ["a"], "speedups": {"a": most}, "most": {"a": most}}


def concluded(folder: Path, *runs: list[dict[str, Any]], failed: Sequence[str] = ()
              ) -> tuple[int, str]:
    """The exit status and output of the script for files of several runs."""
    paths = list[Path]()
    for number, outcomes in enumerate(runs):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(json.dumps({"outcomes": outcomes, "failed": [*failed]}))
    done = subprocess.run([sys.executable, SCRIPT, "--join", *paths], capture_output=True,
                          text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_files_of_several_runs_are_joined(tmp_path: Path) -> None:
    status, text = concluded(tmp_path, [outcome(0, "V1")] * 9, [outcome(12, "V2")])
    assert status == 0
    assert "10 tunings; stable: rows 0.90" in text
    assert "choices of rows: 9x a V1; 1x a V2" in text
    assert "verdicts: 9 at load 0, 9 certainly faster, 0 of these refuted; 1 at load 12" in text


@pytest.mark.parametrize(("other", "failed"), [
    (outcome(12, "V2"), []),
    (outcome(0, "V1", most=0.98), []),
    (outcome(12, "V1", most=0.9), []),
    (outcome(12, "V1", seconds=80), []),
    (outcome(12, "V1"), ["autotune rows.fut: no"]),
])
def test_what_is_not_as_asked_for_is_said(other: dict[str, Any], failed: list[str], tmp_path: Path
                                          ) -> None:
    """Another choice in two of eight, a refuted verdict, a loss, a long tuning, an error."""
    assert concluded(tmp_path, [outcome(0, "V1")] * 6, [outcome(4, "V1")])[0] == 0
    assert concluded(tmp_path, [outcome(0, "V1")] * 6, [other, other], failed=failed)[0] == 1
