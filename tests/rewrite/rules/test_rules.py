"""Every rule states its law, can be reached, and keeps the meaning, alone and with the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.ir.traverse import program_names
from runelift.rewrite.engine.rule import NOTES, Rewriting, Rule
from runelift.rewrite.flattening import flatten
from runelift.rewrite.passes.simplify import simplify
from runelift.rewrite.pipeline import clean, optimise
from runelift.rewrite.registry import DERIVE, PASSES, RULES, SUM
from tests.rewrite.rules import handmade
from tests.rewrite.rules.reach import REACH, REACH_VERSIONED

IDS = [rule.name for rule in RULES if rule not in (*DERIVE.rules, *SUM.rules)]
"""Those of derivatives have tests of their own: a derivative needs all of them."""


def source(text: str) -> tuple[Program, Names]:
    names = Names()
    return load(Source("t", text), names), names


def same(program: Program, other: Program, args: list[Any]) -> None:
    for a, b in zip(interpret(program, "main", args), interpret(other, "main", args), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_states_its_law(rule: Rule) -> None:
    assert rule.law.count("⇒") >= 1
    assert rule.heads
    assert {kind for kind, _ in rule.notes} <= set(NOTES)
    assert all(said.endswith(".") for _, said in rule.notes)


def test_names_of_rules_and_passes_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len({*names, *(p.name for p in PASSES)}) == len(names) + len(PASSES)


def test_every_rule_has_a_case() -> None:
    assert set(IDS) == {*REACH, *REACH_VERSIONED, *handmade.HANDMADE}


@pytest.mark.parametrize("name", sorted(REACH))
def test_rule_is_reached_and_keeps_the_meaning(name: str) -> None:
    text, args = REACH[name]
    program, names = source(text)
    fired: Counter[str] = Counter()
    watch = Rewriting(names, trace=lambda rule, _b, _a: fired.update([rule.name]))
    optimised = optimise(program, names, watch)
    assert fired[name]
    same(program, optimised, args)
    program, names = source(text)
    without = optimise(program, names, Rewriting(
        names, frozenset({name}), trace=lambda rule, _b, _a: check_off(rule, name)))
    same(program, without, args)


@pytest.mark.parametrize("name", sorted(REACH_VERSIONED))
@pytest.mark.parametrize("off", [False, True])
def test_rule_after_flattening_is_reached_and_keeps_the_meaning(name: str, off: bool) -> None:
    text, args = REACH_VERSIONED[name]
    program, names = source(text)
    rewriting = Rewriting(names, frozenset({name}) if off else frozenset())
    versioned = clean(flatten(optimise(program, names, rewriting), names, policy="full"),
                      names, rewriting)
    assert bool(rewriting.fired[name]) is not off
    same(program, versioned, args)


def check_off(rule: Rule, name: str) -> None:
    assert rule.name != name


@pytest.mark.parametrize("name", sorted(REACH))
def test_rule_alone_keeps_the_meaning(name: str) -> None:
    text, args = REACH[name]
    program, names = source(text)
    off = set(IDS) - {name}
    optimised = optimise(program, names, Rewriting(names, frozenset(off)))
    same(program, optimised, args)


@pytest.mark.parametrize("name", sorted(handmade.HANDMADE))
def test_rule_on_handmade_ir(name: str) -> None:
    program = handmade.HANDMADE[name]()
    phase = "versioned" if name in handmade.VERSIONED else "core"
    check(program, phase)
    rewriting = Rewriting(Names.above(program_names(program)))
    simplified = simplify(program, rewriting)
    check(simplified, phase)
    assert rewriting.fired[name]
    same(program, simplified, handmade.ARGUMENTS)


@pytest.mark.parametrize("text", [
    "(x * 1 + 0, x - 0, 0 * x)", "(x + 0, 0 + x, x / x)", "(x - x, x * 0)", "(x == x, x <= x)",
])
@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, np.nan, 1.5])
def test_floats_keep_every_bit(text: str, value: float) -> None:
    program, names = source(f"entry main (x: f32) = {text}")
    args = [np.float32(value)]
    found = interpret(optimise(program, names), "main", args)
    for a, b in zip(interpret(program, "main", args), found, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("from_", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32",
                                   "f64"])
@pytest.mark.parametrize("middle", ["i8", "u16", "i32", "u32", "i64", "f32", "f64"])
@pytest.mark.parametrize("to", ["i8", "u8", "i32", "u64", "f32"])
def test_conversion_chains(from_: str, middle: str, to: str) -> None:
    program, names = source(f"entry main (x: {from_}) = {to}.{middle} ({middle}.{from_} x)")
    optimised = optimise(program, names)
    dtype = np.dtype({"i": "int", "u": "uint", "f": "float"}[from_[0]] + from_[1:])
    for value in (0, 1, 100, 127, 3.75) if from_[0] == "f" else (0, 1, 100, -1, 2**31 - 1):
        same(program, optimised, [np.array(value).astype(dtype)[()]])
