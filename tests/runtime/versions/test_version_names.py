"""Names of versions on the command line, in reports and in messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.version_names import (
    described_version,
    names_of_plan,
    plan_of,
    version_name,
    with_version_names,
)
from tests.runtime.tuner.simulated import Simulated, site

FOREST = Simulated.of(
    [site("s", ("t0", []), (None, [site("u", ("t1", []), (None, []))])), site("w", (None, []))],
    lambda where, index, par: 1.0).forest


def test_versions_are_named_as_in_the_tree() -> None:
    outer = FOREST.trees[0]
    assert [version_name(each) for each in outer.alternatives] == ["V1", "V2 to V3"]
    assert [described_version(each) for each in outer.alternatives] == ["V1 (outer)", "V2 to V3"]
    assert [names_of_plan(FOREST, plan) for plan in plans(FOREST)] == ["V1, V4", "V2, V4",
                                                                       "V3, V4"]
    assert names_of_plan(FOREST, {}) == "default"


@pytest.mark.parametrize(("text", "plan"), [
    ("V1", {"s": 0}), ("V3", {"s": 1, "u": 1}), ("v4", {"w": 0}), ("s=V2", {"s": 1, "u": 0}),
    ("u=V2", {"u": 0}), ("s=1", {"s": 1}), ("u=0", {"u": 0})])
def test_a_name_or_an_index_forces_a_version(text: str, plan: dict[str, int]) -> None:
    assert plan_of(FOREST, text) == plan


@pytest.mark.parametrize(("text", "message"), [
    ("s=2", "Site 's' has the versions V1 to V3, not 2."),
    ("u=V1", "Site 'u' has the versions V2 to V3, not V1."),
    ("w=7", "Site 'w' has the version V4, not 7."),
    ("x=V1", "no site 'x'; it has s, u, w."),
    ("V9", "The program has the versions V1 to V4, not V9."),
    ("2", "should be a version"), ("V0", "should be a version"), ("s=-1", "should be a version")])
def test_other_versions_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_of(FOREST, text)


def test_messages_have_names_in_place_of_sites_and_indices() -> None:
    assert with_version_names("version s/0, w/0: timeout: not over after 2 s", FOREST) == (
        "V1, V4: timeout: not over after 2 s")
    assert with_version_names("version s/1, u/0, w/0: timeout", FOREST) == "V2, V4: timeout"
    text = "s/1 cannot run: its results differ from those of version s/0: 3"
    assert with_version_names(text, FOREST) == (
        "V2 to V3 cannot run: its results differ from those of V1: 3")
    for text in ("see x/0", "Cannot read 'a/s/0'.", "s/9: none", "12/25/2025"):
        assert with_version_names(text, FOREST) == text


def test_records_name_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, values = tmp_path / "p.fut", tmp_path / "x.in"
    program.write_text("entry main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss")
    values.write_text("[[1, 2], [3, 4]]")
    for force in ("V2", "main.versions_0=1"):
        assert main(["run", str(program), "-i", str(values), "--device", "pocl", "--force", force,
                     "--record"]) == 0
        found = capsys.readouterr()
        assert found.out == "[3i32, 7i32]\n"
        assert found.err.startswith("main.versions_0 V2: ")
