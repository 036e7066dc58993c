"""Filters in one launch: scans whose elements go to their places at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.python import python_source
from runelift.codegen.plan import plan
from tests import programs
from tests.codegen.harness import CHUNK, PATIENCE, WINDOW
from tests.codegen.test_programs import Choices, ProgramMachine
from tests.replays import results_agree

FILTERS = r"""
entry odd [n] (xs: [n]i32): []i32 = filter (\x -> x % 2 == 1) xs
entry few [n] (xs: [n]i32): []i32 = filter (\x -> x % 16 == 1) xs
entry both [n] (xs: [n]i32): ([]i32, []i64) =
  unzip (filter (\(x, i) -> x % 3 == 1 && i > 2) (zip xs (iota n)))
entry rows [n] (xs: [n]i32): [][2]i32 = filter (\r -> r[0] % 3 == 1) (map (\x -> [x, x + 1]) xs)
entry split [n] (xs: [n]i32): ([]i32, []i32) = partition (\x -> x % 3 == 1) xs
entry three [n] (xs: [n]i32): ([]i32, []i32, []i32) =
  partition2 (\x -> x % 3 == 1) (\x -> x % 5 > 2) xs
entry pairs [n] (xs: [n]i32): ([]i32, []i64, []i32, []i64) =
  let (ys, zs) = partition (\(x, _) -> x % 7 < 5) (zip xs (iota n))
  in (map (.0) ys, map (.1) ys, map (.0) zs, map (.1) zs)
entry twice [n] (xs: [n]i32): []i32 = filter (< 60) (filter (> 10) xs)
def every_other [n] (ys: [n]i32): []i32 =
  map (.1) (filter (\(i, _) -> i % 2 == 0) (zip (iota n) (map (\y -> y * 5 + 1) ys)))
entry marked [n] (xs: [n]i32): [n]i32 =
  loop xs for _i < 3 do
    let places = map (.1) (filter (\(x, _) -> x % 3 == 1) (zip xs (iota n)))
    in scatter (copy xs) places (map (\i -> i32.i64 i * 4) places)
entry halve (xs: []i32): []i32 = loop ys = xs while length ys > 4 do every_other ys
"""


def _as_gpu(text: str) -> runelift.Program:
    """A program with the plans of devices that coalesce accesses; PoCL does not optimise them."""
    return programs.program(text, interleaves=True, optimised_size=0)


def _expected(entry: str, xs: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    match entry:
        case "odd":
            return [xs[xs % 2 == 1]]
        case "few":
            return [xs[xs % 16 == 1]]
        case "both":
            kept = (xs % 3 == 1) & (np.arange(len(xs)) > 2)
            return [xs[kept], np.nonzero(kept)[0]]
        case "rows":
            kept = xs[xs % 3 == 1]
            return [np.stack([kept, kept + 1], 1)]
        case "split":
            return [xs[xs % 3 == 1], xs[xs % 3 != 1]]
        case "three":
            return [xs[xs % 3 == 1], xs[(xs % 3 != 1) & (xs % 5 > 2)],
                    xs[(xs % 3 != 1) & (xs % 5 <= 2)]]
        case "pairs":
            kept = xs % 7 < 5
            return [xs[kept], np.nonzero(kept)[0], xs[~kept], np.nonzero(~kept)[0]]
        case "twice":
            return [xs[(xs > 10) & (xs < 60)]]
        case "marked":
            for _ in range(3):
                places = np.nonzero(xs % 3 == 1)[0]
                xs = xs.copy()
                xs[places] = places * 4
            return [xs]
    while len(xs) > 4:
        xs = (xs * np.int32(5) + np.int32(1))[::2]
    return [xs]


def _some(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).integers(0, 100, count).astype(np.int32)


def _kernels(entry: str) -> set[str]:
    code = programs.compiled(FILTERS).plan(
        entry, interleave=True, coherent=True)
    return {kernel.kind for kernel in plan.kernels(code.steps)}


@pytest.mark.parametrize(
    "entry", ["odd", "few", "both", "rows", "split", "three", "pairs", "twice", "halve", "marked"])
def test_filters_keep_elements_and_their_order(entry: str) -> None:
    program = _as_gpu(FILTERS)
    for count in (0, 1, 31, 1000, 400_000):
        xs = _some(count)
        expected = _expected(entry, xs)
        for _ in range(3):  # the plan, a captured run and a repeated one
            results, _record = program.run(entry, [xs])
            for got, want in zip(results, expected, strict=True):
                np.testing.assert_array_equal(got, want)
        if count == 1000:
            results_agree(program, entry, [xs], expected)


@pytest.mark.parametrize("entry", ["odd", "both", "split", "three", "pairs", "twice", "halve"])
def test_a_filter_has_no_scatter(entry: str) -> None:
    assert not any("scatter" in kind for kind in _kernels(entry))


@pytest.mark.parametrize("patience", [0, 1 << 20], ids=["two passes", "one pass"])
@pytest.mark.parametrize("count", [1, 7, 12, 13, 100])
@pytest.mark.parametrize("entry", ["odd", "split", "three", "pairs"])
def test_the_kernels_of_small_tiles(entry: str, count: int, patience: int) -> None:
    code = programs.compiled(FILTERS).plan(
        entry, interleave=True, coherent=True)
    xs = _some(count)
    (size,), (param,) = code.sizes, code.params
    machine = ProgramMachine(Choices(0), {size: count},
                             {plan.GROUP_SIZE: 4, CHUNK: 3, WINDOW: 3, PATIENCE: patience})
    machine.put(param.name, xs)
    machine.run(code.steps)
    assert machine.failure is None
    for result, want in zip(code.results, _expected(entry, xs), strict=True):
        np.testing.assert_array_equal(machine.buffers[result.name][:len(want)], want)


@pytest.mark.parametrize(("entry", "interleave"), [("three", True), ("three", False),
                                                   ("split", False)])
def test_the_host_waits_once_for_all_counts(entry: str, *, interleave: bool) -> None:
    code = programs.compiled(FILTERS).plan(
        entry, interleave=interleave)
    assert python_source(code).source.count("rt.reads(") == 1


@pytest.mark.parametrize("text", [
    # the places are results, too
    """entry main [n] (xs: [n]i64): ([n]i64, []i64) =
         let ss = scan (+) 0 xs in (ss, filter (> 2) ss)""",
    # elements cost a loop
    r"""entry main [n] (xs: [n]i64): []i64 =
          filter (\x -> (loop y = x for _i < 100 do y * y % 17) > 3) xs"""])
def test_other_uses_of_places_are_right(text: str) -> None:
    program = _as_gpu(text)
    for count in (0, 5, 700):
        xs = _some(count).astype(np.int64)
        expected = runelift.compile(text, device="interpreter").run("main", [xs])[0]
        for got, want in zip(program.run("main", [xs])[0], expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_few_elements_of_a_large_array_take_little_memory() -> None:
    program = _as_gpu(FILTERS)
    xs = np.zeros(1 << 20, np.int32)
    xs[5] = 1
    for _ in range(3):
        kept = program.odd(program.to_device(xs), device_arrays=True)
        np.testing.assert_array_equal(kept.get(), [1])
        assert kept.buffer.size < 1000


def test_filters_in_loops_of_equal_sizes_are_packed() -> None:
    code = programs.compiled(FILTERS).plan(
        "marked", interleave=True, coherent=True)
    assert sum(kernel.kind == "segscatter" for kernel in plan.kernels(code.steps)) == 1


def test_processors_of_hosts_pack_nothing() -> None:
    code = programs.compiled(FILTERS).plan("odd")
    assert any("scatter" in kernel.kind for kernel in plan.kernels(code.steps))
