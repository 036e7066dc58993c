"""The comments of the shipped files: each example has the value shown, and the page is current."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import runelift
from tests.library.page import FILES, PAGE, functions, page


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_have_the_values_shown(path: Path) -> None:
    listed = functions(path)
    text = f'import "std/{path.stem}"\n' + "\n".join(
        f"entry found{k} = {each.example}\nentry wanted{k} = {each.value}"
        for k, each in enumerate(listed))
    program = runelift.compile(text, device="interpreter")
    for k, each in enumerate(listed):
        found, wanted = getattr(program, f"found{k}")(), getattr(program, f"wanted{k}")()
        for one, other in zip(*([value] if not isinstance(value, tuple) else value
                                for value in (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=each.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_function_has_a_comment(path: Path) -> None:
    defined = re.findall(r"^ *def (\w+)", path.read_text(), re.MULTILINE)
    assert defined == [each.name for each in functions(path)]


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m tests.library.page"
