"""Rows that are only copied get a work-item for each element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.traverse import statements_at_host
from tests.programs import agree, compiled, expected, program

I32, F32 = np.int32, np.float32
ROWS: dict[str, tuple[str, int]] = {
    "indexed": ("xss[i % n]", 2),
    "checked": ("xss[i]", 2),
    "reversed": ("reverse xss[i % n]", 2),
    "part": ("xss[i % n, 1:3] :> [2]f32", 2),
    "window": ("(flatten xss)[i % n:i % n + m] :> [m]f32", 2),
    "repeated": ("replicate 3 (f32.i64 (i * i))", 2),
    "repeated rows": ("replicate 3 xss[i % n]", 3),
    "branch": ("if i % 2 == 0 then xss[i % n] else xss[0]", 2),
    "branches": ("if i % 3 == 0 then xss[i % n] else if i % 3 == 1 then replicate m 7 else xss[0]",
                 2),
    "planes": ("replicate 2 xss", 4),
}
PAIRS: dict[str, str] = {
    "and a scalar": "(xss[i % n], i * i)",
    "and a sum": "(xss[i % n], f32.sum xss[i % n])",
    "without checks": "(replicate 3 i, i * i, replicate k i)",
    "of two shapes": "(xss[i % n], replicate 3 i)",
    "a row and one made of it": "let a = if i % 2 == 0 then xss[i % n] else xss[0] "
                                "in (a, if i % 3 == 0 then a else xss[n - 1])",
    "a row made of one that follows": "let a = if i % 2 == 0 then xss[i % n] else xss[0] "
                                      "in (if i % 3 == 0 then a else xss[n - 1], a)",
}
SIZES = ((4, 5, 3), (3, 0, 2), (4, 5, 0), (2, 1, 9), (1, 400, 2))
KEPT: dict[str, str] = {
    "a loop": "loop r = xss[i % n] for j < 3 do (copy r) with [0] = r[m - 1] + f32.i64 j",
    "literals": "[xss[i % n, 0], f32.i64 i]",
}


def text_of(body: str) -> str:
    """A map with a body of i."""
    return f"entry main [n][m][k] (xss: [n][m]f32) (is: [k]i64) = map (\\i -> {body}) is"


def spaces(body: str) -> list[int]:
    """The numbers of dimensions of the maps of a program without versions."""
    (fun,) = compiled(text_of(body)).versioned_entry("main").funs
    return [len(stm.exp.space) for stm in statements_at_host(fun.body)
            if isinstance(stm.exp, ir.SegMap)]


def arguments(n: int, m: int, k: int) -> list[Any]:
    """A matrix, and places in it."""
    return [np.arange(n * m, dtype=F32).reshape(n, m), np.arange(k) % n]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_has_a_work_item_for_each_element(name: str) -> None:
    body, dimensions = ROWS[name]
    assert max(spaces(body)) == dimensions
    _check(text_of(body), [size for size in SIZES if name not in ("part", "window") or size[1] > 2])


@pytest.mark.parametrize("name", PAIRS)
def test_other_results_keep_their_own_points(name: str) -> None:
    _check(text_of(PAIRS[name]), SIZES)


@pytest.mark.parametrize("name", KEPT)
def test_rows_that_are_computed_stay_with_their_work_item(name: str) -> None:
    assert spaces(KEPT[name]) == [1]
    _check(text_of(KEPT[name]), [size for size in SIZES if size[1]])


@pytest.mark.parametrize("m", [0, 5])
def test_a_bad_place_is_an_error_also_if_rows_are_empty(m: int) -> None:
    args = [np.zeros((3, m), F32), np.array([0, 3])]
    for device in ("pocl", "interpreter"):
        with pytest.raises(ProgramFailure, match="out of bounds"):
            program(text_of("xss[i]"), device).run("main", args)


@pytest.mark.parametrize("body", [
    "assert (i < 2) xss[i % n]", "(assert (i < 2) xss[i % n], i)",
    "(xss[i % n], assert (i < 2) i)", "if i > 1 then assert (i < 2) xss[i % n] else xss[0]"])
@pytest.mark.parametrize("m", [0, 3])
def test_an_assertion_beside_a_row_still_fails(body: str, m: int) -> None:
    args = [np.zeros((3, m), F32), np.array([0, 5])]
    for device in ("pocl", "interpreter"):
        with pytest.raises(ProgramFailure, match="Assertion is false"):
            program(text_of(body), device).run("main", args)


def _check(text: str, sizes: Any) -> None:
    """All versions have the results of the interpreter."""
    on_device = program(text)
    for size in sizes:
        args = arguments(*size)
        assert agree(on_device, "main", args, expected(text, "main", args))
