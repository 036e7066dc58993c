"""Every code of an error is explained, its example has that error only, and its cure none.

``pytest tests/test_codes.py --regenerate-golden`` writes ``docs/errors.md`` anew.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from runelift.ir.base.codes import CODES, GROUPS
from runelift.ir.base.errors import Code
from runelift.runtime.tools.testing.error_index import abridged, message

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
HEADER = """\
# Errors and warnings

Every message has a code in brackets: `prog.fut:1:35: error[unknown-name]: ...`.  This page says
what each code means, with an example and its cure; `runelift explain CODE` prints the same.

A run reports every declaration that is wrong.  After a syntax error, reading goes on at the next
declaration: at a line that begins with `def` or the like and is indented no further.  What uses the
names of a wrong declaration is not checked, so that no error follows from another.  At most 100
syntax errors of a file are reported.

For programs: `runelift check --json` and `--sarif` ([json.md](json.md)).

The page is made from `ir/base/codes/` (`pytest tests/test_codes.py --regenerate-golden`); a test
runs every example.
"""
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


def document() -> str:
    """The text of ``docs/errors.md``."""
    lines = [HEADER]
    for group, codes in GROUPS.items():
        lines.append(f"## {group}\n")
        for each in codes:
            language = "futhark" if each.suffix in (".fut", ".rules") else ""
            lines += [
                f"### {each.code}", "", f"*{each.title}*", "",
                textwrap.fill(each.meaning, 120), "",
                fenced(each.wrong, language), fenced(message(each, each.wrong)),
                "Without the mistake:", "", fenced(each.cure, language)]
    return "\n".join(lines).rstrip() + "\n"


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{abridged(text)}```\n"
