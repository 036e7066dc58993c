"""Test blocks in the comments of programs."""

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.runtime.tools.testing.test_blocks import (
    Block,
    Case,
    Failure,
    Random,
    cases_of,
    datasets_of,
    parse_blocks,
    training_of,
    validation_of,
)


def no_scripts(script: Source) -> NoReturn:
    raise AssertionError(script.text)


def blocks(text: str) -> tuple[Block, ...]:
    return parse_blocks(Source("dir/p.fut", text))


def case(text: str) -> Case:
    (block,) = blocks("-- ==\n" + text)
    (found,) = block.cases
    return found


def test_description_tags_and_line() -> None:
    (block,) = blocks("def x = 1\n\n-- Adds.\n-- Well.\n-- ==\n-- tags { slow big }\n")
    assert block.description == "Adds.\nWell."
    assert block.tags == {"slow", "big"}
    assert block.line == 3


def test_comments_without_separator_are_no_tests() -> None:
    assert blocks("-- input { 1 }\n\n-- a\n-- = \n") == ()


def test_entries_hold_for_the_following_cases() -> None:
    (block,) = blocks("-- ==\n-- entry: f g\n-- input { 1 } output { 2 }\n-- input { 3 }\n")
    assert [c.entries for c in block.cases] == [("f", "g")] * 2
    assert block.cases[0].expected() == [2]
    assert block.cases[1].output is None


def test_values_over_several_lines() -> None:
    found = case("-- input { [1,\n--   2]\n--   3i64 }\n-- output { 4 }\n")
    first, second = found.arguments(no_scripts)
    assert first.tolist() == [1, 2]
    assert second == np.int64(3)


def test_files_lie_beside_the_program() -> None:
    found = case("-- compiled input @ data/x.in\n-- output @ data/x.out\n")
    assert found.input == Path("dir/data/x.in")
    assert found.output == Path("dir/data/x.out")
    assert found.tags == {"compiled"}
    assert found.dataset == "x.in"


def test_random_input_and_name() -> None:
    found = case('-- "big" notest nobench random input { [3][4]f32 5i64 }\n-- auto output\n')
    assert found.named
    assert found.dataset == "big"
    assert found.tags == {"notest", "nobench"}
    assert isinstance(found.input, Random)
    assert found.output == "auto"
    array, five = found.arguments(no_scripts)
    assert array.shape == (3, 4)
    assert five == 5
    np.testing.assert_array_equal(array, found.arguments(no_scripts)[0])


def test_errors_of_runs_and_of_compilation() -> None:
    assert case("-- input { 1 }\n-- error: out of .*bounds\n").output == Failure("out of .*bounds")
    (block,) = blocks("-- ==\n-- error: Unknown variable\n")
    assert block.error == "Unknown variable"
    assert block.cases == ()


def test_structure_and_warnings_are_ignored() -> None:
    (block,) = blocks("-- ==\n-- structure gpu { SegMap 1 SegRed 0 }\n-- warning: unused\n"
                      "-- input { 1 }\n-- output { 1 }\n")
    assert len(block.cases) == 1


def test_empty_input() -> None:
    assert case("-- input {}\n-- output { 1 }\n").arguments(no_scripts) == []


def test_datasets_are_named_from_their_values() -> None:
    assert case("-- input { [1i32, 2i32] true }\n").dataset == "[1i32, 2i32] true"
    long = case("-- input { [" + ", ".join(["1i32"] * 100) + "] }\n").dataset
    assert long.endswith("...")
    assert len(long) == 50
    assert case("-- random input { [2]f32 }\n").dataset == "[2]f32"


def test_comment_after_the_block_ends_it() -> None:
    (block,) = blocks("-- ==\n-- input { 1 }\n\n-- output { 2 }\ndef f = 3\n")
    assert block.cases[0].output is None


def test_last_line_without_newline() -> None:
    assert case("-- input { 1 } output { 2 }").output == (np.int32(2),)


@pytest.mark.parametrize(("text", "place"), [
    ("-- ==\n-- input { 1, }\n", "2:13"),
    ("-- ==\n-- input 1\n", "2:10"),
    ("-- ==\n-- surprise!\n", "2:4"),
    ("-- ==\n-- nobench\n", "2:11"),
    ("-- ==\n-- random input { [2]f3 }\n", "2:22"),
    ("-- ==\n-- input {\n", "2:10"),
])
def test_malformed_blocks_name_line_and_column(text: str, place: str) -> None:
    with pytest.raises(ProgramError) as caught:
        blocks(text)
    assert f"dir/p.fut:{place}: error" in str(caught.value)


def test_datasets_worth_timing() -> None:
    source = Source("p.fut", '-- ==\n-- input { 1 }\n-- "a" input { 2 }\n'
                             '-- "b" notune input { 3 }\n')
    assert [c.dataset for c in datasets_of(source)] == ["a", "b"]
    assert [c.dataset for c in datasets_of(source, "main", frozenset({"notune"}))] == ["a"]
    assert list(cases_of(source, "other")) == []
    unnamed = Source("p.fut", "-- ==\n-- input { 1 }\n")
    assert [c.dataset for c in datasets_of(unnamed)] == ["1i32"]


def test_what_must_fail_is_not_timed() -> None:
    source = Source("p.fut", '-- ==\n-- input { 1 }\n-- "a" input { 2 } error: Index\n'
                             '-- "b" tune input { 3 } error: .*\n')
    assert [c.dataset for c in datasets_of(source)] == ["1i32"]
    assert [c.dataset for c in training_of(source)] == ["1i32"]
    assert validation_of(source) == []


def names(cases: list[Case]) -> list[str]:
    return [case.dataset for case in cases]


def test_training_and_validation() -> None:
    text = ('-- ==\n-- "a" tune input { [1,2] }\n-- "b" notune input { [3,4] }\n'
            '-- "c" input { [1,2] }\n-- "d" disable input { [1] }\n-- input { [1] }\n')
    marked = Source("p.fut", text)
    assert names(training_of(marked)) == ["a"]
    assert names(validation_of(marked)) == ["b", "c"]
    unmarked = Source("p.fut", text.replace(" tune", ""))
    assert names(training_of(unmarked)) == ["a", "c"]
    assert names(validation_of(unmarked)) == ["b"]
    assert names(training_of(unmarked, "other")) == []


def test_tags_of_a_block_are_those_of_its_cases() -> None:
    source = Source("p.fut", '-- ==\n-- tags { tune }\n-- "a" input { 1 }\n\nlet x = 1\n\n'
                             '-- ==\n-- "b" input { 2 }\n')
    assert names(training_of(source)) == ["a"]
    assert names(validation_of(source)) == ["b"]


def test_the_examples_have_blocks() -> None:
    for path in sorted((Path(__file__).parents[4] / "examples").glob("*.fut")):
        found = parse_blocks(Source(str(path), path.read_text()))
        assert found
        assert any(c.named for block in found for c in block.cases)


def test_files_count_from_the_folder_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "beside.in").write_text("[1, 2]")
    path = tmp_path / "inner" / "p.fut"
    for name in ("../beside.in", str(tmp_path / "beside.in")):
        source = Source(str(path), f"-- ==\n-- input @ {name}\n")
        (case,) = cases_of(source)
        (value,) = case.arguments(lambda _: [])
        assert value.tolist() == [1, 2]
