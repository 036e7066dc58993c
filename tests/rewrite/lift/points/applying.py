"""Points applied to programs, and programs to apply them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.constraints import Constraint
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.traverse import map_inside
from runelift.ir.types import i64, shape_of
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Point
from runelift.rewrite.pipeline import optimise

Given = Mapping[str, int | str]


@dataclass
class Applied:
    """A program after a point, or the reasons why no statement matches."""

    program: ir.Program
    constraints: tuple[Constraint, ...] = ()
    reasons: list[str] = field(default_factory=list)
    done: bool = False
    inner: str = ""


def early(text: str) -> tuple[ir.Program, Names]:
    """A program as points across kernels find it."""
    names = Names()
    return load(Source("t", text), names), names


def late(text: str) -> tuple[ir.Program, Names]:
    """A program as points on nests find it."""
    names = Names()
    return optimise(load(Source("t", text), names), names), names


def apply(program: ir.Program, names: Names, point: Point, given: Given | None = None,
          skip: int = 0, where: Callable[[ir.Stm], bool] = lambda stm: True) -> Applied:
    """The program with a point applied to the first statement that matches, or after ``skip``."""
    asked = {p.name: p.default for p in point.parameters if p.default is not None} | dict(
        given or {})
    values = {name: i64(v) if isinstance(v, int) else v for name, v in asked.items()}
    applied = Applied(program)
    left = [skip]

    def body(scope: Scope, old: ir.Body) -> ir.Body:
        stms: list[ir.Stm] = []
        for stm in old.stms:
            if not applied.done and isinstance(stm.exp, point.heads) and where(stm):
                new = point.apply(scope, stm, values)
                if isinstance(new, str):
                    applied.reasons.append(new)
                elif left[0]:
                    left[0] -= 1
                else:
                    applied.done, applied.constraints = True, new.constraints
                    bound = {str(p.name) for s in walk(new.stms) for p in s.pat}
                    assert new.inner is None or str(new.inner) in bound
                    applied.inner = str(new.inner)
                    stms += new.stms
                    continue
            if not applied.done:
                stm = replace(stm, exp=map_inside(
                    stm.exp, lambda b: body(scope, b), lambda lam: lambda_(scope, lam)))
            scope.define(stm)
            stms.append(stm)
        return replace(old, stms=tuple(stms))

    def lambda_(scope: Scope, lam: ir.Lambda) -> ir.Lambda:
        scope.bind(lam.params)
        scope.depth += 1
        new = replace(lam, body=body(scope, lam.body))
        scope.depth -= 1
        return new

    funs = []
    for fun in program.funs:
        scope = Scope(names)
        scope.bind(fun.params)
        scope.sizes.update(size for p in fun.params for size in shape_of(p.type))
        funs.append(replace(fun, body=body(scope, fun.body)))
    applied.program = ir.Program(tuple(funs))
    check(applied.program)
    return applied


def walk(stms: Sequence[ir.Stm]) -> list[ir.Stm]:
    """Statements with all those inside."""
    found: list[ir.Stm] = []

    def inside(body: ir.Body) -> ir.Body:
        found.extend(walk(body.stms))
        return body

    def of_lambda(lam: ir.Lambda) -> ir.Lambda:
        found.extend(walk(lam.body.stms))
        return lam

    for stm in stms:
        found.append(stm)
        map_inside(stm.exp, inside, of_lambda)
    return found


def same(before: ir.Program, after: ir.Program, args: Sequence[Any]) -> None:
    """Both compute equal results, and of equal types."""
    old, new = interpret(before, "main", args), interpret(after, "main", args)
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


def holds(applied: Applied, **sizes: int) -> bool:
    """True if all constraints hold for sizes of the program by their names."""
    return all(c.holds({v: sizes[v.base] for v in c.variables()}) for c in applied.constraints)


def numbers(seed: int, *shape: int, high: int = 9) -> np.ndarray:
    """Random small numbers."""
    return np.random.default_rng(seed).integers(-high, high, shape, dtype=np.int32)


MATMUL = """
entry main [n][m][k] (a: [n][k]i32) (b: [k][m]i32): [n][m]i32 =
  map (\\row -> map (\\col -> reduce (+) 0 (map2 (*) row col)) (transpose b)) a
"""

SCALED = """
entry main [n][m][k] (a: [n][k]i32) (b: [m][k]i32) (c: [n]i32): [n][m]i32 =
  map2 (\\row s -> map (\\col -> s * reduce (+) 0 (map2 (*) row col) - s) b) a c
"""

ROW_SUMS = """
entry main [n][k] (a: [n][k]i32): [n]i32 = map (reduce (+) 0) a
"""

SUM = """
entry main [k] (a: [k]i32): i32 = reduce (+) 0 (map (\\x -> x * x) a)
"""

MINMAX = """
entry main [n][k] (a: [n][k]i32): ([n]i32, [n]i32) =
  unzip (map (\\row -> reduce (\\(a, b) (c, d) -> (i32.min a c, i32.max b d))
                             (i32.highest, i32.lowest) (zip row row)) a)
"""

VECTORS = """
entry main [k][n] (a: [k][n]i32): [n]i32 = reduce (map2 (+)) (replicate n 0) a
"""

MATRICES = """
entry main [k][n][m] (a: [k][n]i32) (b: [k][m]i32): [n][m]i32 =
  reduce (map2 (map2 (+))) (replicate n (replicate m 0))
         (map2 (\\x y -> map (\\p -> map (\\q -> p * q) y) x) a b)
"""

OUTER = """
entry main [n][m] (a: [n]i32) (b: [m]i32): ([n][m]i32, [n][m]i32) =
  unzip (map unzip (map (\\x -> map (\\y -> (x * 10 + y, x - y)) b) a))
"""

STENCIL = """
entry main [n][m] (a: [n][m]i32): [n][m]i32 =
  tabulate_2d n m (\\i j ->
    let up = if i > 0 then #[unsafe] a[i - 1, j] else 0
    let left = if j > 0 then #[unsafe] a[i, j - 1] else 0
    in #[unsafe] a[i, j] * 2 + up - left)
"""

ELEMENTS = """
entry main [n][m] (a: [n][m]i32): [n][m]i32 = map (map (\\x -> x * x + 1)) a
"""

ROWS_BETWEEN = """
entry main [n][m] (a: [n][m]i32) (s: [n]i32): [n][m]i32 =
  map2 (\\row t -> let u = t * 3 - 1 in map (\\x -> x * u) (reverse row)) a s
"""

THREE = """
entry main [n][m][l] (a: [n][m][l]i32) (b: [m]i32): [n][m][l]i32 =
  map (\\plane -> map2 (\\row s -> map (\\x -> x * s) row) plane b) a
"""

CONVOLUTION = """
entry main [n][k][c] (a: [c][n]i32) (w: [k][c][3]i32): [k][]i32 =
  let windows = map (lift.slide 3 1) a
  in map (\\f -> map (\\i -> reduce (+) 0 (map2 (\\fr wr -> reduce (+) 0
       (map2 (*) fr (#[unsafe] wr[i]))) f windows)) (iota (n - 2))) w
"""

PARTS = """
entry main [n] (a: [n]i32): [][3]i32 =
  map (\\i -> let part = #[unsafe] a[i:i + 3] :> [3]i32
             in map (\\x -> x * i32.i64 i) part) (iota (n - 2))
"""

MOVING_SUMS = """
entry main [n] (a: [n]i32): []i32 =
  map (\\i -> let part = #[unsafe] a[i:i + 40] :> [40]i32
             in 1 + reduce (+) 0 (map (\\x -> x * x) part)) (iota (n - 39))
"""
