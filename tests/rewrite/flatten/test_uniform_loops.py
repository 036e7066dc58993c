"""Loops inside of maps that run equally often at all points, with scalars that are equal there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.ir import syntax as ir
from runelift.ir.prim import Prim
from runelift.ir.traverse import statements_at_host
from runelift.ir.types import shape_of
from tests.programs import agree, compiled, expected, program

I32, I64 = np.int32, np.int64
SUM = "i32.sum (map (* t) xs)"
LOOPS: dict[str, str] = {
    "doubled": "(loop (ys, d) = (xs, 1) while d < m do "
               "(map (\\i -> if i >= d then ys[i] + ys[i - d] else ys[i]) (iota m), d * 2)).0",
    "sums": f"(loop (s, t) = (0, k) while t > 0 do (s + t + {SUM}, t / 3)).0",
    "returned": f"let (s, t) = loop (s, t) = (0, k) while t > 2 do (s + {SUM}, t - 1) in s * t",
    "two": f"let (s, t, u) = loop (s, t, u) = (0, 0, k) while u > t do (s + {SUM}, t + 1, u - t) "
           "in s - t + u",
    "counted": "(loop (s, w) = (0, k) for i < 5 do (s + i32.sum (map (* (w + i)) xs), w * 2)).0",
    "inner": f"loop s = 0 for i < 2 do (loop (s, t) = (s, i) while t < 3 do (s + {SUM}, t + 1)).0",
    "scatter": "(loop (ys, d) = (copy xs, 1) while d < m do "
               "(scatter (replicate m 0) (map (\\i -> (i + d) % m) (iota m)) ys, d + d)).0",
}
FROM = "map (\\i -> i32.i64 i + k) (iota m)"
ARRAYS: dict[str, str] = {
    "beside": f"(loop (ys, s) = ({FROM}, 0) for i < 4 do "
              "(map2 (+) ys (rotate 1 ys), s + i32.sum (map2 (*) ys xs))).1",
    "together": f"let (ys, zs) = loop (ys, zs) = ({FROM}, xs) for i < 3 do "
                "unzip (map2 (\\y z -> (y * y + i32.i64 i, y * z + 1)) ys zs) "
                "in i32.sum (map2 (-) ys zs)",
    "with a sum": f"(loop (ys, t, s) = ({FROM}, 1, 0) for i < 3 do let u = i32.sum ys "
                  "let zs = map (* t) ys in (map (+ u) zs, t + u, s + i32.sum (map2 (*) zs xs))).2",
}
"""Loops that carry an array that is the same for all rows."""
VARYING: dict[str, str] = {
    "condition": f"(loop (s, t) = (0, xs[0]) while t > 0 do (s + {SUM}, t - 1)).0",
    "step": f"(loop (s, t) = (0, k) while t > 0 do (s + {SUM}, t - 1 - (xs[0] & 1))).0",
    "through another": f"(loop (s, t, u) = (0, k, k) while t > 0 do "
                       f"(s + {SUM}, t - 1 - (u & 1), xs[0])).0",
}
SIZES = ((3, 7), (0, 4), (4, 1), (2, 300), (1, 1))


def text_of(body: str) -> str:
    """A map with a body of the row ``xs`` of length ``m``, and of ``k``."""
    return f"entry main [n][m] (xss: [n][m]i32) (k: i32) = map (\\xs -> {body}) xss"


def loops_around(body: str) -> list[ir.Loop]:
    """The loops of the host in the program of a body."""
    (fun,) = compiled(text_of(body)).versioned_entry("main").funs
    return [stm.exp for stm in statements_at_host(fun.body) if isinstance(stm.exp, ir.Loop)]


def arguments(n: int, m: int) -> list[Any]:
    """Rows of small numbers, and k."""
    return [np.random.default_rng(n + m).integers(-3, 5, (n, m)).astype(I32), I32(11)]


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_goes_outside_and_all_versions_agree(name: str) -> None:
    text = text_of(LOOPS[name])
    found = loops_around(LOOPS[name])
    assert found
    assert all(isinstance(p.param.type, Prim) for loop in found for p in loop.params
               if isinstance(loop.form, ir.WhileLoop) and p.param.name == loop.form.cond)
    on_device = program(text)
    for n, m in SIZES:
        args = arguments(n, m)
        assert agree(on_device, "main", args, expected(text, "main", args))


@pytest.mark.parametrize("name", VARYING)
def test_a_loop_that_depends_on_the_row_runs_over_active_points(name: str) -> None:
    text = text_of(VARYING[name])
    assert all(any(p.param.name.base == "points" for p in loop.params)
               for loop in loops_around(VARYING[name]))
    args = arguments(3, 7)
    assert agree(program(text), "main", args, expected(text, "main", args))


@pytest.mark.parametrize("body", [
    "(loop (s, t) = (0, k) while t != 0 do (s + i32.sum (map (* t) xs), t | 1)).0",
    "(loop (s, t) = (0, 0) for i < 2 do (s + i32.sum (map (* t) xs), 7 / (k - k))).0"])
def test_a_loop_that_no_point_runs_neither_goes_on_nor_fails(body: str) -> None:
    args = [np.zeros((0, 4), I32), I32(11)]
    assert agree(program(text_of(body)), "main", args, expected(text_of(body), "main", args))


def test_uniform_scalars_stay_scalars() -> None:
    (loop,) = loops_around(LOOPS["counted"])
    assert sum(isinstance(p.param.type, Prim) for p in loop.params) == 1


@pytest.mark.parametrize("name", ARRAYS)
def test_uniform_arrays_are_computed_once(name: str) -> None:
    (loop,) = loops_around(ARRAYS[name])
    ranks = sorted(len(shape_of(p.param.type)) for p in loop.params)
    assert ranks == {"beside": [1, 1], "together": [1, 2], "with a sum": [0, 1, 1]}[name]
    text = text_of(ARRAYS[name])
    for n, m in SIZES:
        args = arguments(n, m)
        assert agree(program(text), "main", args, expected(text, "main", args))


@pytest.mark.parametrize("step", ["map (+ ys[i]) ys", "map2 (+) ys xs",
                                  "if i > 5 then map (/ k) ys else ys"])
def test_arrays_that_may_fail_or_that_vary_are_not(step: str) -> None:
    body = (f"(loop (ys, s) = ({FROM}, 0) for i < 3 do ({step}, s + i32.sum (map2 (*) ys xs))).1")
    (loop,) = loops_around(body)
    assert sorted(len(shape_of(p.param.type)) for p in loop.params) == [1, 2]
    args = [np.zeros((0, 1), I32), I32(0)]
    assert agree(program(text_of(body)), "main", args, expected(text_of(body), "main", args))


def test_values_of_a_function_are_computed_once_for_several_tangents() -> None:
    text = """
entry main [m][n] (k: i64) (xs: [n]f64) (ts: [m][n]f64) =
  jmp (\\xs -> loop ys = xs for i < k do map2 (\\y z -> f64.sin (y * z)) ys (rotate 1 ys)) xs ts"""
    (fun,) = compiled(text).versioned_entry("main").funs
    (loop,) = (stm.exp for stm in statements_at_host(fun.body) if isinstance(stm.exp, ir.Loop))
    assert sorted(len(shape_of(p.param.type)) for p in loop.params) == [1, 2]
    args = [3, np.linspace(-1, 1, 5), np.random.default_rng(1).normal(size=(4, 5))]
    assert agree(program(text), "main", args, expected(text, "main", args))
