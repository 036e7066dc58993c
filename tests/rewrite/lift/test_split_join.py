"""The point split_join computes what the map does, whatever the sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.pretty import pretty
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.scheduling import Asked, Scheduling
from runelift.rewrite.pipeline import optimise

SHAPES = {
    "one": "entry main [n] (xs: [n]i32): [n]i32 = #[split_join(t)] map (\\x -> x * x + 1) xs",
    "two": "entry main [n] (xs: [n]i32): ([n]i32, [n]i64) =\n"
           "  #[split_join(t)] map2 (\\x i -> (x + 1, i * 2)) xs (iota n) |> unzip",
    "rows": "entry main [n] (xs: [n]i32): [n][3]i32 =\n"
            "  #[split_join(t)] map (\\x -> map (\\i -> x * i32.i64 i) (iota 3)) xs",
    "twice": "entry main [n] (xs: [n]i32): [n]i32 =\n"
             "  #[split_join(t)] #[split_join(u)] map (\\x -> x * 3 - 1) xs",
    "inside": "entry main [n] (xs: [n]i32): [n]i32 =\n"
              "  map (\\x -> i32.sum (#[split_join(t)] map (\\y -> y * x) xs)) xs",
    "reads": "entry main [n] (xs: [n]i32): [n]i32 =\n"
             "  #[split_join(t)] map (\\i -> xs[n - 1 - i] + i32.i64 i) (iota n)",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tile", [1, 4, 7])
def test_it_computes_what_the_map_does(shape: str, tile: int) -> None:
    names = Names()
    core = load(Source("p.fut", SHAPES[shape]), names)
    done = optimise(core, names, points=Scheduling(BOOK, Asked(values={"t": tile, "u": 2})))
    assert "#[" not in pretty(done)
    if tile != 1:
        assert f"{tile}i64" in pretty(done)
    random = np.random.default_rng(tile)
    for n in (0, 1, 3, 4, 7, 8, 13, 28):
        xs = random.integers(-100, 100, n).astype(np.int32)
        for found, wanted in itertools.zip_longest(interpret(done, "main", [xs]),
                                                   interpret(core, "main", [xs])):
            np.testing.assert_array_equal(found, wanted)


def test_a_tile_that_divides_needs_no_test() -> None:
    names = Names()
    core = load(Source("p.fut", "entry main (xs: [60]i32): [60]i32 =\n"
                       "  #[split_join(12)] map (* 2) xs"), names)
    text = pretty(optimise(core, names))
    assert "[5i64][12i64]i32" in text
    assert "if" not in text
