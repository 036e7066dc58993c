"""``explain schedule`` says beside a step what it undoes, and where its copies are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main

DISTANCES = """
entry dist [n][m][d] (a: [n][d]f32) (b: [m][d]f32) (w: [d]f32): [n][m]f32 =
  map (\\p -> map (\\q -> f32.sum (map3 (\\x y z -> z * (x - y) * (x - y)) p q w)) b) a
"""
PRODUCT = """
entry main [n][m][k] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\\row -> map (\\col -> f32.sum (map2 (*) row col)) (transpose b)) a
"""
BLOCK = """
fuse
dist.ys ab_tile(32, 32)
dist.ys.ys.ys tile_map_reduce(8)
dist.ys.ys.ys.ys ab_tile(4, 4)
dist.ys.ys.ys privatise()
"""


class Explained:
    """The lines of ``explain schedule``, by the step that they stand behind."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str], text: str, schedule: str
                 ) -> None:
        program, steps = path / "p.fut", path / "p.schedule"
        program.write_text(text)
        steps.write_text(schedule)
        self.args = ["explain", "schedule", "--file", str(steps), str(program)]
        self.capsys = capsys
        main(self.args)
        self.lines = capsys.readouterr().out.splitlines()

    def behind(self, step: str) -> str:
        """The line behind a step."""
        return self.lines[self.lines.index(step) + 1]

    @property
    def has_block(self) -> bool:
        """True if a nest is one kernel."""
        return any("is one kernel" in line for line in self.lines)

    def result(self) -> dict[str, object]:
        """The content of ``--json``."""
        main([*self.args, "--json"])
        found: dict[str, object] = json.loads(self.capsys.readouterr().out)["result"]
        return found


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """A function that explains a program with a schedule."""
    return lambda text, schedule: Explained(tmp_path, capsys, text, schedule)


@pytest.mark.parametrize("place", ["x", "x[1]", "x[2]"])
@pytest.mark.parametrize("space", ["global", "local", "private"])
def test_a_placement_keeps_the_block_or_says_that_it_does_not(  # type: ignore[no-untyped-def]
        explain, place: str, space: str) -> None:
    step = f"dist.ys.ys.ys.{place} materialise({space})"
    found = explain(DISTANCES, f"{BLOCK}{step}\n")
    keeps = space == "private" or (space == "local" and place != "x[2]")
    assert found.has_block is keeps
    assert found.behind(step).startswith("-- This ends the block of dist.ys: ") is not keeps
    assert found.result()["said"] == {} if keeps else step in found.result()["said"]


@pytest.mark.parametrize("step", [
    "dist.ys.ys.ys.ys interchange()", "dist.ys.ys.ys.ys ab_tile(2, 2)",
    "dist.ys split_join(2)", "dist.ys.ys.ys.ys pad_extra(4)"])
def test_any_other_step_says_that_it_ends_the_block(  # type: ignore[no-untyped-def]
        explain, step: str) -> None:
    found = explain(DISTANCES, f"{BLOCK}{step}\n")
    assert not found.has_block
    assert "This ends the block of dist.ys: " in found.behind(step)


@pytest.mark.parametrize("space", ["local", "private"])
def test_copies_outside_of_maps_are_said_to_be_global(explain, space: str  # type: ignore[no-untyped-def]
                                                      ) -> None:
    step = f"main.ys tile_map_reduce(4, {space})"
    found = explain(PRODUCT, f"fuse\n{step}\n")
    said = found.result()["said"][step]
    assert len(said) == 2
    assert all("is a buffer in global memory, [" in each for each in said)
    assert found.behind(step) == f"-- {said[0]}."


def test_copies_of_a_group_are_not_said_to_be_global(explain) -> None:  # type: ignore[no-untyped-def]
    schedule = "fuse\nmain.ys ab_tile(16, 16)\nmain.ys.ys.ys tile_map_reduce(4, local)\n"
    found = explain(PRODUCT, schedule)
    assert found.result()["said"] == {}
    assert found.result()["copied"] == {"main.ys": ["a", "b"]}
    assert found.has_block
