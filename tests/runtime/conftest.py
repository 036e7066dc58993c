"""A program with a choice, for tests of tuning files and reports."""

from pathlib import Path

import pytest

ROWS = """\
-- ==
-- "wide" random input { [8][512]f32 }
-- "tall" random input { [512][8]f32 }
entry main [n][m] (xss: [n][m]f32) = map (reduce (+) 0) xss
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Sums of rows, with two datasets."""
    file = tmp_path / "rows.fut"
    file.write_text(ROWS)
    return file
