"""Limits count from the start of what they limit, for versions that never end, too."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runelift.runtime.tuner.measure.time_limits import TimeLimit

ENDLESS = """
-- ==
-- "a" input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
entry main [n][m] (xss: [n][m]i32) =
  map (\\xs -> reduce (+) 0 (map (\\x -> loop x while x != 0 do (if x == 7 then 1 else x * 2) | 1)
                                xs)) xss
"""


@pytest.mark.parametrize("options", [["--time-limit", "1s"], ["--budget", "6s"]])
def test_versions_that_never_end_are_given_up(tmp_path: Path, options: list[str]) -> None:
    """The default version, which runs first, is one of them."""
    program = tmp_path / "p.fut"
    program.write_text(ENDLESS)
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "runelift", "autotune", "--device", "pocl",
                           "--runs", "1", *options, str(program)], check=False, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == ("no dataset has times of all versions" in done.stderr)
    assert time.monotonic() - started < 40
    lines = (tmp_path / "p.fut.tuning.log").read_text().splitlines()
    assert "not over after" in json.loads(lines[0])["error"]


def test_a_run_has_no_more_time_than_is_left() -> None:
    """But the least that any run is given."""
    limit = TimeLimit(least=2.0, first=600.0)
    assert limit.after(None) == 600.0
    now = time.perf_counter()
    assert replace(limit, end=now + 5).after(None) == pytest.approx(5.0, abs=0.5)
    assert replace(limit, end=now + 5).after(0.1) == 2.0
    assert replace(limit, end=now - 5).after(None) == 2.0
