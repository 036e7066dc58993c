"""Points in compiled programs: every version computes what the program without them does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import SEGOPS, Loop, SegMap, Versions
from runelift.ir.syntax import Level as L
from runelift.ir.traverse import statements_inside
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise
from tests.replays import results_agree
from tests.rewrite.lift.points import applying
from tests.rewrite.lift.points.applying import numbers

MATMUL = applying.MATMUL.replace("  map (", "  POINTS map (", 1)
MEMORY = "#[ab_tile(4, 8)] #[tile_map_reduce(4, local)]"
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tiles": (MATMUL.replace("POINTS", "#[ab_tile(4, 8)]"), ("nk", "km")),
    "tiles in local memory": (MATMUL.replace("POINTS", MEMORY), ("nk", "km")),
    "padded": (MATMUL.replace(
        "POINTS", "#[pad_extra(4, 1, multiple)] #[pad_extra(8, 2, multiple)] "
        f"#[pad_extra(4, 3, multiple)] {MEMORY}"), ("nk", "km")),
    "one dimension": (MATMUL.replace("POINTS", "#[join_split] #[split_join(6)]"), ("nk", "km")),
    "columns first": (MATMUL.replace("POINTS", "#[interchange]"), ("nk", "km")),
    "two levels": (MATMUL.replace(
        "POINTS", "#[tile_map_reduce(4)] #[tile_map_reduce(2)] #[ab_tile(2, 2)]"), ("nk", "km")),
    "private": (MATMUL.replace(
        "POINTS", "#[ab_tile(4, 4)] #[tile_map_reduce(4, local)] #[ab_tile(2, 2, private)]"),
        ("nk", "km")),
    "sums": (applying.VECTORS.replace("= reduce", "= #[interchange_reduce(1)] reduce"), ("kn",)),
    "columns of sums": (applying.MATRICES.replace(
        "  reduce", "  #[interchange_reduce(2)] reduce"), ("kn", "km")),
    "a loop of sums": (applying.VECTORS.replace("= reduce", "= #[privatise] reduce"), ("kn",)),
    "two kernels": ("""
entry main [n][k] (a: [n][k]i32): [n]i32 =
  #[kernel_fission] map (\\r -> reduce (+) 0 (map (* 2) r)) (map (map (+ 1)) a)
""", ("nk",)),
    "windows stored": ("""
entry main [n] (a: [n]i32): []i32 =
  #[kernel_fission] map (\\w -> reduce (+) 0 (map2 (*) w (iota 3 |> map i32.i64)))
                        (lift.slide 3 1 a)
""", ("n",)),
    "columns stored": ("""
entry main [n][k] (a: [n][k]i32): [k]i32 =
  map (reduce (+) 0) (#[materialise(global)] transpose a)
""", ("nk",)),
    "another order": ("""
entry main [n][k] (a: [n][k]i32): [k]i32 =
  let b = #[layout(10)] map (map (\\x -> x * x)) a
  in map (reduce (+) 0) (transpose b)
""", ("nk",)),
    "tiles of a result with other dimensions": ("""
entry main [n][k][m] (a: [n][k]i32) (b: [m][n][k]i32): [n][m][n]i32 =
  map unflatten (#[ab_tile(4, 8)] map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c))
                                                 (flatten b)) a)
""", ("nk", "mnk")),
    "local row": ("""
entry main [n][k] (a: [n][k]i32): [n][k]i32 =
  map (\\r -> let s = #[materialise(local)] scan (+) 0 r in map (\\x -> x * s[0]) s) a
""", ("nk",)),
}
SIZES = [{"n": 8, "m": 16, "k": 12}, {"n": 5, "m": 9, "k": 7}, {"n": 3, "m": 1, "k": 1},
         {"n": 3, "m": 0, "k": 8}, {"n": 8, "m": 8, "k": 0}, {"n": 0, "m": 8, "k": 4},
         {"n": 12, "m": 24, "k": 4}]


def arguments(name: str, sizes: dict[str, int]) -> list[Any]:
    return [numbers(seed, *(sizes[d] for d in shape))
            for seed, shape in enumerate(PROGRAMS[name][1])]


def fits(name: str, sizes: dict[str, int]) -> bool:
    """True if windows have room, and each row an element that is read."""
    return not (name == "windows stored" and sizes["n"] < 3) and not (
        name == "local row" and sizes["k"] == 0)


def plain(text: str) -> str:
    """A program without points."""
    return re.sub(r"#\[[^]]*\]", "", text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_version_in_the_interpreter(name: str) -> None:
    text, names = PROGRAMS[name][0], Names()
    without = load(Source("t", plain(text)), Names())
    done = optimise(load(Source("t", text), names), names)
    versioned = clean(flatten(done, names), names)
    most = max([len(stm.exp.alternatives) for stm in statements_inside([versioned.funs[0].body])
                if isinstance(stm.exp, Versions)], default=1)
    for sizes in filter(lambda sizes: fits(name, sizes), SIZES):
        args = arguments(name, sizes)
        (wanted,) = interpret(without, "main", args)
        np.testing.assert_array_equal(interpret(done, "main", args)[0], wanted)
        for number in range(most):
            (found,) = interpret(versioned, "main", args, choose=lambda versions, n=number: min(
                n, len(versions.alternatives) - 1))
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["tiles in local memory", "padded", "private", "two kernels",
                                  "windows stored", "another order", "a loop of sums",
                                  "tiles of a result with other dimensions"])
def test_every_version_on_a_device(name: str) -> None:
    program = runelift.compile(PROGRAMS[name][0], device="portable")
    without = load(Source("t", plain(PROGRAMS[name][0])), Names())
    for sizes in filter(lambda sizes: fits(name, sizes), SIZES[:2]):
        args = arguments(name, sizes)
        results_agree(program, "main", args, interpret(without, "main", args))


def test_tiles_in_local_memory_are_copied_by_the_group_in_a_loop() -> None:
    """The kernel of textbooks: two tiles are copied, then each work-item adds to its sums."""
    names = Names()
    points = "#[ab_tile(16, 16)] #[tile_map_reduce(32, local)]"
    done = optimise(load(Source("t", MATMUL.replace("POINTS", points)), names), names)
    versioned = clean(flatten(done, names), names)
    groups = [stm.exp for stm in statements_inside([versioned.funs[0].body])
              if isinstance(stm.exp, SegMap) and stm.exp.level is L.GROUP
              and len(stm.exp.space) == 2]
    loops = [stm.exp.body.stms for group in groups for stm in statements_inside([group.body])
             if isinstance(stm.exp, Loop)]
    assert any([s.exp.level for s in stms if isinstance(s.exp, SEGOPS)] == [L.LOCAL] * 3
               for stms in loops)
