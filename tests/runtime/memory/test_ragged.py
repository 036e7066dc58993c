"""Nests whose inner widths differ take the memory that is foreseen."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
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


@pytest.mark.sweep(every=3)
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
