"""Nests whose inner widths differ take the memory that is foreseen."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.runtime.versions.forest import plans
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
