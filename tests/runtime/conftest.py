"""A program with a choice, for tests of tuning files and reports; programs that were compiled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runelift.ir.base.source import Source
from runelift.runtime.compilation import pipeline
from runelift.runtime.devices.info import select
from runelift.runtime.processes import process

ROWS = """\
-- ==
-- "wide" random input { [8][512]f32 }
-- "tall" random input { [512][8]f32 }
entry main [n][m] (xss: [n][m]f32) = map (reduce (+) 0) xss
"""


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    """End processes that commands leave to end after this one: many tests are to come."""
    yield
    for left in list(process._outliving):
        left.end()
    process._outliving.clear()


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
    compile_source = pipeline.compile_source

    def noted(source: Source, **options: object) -> object:
        found.append(Path(source.name).name)
        return compile_source(source, **options)

    monkeypatch.setattr(pipeline, "compile_source", noted)
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
