"""Sums of arrays that maps make: each element is summed by itself."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.types import shape_of
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.pipeline import optimise
from tests.rewrite.derive.test_cost import Counting

NEW = frozenset({"sum_of_maps", "alike_together"})
FAMILIES = {
    "mixture": "let squares x = map2 (\\m c -> f64.sum (map (\\row -> f64.sum (map3 (\\r y z -> "
               "r * (y - z)) row x m) ** 2) c)) means mats in f64.sum (map (\\x -> f64.log "
               "(f64.sum (map f64.exp (squares x)))) xs)",
    "layer": "let hidden x = map (\\m -> f64.tanh (f64.sum (map2 (*) m x))) means in "
             "f64.sum (map (\\x -> f64.sum (map (** 2) (hidden x))) xs)",
    "scaled": "f64.sum (map (\\x -> f64.sum (map (\\m -> -f64.sum (map2 (*) m x) / 3) means)) xs)",
    "columns": "f64.sum (map (\\x -> f64.sum (map (\\c -> f64.sum (map f64.sin c) * x[1])"
               " (transpose means))) xs)",
    "branch": "f64.sum (map (\\x -> if x[0] > 0 then f64.sum (map2 (*) x means[0]) else 2) xs)",
}


def optimised(body: str, off: frozenset[str] = frozenset()) -> tuple[ir.Program, Rewriting]:
    """The gradient of a function of ``means`` and ``mats``."""
    sizes = "[n][k][d] (xs: [n][d]f64) (means: [k][d]f64) (mats: [k][d][d]f64)"
    text = (f"def f {sizes}: f64 = {body}\nentry value {sizes} = f xs means mats\n"
            f"entry gradient {sizes} = vjp2 (\\(a, b) -> f xs a b) (means, mats) 1")
    names = Names()
    rewriting = Rewriting(names, disabled=off)
    return optimise(load(Source("t", text), names), names, rewriting), rewriting


def counted(program: ir.Program, entry: str) -> tuple[int, list[np.ndarray]]:
    """The number of scalar operations of a call, and its results."""
    rng, machine = np.random.default_rng(3), Counting()
    args = [rng.normal(0, 0.4, shape) for shape in ((9, 4), (3, 4), (3, 4, 4))]
    results = interpret(program, entry, args, machine=machine)
    return machine.operations, results


@pytest.mark.parametrize("family", FAMILIES)
def test_sums_inside_keep_the_meaning(family: str) -> None:
    new, fired = optimised(FAMILIES[family])
    old, _ = optimised(FAMILIES[family], NEW)
    assert fired.fired["sum_of_maps"] or family == "branch"
    (operations, found), (before, expected) = counted(new, "gradient"), counted(old, "gradient")
    assert operations < before or family == "branch"
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)


def test_a_gradient_stores_no_array_for_each_element() -> None:
    _, gradient = optimised(FAMILIES["mixture"])[0].funs
    ranks = [len(shape_of(p.type)) for stm in gradient.body.stms for p in stm.pat
             if gradient.params[3].type.shape[0] in shape_of(p.type)]
    assert max(ranks) <= 3
