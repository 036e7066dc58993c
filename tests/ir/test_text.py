"""``parse(pretty(p)) == p`` for core and versioned programs, and what the parser rejects."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import ProgramError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import (
    Assert,
    AtomExp,
    Body,
    Exp,
    Fun,
    Param,
    Program,
    Stm,
    Version,
    Versions,
)
from runelift.ir.types import Const
from runelift.runtime.compilation.pipeline import compile_source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.fut"))
EVERYTHING = """
entry main [n][m] (xss: *[n][m]f32) (is: [m]i64) (b: bool): ([][]f32, []i64) =
  let bins = reduce_by_index (replicate 7 0) (+) 0 is (map (\\i -> i / 2) is)
  let moved = scatter (replicate 9 1) is is
  let xss[0, 1:] = map f32.sqrt xss[0, 1:]
  let big = loop (k, s) = (0i64, 1f64) while k < 5 && b do (k + 1, s * 2 / f64.nan)
  let rows = map (\\xs -> scan (+) 0 (reverse xs)) (copy xss)
  let all = concat (flatten rows) [1, 2.5, -f32.inf]
  in (if big.1 > 3 then transpose rows else unflatten (all[:n * m] :> [m * n]f32),
      concat bins (filter (> 2) moved))
"""


def round_trip(program: Program) -> None:
    text = pretty(program)
    assert parse(text) == program
    assert pretty(parse(text)) == text


@pytest.mark.sweep(every=25)
@pytest.mark.parametrize("policy", ["all", "full", "divided", "classic", "moderate"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples(path: Path, policy: str) -> None:
    compiled = compile_source(read_source(path), policy=policy)
    for program in (compiled.core, compiled.optimised, compiled.versioned):
        round_trip(program)


def test_every_construct() -> None:
    compiled = compile_source(Source("everything", EVERYTHING))
    for program in (compiled.core, compiled.optimised, compiled.versioned):
        round_trip(program)


def with_expression(exp: Exp, *types: Prim) -> Program:
    pat = tuple(Param(VName("x'y_1", k), type_) for k, type_ in enumerate(types))
    stm = Stm(pat, exp, ("sequential", "a(b, c)"))
    return Program((Fun("entry'1_2", (), (), Body((stm,), ())),))


constants = st.sampled_from(list(Prim)).flatmap(lambda prim: st.builds(
    Const, st.booleans() if prim is Prim.BOOL else
    st.floats(width=prim.bits) if prim.is_float else
    st.integers(int(prim.least), int(prim.greatest)), st.just(prim)))


@given(constants)
def test_constants(const: Const) -> None:
    round_trip(with_expression(AtomExp(const), const.prim))


@given(st.text())
def test_messages(message: str) -> None:
    round_trip(with_expression(Assert(Const(True, Prim.BOOL), message)))


variables = st.sampled_from([Size.var(VName("n", 1)), Size.var(VName("m_x", 2)), Size.of(3)])
sizes = st.recursive(variables, lambda inner: st.one_of(
    st.builds(lambda a, b: a + b, inner, inner), st.builds(lambda a, b: a - b, inner, inner),
    st.builds(lambda a, b: a * b, inner, inner), st.builds(ceil_div, inner, variables),
    st.builds(least, inner, inner), st.builds(greatest, inner, inner)), max_leaves=6)


@given(sizes, st.none() | st.integers(0, 10**12), st.text(), st.sampled_from(Kind))
def test_guards(par: Size, default: int | None, key: str, kind: Kind) -> None:
    guard = Guard("f.suff_outer_par_0", key, kind, par, default)
    round_trip(with_expression(Versions("f.versions_0", (
        Version(guard, kind, Body((), ())), Version(None, Kind.FLAT, Body((), ()))), ())))


@pytest.mark.parametrize(("text", "place"), [
    ("entry main : () =\n  let (x_1 : f33) = 1i32\n  in ()", "2:14"),
    ("entry main : () =\n  let (x_1 : i32) = frob.i32(1i32)\n  in ()", "2:21"),
    ("entry main : () =\n  let (x_1 : i32) = add.i99(1i32)\n  in ()", "2:21"),
    ("entry main : () =\n  let (x_1 : i32) = 1.5i32\n  in ()", "2:21"),
    ("entry main : () =\n  in (x_1", "2:10"),
])
def test_malformed_text(text: str, place: str) -> None:
    with pytest.raises(ProgramError, match=rf"<ir>:{place}: error\[malformed-ir\]"):
        parse(text)


def test_comments_are_skipped() -> None:
    text = "-- a comment\nentry f (x_1 : i32) : (y_2 : i32) = -- another\n  in (x_1)\n"
    assert parse(text).funs[0].name == "f"
