"""Random programs: the pass and the oracle give equal derivatives, also of derivatives."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.derive.derive import derive
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.pipeline import optimise

SIZE = 4
IS = np.array([1, 3, 1, -2])
TEXT = """
def f [n] (is: [n]i64) (xs: [n]f64): [n]f64 = {}
entry forward [n] (is: [n]i64) (xs: [n]f64) (ts: [n]f64) (ys: [n]f64) = jvp (f is) xs ts
entry reverse [n] (is: [n]i64) (xs: [n]f64) (ts: [n]f64) (ys: [n]f64) = vjp (f is) xs ys
entry nested [n] (is: [n]i64) (xs: [n]f64) (ts: [n]f64) (ys: [n]f64) =
  jvp (\\xs -> vjp (f is) xs ys) xs ts
"""


class Writer:
    """Writes a vector expression of vectors in scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def scalar(self, x: str, names: list[str]) -> str:
        y = f"{self.random.choice(names)}[{self.random.randrange(SIZE)}]"
        return self.random.choice([
            f"{x} * {x}", f"f64.sin {x}", f"{x} * {y}", f"f64.max {x} {y}", f"{x} + {y} * 0.5",
            f"(if {x} > 0 then {x} * 2 else {y})", f"f64.abs {x}", "0.5", f"{x} / ({y} ** 2 + 1)"])

    def vector(self, depth: int, names: list[str]) -> str:
        if depth == 0:
            return self.random.choice(names)
        v, w, s = self.name(), self.name(), self.name()
        a, b = (self.vector(depth - 1, names) for _ in range(2))
        inner = self.vector(depth - 1, [*names, v])
        element = self.scalar("x", names)
        return self.random.choice([
            f"(let {v} = {a} in {inner})",
            f"(map (\\x -> {element}) {a})",
            f"(map2 (\\x y -> x * y + {element}) {a} {b})",
            f"(scan (+) 0 {a})", f"(scan f64.min f64.inf {a})", f"(scan (*) 1 {a})",
            f"(let {s} = f64.sum {a} in map (* {s}) {b})",
            f"(let {s} = f64.maximum {a} in map (+ {s}) {b})",
            f"(let {s} = reduce (*) 1 {a} in map (+ {s}) {b})",
            f"(loop {v} = {a} for i < 2 do {inner})",
            f"(loop {v} = copy {a} for i < n do {v} with [(i * 3) % n] = "
            f"{v}[i] * {names[0]}[i])",
            f"(let {v} = {a} let {w} = {b} in scatter (copy {v}) (map (% n) (iota n)) {w})",
            f"(let {v} = {a} in map (\\i -> {v}[(i * 3 + 1) % n] * {v}[i]) (iota n))",
            f"(let {v} = {a} in map (\\i -> f64.sum (map (\\j -> {v}[(i + j) % n] * {v}[j]) "
            f"(iota (i % 3)))) (iota n))",
            f"(let {v} = {a} in map (\\i -> f64.sum (map (\\x -> x * {v}[i]) {v}[i / 2:i])) "
            "(iota n))",
            f"(let {v} = {a} in map (\\i -> loop s = {names[-1]}[i] for j < i % 3 do s * 0.5 + "
            f"f64.sum (map (\\x -> x * {v}[(i + j) % n]) {v})) (iota n))",
            f"(reduce_by_index (copy {a}) (+) 0 is {b})",
            f"(reduce_by_index (copy {a}) f64.max (-f64.inf) is {b})",
            f"(reduce_by_index (copy {a}) (*) 1 is {b})",
            f"(if {names[0]}[1] > 0.1 then {a} else {b})",
            f"(let {v} = {a} in map (\\x -> f64.sum (map (\\y -> x * y) {v})) {b})",
            f"(map (\\x -> loop s = x for i < 2 do s * x + {names[-1]}[i]) {a})",
            f"(rotate 1 {a})", f"(reverse {a})",
        ])


def results(program: Program, entry: str, args: list[Any]) -> Any:
    (found,) = interpret(program, entry, args)
    return found


def check_seed(seed: int) -> None:
    text = TEXT.format(Writer(seed).vector(3, ["xs"]))
    names, rng = Names(), np.random.default_rng(seed)
    args = [IS, *rng.normal(size=(3, SIZE))]
    try:
        core = load(Source("t", text), names)
        expanded = derive(core, Rewriting(names))
        check(expanded)
        optimised = optimise(core, names)
        for entry in ("forward", "reverse", "nested"):
            expected = results(core, entry, args)
            for each in (expanded, optimised):
                np.testing.assert_allclose(results(each, entry, args), expected,
                                           rtol=1e-7, atol=1e-7)
        forward, reverse = (results(core, entry, args) for entry in ("forward", "reverse"))
        assert np.isclose(args[3] @ forward, reverse @ args[2], rtol=1e-9, atol=1e-9)
    except Exception as wrong:
        wrong.add_note(f"seed {seed}\n{text}")
        raise


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_pass_and_oracle_agree(first: int, sweeps: bool) -> None:
    for seed in range(first, first + (20 if sweeps else 1)):
        check_seed(seed)
