"""The work of flat versions is that of the nested text, up to a factor: counted, not timed."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.ir import syntax as ir
from runelift.ir.interpret import Interpreter, interpret
from runelift.ir.values import Env, Value
from runelift.runtime.data.lengths import SHAPES, draw
from tests.programs import compiled

DEFS = """
def folded (k: i64): i64 = if k < 2 then k else i64.sum (iota k) + folded (k / 2)
def twice (k: i64): i64 = if k < 2 then k else twice (k / 2) + twice (k / 2 - 1) + i64.sum (iota k)
def sorted [n] (xs: [n]i64): [n]i64 =
  if n < 2 then xs else
  let p = xs[n / 2]
  let [q] (lens, _, _, sides: [q]i64) =
    flatmap' (\\up -> sorted (filter (\\x -> if up then x > p else x < p) xs)) [false, true]
  in sides[:lens[0]] ++ filter (== p) xs ++ sides[lens[0]:] :> [n]i64
"""
NESTS: dict[str, str] = {
    "sums": "map (\\k -> i64.sum (map (* k) (iota k))) ks",
    "scans": "map (\\k -> let ys = scan (+) 0 (map (% 7) (iota k)) "
             "in i64.sum (map2 (*) ys (reverse ys))) ks",
    "rows that are kept": "map (\\k -> let ys = filter (\\i -> i % 3 > 0) (iota k) "
                          "in i64.sum (map2 (*) ys (reverse ys))) ks",
    "scatters": "map (\\k -> let ys = scatter (replicate k 1) (map (* 2) (iota k)) (iota k) "
                "in i64.sum (map2 (*) ys (reverse ys))) ks",
    "histograms": "map (\\k -> let ys = hist (+) 0 k (map (% 5) (iota k)) (iota k) "
                  "in i64.sum (map2 (*) ys (reverse ys))) ks",
    "concatenations": "map (\\k -> let ys = map (* 2) (iota k) ++ iota (k / 2) "
                      "in i64.sum (map2 (*) ys (reverse ys))) ks",
    "two levels": "map (\\k -> i64.sum (map (\\i -> i64.sum (map (* k) (iota (i % 9)))) (iota k))) "
                  "ks",
    "scans of two levels": "map (\\k -> i64.sum (map (\\i -> let ys = scan (+) 0 (iota (i % 9)) "
                           "in i64.sum (map2 (*) ys (reverse ys))) (iota k))) ks",
    "a branch": "map (\\k -> if k % 2 == 0 then let ys = scan (+) 0 (iota k) "
                "in i64.sum (map2 (*) ys (reverse ys)) else k) ks",
    "a branch that makes rows": "map (\\k -> let ys = if k % 3 == 0 then filter (> 4) (iota k) "
                                "else [k, 1] in i64.sum (map2 (*) ys (reverse ys))) ks",
    "trips that differ": "map (\\k -> loop s = k for i < k % 11 do "
                         "s % 9 + i64.sum (map (* s) (iota i))) ks",
    "while": "map (\\k -> (loop (s, t) = (0, k) while t > 0 do "
             "(s + i64.sum (map (% 3) (iota t)), t / 3)).0) ks",
    "loop in loop": "map (\\k -> loop s = 0 for i < k % 7 do loop t = s for j < i do "
                    "t + i64.sum (map (* (j + 1)) (iota (k % 5)))) ks",
    "recursion of arrays": "map (\\k -> i64.sum (sorted (map (\\i -> i * 7 % 31) (iota k)))) ks",
    "calls side by side": "map twice ks",
    "recursion": "map folded ks",
    "flatmap": "let [q] (_, _, _, vs: [q]i64) = flatmap' (\\k -> map (* k) (iota k)) ks in vs",
    "flatmap of kept rows": "let [q] (_, _, _, vs: [q]i64) = "
                            "flatmap' (\\k -> filter (\\i -> i % 3 == 1) (iota k)) ks in vs",
}
FACTOR, POINTS, ONCE = 5, 12, 300
"""Times the work of the text, steps for each point, and steps of the host."""


class Counting(Interpreter):
    """An interpreter that counts the bodies that it runs: points, elements and iterations."""

    count = 0

    def body(self, body: ir.Body, env: Env) -> list[Value]:
        self.count += 1
        return super().body(body, env)


def work_of(program: ir.Program, lengths: list[int]) -> int:
    """The bodies of a run."""
    machine = Counting()
    interpret(program, "main", [np.array(lengths, np.int64)], machine=machine)
    return machine.count


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", NESTS)
def test_flat_versions_do_the_work_of_the_text(name: str) -> None:
    found = compiled(f"{DEFS}entry main [n] (ks: [n]i64): []i64 = {NESTS[name]}")
    for shape in SHAPES:
        for n, cap in ((10, 60), (60, 20)):
            lengths = draw(n, shape, cap).tolist()
            text, flat = (work_of(each, lengths) for each in (found.core, found.versioned))
            assert flat <= FACTOR * text + POINTS * n + ONCE, (shape, n, text, flat)


ROWS: dict[str, str] = {
    "map": "map (* k) (iota k)", "map that may fail": "map (\\i -> ks[i % length ks]) (iota k)",
    "map of map": "map2 (+) (map (* k) (iota k)) (map (+ 1) (iota k))",
    "backwards": "let ys = map (* k) (iota k) in map2 (-) ys (reverse ys)",
    "components": "let (a, b) = unzip (map (\\i -> (i, i * k)) (iota k)) in map2 (*) b a",
    "slice": "map (* 3) (iota (k + 2))[2:]", "of rows": "map (\\i -> i64.sum [i, k, 1]) (iota k)",
    "view of a map": "flatten (transpose (map (\\i -> [i, k]) (iota k)))",
    "scan": "scan (+) 0 (map (* k) (iota k))",
}


@pytest.mark.parametrize("name", ROWS)
def test_an_element_of_a_joined_row_costs_no_row(name: str) -> None:
    text = ("entry main [n] (ks: [n]i64): []i64 = "
            f"let [q] (_, _, _, vs: [q]i64) = flatmap' (\\k -> {ROWS[name]}) ks in vs")
    for program in (compiled(text).core, compiled(text).versioned):
        for lengths in ([200], [0, 90, 1, 90], [50] * 4):
            assert work_of(program, lengths) < 15 * (len(lengths) + sum(lengths)) + ONCE
