"""The gate of cost: gradients count at most five times the work of their functions, for all sizes.

Work is scalar operations; the elements that arrays of gradients get are bounded likewise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import Interpreter, interpret
from runelift.ir.names import Names
from runelift.ir.values import Env, atom
from runelift.rewrite.pipeline import optimise

FAMILIES = {
    "chain": "f64.sum (map (\\x -> f64.exp (f64.sin x * x) + x / 3) xs)",
    "pairs": "f64.sum (map (\\x -> f64.sum (map (\\y -> (x - y) ** 2) xs)) xs)",
    "product": "let m = unflatten (xs[:16 * (n / 16)] :> [16 * (n / 16)]f64) in f64.sum (flatten "
               "(map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) m) m))",
    "gather": "f64.sum (map (\\i -> xs[(i * 7) % n] * xs[(i * 3) % n]) (iota n))",
    "scatter": "f64.sum (map (** 2) (scatter (copy xs) (map (\\i -> (i * 7) % n) (iota n)) "
               "(map (* 3) xs)))",
    "histogram": "f64.sum (map (** 2) (hist (+) 0 8 (map (% 8) (iota n)) (map (** 2) xs)))",
    "extreme": "f64.maximum (map (** 2) xs) + f64.minimum xs",
    "argmin": "let (v, i) = reduce (\\(a, i) (b, j) -> if a < b then (a, i) else (b, j)) (9, 0) "
              "(zip (map (** 2) xs) (iota n)) in v * xs[i]",
    "factors": "f64.product (map (** 2) xs)",
    "running": "f64.sum (map (** 2) (scan (+) 0 (map (** 2) xs)))",
    "loop": "loop y = 0 for i < n do f64.sin (y * xs[i])",
    "updates": "f64.sum (loop ys = copy xs for i < n - 1 do ys with [i + 1] = ys[i] * ys[i + 1])",
    "rows": "f64.sum (map (\\i -> loop s = 0 for j < 4 do s + xs[(i + j) % n] ** 2) (iota n))",
    "ragged": "f64.sum (map (\\i -> loop s = 0 for j < i % 4 do s + xs[(i + j) % n] ** 2) "
              "(iota n))",
    "segments": "let ps = map (\\i -> i * 3 / 2) (iota (n + 1)) in f64.sum (map (\\i -> f64.sum "
                "(map (\\j -> xs[(ps[i] + j) % n] * xs[j * 7 % n]) (iota (ps[i + 1] - ps[i]))) "
                "** 2) (iota n))",
    "segment_rows": "let xss = unflatten (xs :> [(n / 4) * 4]f64) in f64.sum (map (\\i -> loop s = "
                    "0 for j < i % 4 do s + f64.sum (map2 (*) xss[(i + j) % (n / 4)] xss[i / 4])) "
                    "(iota n))",
    "segment_gathers": "let ys = map (** 2) xs in f64.sum (map (\\i -> f64.sum (loop zs = "
                       "replicate 5 0 for j < i % 4 do map2 (\\z k -> z + ys[(i + j * k) % n] * "
                       "xs[i]) zs (iota 5))) (iota n))",
    "segment_slices": "let ps = map (\\i -> i * 3 / 2) (iota (n / 2 + 1)) let is = map (\\i -> "
                      "i * 7 % n) (iota n) in f64.sum (map (\\i -> f64.sum (map2 (\\x j -> x * "
                      "xs[j]) xs[ps[i]:ps[i + 1]] is[ps[i]:ps[i + 1]]) ** 2) (iota (n / 2)))",
    "segment_operators": "f64.sum (map (\\i -> reduce (\\x y -> x + y + x * y) 0 (map (\\j -> "
                         "xs[(i + j * 7) % n]) (iota (i % 4)))) (iota n))",
    "segment_free_operators": "f64.sum (map (\\i -> reduce (\\x y -> x + y + xs[i] * x * y) 0 "
                              "(map (\\j -> xs[(i + j * 7) % n]) (iota (i % 4)))) (iota n))",
    "segment_scans": "f64.sum (map (\\i -> f64.sum (scan (\\x y -> x + y + x * y) 0 (map (\\j -> "
                     "xs[(i + j * 7) % n]) (iota (i % 4))))) (iota n))",
    "nearest": "f64.sum (map (\\x -> f64.minimum (map (\\y -> f64.abs (x - y / 2) + y) xs)) xs)",
    "branches": "f64.sum (map (\\x -> if x > 0 then f64.sqrt x * x else x * x * 2) xs)",
    "windows": "f64.sum (map (\\i -> f64.sum (map (** 2) xs[i:i + 4])) (iota (n - 3)))",
}


UNWRITTEN = ir.AtomExp | ir.Index | ir.Rearrange | ir.Reshape | ir.Slide | ir.If | ir.Loop
"""Nodes that write no elements themselves.  A replication counts, as it may become a tape."""


class Counting(Interpreter):
    """An interpreter that counts scalar operations, and the elements that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.written = 0

    def exp(self, exp: ir.Exp, env: Env, stm: ir.Stm) -> list[Any]:
        self.operations += isinstance(exp, ir.PrimOp)
        found = super().exp(exp, env, stm)
        if isinstance(exp, ir.Update):  # in place
            self.written += np.size(atom(exp.value, env))
        elif not isinstance(exp, UNWRITTEN):
            self.written += sum(np.size(value) for value in found if np.ndim(value))
        return found


def work(entry: str, n: int, body: str) -> Counting:
    names, machine = Names(), Counting()
    text = (f"def f [n] (xs: [n]f64): f64 = {body}\nentry primal [n] (xs: [n]f64) = f xs\n"
            "entry gradient [n] (xs: [n]f64) = vjp f xs 1")
    program = load(Source("t", text), names)
    (fun,) = (fun for fun in program.funs if fun.name == entry)
    optimised = optimise(ir.Program((fun,)), names)
    interpret(optimised, entry, [np.linspace(-0.9, 1.1, n)], machine=machine)
    return machine


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_cost_five_times_as_much_at_most(family: str) -> None:
    for n in (4, 24, 96):
        primal, gradient = (work(entry, n, FAMILIES[family]) for entry in ("primal", "gradient"))
        assert gradient.operations <= 5 * primal.operations, n
        assert gradient.written <= 5 * (primal.operations + primal.written), n
