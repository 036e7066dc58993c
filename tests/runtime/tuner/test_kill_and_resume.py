"""A tuning that is killed, for real, and one that goes on with its log."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from runelift.runtime.tuner.costs.log import read_log
from runelift.runtime.tuner.policy import NORMAL
from tests.runtime.tuner.killed_tunings import KilledTuning

TEXT = """
-- ==
-- "a" random input { [200][30]i32 }
-- "b" random input { [30][200]i32 }
-- "c" random input { [3][2000]i32 }
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss
"""
REPEATS = 15


@pytest.mark.sweep
def test_a_killed_tuning_measures_nothing_twice(tmp_path: Path) -> None:
    """Killed while the second dataset is measured: what is in the log is not run again."""
    program = tmp_path / "p.fut"
    program.write_text(TEXT)
    log = tmp_path / "p.fut.tuning.log"
    command = [sys.executable, "-m", "runelift", "autotune", "--device", "pocl", "--no-parameters",
               "--runs", str(REPEATS), str(program)]
    tuner = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while tuner.poll() is None and not (log.exists() and '"dataset": "b"' in log.read_text()):
        time.sleep(0.01)
    tuner.kill()
    assert tuner.wait() == -9
    assert not (tmp_path / "p.fut.tuning").exists()
    before = read_log(log)["main"].runs
    assert {run.dataset for run in before} == {"a", "b"}

    subprocess.run([*command, "--resume"], check=True, stdout=subprocess.DEVNULL)
    after = read_log(log)["main"].runs
    assert after[:len(before)] == before
    counts = Counter((run.dataset, *run.force.items()) for run in after)
    assert len(counts) == 9
    assert max(counts.values()) <= NORMAL.repetition.short_factor * REPEATS
    assert not any(run.dataset == "a" for run in after[len(before):])
    facts = json.loads((tmp_path / "p.fut.tuning.json").read_text())
    assert set(facts["entries"]["main"]["datasets"]) == {"a", "b", "c"}
    assert not facts["interrupted"]


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("number", range(12))
def test_a_tuning_that_is_killed_at_any_moment_goes_on(tmp_path: Path, number: int) -> None:
    """Nothing is lost, and no process is left; ``killed_tunings.py`` does many more."""
    it = KilledTuning(number, tmp_path)
    assert not list(it.kill())
    assert not list(it.finish())


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("number", range(12))
def test_a_tuning_that_is_killed_in_a_write_of_its_log_goes_on(tmp_path: Path, number: int
                                                               ) -> None:
    """What is in the log is counted, be its last line whole, half, or without its end."""
    it = KilledTuning(number, tmp_path)
    assert not list(it.kill_in_write(number))
    assert not list(it.finish())
