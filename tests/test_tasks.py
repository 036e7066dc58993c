"""The tasks of users, written down as scripts: each runs, and each step prints what it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.task_scripts import STEP, TASKS, run

SCRIPTS = sorted(path for path in TASKS.iterdir() if path.suffix in {".sh", ".py"})
QUICK = ("notebook",)
"""Those that the quick suite runs."""


@pytest.mark.sweep(keep=[*QUICK])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_step_shows_what_it_promises(script: Path, tmp_path: Path) -> None:
    steps = run(script, tmp_path)
    assert {f"{step.number}. {step.title}": step.missing for step in steps if step.missing} == {}
    assert sum("see" in step.title for step in steps) > len(steps) // 2


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_steps_are_numbered(script: Path) -> None:
    assert [int(number) for number, _ in STEP.findall(script.read_text())] == list(
        range(1, 1 + len(STEP.findall(script.read_text()))))


def test_the_page_lists_all_with_their_steps() -> None:
    rows = re.findall(r"^\| .*\]\(tasks/([\w.]+)\) \|.*\| (\d+) steps",
                      (TASKS.parent / "tasks.md").read_text(), re.M)
    assert sorted(rows) == [(path.name, str(len(STEP.findall(path.read_text()))))
                            for path in SCRIPTS]
