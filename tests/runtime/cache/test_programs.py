"""Programs that are kept on disk."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramWarning
from runelift.ir.base.source import Source
from runelift.runtime.cache import disk
from runelift.runtime.cache.programs import ENTRIES
from runelift.runtime.compilation import pipeline
from runelift.runtime.devices.driver.build import KERNELS

TEXT = """import "lib/scale"
def size: i64 = #[param(size)] 3
entry main [n] (xss: [n][n]i32) : []i32 =
  replicate size 1 ++ map (\\xs -> reduce (+) 0 (map scale xs)) xss
"""
ARGUMENT = np.arange(16, dtype=np.int32).reshape(4, 4)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "scale.fut").write_text("def scale (x: i32) = 2 * x")
    path = tmp_path / "sums.fut"
    path.write_text(TEXT)
    return path


def answer(path: Path, **options: object) -> list[int]:
    result: list[int] = runelift.compile(path, device="pocl", **options).main(ARGUMENT).tolist()
    return result


def test_a_program_is_compiled_once(program: Path, compilations: list[str]) -> None:
    first = answer(program)
    assert first == [1, 1, 1, 12, 44, 76, 108]
    assert answer(program) == first
    assert compilations == ["sums.fut"]


def test_what_is_kept_has_all_versions_and_stages(program: Path, compilations: list[str]) -> None:
    answer(program)
    fresh = pipeline.compile_source(Source(str(program), TEXT))
    again = runelift.compile(program, device="pocl")
    assert compilations == ["sums.fut"] * 2
    assert again.compiled == fresh
    for version in range(3):
        (site,) = again.tree.entry("main").sites()
        found, _ = again.run("main", [ARGUMENT], force={site: version})
        assert found[0].tolist() == [1, 1, 1, 12, 44, 76, 108]


@pytest.mark.parametrize(("change", "options"), [
    (lambda p: p.write_text(TEXT + "\n-- another text"), {}),
    (lambda p: (p.parent / "lib" / "scale.fut").write_text("def scale (x: i32) = 3 * x"), {}),
    (lambda _: None, {"policy": "classic"}),
    (lambda _: None, {"tuning": {"size": 5}}),
    (lambda _: os.environ.update(RUNELIFT_KEEP="0"), {}),
    (lambda p: [f.write_bytes(f.read_bytes()[:-1] + b"?") for f in
                (p.parent / "cache" / ENTRIES).glob("*/compiled")], {}),
])
def test_whatever_changes_it_is_seen(change: Callable[[Path], object], options: dict[str, object],
                                     program: Path, compilations: list[str],
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    answer(program)
    change(program)
    found = answer(program, **options)
    assert compilations == ["sums.fut"] * 2
    monkeypatch.setenv("RUNELIFT_KEEP", "0")
    assert found == answer(program, **options)


def test_a_file_has_one_snapshot_for_each_policy(program: Path, compilations: list[str]) -> None:
    for text in (TEXT, TEXT + "\n", TEXT):
        program.write_text(text)
        answer(program)
        answer(program, policy="classic")
    assert len(list((program.parent / "cache" / ENTRIES).glob("*/compiled"))) == 2
    assert len(compilations) == 6


def test_warnings_are_repeated(program: Path, compilations: list[str]) -> None:
    program.write_text(TEXT.replace("replicate size 1", "#[nonsense] (replicate size 1)"))
    for _ in range(2):
        with pytest.warns(ProgramWarning, match="Unknown attribute 'nonsense'"):
            answer(program)
    assert compilations == ["sums.fut"]


def test_a_missing_import_is_an_error_again(program: Path, compilations: list[str]) -> None:
    answer(program)
    (program.parent / "lib" / "scale.fut").unlink()
    with pytest.raises(runelift.ir.base.errors.ProgramError, match=r"scale\.fut"):
        answer(program)


def test_programs_given_as_text_are_not_kept(compilations: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        runelift.compile("def main (x: i32) = x + 1", device="pocl").main(1)
    assert len(compilations) == 2
    assert not (tmp_path / "cache" / ENTRIES).exists()


def test_binaries_that_cost_much_are_kept_when_built_twice(
        program: Path, compilations: list[str], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """If PoCL does not keep kernels itself."""
    monkeypatch.setenv("POCL_KERNEL_CACHE", "0")
    folder = tmp_path / "cache" / KERNELS

    def sizes() -> dict[str, int]:
        return {path.name: len(disk.load(KERNELS, path.name) or b"")
                for path in folder.iterdir()}

    first = answer(program)
    assert set(sizes().values()) == {0}
    assert answer(program) == first
    built = sizes()
    assert min(built.values()) > 0
    assert answer(program) == first
    assert sizes() == built


def test_processes_that_share_a_cold_cache_agree(program: Path, tmp_path: Path) -> None:
    code = ("import sys, numpy as np, runelift; print(runelift.compile(sys.argv[1], device='pocl')"
            ".main(np.arange(16, dtype=np.int32).reshape(4, 4)).tolist())")
    environment = {**os.environ, "RUNELIFT_KEEP": "1", "RUNELIFT_CACHE": str(tmp_path / "shared")}
    found = [subprocess.Popen([sys.executable, "-c", code, str(program)], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for _ in range(2)]
    assert [each.communicate()[0] for each in found] == ["[1, 1, 1, 12, 44, 76, 108]\n"] * 2
    left = [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert left
    for path in left:
        data = path.read_bytes()
        assert hashlib.sha256(data[disk.CHECKSUM_BYTES:]).digest() == data[:disk.CHECKSUM_BYTES]


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x05cno.such\nmodule\n."])
def test_an_entry_that_cannot_be_restored_is_made_again(
        content: bytes, program: Path, compilations: list[str]) -> None:
    first = answer(program)
    (path,) = (program.parent / "cache" / ENTRIES).glob("*/compiled")
    origin = path.read_bytes()[disk.CHECKSUM_BYTES:disk.CHECKSUM_BYTES + 64]
    disk.store(f"{ENTRIES}/{path.parent.name}", "compiled", origin + content)
    assert answer(program) == first
    assert compilations == ["sums.fut"] * 2
