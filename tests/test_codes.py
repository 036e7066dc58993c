"""Every code of an error is explained, its example has that error only, and its cure none.

``pytest tests/test_codes.py --regenerate-golden`` writes ``docs/errors.md`` anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from runelift.ir.base.codes import CODES, GROUPS
from runelift.ir.base.errors import Code
from runelift.runtime.tools.testing.error_index import document, message

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
STAMP = re.compile(r"(?:error|warning)\[([a-z-]+)\]: ")


def test_every_code_is_explained_once() -> None:
    listed = [each.code for group in GROUPS.values() for each in group]
    assert sorted(listed) == sorted(get_args(Code))


@pytest.mark.parametrize("code", CODES)
def test_the_example_has_this_error(code: str) -> None:
    said = message(CODES[code], CODES[code].wrong)
    assert STAMP.findall(said) == [code], said


@pytest.mark.parametrize("code", CODES)
def test_the_cure_has_none(code: str) -> None:
    assert message(CODES[code], CODES[code].cure) == ""


def test_page_is_current(pytestconfig: pytest.Config) -> None:
    current = document()
    if pytestconfig.getoption("--regenerate-golden"):
        PAGE.write_text(current)
    assert PAGE.read_text() == current
