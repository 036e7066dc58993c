"""Pictures of segments: each element once, and the idle steps that versions are known for."""

from __future__ import annotations

import pytest

from runelift.runtime.tools.explanation.segments import (
    END,
    IDLE,
    TEAM,
    TILE,
    VERSIONS,
    picture,
)

LENGTHS = ([], [0], [3, 0, 5, 1], [0, 0, 0], [100, *[1] * 9], [7, 8, 9])


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_line_shows_each_element_once(version: str, lengths: list[int]) -> None:
    lines = picture(version, lengths).lines
    assert [sum(c not in (IDLE, END) for c in line) for line in lines] == lengths


def test_all_wait_for_the_longest_in_rows_and_in_teams() -> None:
    assert picture("row", [3, 0, 5, 1]).lines == ("aaa..", ".....", "ccccc", "d....")
    assert picture("lanes", [3, 0, 5, 1]).lines == (
        "abc.....", "........", "ijkli...", "m.......")


def test_a_group_waits_for_itself_only() -> None:
    assert picture("group", [3, 0, 5, 1]).lines == ("abc.", "", "ijkli...", "m...")


def test_tiles_run_over_ends_of_segments() -> None:
    assert picture("merge", [3, 0, 5, 1]).lines == ("aaa|", "|", "bbbcc|", "c|")
    assert picture("flat", [3, 0, 5, 1]).lines == ("aaa", "", "abbbb", "c")


def test_slabs_are_rows_that_begin_within_some_steps() -> None:
    found = picture("slabs", [3, 0, 5, 1, 12, 2])
    assert found.lines == ("aaa|", "|", "bbbcc|", "a|", "aabbbbccccdd|", "aa|")
    assert found.issued == 12 + 16 + 4


@pytest.mark.parametrize(("version", "waste"), [
    ("row", 100 * 10 / 109), ("lanes", 100 * 10 / 109), ("group", (100 + 9 * TEAM) / 109),
    ("slabs", (104 + 4 + 8 + 8) / 109), ("merge", 120 / 109), ("flat", 112 / 109)])
def test_waste_is_issued_steps_over_elements(version: str, waste: float) -> None:
    assert picture(version, [100, *[1] * 9]).waste == pytest.approx(waste)


def test_ends_of_empty_rows_are_steps_of_merge() -> None:
    assert picture("flat", [0] * 5).issued == 0
    assert picture("merge", [0] * 2 * TILE).issued == 2 * TILE
    assert {picture(version, [0] * 5).waste for version in VERSIONS} == {None}
