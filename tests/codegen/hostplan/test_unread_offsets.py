"""Offsets of segments that no kernel reads."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.codegen.hostplan.unread_offsets import without_unread_offsets
from runelift.ir import syntax as ir
from runelift.ir.interpret import interpret
from runelift.ir.traverse import statements_at_host
from tests import programs
from tests.gpus import gpu

SUMS = """
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64): [n]i64 =
  map2 (\\o l -> i64.sum xs[o:o + l]) start len
"""
ELEMENTS = """
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64): [n]i64 =
  map2 (\\o l -> let ys = scan (+) 0 xs[o:o + l] in i64.sum (map2 (*) ys xs[o:o + l])) start len
"""
BOTH = """
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64) (more: bool): ([n]i64, [n]i64) =
  let sums = map2 (\\o l -> i64.sum xs[o:o + l]) start len
  in if more then (sums, map2 (\\o l -> i64.maximum (xs[o:o + l])) start len) else (sums, len)
"""
START, LENGTHS, XS = np.array([0, 3, 3]), np.array([3, 0, 4]), np.arange(7) - 2


def _scans(fun: ir.Fun) -> int:
    return sum(isinstance(stm.exp, ir.SegScan) for stm in statements_at_host(fun.body))


@pytest.mark.parametrize(("source", "before", "after"), [
    (SUMS, 1, 0), (ELEMENTS, 6, 6), (BOTH, 2, 0)], ids=["sums", "elements", "both"])
def test_only_scans_that_something_reads_stay(source: str, before: int, after: int) -> None:
    (fun,) = programs.compiled(source).versioned.funs
    assert _scans(fun) == before
    assert _scans(without_unread_offsets(fun)) == after


@pytest.mark.parametrize("source", [SUMS, ELEMENTS], ids=["sums", "elements"])
def test_results_are_as_before(source: str) -> None:
    program = gpu(source)
    args = [START, LENGTHS, XS]
    expected = interpret(program.compiled.core, "main", args)
    names = {guard.name: 1 << 40 for guard in program.tree.guards()}
    found, _ = program.run("main", args, thresholds=names)
    np.testing.assert_array_equal(found[0], expected[0])


def test_a_program_without_segments_stays_as_it_is() -> None:
    (fun,) = programs.compiled("def main [n] (xs: [n]i64) = scan (+) 0 xs").versioned.funs
    assert without_unread_offsets(fun) is fun
