"""Holes: each is reported once, with the type of the expression that belongs there."""

from __future__ import annotations

import warnings

from runelift.frontend.check import Memory
from runelift.frontend.load import check, checked_module
from runelift.frontend.syntax.parser import parse
from runelift.ir.base.errors import Diagnostic, ProgramWarning
from runelift.ir.base.source import Source


def remarks(text: str) -> list[Diagnostic]:
    with warnings.catch_warnings(record=True, action="always") as seen:
        check(Source("p.fut", text))
    return [each.message.diagnostic for each in seen if isinstance(each.message, ProgramWarning)]


def test_the_type_comes_from_the_use() -> None:
    found = remarks("entry f [n] (xs: [n]f32): ([n]i64, f32) = (map ??? xs, ??? + 1)")
    assert [(each.code, each.span.text, each.message) for each in found] == [
        ("hole", "???", "Here is a hole of type f32 -> i64."),
        ("hole", "???", "Here is a hole of type f32.")]


def test_once_in_a_module_that_is_applied_twice() -> None:
    found = remarks("module m (p: {type t}) = { def f (x: p.t): p.t = ??? }\n"
                    "module a = m {type t = i32}\nmodule b = m {type t = f32}\n"
                    "entry g (x: i32) (y: f32) = (a.f x, b.f y)")
    assert [each.span.start for each in found] == [49]


def test_none_in_what_is_made_of_a_recursive_function() -> None:
    assert remarks("type t = #a | #b\ndef f (x: t): i32 = match x case #a -> f #b case #b -> 1\n"
                   "entry g (x: bool) = f (if x then #a else #b)") == []


def test_again_after_a_change_elsewhere() -> None:
    memory = Memory()
    for number in range(2):
        with warnings.catch_warnings(record=True, action="always") as seen:
            checked_module(parse(Source("p.fut", f"def f (x: i32): f32 = ???\ndef g = {number}")),
                           memory=memory)
        assert len(seen) == 1
