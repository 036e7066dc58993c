"""A program with a choice, for tests of tuning files and reports; what is compiled."""

from pathlib import Path

import pytest

from runelift.ir.source import Source
from runelift.runtime import compiler
from runelift.runtime.device import select

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


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The files that this process compiles, with an empty cache."""
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    found: list[str] = []
    compile_source = compiler.compile_source

    def noted(source: Source, **options: object) -> object:
        found.append(Path(source.name).name)
        return compile_source(source, **options)

    monkeypatch.setattr(compiler, "compile_source", noted)
    return found


@pytest.fixture
def driver() -> str:
    """PoCL, which is a library like NVIDIA's driver."""
    info = select("pocl")
    assert info is not None
    driver = next((line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()
                   if "libpocl" in line), None)
    if driver is None:
        pytest.skip("PoCL is another library here")
    return driver
