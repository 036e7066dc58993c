"""Programs of which every version runs, in another process, on Oclgrind if need be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPORTS = ("data race", "Invalid read", "Invalid write", "divergence", "Uninitialized")


def run_tests(program: Path, device: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The tests of a program in all versions."""
    command = [sys.executable, "-m", "runelift", "test", "--all-versions", "--device", device,
               str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def check_sanitized(program: Path, simulator: str) -> None:
    """All tests pass, and the simulator reports nothing, races neither."""
    done = run_tests(program, simulator, OCLGRIND_DATA_RACES="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout
    found = [line for line in done.stderr.splitlines() if any(r in line for r in REPORTS)]
    assert found == []
