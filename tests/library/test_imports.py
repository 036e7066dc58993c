"""How shipped files are found, and what a program's own names and files mean beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.frontend.check.around import meant
from runelift.frontend.load import check
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.shipped import shipped_names
from runelift.ir.base.source import Source, Span
from tests.library.page import FILES, functions

XS = np.array([3, 1, 2], np.int32)


def result(path: Path) -> list[int]:
    return list(runelift.compile(path, device="interpreter").main(XS))


@pytest.mark.parametrize(("text", "wanted"), [
    ('import "std/sort"\nentry main (xs: []i32) = sort_i32 xs', [1, 2, 3]),
    ('import "std/sort"\ndef sort [n] (xs: [n]i32) = map (+ 1) xs\n'
     "entry main (xs: []i32) = sort xs", [4, 2, 3]),
    ('module s = import "std/sort"\ndef run (x: i32) = x\nentry main (xs: []i32) = '
     "map run (s.sort (>=) xs)", [3, 2, 1]),
], ids=["opened", "hidden by a name of the program", "behind a module"])
def test_names(text: str, wanted: list[int], tmp_path: Path) -> None:
    path = tmp_path / "main.fut"
    path.write_text(text)
    assert result(path) == wanted


def test_a_file_of_the_program_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "main.fut"
    path.write_text('import "std/sort"\nentry main (xs: []i32) = sort_i32 xs')
    assert result(path) == [1, 2, 3]
    (tmp_path / "std").mkdir()
    (tmp_path / "std" / "sort.fut").write_text("def sort_i32 [n] (xs: [n]i32): [n]i32 = xs")
    assert result(path) == [3, 1, 2]  # the compiled program is not reused


def test_names_inside_of_the_library_are_hidden() -> None:
    with pytest.raises(ProgramError) as caught:
        check(Source("a.fut", 'import "std/sort"\nentry main (x: i64) = x + run'))
    assert [each.code for each in caught.value.diagnostics] == ["unknown-name"]


@pytest.mark.parametrize("name", shipped_names())
def test_mistakes_in_calls_are_reported_at_the_call(name: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check(Source("a.fut", f'import "{name}"\nimport "std/sort"\n'
                              "entry main (xs: []bool) = sort_i32 xs"))
    assert {Path(each.span.source.name).name for each in caught.value.diagnostics} == {"a.fut"}


def test_a_missing_file_names_those_that_are_shipped() -> None:
    with pytest.raises(ProgramError, match="std/sort"):
        check(Source("a.fut", 'import "std/sorts"\nentry main (x: i64) = x'))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_hints_name_functions_that_exist(path: Path) -> None:
    words = ("sort", "argsort", "unique", "mean", "std", "median", "argmax", "quantile", "matmul",
             "solve", "inv", "norm", "convolve", "pad", "diff", "randn", "shuffle", "fft")
    source = Source("a.fut", "x")
    for word in words:
        hint, = meant(word, Span(source, 0, 1))
        if f'"std/{path.stem}"' in hint:
            call = hint.rpartition(", and ")[2].split()[0]
            assert call.rpartition(".")[2] in {each.name for each in functions(path)}
            assert call.count(".") == 0 or f"module {call.partition('.')[0]} = " in path.read_text()
