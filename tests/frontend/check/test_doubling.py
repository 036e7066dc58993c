"""Programs whose definitions double a type or a term in each line are checked in linear time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runelift.frontend.load import check
from runelift.frontend.syntax import types as ty
from runelift.ir.errors import ProgramError
from runelift.ir.prim import Prim
from runelift.ir.source import Source

LINES = 26
STEPS = 20_000_000
"""Far above what a check needs, far below what 2^26 parts would."""
END = "entry main (x: i32) = x"


def chain(first: str, line: str, last: str = "", end: str = END) -> str:
    """A program with a line for each number, of which ``%a`` is that before ``%b``."""
    lines = [line.replace("%a", str(k)).replace("%b", str(k + 1)) for k in range(LINES)]
    return "\n".join([first, *lines, last.replace("%b", str(LINES)), end.replace("%b", str(LINES))])


PROGRAMS = {
    "tuples": chain("type t0 = i32", "type t%b = (t%a, t%a)", "def f (x: t%b): t%b = x"),
    "records": chain("type t0 = {a: i32}", "type t%b = {a: t%a, b: t%a}", "def f (x: t%b) = x"),
    "sums": chain("type t0 = #a i32 | #b", "type t%b = #c%b t%a t%a | #d%b", "def f (x: t%b) = x"),
    "functions": chain("type^ t0 = i32 -> i32", "type^ t%b = t%a -> t%a", "def f (x: t%b) = x"),
    "parameters": chain("type t0 'a = a", "type t%b 'a = (t%a a, t%a a)", "def f (x: t%b i32) = x"),
    "arrays": chain("type t0 [n] = [n]i32", "type t%b [n] = (t%a [n], t%a [n])",
                    "def f [n] (x: t%b [n]) = x"),
    "values": chain("def x0 = 1i32", "def x%b = (x%a, x%a)"),
    "calls": chain("def f0 (x: i32) = x + 1", "def f%b (x: i32) = f%a (f%a x)",
                   end="entry main (x: i32) = f%b x"),
    "sizes": chain("def f0 [n] (x: [n]i32) = x ++ x", "def f%b [n] (x: [n]i32) = f%a (x ++ x)",
                   end="entry main (x: []i32) = f%b x"),
    "modules": chain("module m0 = { def x (y: i32) = y + 1 }",
                     "module m%b = { def x (y: i32) = m%a.x (m%a.x y) }",
                     end="entry main (x: i32) = m%b.x x"),
    "lets": chain("def p 'a (x: a) = (x, x)\nentry main (x: i32) = let y0 = x",
                  "let y%b = p y%a", "in x", ""),
    "local functions": chain("entry main (x: i32) = let f0 (x: i32) = x + 1",
                             "let f%b (x: i32) = f%a (f%a x)", "in f%b x", ""),
}


def bounded(action: Callable[[], None]) -> None:
    """Run an action; it fails if it takes more than ``STEPS`` steps of Python code."""
    left = STEPS

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        assert left > 0, "too many calls"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_check_takes_few_steps(name: str) -> None:
    bounded(lambda: check(Source(f"{name}.fut", PROGRAMS[name])))


def test_a_message_shows_a_part_of_a_large_type(tmp_path: Path) -> None:
    text = chain("type t0 = i32", "type t%b = (t%a, t%a)", f"def f (x: t%b): t{LINES - 1} = x")
    with pytest.raises(ProgramError) as caught:
        bounded(lambda: check(Source("a.fut", text)))
    assert "..." in str(caught.value)
    assert len(str(caught.value)) < 20_000


def test_equal_types_are_one_object() -> None:
    def make() -> ty.Type:
        return ty.Arrow(ty.Tuple((Prim.I32, ty.Record((("a", Prim.F32),)))), ty.UNIT)
    assert make() is make()
    assert make() is not ty.Arrow(ty.UNIT, ty.UNIT)
