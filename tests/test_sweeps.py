"""The quick suite leaves nothing out but cases of sweeps, and ``--sweeps`` leaves out nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHOSEN, SWEPT

ROOT = Path(__file__).parents[1]
FILE = "tests/test_mutations.py"
WHOLLY = {"tests/runtime/tuner/test_kill_and_resume.py::"
          "test_a_killed_tuning_measures_nothing_twice",
          "tests/runtime/tuner/kernel_parameters/test_tune.py::"
          "test_the_nearest_setting_has_values_that_go_together",
          "tests/runtime/geometry/test_parameter_space.py::"
          "test_what_does_not_fit_the_device_is_in_no_space",
          "tests/test_site.py::test_it_builds_without_warnings"}
"""Tests that the quick suite does not run at all."""


def collected(*options: str) -> tuple[int, str]:
    """The number of tests of a file, and all that pytest says."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *options], cwd=ROOT, check=False,
        capture_output=True, text=True)
    return len(re.findall(r"^ *<Function test_", done.stdout, re.M)), done.stdout


def test_sweeps_are_left_out_and_run_when_asked_for() -> None:
    few, quick = collected(FILE)
    many, full = collected(FILE, "--sweeps")
    assert 0 < few < many
    assert f"{many - few} deselected" in quick
    assert "quick suite" in quick
    assert "deselected" not in full
    assert "all tests" in full


def test_parts_of_sweeps_make_up_the_whole() -> None:
    (few, _), (many, _) = collected(FILE), collected(FILE, "--sweeps")
    parts = [collected(FILE, "--sweeps-part", f"{n}/2")[0] for n in (1, 2)]
    assert sum(parts) == many + few
    assert min(parts) > few


def test_a_sweep_that_is_named_runs() -> None:
    count, said = collected(f"{FILE}::test_mutated_programs")
    assert count > 0
    assert "deselected" not in said


def test_every_sweep_has_cases_in_the_quick_suite(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.stash[SWEPT] - pytestconfig.stash[CHOSEN] <= WHOLLY
