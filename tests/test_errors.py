"""What wrong programs are answered: code, place, message and hints, beside each in ``errors/``.

``pytest tests/test_errors.py --regenerate-golden`` writes the answers anew; read the difference as
somebody would who has not seen the language before.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramError, ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.names import Names

PROGRAMS = sorted((Path(__file__).parent / "errors").glob("*.fut"))


def answer(path: Path) -> str:
    """All that is said of a program."""
    error = ""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            load(Source(path.name, path.read_text()), Names())
        except ProgramError as failure:
            error = str(failure)
    remarks = [str(w.message) for w in caught if isinstance(w.message, ProgramWarning)]
    return "\n\n".join(filter(None, [error, *remarks])) + "\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_answer(path: Path, pytestconfig: pytest.Config) -> None:
    found = answer(path)
    assert found.strip(), "nothing is wrong with the program"
    golden = path.with_suffix(".txt")
    if pytestconfig.getoption("--regenerate-golden"):
        golden.write_text(found)
    assert found == golden.read_text()
