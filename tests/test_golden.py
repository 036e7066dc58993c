"""What the stages of small programs look like: a change of a pass shows in these files.

``pytest tests/test_golden.py --regenerate-golden`` writes them anew; look at the difference.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import runelift

PROGRAMS = sorted((Path(__file__).parent / "golden").glob("*.fut"))
STAGES = [(path, stage) for path in PROGRAMS for stage in
          path.read_text().splitlines()[0].removeprefix("-- stages:").split()]


def renumbered(text: str) -> str:
    """The text with its names numbered as they come, so that it says nothing of other names."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]}_{numbers.setdefault(match[2], len(numbers) + 1)}"

    return re.sub(r"\b([A-Za-z]\w*?'?)_(\d+)\b", number, text)


@pytest.mark.parametrize(("path", "stage"), STAGES, ids=lambda x: getattr(x, "stem", x))
def test_stage(path: Path, stage: str, pytestconfig: pytest.Config) -> None:
    program = runelift.compile(path, device="interpreter", tuning={})
    text = renumbered(program.source(stage)).replace(str(path), path.name)
    golden = path.with_suffix(f".{stage}")
    if pytestconfig.getoption("--regenerate-golden"):
        golden.write_text(text)
    assert text == golden.read_text(), f"{golden.name} differs"
