"""Files that are damaged are answered like any mistake, in little time and memory.

``RUNELIFT_FILES`` says how many mutations of each kind ``--sweeps`` tries.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from tests.runtime.mutate_files import KINDS, MOST_GROWTH, attempt

MUTATIONS = int(os.environ.get("RUNELIFT_FILES", "2000"))
QUICK = 100


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_are_right(kind: str, tmp_path: Path) -> None:
    for seed in KINDS[kind].seeds:
        (tmp_path / "file").write_bytes(seed)
        KINDS[kind].read(tmp_path / "file")


@pytest.mark.parametrize("kind", KINDS)
def test_mutations(kind: str, tmp_path: Path, sweeps: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(MUTATIONS if sweeps else QUICK):
        content, error = attempt(kind, number, tmp_path)
        assert error is None, f"{kind} {number}: {content[:500]!r}"
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MOST_GROWTH
