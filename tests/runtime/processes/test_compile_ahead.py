"""Programs that another process compiles while a command is imported."""

import os
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from runelift.ir.base.errors import ProgramError, ProgramWarning
from runelift.runtime.compilation.reuse import store_compiled
from runelift.runtime.devices.driver import icd, preload
from runelift.runtime.processes import build_pool, compile_ahead, process
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.tools.commands import cli

TEXT = """import "lib/scale"
def size: i64 = #[param(size)] 3
entry main [n] (xs: [n]i32) : []i32 = replicate size 1 ++ map scale xs
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str]) -> Path:
    """A program that imports another file, on a machine with enough cores and an empty cache."""
    monkeypatch.setattr(os, "cpu_count", lambda: compile_ahead.MIN_CORES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "scale.fut").write_text("def scale (x: i32) = 10 * x")
    path = tmp_path / "program.fut"
    path.write_text(TEXT)
    return path


def test_a_program_is_compiled_by_another_process(program: Path, compilations: list[str]) -> None:
    with compile_ahead.compiled_ahead(str(program), "all"):
        (compiling,) = [each._process for each in compile_ahead._under_way]
        found = compile_program(program, device="interpreter")
    assert not compilations
    assert found.main(np.array([1, 2], np.int32)).tolist() == [1, 1, 1, 10, 20]
    assert found.compiled == compile_program(program, device="interpreter").compiled
    assert compilations
    assert compiling.poll() is not None
    assert not compile_ahead._under_way


@pytest.mark.parametrize("why", ["text", "import", "parameter", "policy"])
def test_what_would_come_out_otherwise_is_compiled_here(
        program: Path, compilations: list[str], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with compile_ahead.compiled_ahead(str(program), "all"):
        found = compile_ahead._under_way[0].result()
        assert found is not None
        monkeypatch.setattr(compile_ahead._under_way[0], "result", lambda: found)
        options = {"settings": {"size": 2}} if why == "parameter" else {}
        if why == "text":
            program.write_text(TEXT.replace("] 3", "] 2"))
        if why == "import":
            (program.parent / "lib" / "scale.fut").write_text("def scale (x: i32) = 20 * x")
        compile_program(program, device="interpreter",
                        policy="classic" if why == "policy" else "all", **options)
    assert compilations == ["program.fut"]


def test_a_process_that_is_ended_is_not_missed(program: Path, compilations: list[str]) -> None:
    with compile_ahead.compiled_ahead(str(program), "all"):
        compile_ahead._under_way[0]._process.kill()
        found = compile_program(program, device="interpreter")
    assert compilations == ["program.fut"]
    assert found.main(np.array([1], np.int32)).tolist() == [1, 1, 1, 10]


def test_errors_are_those_of_the_command(program: Path, compilations: list[str]) -> None:
    program.write_text("entry main (x: i32) = y")
    with compile_ahead.compiled_ahead(str(program), "all"), pytest.raises(
            ProgramError, match="unknown-name"):
        compile_program(program, device="interpreter")
    assert compilations == ["program.fut"]


def test_warnings_are_repeated(program: Path) -> None:
    program.write_text(f"#[no_such_thing] {TEXT.splitlines()[2]}".replace("scale", "(* 2)")
                       .replace("size", "3"))
    with (compile_ahead.compiled_ahead(str(program), "all"),
          pytest.warns(ProgramWarning, match="no_such")):
        compile_program(program, device="interpreter")


def test_what_is_kept_is_not_compiled_again(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def processes(path: str | None) -> int:
        with compile_ahead.compiled_ahead(path, "all"):
            return len(compile_ahead._under_way)

    assert processes(str(program)) == 1
    store_compiled(compile_program(program, device="interpreter").compiled)
    assert not processes(str(program))
    program.write_text(f"{TEXT}\n-- another one")
    assert processes(str(program)) == 1
    assert not processes(str(program.with_name("missing.fut")))
    assert not processes(None)
    monkeypatch.setattr(os, "cpu_count", lambda: compile_ahead.MIN_CORES - 1)
    assert not processes(str(program))


def test_an_unused_process_is_ended(program: Path) -> None:
    with warnings.catch_warnings(action="error"), compile_ahead.compiled_ahead(str(program), "all"):
        (compiling,) = [each._process for each in compile_ahead._under_way]
    assert compiling.returncode is not None
    assert compiling.stdout is not None
    assert compiling.stdout.closed


@pytest.mark.parametrize(("arguments", "asked"), [
    (["a.fut"], ("a.fut", "all")), (["--policy", "classic", "a.fut", "-e", "f"], (
        "a.fut", "classic")), (["a.fut", "--policy=moderate"], ("a.fut", "moderate")),
    (["--json"], (None, "all")), (["a.fut", "--help"], None)])
@pytest.mark.parametrize("is_new", [True, False])
def test_what_to_compile_is_known_before_arguments_are_parsed(
        arguments: list[str], asked: tuple[str | None, str] | None, is_new: bool,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what to load, if it has been compiled."""
    found: list[tuple[str | None, str]] = []
    words: list[str] = []
    monkeypatch.setattr(compile_ahead, "compiled_ahead", lambda path, policy: (
        found.append((path, policy)), nullcontext(is_new))[1])
    monkeypatch.setattr(process, "started_ahead", lambda device: nullcontext(words.append))
    monkeypatch.setattr(preload, "message_for", lambda path, policy: f"{path} {policy}")
    monkeypatch.setattr(icd, "begin", lambda device, **_: None)
    monkeypatch.setattr(build_pool, "probing_started_ahead", lambda device: nullcontext())
    with cli._ahead("autotune", ["autotune", *arguments]):
        assert found == ([] if asked is None else [asked])
        assert words == ([] if asked is None else [""] if is_new else [" ".join(map(str, asked))])
