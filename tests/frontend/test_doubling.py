"""Programs whose definitions double a type or a term: checking follows objects, not places."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runelift.frontend.check.unify import Substitution
from runelift.frontend.load import check
from runelift.frontend.syntax import types as ty
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.ir.prim import Prim

LINES = range(1, 60)
"""Enough that work for each place in the last definition would never end."""

Line = Callable[[int], str]

DECLARED: list[tuple[str, Line]] = [
    ("type t0 = i32", lambda k: f"type t{k} = (t{k - 1}, t{k - 1})"),
    ("type t0 = i32", lambda k: f"type t{k} = {{a: t{k - 1}, b: t{k - 1}}}"),
    ("type t0 = i32", lambda k: f"type^ t{k} = t{k - 1} -> t{k - 1}"),
    ("type t0 = i32", lambda k: f"type t{k} = #a t{k - 1} | #b t{k - 1}"),
    ("type t0 [n] = [n]i32", lambda k: f"type t{k} [n] = (t{k - 1} [n], t{k - 1} [n])"),
    ("type t0 'a = a", lambda k: f"type t{k} 'a = t{k - 1} (a, a)"),
    ("type t0 'a = a", lambda k: f"type t{k} 'a = (t{k - 1} a, t{k - 1} a)"),
    ("module m0 = {def x (y: i32) = y + 1}",
     lambda k: f"module m{k} = {{def x (y: i32) = m{k - 1}.x (m{k - 1}.x y)}}"),
    ("def s0 [n] (x: [n]i32) = x ++ x", lambda k: f"def s{k} [n] (x: [n]i32) = s{k - 1} (x ++ x)"),
    ("def x0 = 1i32", lambda k: f"def x{k} = (x{k - 1}, x{k - 1})"),
    ("def x0 = 1i64", lambda k: f"def x{k} = x{k - 1} * x{k - 1} + 1"),
    ("def f0 (x: i32) = x + 1", lambda k: f"def f{k} (x: i32) = f{k - 1} (f{k - 1} x)"),
    ("def f0 x = x + 1i32", lambda k: f"def f{k} x = f{k - 1} (f{k - 1} x)"),
]
LOCAL: list[tuple[str, Line, str]] = [
    ("x", lambda k: f"(a{k - 1}, a{k - 1})", "x"),
    ("x", lambda k: f"if x < {k} then (a{k - 1}, a{k - 1}) else (a{k - 1}, a{k - 1})", "x"),
    ("x", lambda k: f"a{k - 1} + a{k - 1}", "a59"),
    ("i64.i32 x", lambda k: f"a{k - 1} / a{k - 1}", "a59"),
    ("i64.i32 x", lambda k: f"(a{k - 1} + 1) * (a{k - 1} + 2)", "a59"),
    ("i64.i32 x", lambda k: f"a{k - 1} * a{k - 1} + 1", "iota a59"),
    ("\\(y: i32) -> y + 1", lambda k: f"\\y -> a{k - 1} (a{k - 1} y)", "a59 x"),
]


def _lines(first: str, line: Line) -> str:
    return "\n".join([first, *map(line, LINES)])


@pytest.mark.parametrize(("first", "line"), DECLARED)
def test_declarations(first: str, line: Line) -> None:
    last = "def g (x: t59) = 1i32\n" if first == "type t0 = i32" else ""
    use = "f59 x" if first.startswith("def f0") else "x"
    check(Source("t", f"{_lines(first, line)}\n{last}entry main (x: i32) = {use}"))


@pytest.mark.parametrize(("first", "line", "result"), LOCAL)
def test_local(first: str, line: Line, result: str) -> None:
    lets = _lines(f"let a0 = {first}", lambda k: f"let a{k} = {line(k)}")
    check(Source("t", f"entry main (x: i32) =\n{lets}\nin {result}"))


def test_parts_that_are_one_object_stay_one() -> None:
    type_: ty.Type = Prim.I32
    for _ in LINES:
        type_ = ty.Tuple((type_, type_))
    resolved = Substitution(Names()).resolve(type_)
    assert len(list(ty.parts(resolved))) == len(LINES) + 1
    assert ty.facts(resolved).leaves == 2 ** len(LINES)
    assert "..." in ty.show(resolved)


def test_unified_once() -> None:
    """Two types of equal form are compared once for each pair of objects."""
    left: ty.Type = Prim.I32
    right: ty.Type = Prim.I32
    for _ in LINES:
        left, right = ty.Tuple((left, left)), ty.Tuple((right, right))
    Substitution(Names()).unify(left, right)


def test_equal_types_are_one_object() -> None:
    def make() -> ty.Type:
        return ty.Arrow(ty.Tuple((Prim.I32, ty.Record((("a", Prim.F32),)))), ty.UNIT)
    assert make() is make()
    assert make() is not ty.Arrow(ty.UNIT, ty.UNIT)


def test_a_message_shows_a_part_of_a_large_type() -> None:
    text = _lines(*DECLARED[0]) + "\ndef f (x: t59): t58 = x\nentry main (x: i32) = x"
    with pytest.raises(ProgramError) as caught:
        check(Source("t", text))
    assert "..." in str(caught.value)
    assert len(str(caught.value)) < 20_000
