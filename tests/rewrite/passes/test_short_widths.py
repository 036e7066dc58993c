"""Few elements: reductions and loops that are written out, and those that stay."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.rewrite.pipeline import optimise
from tests.replays import results_agree
from tests.rewrite.passes.test_filters import statements

XSS = np.arange(60, dtype=np.int32).reshape(6, 10) % 7
WRITTEN = {
    "window": "tabulate_2d n (m - 4) (\\i j -> i32.sum xss[i, j:j + 5])",
    "square": "tabulate_2d (n - 2) (m - 2) (\\i j -> i32.sum (tabulate 3 (\\a -> "
              "i32.maximum (tabulate 3 (\\b -> xss[i + a, j + b])))))",
    "loop": "map (map (\\x -> loop y = x for i < 4 do y * 3 + i32.i64 i)) xss",
    "loops": "map (map (\\x -> loop y = x for i < 3 do loop z = y for j < 3 do "
             "z * 3 + i32.i64 (i - j))) xss",
    "pairs": "map (map (\\x -> let (a, b) = reduce (\\(a, b) (c, d) -> (a * c, b + d)) (1, 0) "
             "(map (\\i -> (x + i, x * i)) [1, 2, 3]) in a - b)) xss",
}
KEPT = {
    "long": "tabulate_2d n m (\\i j -> i32.sum (tabulate 40 (\\k -> xss[i, (j + k) % m])))",
    "inside of another": "map (\\x -> i32.sum (map (\\ys -> i32.sum (map (* x) ys[0:3])) xss)) "
                         "xss[0]",
    "outside of maps": "i32.sum xss[0, 0:3]",
    "arrays": "map (\\xs -> loop ys = copy xs for i < 3 do map (* i32.i64 i) ys) xss",
}


def text(body: str) -> str:
    return f"entry main [n][m] (xss: [n][m]i32) = {body}"


def steps(body: str) -> bool:
    """True if a program has a reduction or loop after optimisation."""
    names = Names()
    (fun,) = optimise(load(Source("t", text(body)), names), names).funs
    return any(isinstance(stm.exp, ir.Redomap | ir.Loop) for stm in statements(fun.body))


@pytest.mark.parametrize("name", WRITTEN)
def test_few_elements_are_written_out(name: str) -> None:
    assert not steps(WRITTEN[name])


@pytest.mark.parametrize("name", KEPT)
def test_others_stay(name: str) -> None:
    assert steps(KEPT[name])


@pytest.mark.parametrize("name", [*WRITTEN, *KEPT])
def test_results_are_those_of_the_core(name: str) -> None:
    core = load(Source("t", text({**WRITTEN, **KEPT}[name])), Names())
    program = runelift.compile(text({**WRITTEN, **KEPT}[name]))
    results_agree(program, "main", [XSS], interpret(core, "main", [XSS]))
