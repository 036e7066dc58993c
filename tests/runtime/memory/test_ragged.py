"""Nests whose inner widths differ take the memory that is foreseen."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.runtime.data.lengths import SHAPES, draw
from runelift.runtime.devices.info import select
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests.programs import compiled
from tests.rewrite.flatten.test_ragged import LENGTHS
from tests.runtime.memory.test_memory_run import measured

PROGRAMS = {
    "sums": "map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks",
    "stored": """map (\\k -> let ys = map (\\i -> i * i % 7) (iota k)
                         in i64.sum (map2 (*) ys (reverse ys))) ks""",
    "scans": """map (\\k -> let ys = scan (+) 0 (map (\\i -> i * i % 7) (iota k))
                        in i64.sum (map2 (*) ys (reverse ys))) ks""",
    "levels": """map (\\k -> i64.sum (map (\\i -> i64.sum (map (\\j -> i * j + k) (iota 3)))
                                   (iota k))) ks""",
    "concatenation": """map (\\k -> let ys = map (* 2) (iota k) ++ [k, 1]
                                in i64.sum (map2 (*) ys (reverse ys))) ks""",
    "a row for all": """let few = ks[:length ks / 2]
                        in map (\\k -> let ys = map (* 2) (iota k) ++ few
                                       in i64.sum (map2 (*) ys (reverse ys))) ks""",
    "pairs": """map (\\k -> let ys = flatten (map (\\i -> [i, k + i]) (iota k))
                       in i64.sum (map2 (*) ys (reverse ys))) ks""",
}


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_version_takes_what_is_foreseen(name: str) -> None:
    program = runelift.compile(
        f"entry main [n] (ks: [n]i64): [n]i64 = {PROGRAMS[name]}", device="pocl", tuning={})
    for shape in ("none", "empty at the ends", "huge", "ascending"):
        lengths = np.array(LENGTHS[shape], np.int64)
        for force in plans(program.tree.entry("main")):
            found = program.estimate_memory("main", [lengths], force=force)
            assert not found.unknown, (shape, force, found)
            assert found.bytes == measured(program, "main", [lengths], force), (shape, force)


DEFS = """
def folded (k: i64): i64 = if k < 2 then k else i64.sum (iota k) + folded (k / 2)
def halves [n] (xs: [n]i64): [n]i64 =
  if n < 2 then xs else let ys = halves xs[:n / 2] in ys ++ halves xs[n / 2:] :> [n]i64
"""
KEPT = "in i64.sum (map2 (*) ys (reverse ys))"
KINDS = {
    "types of many sizes": "let a = map i8.i64 (iota k) let b = map f64.i64 (iota k) "
        "in i64.i8 (i8.sum (map2 (*) a (reverse a))) + i64.f64 (f64.sum (map2 (*) b (reverse b)))",
    "pairs": "let ys = zip (iota k) (map (% 7) (iota k)) "
             "in i64.sum (map2 (\\(a, b) (c, d) -> a * c + b * d) ys (reverse ys))",
    "scan of pairs": "let (as, ys) = unzip (scan (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, 0) "
                     "(map (\\i -> (i % 3, i * 7 % 11)) (iota k))) "
                     "in i64.sum (map2 (*) as (reverse ys))",
    "scan of scan": "let zs = scan (+) 0 (map (% 7) (iota k)) "
                    f"let ys = scan i64.max 0 (map2 (*) zs (reverse zs)) {KEPT}",
    "scatter": f"let ys = scatter (replicate k 1) (map (* 2) (iota k)) (iota k) {KEPT}",
    "histogram": f"let ys = hist (+) 0 k (map (% 10) (iota k)) (iota k) {KEPT}",
    "few places": "let ys = scatter (replicate 5 k) (map (* 2) (iota k)) (iota k) "
                  "in ys[0] * ys[1] - ys[4]",
    "filter": "let ys = filter (\\i -> i * i % 7 < 3) (iota k) in i64.sum ys * length ys",
}
"""Bodies of maps whose memory follows from lengths that are arguments."""
COMPUTED = {
    "made twice": f"let ys = map (* 3) (iota k) let zs = map (+ k) (iota (2 * k)) "
                  f"let s = i64.sum (map2 (*) zs (reverse zs)) let ys = map (+ s) ys {KEPT}",
    "slices": f"let ys = map (* 2) ks[:i64.min k (length ks)] {KEPT}",
    "update": f"let ys = map (* 3) (iota (k + 2)) with [k / 2] = k {KEPT}",
    "loop of counted trips": "loop s = k for i < 3 do let ys = scan (+) 0 (map (+ s) (iota k)) "
                             f"{KEPT} % 1000",
    "halves of lengths": f"let ys = map (* 3) (iota (k / 2)) {KEPT}",
    "filter that is kept": f"let ys = filter (\\i -> i % 7 < 3) (iota k) {KEPT}",
    "filter of a filter": f"let ys = filter (> 4) (filter (\\i -> i % 3 > 0) (iota k)) {KEPT}",
    "partition": "let (as, ys) = partition (\\i -> i % 3 == 0) (iota k) "
                 "in i64.sum (map2 (*) as (reverse as)) - i64.sum ys",
    "rows in rows": "i64.sum (map (\\i -> let ys = scan (+) 0 (map (+ i) (iota (i % 6))) "
                    f"{KEPT}) (iota k))",
    "recursion": "folded k", "recursion of arrays": f"let ys = halves (map (% 5) (iota k)) {KEPT}",
    "branch": f"if k % 2 == 0 then let ys = scan (+) 0 (iota k) {KEPT} else i64.sum (iota (k / 3))",
    "trips that differ": "loop s = k for i < k % 5 do "
                         f"let ys = scan (+) 0 (map (+ s) (iota k)) {KEPT} % 1000",
    "joined rows": "i64.sum (flatmap' (\\i -> filter (> i) (iota 9)) (iota k)).3",
}
"""Bodies with lengths that kernels compute, so that not all is known before."""


@pytest.mark.sweep(every=11)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*KINDS, *COMPUTED])
def test_all_kinds_take_what_is_foreseen(name: str, shape: str) -> None:
    """What is said to be unknown is foreseen up to there."""
    found = compiled(f"{DEFS}entry main [n] (ks: [n]i64): [n]i64 = "
                     f"map (\\k -> {(KINDS | COMPUTED)[name]}) ks")
    program = Program(found, select("pocl"))
    for n, cap in ((40, 60), (3, 2000)):
        args = [draw(n, shape, cap)]
        for force in plans(program.tree.entry("main")) or [{}]:
            estimate = program.estimate_memory("main", args, force=force)
            taken = measured(program, "main", args, force)
            assert estimate.bytes <= taken if estimate.unknown else estimate.bytes == taken, force
            assert not estimate.unknown or name in COMPUTED, estimate.unknown


JOINED = {
    "rows that points write": """let [q] (_, _, _, vs: [q]i64) =
        flatmap' (\\k -> scan (+) 0 (map (* k) (iota k))) ks
      in i64.sum (map2 (*) vs (reverse vs))""",
    "elements": """let [q] (_, _, _, vs: [q]i64) =
        flatmap' (\\k -> replicate k (k * k)) ks
      in i64.sum (map2 (*) vs (reverse vs))""",
}


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", JOINED)
def test_joined_rows_take_what_is_foreseen(name: str) -> None:
    program = runelift.compile(f"entry main [n] (ks: [n]i64): i64 = {JOINED[name]}",
                               device="pocl", tuning={})
    for shape in ("none", "empty at the ends", "huge"):
        for times in (1, 33):  # few points come in turn
            lengths = np.tile(np.array(LENGTHS[shape], np.int64), times)
            found = program.estimate_memory("main", [lengths])
            assert not found.unknown, (shape, found)
            assert found.bytes == measured(program, "main", [lengths], {}), shape


def test_rows_in_turn_of_computed_lengths_take_what_is_foreseen() -> None:
    """The host computes the lengths of few rows, of elements that it reads."""
    program = runelift.compile("""entry main [n] (ks: [n]i64) (more: [2]i64): i64 =
        let [q] (_, _, _, vs: [q]i64) =
          flatmap' (\\k -> scan (+) 0 (map (* k) (iota (k / 2 + more[1])))) ks
        in i64.sum (map2 (*) vs (reverse vs))""", device="pocl", tuning={})
    for lengths in ([], [4], [0, 5, 1], [*range(32)], [0, 0, 300, 2]):
        args = [np.array(lengths, np.int64), np.array([9, 3])]
        found = program.estimate_memory("main", args)
        assert not found.unknown, (lengths, found)
        assert found.bytes == measured(program, "main", args, {}), lengths


@pytest.mark.parametrize("text", [
    f"i64 = {JOINED['rows that points write']}", """([]i64, [n]i64) =
      let [q] (_, _, _, vs: [q]i64) = flatmap' (\\k -> replicate k (k * k)) ks
      in (vs, map (\\k -> i64.sum (map (\\i -> i * k ^ i) (iota k))) ks)"""])
def test_a_size_is_read_with_the_facts_about_its_lengths(text: str) -> None:
    """One pass finds all facts, and the host waits for them once."""
    compiled = runelift.compile(f"entry main [n] (ks: [n]i64): {text}",
                                device="interpreter").compiled
    steps = list(plan.all_steps(compiled.plan("main").steps))
    (first,) = (s for s in steps if isinstance(s, plan.Launch) and s.facts is not None
                and s.args[s.facts.source].base == "ks")
    assert first.kernel.kind == "length_facts"
    reads = [k for k, s in enumerate(steps) if isinstance(s, plan.Read)
             and s.buffer.base == "facts"]
    assert reads == list(range(reads[0], reads[0] + len(reads)))
