"""Schedules on the command line, beside tuning files, and in the cache of programs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramError, UserError
from runelift.ir.base.source import Source
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.compilation.reuse import if_current, load_compiled
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.versions.tuning_file import digest, facts_path, tuning_path, write_tuning

WRITTEN = """\
-- ==
-- input { [1, 2, 3, 4, 5, 6, 7, 8] }
-- output { [2, 4, 6, 8, 10, 12, 14, 16] }
-- input { [1, 2, 3] }
-- output { [2, 4, 6] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry main [n] (xs: [n]i32): [n]i32 = #[split_join(4)] map (* 2) xs
"""
PLAIN = WRITTEN.replace("#[split_join(4)] ", "")
STEP = "main.ys split_join(4)\n"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.fut"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    path = tmp_path / "plain.schedule"
    path.write_text(f"-- By four.\n{STEP}")
    return path


def test_the_output_of_explain_is_a_schedule(tmp_path: Path, plain: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "written.fut"
    program.write_text(WRITTEN)
    for options in ([], ["--steps"]):
        assert main(["explain", "schedule", str(program), *options]) == 0
        text = capsys.readouterr().out
        assert text.startswith("-- The schedule of written.fut")
        assert [line for line in text.splitlines() if not line.startswith("--")] == [
            STEP.strip(), "fuse"]
        assert "--   main.ys.ys at 8:56: split_join(4)" in text, "a step that could follow"
        assert ("--   entry main" in text) is bool(options)
        found = tmp_path / "found.schedule"
        found.write_text(text)
        assert main(["explain", "schedule", "--json", "--file", str(found), str(plain)]) == 0
        assert json.loads(capsys.readouterr().out)["result"]["schedule"] == [STEP.strip()]
        assert main(["dump", "--stage", "opt", "--schedule", str(found), str(plain)]) == 0
        assert "[4i64]" in capsys.readouterr().out


def test_schedules_of_several_versions_are_explained(
        plain: Path, schedule: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{STEP}or\nmain.ys split_join(2)\nor\n"
    schedule.write_text(text)
    assert main(["explain", "schedule", "--file", str(schedule), str(plain)]) == 0
    said = capsys.readouterr().out
    assert "-- This needs that 4 divides n." in said
    schedule.write_text(said)
    assert main(["explain", "schedule", "--json", "--file", str(schedule), str(plain)]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["schedule"] == text.splitlines()
    assert found["needs"] == ["4 divides n", "2 divides n"]
    assert main(["test", "--all-versions", "--schedule", str(schedule), str(plain)]) == 0


@pytest.mark.parametrize("command", ["test", "bench", "run"])
def test_commands_take_a_schedule(command: str, plain: Path, schedule: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(plain.with_name("xs"))] if command == "run" else []
    plain.with_name("xs").write_text("[1, 2, 3, 4]")
    more = ["--all-versions"] if command == "test" else []
    assert main([command, str(plain), "--schedule", str(schedule), *arguments, *more]) == 0
    if command == "run":
        assert capsys.readouterr().out == "[2i32, 4i32, 6i32, 8i32]\n"


@pytest.mark.parametrize("command", ["run", "dump", "explain", "test", "bench", "autotune"])
def test_a_stale_schedule_is_an_error_with_its_line(command: str, plain: Path, schedule: Path,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    schedule.write_text("-- Gone.\nmain.rs split_join(4)\n")
    options = (["--schedule", "--file", str(schedule)] if command == "explain" else
               ["--schedule", str(schedule)])
    assert main([command, str(plain), *options]) == 1
    said = "".join(capsys.readouterr())
    assert f"{schedule}:2:1: error[unknown-place]" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("content", [b"\xff\xfe", b"main.ys", b"\0", b"main.ys x" * 10_000])
def test_files_that_are_no_schedules(content: bytes, plain: Path, schedule: Path,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    schedule.write_bytes(content)
    assert main(["dump", str(plain), "--schedule", str(schedule)]) == 1
    said = "".join(capsys.readouterr())
    assert "error[" in said
    assert "Traceback" not in said


def test_a_missing_schedule(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(plain), "--schedule", "none.schedule"]) == 1
    assert "none.schedule" in capsys.readouterr().err


def test_the_schedule_beside_a_tuning_file_is_used(plain: Path) -> None:
    lines = {"schedule": STEP.splitlines(), "program_sha256": digest(Source("", PLAIN))}
    write_tuning(tuning_path(plain), {"t": 3}, lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about 't'
        program = compile_program(plain, runs=False)
        other = compile_program(plain, runs=False, schedule="-- Nothing else.\n")
    assert [str(each) for each in program.compiled.steps] == [STEP.strip()]
    assert other.compiled.steps == (), "a schedule that is given goes first"
    np.testing.assert_array_equal(program.main(np.arange(8, dtype=np.int32)), np.arange(8) * 2)
    plain.write_text(PLAIN + "\n-- Changed.\n")
    with pytest.warns(UserWarning, match="schedule beside this file is ignored"):
        assert compile_program(plain, runs=False).compiled.steps == ()


@pytest.mark.parametrize("lines", [3, ["a", 3], "main.ys split_join(4)"])
def test_facts_with_a_misshapen_schedule(lines: object, plain: Path) -> None:
    write_tuning(tuning_path(plain), {}, {"schedule": lines,
                                          "program_sha256": digest(Source("", PLAIN))})
    with pytest.warns(UserWarning, match="'schedule' should be a list of texts"):
        assert compile_program(plain, runs=False).compiled.steps == ()


def test_autotune_keeps_the_schedule(plain: Path, schedule: Path) -> None:
    assert main(["autotune", str(plain), "--schedule", str(schedule), "--no-verify"]) == 0
    facts = json.loads(facts_path(tuning_path(plain)).read_text())
    assert facts["schedule"] == schedule.read_text().splitlines()
    assert [str(each) for each in compile_program(plain, runs=False).compiled.steps] == [
        STEP.strip()]


def test_programs_are_kept_by_schedule(plain: Path, schedule: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNELIFT_KEEP")
    xs = np.arange(8, dtype=np.int32)
    for given in (None, schedule):
        np.testing.assert_array_equal(runelift.compile(plain, schedule=given).main(xs), xs * 2)
    source, text = Source(str(plain), PLAIN), Source(str(schedule), schedule.read_text())
    assert ProgramEntry.of(source, "all").key != ProgramEntry.of(source, "all", text.text).key
    without, found = load_compiled(source, policy="all"), load_compiled(
        source, policy="all", schedule=text.text)
    assert without is not None
    assert found is not None
    assert found.schedule_text == text.text
    assert if_current(found, {}, text) is found
    assert if_current(found, {}, None) is None
    assert if_current(without, {}, text) is None
    assert if_current(without, {"main.ys.split_join[0].skip": 1}, None) is None
    assert plain.exists()


def test_parameters_of_points_are_set_as_others_are(plain: Path) -> None:
    plain.write_text(WRITTEN.replace("split_join(4)", "split_join(tile, skip)"))
    skip = "main.ys.split_join[0].skip"
    for settings, part in (({}, "16"), ({"tile": 2}, "2"), ({skip: 0}, "16")):
        program = compile_program(plain, settings=settings, runs=False)
        assert f"needs ({part} divides n_1 " in program.source("opt")
    assert "versions" not in compile_program(plain, settings={skip: 1}, runs=False).source("opt")
    with pytest.raises(UserError, match="Did you mean 'tile'"):
        compile_program(plain, settings={"tyle": 2}, runs=False)
    with pytest.raises(UserError, match="unknown-parameter"):
        compile_program(plain, settings={"main.zs.split_join[0].skip": 1}, runs=False)


def test_a_schedule_can_be_text(plain: Path) -> None:
    assert "[4i64]" in compile_program(plain, schedule=STEP, runs=False).source("opt")
    with pytest.raises(ProgramError, match="unknown-point"):
        compile_program(plain, schedule="main.ys nothing(4)", runs=False)


def test_schedules_of_versions_are_explained(plain: Path, capsys: pytest.CaptureFixture[str]
                                             ) -> None:
    file = plain.with_name("two.schedule")
    file.write_text(f"{STEP}or\nmain.ys split_join(2)\nor\n{STEP}or\n")
    assert main(["explain", "schedule", "--file", str(file), str(plain)]) == 0
    text = capsys.readouterr().out
    assert "-- It gives no version: it gives a program that another schedule gives, too." in text
    again = plain.with_name("again.schedule")
    again.write_text(text)
    assert main(["explain", "schedule", "--file", str(again), str(plain)]) == 0
    assert capsys.readouterr().out == text
    first, second = (compile_program(plain, schedule=each, runs=False).source("kernels")
                     for each in (file, again))
    assert first == second


@pytest.mark.parametrize("option", ["--kernels", "--memory", "--access", "--barriers", ""])
def test_programs_are_explained_with_a_schedule(option: str, plain: Path, schedule: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    """What is explained is the program after the schedule, of which a wrong one is an error."""
    options = [option] if option else []
    assert main(["explain", str(plain), *options, "--file", str(schedule)]) == 0
    schedule.write_text("main.ys split_join(0)\n")
    assert main(["explain", str(plain), *options, "--file", str(schedule)]) == 1
    assert "point-arguments" in capsys.readouterr().err
