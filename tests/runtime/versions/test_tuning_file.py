"""Tuning files."""

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.runtime.programs.program import Program
from runelift.runtime.research.t4 import read_t4
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.versions.tuning_file import (
    facts_path,
    names_in,
    parse_tuning,
    read_facts,
    read_tuning,
    tuning_of,
    tuning_path,
    unknown_names,
    write_tuning,
)


def parse(text: str) -> dict[str, int]:
    return parse_tuning(Source("p.tuning", text))


def test_lines_blanks_comments_and_repetition() -> None:
    assert parse("a.b=1\n\n-- x\n c = 20 \na.b=3\n") == {"a.b": 3, "c": 20}


def test_zero_means_the_default() -> None:
    assert parse("a=5\na=0\n") == {}


@pytest.mark.parametrize("line", ["nonsense", "a=", "a=1.5", "a=-3", "=4", "\x00\x01"])
def test_damage_names_the_line(line: str) -> None:
    with pytest.raises(UserError, match=r"p\.tuning:2:1: error\[malformed-tuning\]"):
        parse(f"a=1\n{line}\n")


def test_unknown_names_warn_with_a_guess(tmp_path: Path) -> None:
    (warning,) = unknown_names(["main.suff_outer_par_0", "default_threshold", "main.suff_outr"],
                               ["main.suff_outer_par_0"])
    assert "'main.suff_outr'" in str(warning)
    assert "Did you mean 'main.suff_outer_par_0'?" in str(warning)
    path = tmp_path / "p.tuning"
    path.write_text("other=1\n")
    with pytest.warns(UserWarning, match="no threshold or parameter 'other'"):
        tuning_of(None, path).warn(unknown_names(["other"], ["main.t"]))


def test_written_files_read_back(tmp_path: Path) -> None:
    path = tuning_path(tmp_path / "p.fut")
    assert path.name == "p.fut.tuning"
    write_tuning(path, {"b": 2, "a": 1}, {"device": "x"})
    assert path.read_text() == "a=1\nb=2\n"
    assert read_tuning(path) == {"a": 1, "b": 2}
    assert read_facts(facts_path(path)) == {"device": "x"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.fut.tuning", "p.fut.tuning.json"]


def test_unusable_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot read"):
        read_tuning(tmp_path / "none")
    with pytest.raises(UserError, match="Cannot write"):
        write_tuning(tmp_path / "none" / "p.tuning", {}, {})
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        read_facts(tmp_path / "p.json")
    (tmp_path / "p.json").write_text("[]")
    with pytest.raises(UserError, match="not a JSON object"):
        read_facts(tmp_path / "p.json")
    (tmp_path / "p.tuning").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="UTF-8"):
        read_tuning(tmp_path / "p.tuning")


def test_parameters_of_a_program_are_values_of_its_tuning_file(tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text("entry main (x: i64) (ys: []i64) = map (\\y -> (#[param(size)] x) + y) ys")
    ys = np.arange(3)
    assert runelift.compile(path, device="interpreter").main(1, ys).tolist() == [1, 2, 3]
    tuning_path(path).write_text("size=7\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = runelift.compile(path, device="interpreter")
    assert program.main(1, ys).tolist() == [7, 8, 9]


def test_a_log_of_another_text_is_noticed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(path), "--no-parameters", "--no-verify", "--runs", "1"]) == 0
    replay = ["autotune", str(path), "--replay", str(path.with_name("rows.fut.tuning.log"))]
    capsys.readouterr()
    assert main(replay) == 0
    assert "of another text" not in capsys.readouterr().err
    path.write_text(path.read_text() + "\n-- edited\n")
    t4 = path.with_name("t4.json")
    assert main([*replay, "--export-t4", str(t4)]) == 0
    assert "device" not in read_t4(t4).metadata
    assert "runs_of" in read_t4(t4).metadata
    assert "the runs are of another text of the program" in capsys.readouterr().err


def test_other_entry_points_are_lowered_only_for_parameters_of_theirs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an old file has of them stays."""
    rows = "[n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss"
    path = tmp_path / "two.fut"
    path.write_text("-- ==\n-- entry: main\n-- random input { [7][50]i32 }\n"
                    f"entry main {rows}\nentry other {rows}\n")
    group = next(name for name, entry in runelift.compile(path).kernel_parameters().items()
                 if entry == "other" and name.endswith(".group"))
    asked: list[Iterable[str] | None] = []
    known = Program.kernel_parameters

    def noted(self: Program, entries: Iterable[str] | None = None) -> dict[str, str]:
        if entries not in asked:  # the file is written after each stage
            asked.append(entries)
        return known(self, entries)

    def tuned(old: dict[str, int]) -> list[Iterable[str] | None]:
        asked.clear()
        with tuning_path(path).open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in old.items())
        with monkeypatch.context() as patched:
            patched.setattr(Program, "kernel_parameters", noted)
            assert main(["autotune", str(path), "--no-parameters", "--no-verify", "--runs", "1",
                         "--time-limit", "none"]) == 0
        assert old.items() <= read_tuning(tuning_path(path)).items()
        return list(asked)

    assert tuned({}) == [{"main"}]
    assert tuned({"other.suff_outer_par_0": 17}) == [{"main"}]
    assert tuned({group: 64}) == [{"main"}, None]
    assert {"other.suff_outer_par_0", group} <= names_in(tuning_path(path))
    tuning_path(path).write_text("")
    assert group in names_in(tuning_path(path)), "the facts have it for this device"


def test_each_device_has_its_own_thresholds(tmp_path: Path) -> None:
    """The file has those of the last device; the facts beside it have all."""
    path = tmp_path / "p.fut"
    path.write_text("entry main [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss\n")
    program = runelift.compile(path)
    name, here = next(iter(program.tree.guards())).name, program.identity
    settings = {here.device: {name: 3}, "H100, CUDA": {name: 7}}
    write_tuning(tuning_path(path), {name: 7}, {
        "program_sha256": here.program, "settings": settings})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert runelift.compile(path).thresholds == {name: 3}
    del settings[here.device]
    write_tuning(tuning_path(path), {name: 7}, {
        "program_sha256": here.program, "settings": {**settings, "H200, CUDA": {name: 9}}})
    with pytest.warns(UserWarning, match="no tuning for .*, so that of H.00, CUDA is used"):
        assert runelift.compile(path).thresholds[name] in (7, 9)
