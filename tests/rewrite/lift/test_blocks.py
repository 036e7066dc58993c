"""Schedules that cut products into blocks: one kernel, with the numbers of the steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.analysis.blocks import COLUMNS, ROWS, Blocks, blocks_of
from runelift.ir.base.source import Source
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Generator, parse_spec

PRODUCT = """
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
SYMMETRIC = """
entry main [n][m] (as: [n][m]f32) (cs: [n][n]f32): [n][n]f32 =
  map2 (\\xs row -> map2 (\\ys c -> 2 * f32.sum (map2 (*) xs ys) + c) as row) as cs
"""
BATCHED = """
entry main [b][n][m][p] (xsss: [b][n][m]f64) (ysss: [b][m][p]f64): [b][n][p]f64 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys -> f64.sum (map2 (*) xs ys)) (transpose yss)) xss)
       xsss ysss
"""
PAIRS = """
entry main [n][m][p] (xss: [n][m]i32) (yss: [p][m]i32): ([n][p]i32, [n][p]i32) =
  unzip (map unzip (map (\\xs -> map (\\ys ->
    reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0) (zip xs ys)) yss) xss))
"""
STAGES = """
main.ys ab_tile(16, 32)
main.ys.ys.ys tile_map_reduce(8)
main.ys.ys.ys privatise()
main.ys.ys.ys.x materialise(local)
main.ys.ys.ys.x[2] materialise(local)
main.ys.ys.ys.sum ab_tile(2, 4)
main.ys.ys.ys.sum.sum.sum.sum.ys tile_map_reduce(4)
"""
BOTH = frozenset({ROWS, COLUMNS})


def asked(text: str, schedule: str | None = None) -> list[Blocks]:
    """The blocks that the flattened program asks for."""
    source = None if schedule is None else Source("s", schedule)
    compiled = compile_source(Source("t", text), schedule=source)
    return [found for fun in compiled.versioned.funs for stm in statements_inside([fun.body])
            if (found := blocks_of(stm)) is not None]


def steps(count: int) -> str:
    """The first steps of :data:`STAGES`."""
    return "\n".join(STAGES.strip().splitlines()[:count])


@lru_cache
def compiled(text: str, schedule: str) -> runelift.Program:
    return runelift.compile(text, schedule=schedule, tuning={})


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape)


@pytest.mark.parametrize(("count", "blocks"), [
    (1, None),
    (2, Blocks(16, 32, 1, 1, 8)),
    (3, Blocks(16, 32, 1, 1, 8)),
    (4, Blocks(16, 32, 1, 1, 8, frozenset({ROWS}))),
    (5, Blocks(16, 32, 1, 1, 8, BOTH)),
    (6, Blocks(16, 32, 2, 4, 8, BOTH)),
    (7, Blocks(16, 32, 2, 4, 8, BOTH, 4)),
])
def test_each_stage_is_a_prefix_of_the_schedule(count: int, blocks: Blocks | None) -> None:
    assert asked(PRODUCT, steps(count)) == ([] if blocks is None else [blocks])


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_each_stage_computes_the_product_at_all_sizes(count: int) -> None:
    program = compiled(PRODUCT, steps(count))
    for n, m, p in [(33, 9, 65), (1, 1, 1), (47, 0, 40), (0, 3, 3), (64, 130, 31)]:
        xss, yss = numbers(n, m).astype("f4"), numbers(m, p).astype("f4")
        np.testing.assert_array_equal(program.main(xss, yss), xss @ yss)


def test_attributes_ask_for_blocks_as_a_schedule_does() -> None:
    text = PRODUCT.replace("  map", "  #[ab_tile(16, 32)] #[tile_map_reduce(8, local)] "
                                    "#[ab_tile(2, 4)] map", 1)
    assert asked(text) == [Blocks(16, 32, 2, 4, 8, BOTH)]


def test_the_kernel_is_that_of_products_without_schedules() -> None:
    """To the letter: numbers are constants of the kernel, chosen by the host."""
    steps = "main.ys ab_tile(64, 64)\nmain.ys.ys.ys tile_map_reduce(16, local)"
    found = [kernel_of(compiled(PRODUCT, schedule)) for schedule in (steps, "-- no steps\n")]
    assert found[0] == found[1]


def kernel_of(program: runelift.Program) -> str:
    """The blocked kernel of a product, without the number in its name."""
    text = str(program.source("kernels"))
    start = text.index("__kernel void segmap_tiled")
    return re.sub(r"_\d+\(\n", "(\n", text[start:text.index("\n}\n", start)], count=1)


def test_a_named_number_is_a_parameter_of_the_kernel() -> None:
    schedule = "main.ys ab_tile(side, side)\nmain.ys.ys.ys tile_map_reduce(8, local)"
    source = Source("t", PRODUCT)
    found = [compile_source(source, schedule=Source("s", schedule), parameters={"side": side})
             for side in (8, 32)]
    assert [blocks_of(stm).rows for each in found  # type: ignore[union-attr]
            for stm in statements_inside([each.versioned.funs[0].body]) if blocks_of(stm)] == [
        8, 32]


@pytest.mark.parametrize(("text", "place", "sums"), [
    (SYMMETRIC, "main.ys", "main.ys.ys.r"), (BATCHED, "main.ys.ys", "main.ys.ys.ys.ys"),
    (PAIRS, "main.ys", "main.ys.ys.ys")])
def test_products_of_other_forms(text: str, place: str, sums: str) -> None:
    schedule = (f"{place} ab_tile(8, 16)\n{place}.ys.ys tile_map_reduce(4, local)\n"
                f"{sums}.sum ab_tile(2, 2)")
    assert asked(text, schedule) == [Blocks(8, 16, 2, 2, 4, BOTH)]
    program = compiled(text, schedule)
    for n, m, p in [(16, 8, 16), (9, 5, 37), (40, 3, 17)]:
        if text is SYMMETRIC:
            args: Sequence[Any] = (numbers(n, m).astype("f4"), numbers(n, n).astype("f4"))
            expected = [2 * (args[0] @ args[0].T) + args[1]]
        elif text is BATCHED:
            args = (numbers(3, n, m).astype("f8"), numbers(3, m, p).astype("f8"))
            expected = [args[0] @ args[1]]
        else:
            args = (numbers(n, m).astype("i4"), numbers(p, m).astype("i4"))
            expected = list(pairs(*args))
        found = program.main(*args)
        for one, other in zip(found if isinstance(found, tuple) else (found,), expected,
                              strict=True):
            np.testing.assert_array_equal(one, other)


EXAMPLES = Path(__file__).parents[3] / "examples"
STENCILS = {
    "conv1d": ("[90]f32 [17]f32", Blocks(1, 128, 1, 8, 16, BOTH, 4)),
    "conv2d": ("[14][70]f32 [5][3]f32", Blocks(8, 128, 8, 1, 8, BOTH, 4, 64)),
    "coulomb": ("66i64 9i64 2i64 0.1f32 [13]f32 [13]f32 [13]f32 [13]f32",
                Blocks(8, 32, 8, 1, 2, BOTH, 2)),
    "nbody": ("1i32 0.01f32" + " [30]f32" * 7, Blocks(1, 64, 1, 4, 4, BOTH, 2)),
    "syrk": ("0.5f32 [66][17]f32 2f32 [66][66]f32", Blocks(64, 64, 4, 4, 16, BOTH, 4)),
}


@pytest.mark.parametrize("name", STENCILS)
def test_stages_of_the_examples(name: str) -> None:
    """The stages in :file:`examples/stages`; the first ones have no copies."""
    path = EXAMPLES / f"{name}.fut"
    text = (EXAMPLES / "stages" / f"{name}.schedule").read_text()
    spec, blocks = STENCILS[name]
    assert set(asked(path.read_text(), text)) == {blocks}
    first = text[:text.index("\n-- Coarsening")]
    args = list(Generator(1, {}).values(parse_spec(each) for each in spec.split()))
    expected = runelift.compile(path, device="interpreter").main(*args)
    for schedule in (text, first) if name == "conv2d" else (text,):
        found = runelift.compile(path, schedule=schedule, tuning={}).main(*args)
        assert first_difference(*([*each] if isinstance(each, tuple) else [each]
                                  for each in (expected, found))) is None


def test_all_examples_with_stages_are_one_kernel() -> None:
    for path in (EXAMPLES / "stages").glob("*.schedule"):
        found = asked((EXAMPLES / f"{path.stem}.fut").read_text(), path.read_text())
        assert len(set(found)) == 1, path.stem
        assert found[0].copies == BOTH, path.stem
        assert found[0].unroll in (2, 4), path.stem


def pairs(xss: np.ndarray[Any, Any], yss: np.ndarray[Any, Any]
          ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What :data:`PAIRS` computes; its operator does not commute."""
    first = np.ones((len(xss), len(yss)), "i4")
    second = np.zeros_like(first)
    for x, y in zip(xss.T, yss.T, strict=True):
        first, second = x[:, None] * first, x[:, None] * second + y[None, :]
    return first, second


@pytest.mark.parametrize("schedule", [
    "main.ys ab_tile(12, 16)\nmain.ys.ys.ys tile_map_reduce(4, local)",
    "main.ys ab_tile(16, 16)\nmain.ys.ys.ys tile_map_reduce(4, private)",
    "main.ys ab_tile(16, 16)\nmain.ys.ys.ys tile_map_reduce(4, local)\n"
    "main.ys.ys.ys.sum interchange()",
    "main.ys interchange()\nmain.ys tile_map_reduce(4, local)",
])
def test_other_steps_are_what_they_say(schedule: str) -> None:
    assert asked(PRODUCT, schedule) == []


def test_a_step_around_a_nest_ends_its_blocks() -> None:
    inner = ("main.ys.ys ab_tile(8, 16)\nmain.ys.ys.ys.ys tile_map_reduce(4, local)\n")
    assert asked(BATCHED, inner)
    assert asked(BATCHED, f"{inner}main.ys split_join(2)") == []
    program = compiled(BATCHED, f"{inner}main.ys split_join(2)")
    xsss, ysss = numbers(2, 9, 5).astype("f8"), numbers(2, 5, 37).astype("f8")
    np.testing.assert_array_equal(program.main(xsss, ysss), xsss @ ysss)


def test_points_inside_of_a_nest_are_steps_as_well() -> None:
    text = PRODUCT.replace("  map", "  #[ab_tile(16, 32)] #[tile_map_reduce(8, local)] map", 1)
    text = text.replace("f32.sum (map2 (*) xs ys)",
                        "(#[tile_map_reduce(4)] reduce (+) 0 (map2 (*) xs ys))")
    assert asked(text) == [Blocks(16, 32, 1, 1, 8, BOTH, 4)]


def test_blocks_too_large_for_the_device_are_left_to_other_kernels() -> None:
    program = compiled(PRODUCT, "main.ys ab_tile(1024, 1024)\n"
                                "main.ys.ys.ys tile_map_reduce(8, local)")
    xss, yss = numbers(1030, 3).astype("f4"), numbers(3, 1025).astype("f4")
    np.testing.assert_array_equal(program.main(xss, yss), xss @ yss)
