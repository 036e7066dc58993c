"""``runelift test --all-versions``: versions that cannot run, or take too long, are named."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main

SLOW = """
-- ==
-- compiled input { [[1i64, 2i64], [3i64, 4i64]] 3i64 }
-- compiled input { [[1i64, 2i64], [3i64, 4i64]] 40000000i64 }
entry main [n][m] (xss: [n][m]i64) (k: i64): [n]i64 =
  map (\\xs -> i64.sum (map (\\x -> loop y = x for i < k do (y * 3 + i) % 1000003) xs)) xss
"""
LONG_ROWS = """
-- ==
-- compiled input { 600000i64 }
-- input { 10i64 }
entry main (m: i64): [2]f32 =
  map (\\x -> f32.maximum (scan (+) 0 (map ((+ x) <-< f32.i64) (iota m)))) [1, 2]
"""
ODD = """
-- ==
-- input { 1000i64 }
entry main (m: i64): [2]i32 =
  map (\\k -> reduce (-) 0 (map (\\j -> i32.i64 (j * k)) (iota m))) [1, 2]
"""


def outcomes(path: Path, text: str, capsys: pytest.CaptureFixture[str], *options: str
             ) -> tuple[int, str]:
    path.write_text(text)
    status = main(["test", "--all-versions", "--device", "pocl", *options, str(path)])
    return status, capsys.readouterr().out


def test_a_slow_version_is_given_up_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                              ) -> None:
    started = time.perf_counter()
    status, out = outcomes(tmp_path / "slow.fut", SLOW, capsys, "--version-limit", "200ms")
    assert status == 0, out
    assert time.perf_counter() - started < 120
    for version in ("V1", "V2", "V3"):
        assert f"{version} did not run: given up, timeout: not over after 0.2 s (main: " in out
    assert "2 passed, 0 failed" in out


def test_a_version_that_cannot_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                            ) -> None:
    status, out = outcomes(tmp_path / "rows.fut", LONG_ROWS, capsys)
    assert status == 0, out
    assert "V2 did not run: no work-group of this device is large enough" in out
    assert "main: 600000i64" in out
    assert "and 1 more" not in out
    status, out = outcomes(tmp_path / "rows.fut", LONG_ROWS, capsys, "--json")
    first, second = json.loads(out)["result"]
    assert list(first["not_run"]) == ["V2"]
    assert second["not_run"] == {}


def test_the_version_that_differs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                           ) -> None:
    status, out = outcomes(tmp_path / "odd.fut", ODD, capsys)
    assert status == 1
    assert "FAILED: with V" in out or "FAILED: the value" in out


def test_a_limit_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slow.fut").write_text(SLOW)
    assert main(["test", "--version-limit", "soon", str(tmp_path / "slow.fut")]) == 1
    assert "'soon' is no time limit" in capsys.readouterr().err
