"""Versions on a device with little local memory: a branch that does not fit leads to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.programs.program import Program
from tests.gpus import gpu

TYPES = ["i8", "i16", "i32", "i64", "f16", "f32", "f64"]
SHAPES = [(1, 20_000), (1, 60_000), (3, 12_000), (20, 1_000), (40, 37), (20_000, 1), (0, 7),
          (7, 0), (1, 1)]
SCANS = "".join(f"""
entry sums_{t} [n][m] (xs: [n][m]{t}): [n][m]{t} = map (scan (+) 0) xs
entry most_{t} [n][m] (xs: [n][m]{t}): [n][m]{t} = map (scan {t}.max {t}.lowest) xs
entry pairs_{t} [n][m] (xs: [n][m]{t}): [n][m]{t} =
  map (\\row -> map (.1) (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                              (map (\\x -> (1 - x % 2, x)) row))) xs
entry last_{t} [n][m] (xs: [n][m]{t}): [n]{t} =
  map (\\row -> if m == 0 then 0 else (scan {t}.max {t}.lowest row)[m - 1]) xs
""" for t in TYPES)


def names(base: str) -> str:
    """A pattern of 40 names."""
    return f"({', '.join(f'{base}{k}' for k in range(40))})"


@pytest.fixture(scope="module")
def scans() -> Program:
    return gpu(SCANS)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("type_", TYPES)
def test_the_flat_version_runs_for_rows_of_any_length(scans: Program, type_: str,
                                                      shape: tuple[int, int]) -> None:
    random = np.random.default_rng(shape[1])
    dtype = {"i": "int", "f": "float"}[type_[0]] + type_[1:]
    xs = (random.integers(0, 4, shape) * (random.random(shape) < 0.01)).astype(dtype)
    for name, wanted in _wanted(xs).items():
        site = f"{name}_{type_}.versions_0"
        found, record = scans.run(f"{name}_{type_}", [xs], force={site: 2}, record=True)
        assert record is not None
        assert record.path == ((site, 2),)
        np.testing.assert_array_equal(found[0], wanted)


def _wanted(xs: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The results of the entry points, by NumPy."""
    most = np.maximum.accumulate(xs, 1)
    pairs, before = np.empty_like(xs), np.zeros(len(xs), xs.dtype)
    for column in range(xs.shape[1]):
        pairs[:, column] = before = before * (1 - xs[:, column] % 2) + xs[:, column]
    return {"sums": np.cumsum(xs, 1, dtype=xs.dtype), "most": most, "pairs": pairs,
            "last": most[:, -1] if xs.shape[1] else np.zeros(len(xs), xs.dtype)}


@pytest.mark.parametrize("shape", [(1, 20_000), (1, 200_000), (20, 10_000)], ids=str)
def test_few_long_rows_are_scanned_by_many_work_items(scans: Program,
                                                      shape: tuple[int, int]) -> None:
    """The flat version can run, and a work-item for each row is not what runs by default."""
    for entry in ("sums_f32", "pairs_i64", "last_i8"):
        xs = np.ones(shape, {"f32": "f4", "i64": "i8", "i8": "i1"}[entry.partition("_")[2]])
        _, record = scans.run(entry, [xs], record=True)
        assert record is not None
        ((_, version),) = record.path
        assert version > 0
        assert not record.infeasible
        assert 2 in record.encounters[0].feasible


@pytest.mark.parametrize(("length", "reason"), [
    (20_000, r"a work-group of intragroup_ys_\d+ needs 139,264 bytes of local memory, and this "
             r"device has 48,896"),
    (200_000, r"no work-group of this device is large enough for the rows of intragroup_ys_\d+")])
def test_a_version_says_which_launch_is_not_possible(scans: Program, length: int,
                                                     reason: str) -> None:
    with pytest.raises(VersionUnavailable, match=f"sums_f32.versions_0/1 .*{reason}"):
        scans.run("sums_f32", [np.ones((1, length), np.float32)], force={"sums_f32.versions_0": 1})


RECORDS = f"""
def add {names("a")} {names("b")} = ({", ".join(f"a{k} + b{k} + 0f64" for k in range(40))})
def record (x: f64) = ({", ".join(f"x * {k}" for k in range(40))})
def sum [n] (xs: [n]f64): [40]f64 =
  let {names("r")} = reduce add ({", ".join(["0f64"] * 40)}) (map record xs)
  in [{", ".join(f"r{k}" for k in range(40))}]
entry whole [n] (xs: [n]f64) = sum xs
entry rows [n][m] (xs: [n][m]f64) = map sum xs
"""
"""Sums of records of 320 bytes; a group of 256 work-items has no room for one each."""


@pytest.mark.parametrize("coherent", [False, True])
def test_groups_are_so_small_that_large_records_fit(coherent: bool) -> None:
    program = gpu(RECORDS, coherent=coherent)
    for shape in [(1, 100_000), (3, 9_000), (3, 100), (400, 40), (1200, 2000)]:
        xs = np.random.default_rng(1).integers(0, 9, shape).astype(float)
        wanted = xs.sum(1)[:, None] * np.arange(40)
        (found,), record = program.run("rows", [xs], force={"rows.versions_0": 2}, record=True)
        np.testing.assert_array_equal(found, wanted)
        assert record is not None
        assert not record.infeasible
        np.testing.assert_array_equal(program.run("whole", [xs[0]])[0][0], wanted[0])


MANY_BINS = """
entry main [n] (k: i64) (is: [n]i64) (xs: [n]i64): [k]i64 =
  reduce_by_index (replicate k 0) (+) 0 is xs
"""


@pytest.mark.parametrize("bins", [1527, 1528, 1529])
def test_bins_that_fill_local_memory_are_counted_there(bins: int) -> None:
    """A further word, by which groups learn which is the last, does not keep them from it."""
    program = gpu(MANY_BINS, coherent=True)
    random = np.random.default_rng(bins)
    places, values = random.integers(0, bins, 5_000), random.integers(-9, 9, 5_000)
    (found,), record = program.run("main", [np.int64(bins), places, values], record=True)
    wanted = np.zeros(bins, np.int64)
    np.add.at(wanted, places, values)
    np.testing.assert_array_equal(found, wanted)
    assert record is not None
    assert not record.infeasible
