"""Programs that are checked again after a change: as if they had not been checked before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from runelift.frontend.check import Memory
from runelift.frontend.check.declarations import Checker
from runelift.frontend.load import checked_module
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse
from runelift.frontend.syntax.tokens import scan
from runelift.frontend.syntax.types import show
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.fut"))
CHANGES = ("1", "0i64", "x", "n", "copy", "true", "(1 + 1)", "")


def outcome(text: str, memory: Memory | None = None) -> object:
    """The types of all expressions and patterns of a program, or its mistakes."""
    source = Source("program.fut", text)
    try:
        flat = checked_module(parse(source), memory=memory)
    except ProgramError as error:
        return str(error)
    found = []
    for node in walk(flat.decs):
        if isinstance(node, ast.Exp | ast.Pattern | ast.ValDec) and node.type is not None:
            span = node.span
            found.append((type(node).__name__, span.source.name, span.start, span.end,
                          show(node.type, lambda size: "+".join(
                              sorted(name.base for name in size.variables())))))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_change_is_checked_as_if_it_were_new(seed: int) -> None:
    choose = random.Random(seed)
    first = text = choose.choice(EXAMPLES).read_text()
    memory = Memory()
    outcome(text, memory)
    for _ in range(8):
        before = text if choose.random() < 0.7 else first
        words = [match for match in scan(before)
                 if match.lastgroup in {"word", "integer", "operator", "field"}]
        match = choose.choice(words)
        new = choose.choice([*CHANGES, choose.choice(words)[0], match[0] + "\n"])
        text = before[:match.start()] + new + before[match.end():]
        assert outcome(text, memory) == outcome(text), text


TEXT = """\
type pair = (i32, i32)
def n = i64.sum [1, 2]
def first (p: pair) = p.0
def twice (x: i32) = 2 * x
def row (x: i32): [n / 2]i32 = replicate (n / 2) x
def sum (xs: [n / 2]i32) = reduce (+) 0 xs
def four = twice 2
entry main (x: i32) = first (x, four) + sum (row x)
"""


@pytest.mark.parametrize(("old", "new", "checked"), [
    ("2 * x", "2 + x", ["twice", "four", "main"]),
    ("2 * x", "\n  2 * x", ["twice", "four", "main"]),
    ("= p.0", "= p.1", ["first", "main"]),
    ("(i32, i32)", "(i32, i64)", ["pair", "first", "main"]),
    ("[1, 2]", "[1, 3]", ["n", "row", "sum", "main"]),
    ("def first", "def row (x: i32) = x\ndef first", None),
    ("def twice", "-- a comment\ndef twice", []),
    ("+ sum (row x)", "+ sum (replicate (n / 2) x)", ["main"]),
])
def test_only_what_a_change_reaches_is_checked(
        monkeypatch: pytest.MonkeyPatch, old: str, new: str, checked: list[str] | None) -> None:
    memory, seen = Memory(), list[str]()
    outcome(TEXT, memory)
    plain = Checker.declaration

    def watched(self: Checker, dec: ast.CoreDec) -> None:
        seen.append(dec.name)
        plain(self, dec)

    monkeypatch.setattr(Checker, "declaration", watched)
    text = TEXT.replace(old, new)
    found = outcome(text, memory)
    if checked is not None:
        assert seen == checked
    assert found == outcome(text)


HIDDEN = """\
module type counter = { type t  val zero: t  val next: t -> t  val show: t -> i32 }
module plain: counter = { type t = i32  def zero = 0i32
                          def next (x: t) = x + 1  def show (x: t) = x }
module twice (c: counter) = { def two = c.next (c.next c.zero) }
module used = twice plain
def last = used.two
def other (x: i32) = x + 1
entry main (x: i32) = plain.show last + other x
"""


def test_hidden_types_are_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    counts = []
    plain = Checker.declaration
    monkeypatch.setattr(Checker, "declaration", lambda self, dec: (
        counts.append(dec.name), plain(self, dec)))
    for text in (HIDDEN, HIDDEN.replace("x + 1\nentry", "x + 2\nentry"),
                 HIDDEN.replace("type t = i32", "type t = i64"),
                 HIDDEN.replace("zero = 0i32", "zero = 5i32"),
                 HIDDEN.replace("plain.show last", "last"), HIDDEN):
        counts.clear()
        found = outcome(text, memory)
        if "x + 2" in text:
            assert counts == ["other", "main"]
        assert found == outcome(text), text


def test_what_a_mistake_hid_is_checked_when_it_is_mended() -> None:
    memory = Memory()
    for text in (TEXT, TEXT.replace("2 * x", "2 * y"), TEXT.replace("[n / 2]i32 =", "[n / 3]i32 ="),
                 TEXT.replace("def n = i64.sum [1, 2]\n", ""), TEXT):
        assert outcome(text, memory) == outcome(text)
