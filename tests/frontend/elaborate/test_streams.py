"""Accumulators: ``scatter_stream``, ``reduce_by_index_stream`` and what they refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import CompilerLimitation, ProgramFailure, UserError
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty

I32 = np.int32
PROGRAM = """
entry squares [n] (xs: [n]i32) =
  scatter_stream (replicate 5 0i32) (\\(acc: *acc ([]i32)) x -> write acc (i64.i32 x) (x * x)) xs
entry several [n] (xs: [n]i32) =
  reduce_by_index_stream (replicate 5 0i32) (+) 0
    (\\(acc: *acc ([5]i32)) x -> loop acc for i < x do write acc (i64.i32 i) x) xs
def put [k] (acc: *acc ([k](i32, f32))) (x: i32): acc ([k](i32, f32)) =
  let acc = write acc (i64.i32 x) (x, 2) in if x > 5 then write acc 0 (9, 9) else acc
entry pairs [n] (xs: [n]i32) (k: i64) =
  unzip (scatter_stream (zip (replicate k 0i32) (replicate k 1f32)) put xs)
entry rows [n] (xss: *[][3]i32) (ys: [n]i32) =
  reduce_by_index_stream xss (map2 (+)) [0, 0, 0]
    (\\(acc: *acc ([][3]i32)) y -> write acc (i64.i32 y) [y, 1, i32.sum (map (* y) (0...2))]) ys
entry nested [m][n] (xss: [m][n]i32) =
  map (\\xs -> reduce_by_index_stream (replicate 5 0i32) i32.max 0
                (\\(acc: *acc ([5]i32)) x -> if x < 0 then acc else write acc (i64.i32 x) 1) xs) xss
entry within [n] (dest: *[n]i32) (k: i32) (xs: [n]i32) =
  loop dest for i < k do
    reduce_by_index_stream dest (\\x y -> x * y + x + y) 0
      (\\(acc: *acc ([n]i32)) x -> write (write acc (i64.i32 x) i) (i64.i32 (x + 1)) 1) xs
type~ sink 't = intrinsics.acc t
def scatter_stream [k] 'a 'b (dest: *[k]a) (f: *sink ([k]a) -> b -> sink ([k]a)) (bs: []b) =
  intrinsics.scatter_stream dest f bs :> *[k]a
entry own [n] (xs: [n]i64) =
  scatter_stream (replicate 4 0i64) (\\(acc: *sink ([]i64)) x -> intrinsics.acc_write acc x x) xs
entry small [n] (xs: [n]i16) =
  intrinsics.hist_stream (replicate 3 1i16) (*) 1
    (\\(acc: *sink ([]i16)) x -> intrinsics.acc_write acc (i64.i16 x % 3) x) xs
"""
CASES: list[tuple[str, list[Any], list[Any]]] = [
    ("squares", [np.array([1, 3, 7, -1], I32)], [[0, 1, 0, 9, 0]]),
    ("several", [np.array([1, 3, 7, -1], I32)], [[11, 10, 10, 7, 7]]),
    ("pairs", [np.array([1, 6], I32), 3], [[9, 1, 0], [9.0, 2.0, 1.0]]),
    ("rows", [np.array([[1, 2, 3], [4, 5, 6]], I32), np.array([1, 1, 0, 5], I32)],
     [[[1, 3, 3], [6, 7, 12]]]),
    ("nested", [np.array([[1, 3, -1, 1], [2, 2, 7, 2]], I32)],
     [[[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]]]),
    ("within", [np.array([1, 2, 3], I32), 2, np.array([0, 1, 1], I32)], [[3, 47, 63]]),
    ("own", [np.array([2, 5, 0])], [[0, 0, 2, 0]]),
    ("small", [np.array([1, 2, 4, 5], np.int16)], [[1, 4, 10]]),
]


@pytest.mark.parametrize("device", ["interpreter", None])
@pytest.mark.parametrize(("entry", "args", "expected"), CASES, ids=[case[0] for case in CASES])
def test_writes_reach_their_places(entry: str, args: list[Any], expected: list[Any],
                                   device: str | None) -> None:
    found = getattr(runelift.compile(PROGRAM, device=device), entry)(*args)
    for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        assert np.asarray(one).tolist() == other


def test_many_elements_write_at_once() -> None:
    """Writes of work-items that run side by side are not lost."""
    program = runelift.compile("""
entry main [n] (k: i64) (xs: [n]i32) =
  reduce_by_index_stream (replicate k 0i32) (+) 0
    (\\(acc: *acc ([k]i32)) x -> write (write acc (i64.i32 x % k) x) 0 1) xs""")
    xs = np.random.default_rng(2).integers(0, 1000, 20_000).astype(I32)
    wanted = np.bincount(xs % 7, xs, 7)
    wanted[0] += len(xs)
    assert np.array_equal(program.main(np.int64(7), xs), wanted)


def test_streams_at_host_level_are_kernels() -> None:
    compiled = runelift.compile(PROGRAM).compiled
    assert "segaccumulate.grid" in pretty(compiled.versioned)
    (nested,) = (fun for fun in compiled.versioned.funs if fun.name == "nested")
    assert re.search(r"segaccumulate.grid .*<i_\d+ < m_\d+, i_\d+ < n_\d+>",
                     pretty(replace(compiled.versioned, funs=(nested,))))
    for form in (compiled.core, compiled.optimised, compiled.versioned):
        assert parse(pretty(form)) == form


@pytest.mark.parametrize(("function", "message"), [
    ("\\acc x -> write acc x x", "not consumable"),
    ("\\(acc: *acc ([]i64)) x -> let _ = write acc x x in acc", "was consumed"),
    ("\\(acc: *acc ([]i64)) x -> let y = acc[0] in write acc x y", "acc"),
    ("\\(acc: *acc i64 i64) x -> acc", "takes the type of an array"),
    ("\\(acc: *acc ([]i64)) x -> write (if x > 0 then ??? else acc) x x", "hole"),
    ("\\(acc: *acc ([]i64)) x -> (replicate 2 acc)[0]", "acc"),
])
def test_what_is_refused(function: str, message: str) -> None:
    with pytest.raises((UserError, CompilerLimitation), match=message):
        runelift.compile(f"entry main (xs: []i64) = scatter_stream (copy xs) ({function}) xs")


def test_accumulators_stay_inside() -> None:
    for text in ("entry main (acc: acc ([3]i32)) = 1i32",
                 "entry main (f: i32): acc ([3]i32) = ???"):
        with pytest.raises(UserError, match="takes or returns an accumulator"):
            runelift.compile(text)


def test_module_types_have_accumulators() -> None:
    program = runelift.compile("""
module m : { type~ sink val put [n]: *acc ([n]i64) -> i64 -> *acc ([n]i64) } = {
  type~ sink = acc ([]i64)
  def put [n] (acc: *acc ([n]i64)) (x: i64): *acc ([n]i64) = write acc x (x + 1)
}
entry main (xs: []i64) = scatter_stream (copy xs) m.put xs""", device="interpreter")
    assert program.main(np.array([1, 0, 7])).tolist() == [1, 2, 7]


def test_a_hole_fails_where_it_is_reached() -> None:
    program = runelift.compile("""
entry main (xs: []i64) =
  scatter_stream (copy xs) (\\(acc: *acc ([]i64)) x -> if x > 1 then ??? else write acc x 1) xs""")
    assert np.asarray(program.main(np.array([1, 0]))).tolist() == [1, 1]
    with pytest.raises(ProgramFailure, match="hole"):
        np.asarray(program.main(np.array([1, 5])))
