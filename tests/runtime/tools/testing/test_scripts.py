"""Inputs of test cases that the program computes itself."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runelift.ir.base.errors import ProgramError, UserError
from runelift.ir.base.source import Source
from runelift.runtime.data.lengths import draw
from runelift.runtime.devices.info import select
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import Case, parse_blocks

PROGRAM = """
type~ points = [](f32, {x: f32})
entry series (n: i64) (step: f32): []f32 = map (\\i -> step * f32.i64 i) (iota n)
entry pair (n: i64): (i64, f32) = (n, 2)
entry double (xs: []f32): []f32 = map (* 2) xs
entry points (n: i64): points = tabulate n (\\i -> (f32.i64 i, {x = f32.i64 (2 * i)}))
entry weigh (ps: points) (f: f32): f32 = f * f32.sum (map (\\(a, {x}) -> a * x) ps)
entry square (n: i64): [n][n]f32 = tabulate_2d n n (\\i j -> f32.i64 (i + j))
entry rows [n] [m] (a: [n][m]f32): [n]f32 = map f32.sum a
entry main (xs: []f32): f32 = f32.sum xs
"""


def source_of(block: str, folder: Path = Path("dir")) -> Source:
    """A program with a test block before what the block names."""
    return Source(str(folder / "p.fut"), f"-- ==\n{block}\n{PROGRAM}")


def case_of(source: Source) -> Case:
    (block,) = parse_blocks(source)
    (found,) = block.cases
    return found


def values_of(script: str, folder: Path = Path("dir"), device: str | None = "interpreter"
              ) -> list[Any]:
    source = source_of(f"-- script input {script}", folder)
    return case_of(source).arguments(partial(evaluate, program=source, device=select(device)))


def test_scripts_of_one_file_have_their_own_kernels(tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels on disk belong to one script, and to the types of the values that it is given."""
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    for script, expected in (("{ i64.sum [1, 2, 3] }", 6), ("{ f64.sum [1, 2, 3] }", 6.0)):
        source = source_of(f"-- script input {script}", tmp_path)
        Path(source.name).write_text(PROGRAM)
        found = evaluate(case_of(source).input, Source(source.name, PROGRAM), select(None))
        assert (found, found[0].dtype) == ([expected], np.dtype(type(expected)))
    for text, expected in (("[1i64, 2i64]", [2, 3]), ("[1f64, 2f64]", [2.0, 3.0])):
        (tmp_path / "a.in").write_text(text)
        source = source_of('-- script input { map (+ 1) ($loaddata "a.in") }', tmp_path)
        Path(source.name).write_text(source.text)
        (found,) = evaluate(case_of(source).input, source, select(None))
        assert (found.tolist(), found.dtype) == (expected, np.dtype(type(expected[0])))


@pytest.mark.parametrize("device", ["interpreter", None])
@pytest.mark.parametrize(("script", "expected"), [
    ("{ series 3i64 2 }", [[0, 2, 4]]),
    ("{ series (2i64 + 1) 2 }", [[0, 2, 4]]),
    ("{ series (3i64, 2f32) }", [[0, 2, 4]]),
    ("{ series (pair 3i64) }", [[0, 2, 4]]),
    ("{ let (n, f) = pair 3i64\n--   in double (series n f) }", [[0, 4, 8]]),
    ("{ (points 3i64, 4f32) }", [[0, 1, 2], [0, 2, 4], 4]),
    ("{ ({a = 1i8, b = series 2i64 1}).b }", [[0, 1]]),
    ("{ [1f32, 2f32] }", [[1, 2]]),
    ("{ empty([0][2]u8) }", [np.empty((0, 2))]),
    ("{ (true, 7) }", [True, 7]),
    ("{ () }", []),
])
def test_values(script: str, expected: list[Any], device: str | None) -> None:
    found = values_of(script, device=device)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_files_lie_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "two.in").write_text("[1f32, 2f32] 3f32")
    (tmp_path / "bytes").write_bytes(b"\1\2")
    (tmp_path / "s.script").write_text("let (xs, x) = $loaddata \"two.in\"\nin (double xs, x)")
    for script in ("@ s.script", '{ let (xs, x) = $loaddata "two.in" in (double xs, x) }'):
        xs, x = values_of(script, tmp_path)
        np.testing.assert_array_equal(xs, np.array([2, 4], "float32"))
        assert x == 3
    (found,) = values_of('{ $loadbytes "bytes" }', tmp_path)
    assert found.dtype == np.uint8
    assert found.tolist() == [1, 2]
    for script in ('{ $loaddata "none.in" }', '{ $loadbytes "none" }', "@ none"):
        with pytest.raises(UserError, match="Cannot read"):
            values_of(script, tmp_path)


def test_lengths_are_drawn() -> None:
    (drawn,) = values_of('{ $ragged "1000 power 64" }')
    assert drawn.dtype == np.int64
    np.testing.assert_array_equal(drawn, draw(1000, "power", 64))
    (most,) = values_of('{ i64.maximum ($ragged "5 ascending 3 7") }')
    assert most == 3
    (one, other) = values_of('{ ($ragged "90 uniform 9 1", $ragged "90 uniform 9 2") }')
    assert one.tolist() != other.tolist()


def test_scripts_end_at_their_brace() -> None:
    case = case_of(source_of('-- "big" script input { {a = "}"}.a } output { 1 }\n'))
    assert isinstance(case.input, Source)
    assert case.input.text.strip() == '{a = "}"}.a'
    assert case.dataset == "big"
    assert case.output is not None
    with pytest.raises(ProgramError, match="a '}' is missing") as failure:
        case_of(source_of("-- script input { {a = 1}.a\n"))
    assert (failure.value.diagnostics[0].span.line, failure.value.diagnostics[0].span.column
            ) == (2, 17)


def test_the_script_names_the_dataset() -> None:
    assert case_of(source_of("-- script input {\n--   series\n-- 3i64  1\n-- }")
                   ).dataset == "series 3i64 1"


@pytest.mark.parametrize(("script", "place", "message"), [
    ("{ bytes 3 }", "2:19", "Unknown variable 'bytes'"),
    ('{ series ($loaddata "x.in") 1 }', "2:27", "[]f32"),
    ("{ series 3 }", "2:26", "type (i64, f32)"),
    ("{ points (4 + }", "2:26", "is not closed"),
    ('{ $restore "x.png" }', "2:19", "'$restore \"x.png\"' is no input"),
    ("{ double ($loaddata) }", "2:27", "'$loaddata' is no input"),
    ('{ $ragged "3 power" }', "2:19", "Lengths are written as N SHAPE CAP"),
    ('{ $ragged "3 normal 9" }', "2:19", "'normal' is no shape of lengths: there are uniform, "),
    ('{ $ragged "-3 power 9" }', "2:19", "at least 0"),
    ("{ empty([0]f8) }", "2:28", "Expected a primitive type"),
])
def test_errors_stand_in_the_block(script: str, place: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.in").write_text("[1f32]")
    with pytest.raises(ProgramError) as failure:
        values_of(script, tmp_path)
    span = failure.value.diagnostics[0].span
    assert f"{span.line}:{span.column}" == place
    assert message in str(failure.value)
    assert span.source.text.splitlines()[span.line - 1].strip() in script  # what is shown of it


def test_runs_that_fail_say_where() -> None:
    with pytest.raises(UserError, match=r"negative-size[\s\S]*called at dir/p.fut:2:19"):
        values_of("{ series (1i64 - 3) 2 }")


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.fut"
    path.write_text(source_of(
        "-- entry: weigh\n"
        "-- script input { (points 3i64, 2f32) } output { 20f32 }\n"
        "-- entry: main\n"
        "-- script input { points 3 }\n"
        "-- entry: rows\n"
        '-- "square" script input { square 40i64 } auto output\n').text)
    assert main(["test", str(path)]) == 1
    said = capsys.readouterr().out
    assert "takes 1 arguments, but 2 are given" in said
    assert "2 passed, 1 failed" in said
    assert main(["bench", str(path), "--entry", "rows", "-r", "1"]) == 0
    assert "square" in capsys.readouterr().out
    assert main(["autotune", str(path), "--entry", "rows", "--no-parameters"]) == 0
    assert "Written:" in capsys.readouterr().out
