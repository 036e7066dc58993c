"""Editors find the definitions of shipped functions."""

from __future__ import annotations

from pathlib import Path

from runelift.frontend.references import References
from runelift.frontend.syntax.parser import parse_recovering
from runelift.ir.base.files import read_source
from runelift.ir.base.shipped import FOLDER


def test_a_shipped_function_is_defined_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "main.fut"
    path.write_text('import "std/sort"\nentry main (xs: []i32) = sort_i32 xs\n')
    references = References(lambda place: parse_recovering(read_source(place)))
    found, = (each.definition for each in references.mentions(path) if each.span.text == "sort_i32")
    assert Path(found.span.source.name) == FOLDER / "sort.fut"
    assert found.span.text == "sort_i32"
