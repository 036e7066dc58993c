"""Recursion in the core: its text, its checks and its meaning."""

from __future__ import annotations

import pytest

from runelift.ir.base import deep
from runelift.ir.base.errors import CompilerBug, ProgramFailure
from runelift.ir.base.failures import MOST_CALLS
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.traverse import binders, free_vars, rename_body

TEXT = """\
entry main (n_1 : i64) (k_2 : i64) : (size_3 : i64, result_4 : [size_3]i64) =
  let (size_5 : i64, r_6 : [size_5]i64) = recursive f_7 (m_8 : i64 = n_1) : (i64, [size_5]i64) do
    let (c_9 : bool) = le.i64(m_8, 0i64)
    let (size_10 : i64, r_11 : [size_10]i64) = if c_9 : (i64, [size_10]i64) then
      let (e_12 : [1i64]i64) = [k_2] : i64
      in (1i64, e_12)
    else
      let (l_13 : i64) = sub.i64(m_8, 1i64)
      let (size_14 : i64, r_15 : [size_14]i64) = call f_7 (l_13) : (i64, [size_14]i64)
      let (e_16 : [1i64]i64) = [m_8] : i64
      let (s_17 : i64) = add.i64(size_14, 1i64)
      let (x_18 : [s_17]i64) = concat@0 (r_15, e_16) s_17
      in (s_17, x_18)
    in (size_10, r_11)
  in (size_5, r_6)
"""


def test_text() -> None:
    program = parse(TEXT)
    assert parse(pretty(program)) == program


def test_meaning() -> None:
    """A call sees the names around the function, and its own arguments."""
    program = parse(TEXT)
    check(program, "core")
    (found,) = interpret(program, "main", [3, 7])
    assert found.tolist() == [7, 1, 2, 3]


def test_names() -> None:
    """The function and its parameters are bound inside alone; copies have other names."""
    body = parse(TEXT).funs[0].body
    exp = body.stms[0].exp
    assert {"n_1", "k_2"} <= {str(name) for name in free_vars(exp)}
    assert {"f_7", "m_8"}.isdisjoint(map(str, free_vars(exp)))
    fresh = rename_body(body, Names(100))
    assert set(binders(fresh)).isdisjoint(binders(body))
    assert {"n_1", "k_2"} <= {str(name) for name in free_vars(fresh)}


@pytest.mark.parametrize(("old", "new"), [
    ("call f_7 (l_13)", "call f_7 (l_13, l_13)"),  # another number of arguments
    ("call f_7 (l_13)", "call f_7 (c_9)"),  # of another type
    ("[size_14]i64) = call f_7 (l_13) : (i64, [size_14]i64)",
     "i64) = call f_7 (l_13) : (i64, i64)"),  # another result
    ("in (size_5, r_6)", "let (q_19 : i64) = call f_7 (n_1) : (i64)\n  in (size_5, r_6)"),
])
def test_checked(old: str, new: str) -> None:
    """A call has the types of the function, and stands in it."""
    assert old in TEXT
    with pytest.raises(CompilerBug):
        check(parse(TEXT.replace(old, new)), "core")


def test_depth() -> None:
    program = parse(TEXT.replace("le.i64(m_8, 0i64)", "lt.i64(m_8, 0i64)"))
    with pytest.raises(ProgramFailure, match="recursion-depth"):
        interpret(program, "main", [MOST_CALLS, 0])


def test_too_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A depth that Python has no room for is the program's failure, not a limitation."""
    monkeypatch.setattr(deep, "PYTHON_FRAMES", 2000)
    monkeypatch.setattr(deep, "DEEP_FRAMES", 9000)
    with pytest.raises(ProgramFailure, match=r"has called itself [0-9]{3,4} times"):
        interpret(parse(TEXT), "main", [MOST_CALLS - 1, 0])
