"""Points that store results keep types and results, and no later pass undoes them."""

from __future__ import annotations

from typing import Any

import pytest

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import is_stored
from runelift.ir.types import shape_of
from runelift.rewrite.flattening import flatten
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.pipeline import clean, optimise
from tests.rewrite.lift.points.applying import Given, apply, early, numbers, same, walk

CHAIN = """
entry main [n] (a: [n]i32): [n]i32 =
  let b = map (\\x -> x * 3 + 1) a
  in map (\\x -> x * x) b
"""
WINDOWS = """
entry main [n] (a: [n]i32): []i32 =
  map (\\w -> reduce (+) 0 (map2 (*) w [1, 2, 3])) (lift.slide 3 1 a)
"""
COLUMNS = """
entry main [n][m] (a: [n][m]i32): [m]i32 =
  let b = map (map (\\x -> x * x)) a
  in map (reduce (+) 0) (transpose b)
"""
INSIDE = """
entry main [n][m] (a: [n][m]i32): [n]i32 =
  map (\\row -> let s = scan (+) 0 row
               let t = s[m - 1] + 1
               in reduce (+) 0 (map (\\x -> x * t) s)) a
"""
TURNED = """
entry main [n][m] (a: [n][m]i32): [m][n]i32 =
  map (\\column -> map (\\x -> x + 1) column) (transpose (map (map (* 2)) a))
"""
THREE = """
entry main [n][m] (a: [n][m][4]i32): [n]i32 =
  let b = map (map (map (\\x -> x - 1))) a
  in map (\\plane -> reduce (+) 0 (flatten plane)) b
"""
SHAPES = {CHAIN: ["n"], WINDOWS: ["n"], COLUMNS: ["nm"], INSIDE: ["nm"], TURNED: ["nm"],
          THREE: ["nm4"]}
SIZES = [{"n": 4, "m": 6}, {"n": 3, "m": 1}, {"n": 7, "m": 5}, {"n": 16, "m": 3}]
EMPTY = [{"n": 0, "m": 6}, {"n": 3, "m": 0}]

Heads = type[Any] | tuple[type[Any], ...]


def arguments(text: str, sizes: dict[str, int]) -> list[Any]:
    return [numbers(seed, *(int(d) if d.isdigit() else sizes[d] for d in shape))
            for seed, shape in enumerate(SHAPES[text])]


CASES: list[tuple[str, str, Given, Heads, int]] = [
    ("kernel_fission", CHAIN, {}, ir.Map, 0), ("kernel_fission", WINDOWS, {}, ir.Map, 0),
    ("kernel_fission", COLUMNS, {}, ir.Map, 0), ("kernel_fission", INSIDE, {}, ir.Map, 0),
    ("kernel_fission", TURNED, {}, ir.Map, 0), ("kernel_fission", THREE, {}, ir.Map, 0),
    ("materialise", CHAIN, {"space": "global"}, ir.Map, 0),
    ("materialise", WINDOWS, {"space": "global"}, ir.Slide, 0),
    ("materialise", COLUMNS, {"space": "global"}, ir.Rearrange, 0),
    ("materialise", COLUMNS, {"space": "global"}, ir.Map, 0),
    ("materialise", INSIDE, {"space": "local"}, ir.Scanomap, 0),
    ("materialise", INSIDE, {"space": "private"}, ir.Scanomap, 0),
    ("materialise", TURNED, {"space": "global"}, ir.Rearrange, 0),
    ("layout", COLUMNS, {"order": "10"}, ir.Map, 0),
    ("layout", TURNED, {"order": "10"}, ir.Map, 0),
    ("layout", THREE, {"order": "201"}, ir.Map, 0),
    ("layout", THREE, {"order": "021", "factor_0": 2, "factor_1": 2}, ir.Map, 0),
    ("layout", CHAIN, {"order": "10", "factor_0": 4}, ir.Map, 0),
]


@pytest.mark.parametrize(("point", "text", "given", "head", "skip"), CASES, ids=[
    f"{p}-{t.split('=')[1].split()[0]}{n}-{'-'.join(map(str, g.values()))}"
    for n, (p, t, g, _, _) in enumerate(CASES)])
def test_it_is_kept_and_keeps_the_meaning(point: str, text: str, given: Given, head: Heads,
                                          skip: int) -> None:
    program, names = early(text)
    new = apply(program, names, BOOK[point], given, skip=skip,
                where=lambda stm: isinstance(stm.exp, head))
    assert new.done, new.reasons
    optimised = optimise(new.program, names)
    versioned = clean(flatten(optimised, names, policy="full"), names)
    for program_ in (optimised, versioned):
        assert any(map(is_stored, walk(program_.funs[0].body.stms)))
    tried = 0
    for sizes in [*SIZES, *EMPTY]:
        if (text is WINDOWS and sizes["n"] < 3) or (text is INSIDE and sizes["m"] == 0):
            continue
        if all(c.holds({v: sizes[v.base] for v in c.variables()}) for c in new.constraints):
            tried += 1
            for after in (new.program, optimised, versioned):
                same(program, after, arguments(text, sizes))
    assert tried


def maps_at_host(program: ir.Program) -> int:
    return sum(isinstance(stm.exp, ir.Map | ir.Redomap) for stm in program.funs[0].body.stms)


def test_fission_leaves_two_operations_of_what_would_be_one() -> None:
    program, names = early(CHAIN)
    new = apply(program, names, BOOK["kernel_fission"])
    assert maps_at_host(optimise(new.program, names)) == 2
    program, names = early(CHAIN)
    assert maps_at_host(optimise(program, names)) == 1


def test_fission_behind_windows_stores_their_matrix() -> None:
    program, names = early(WINDOWS)
    optimised = optimise(apply(program, names, BOOK["kernel_fission"]).program, names)
    (stored,) = [stm for stm in optimised.funs[0].body.stms if is_stored(stm)]
    assert len(shape_of(stored.pat[0].type)) == 2
    assert isinstance(stored.exp, ir.Map)
    assert not any(isinstance(s.exp, ir.PrimOp) and s.exp.op == "mul" for s in walk([stored]))


def test_fission_of_a_map_divides_it_before_its_last_operation() -> None:
    program, names = early(INSIDE)
    optimised = optimise(apply(program, names, BOOK["kernel_fission"]).program, names)
    first, second = (stm.exp for stm in optimised.funs[0].body.stms if isinstance(stm.exp, ir.Map))
    assert any(isinstance(s.exp, ir.Scanomap) for s in first.lam.body.stms)
    assert any(isinstance(s.exp, ir.Redomap) for s in second.lam.body.stms)
    assert not any(isinstance(s.exp, ir.Scanomap) for s in second.lam.body.stms)
