"""Rows side by side in a work-group: which kernels may have them, and what absent rows do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.opencl import opencl_source
from runelift.codegen.emit.signatures import count_barrier_calls
from runelift.codegen.passes.teams import can_team, mask_absent_teams
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.check import check
from runelift.ir.imp.interpret import Launch, run
from runelift.ir.names import VName
from tests.codegen.harness import by_groups, noted
from tests.ir.imp.parse import parse

PRESENT = imp.Var(VName("present", 9))


def kernel(body: str) -> imp.Kernel:
    """A kernel of teams of three work-items with some code of theirs."""
    (found,) = parse(
        "kernel k [group_1] [teams teams_2] (xs_3 : global i64 written) (ns_4 : global i64)"
        " (n_5 : i64) { local row_6 : i64[3]"
        " var present_9 : bool = lt.i64(group_id(0), n_5) " + body + " }")
    return found


ALIKE = {
    "a bound that all know": "for i_7 from 0i64 below n_5 by 1i64 { barrier local }",
    "what is read and never written": "if lt.i64(load.i64 ns_4[0i64], n_5) { barrier local }",
    "a count": """
        var c_7 : i64 = 0i64
        while lt.i64(c_7, n_5) { barrier local c_7 := add.i64(c_7, 1i64) }""",
}
APART = {
    "the row": "if lt.i64(group_id(0), n_5) { barrier local }",
    "what a row has in local memory": "if lt.i64(load.i64 row_6[0i64], n_5) { barrier local }",
    "what a row may have changed": "if lt.i64(load.i64 xs_3[0i64], n_5) { barrier local }",
    "what a row reads": "if lt.i64(load.i64 ns_4[group_id(0)], n_5) { barrier local }",
}
WRITE = " store.i64 row_6[local_id(0)] <- 1i64 store.i64 xs_3[global_id(0)] <- 1i64"


@pytest.mark.parametrize("body", ALIKE.values(), ids=list(ALIKE))
def test_rows_that_come_to_the_same_barriers(body: str) -> None:
    code = kernel(body + WRITE)
    assert can_team(code.body)
    check(code)


@pytest.mark.parametrize("body", APART.values(), ids=list(APART))
def test_rows_whose_barriers_depend_on(body: str) -> None:
    assert not can_team(kernel(body + WRITE).body)


def test_absent_rows_keep_count_and_touch_nothing() -> None:
    """Five rows in teams of two: the sixth would turn its numbers where no row is.

    How often, the loop itself counts.
    """
    code = kernel("""
        var c_7 : i64 = 0i64
        var turned_8 : i64 = load.i64 xs_3[global_id(0)]
        while lt.i64(c_7, load.i64 ns_4[0i64]) {
          store.i64 row_6[local_id(0)] <- turned_8
          barrier local
          c_7 := add.i64(c_7, 1i64)
          turned_8 := load.i64 row_6[rem.i64(add.i64(local_id(0), 1i64), 3i64)]
          barrier local
        }
        store.i64 xs_3[global_id(0)] <- turned_8
        """)
    first, *rest = code.body
    masked = imp.Kernel(code.name, code.params, code.locals,
                        (first, *mask_absent_teams(PRESENT, rest)),
                        constants=code.constants, teams=code.teams)
    check(masked)
    xs = np.arange(15)
    group, teams = code.constants
    names = [p.name for p in code.params]
    run(masked, Launch(5, 3, dict(zip(names, (xs, np.array([2]), np.int64(5)), strict=True)),
                       {group: 3, teams: 2}, {code.locals[0].name: 3}))
    np.testing.assert_array_equal(xs, np.roll(np.arange(15).reshape(5, 3), -2, 1).reshape(-1))


@pytest.mark.parametrize("teams", [1, 2])
def test_barriers_of_teams_can_be_counted_in_the_text(teams: int) -> None:
    """PoCL does not optimise kernels with many of them: that takes minutes."""
    code = kernel("barrier local for i_7 from 0i64 below n_5 by 1i64 { barrier local }")
    source = opencl_source(code, 0, dict(zip(code.constants, (3, teams), strict=True)))
    assert count_barrier_calls(source) == 2


def test_kernels_that_may_not_meet_have_no_teams() -> None:
    """A loop that ends when its row says so is for one row at a time."""
    text = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> loop xs while reduce (+) 0 xs < 100 do map (+ 1) xs) xss
"""
    program = runelift.compile(text, device="oclgrind")
    kernels = [k for k in plan.kernels(program.loaded.plan("main").steps)
               if "intragroup" in k.name and any(isinstance(stm, imp.While) for stm in k.body)]
    assert kernels
    assert all(k.teams is None for k in kernels)


# Whole programs

PROGRAMS = {
    "scans in a loop": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map2 (\\xs i -> loop xs for j < k do scan (+) 0 (map (+ (i32.i64 i + j)) xs)) xss (iota n)
""",
    "sums, neighbours and branches": """
entry main [n][m] (xss: [n][m]i32) (k: i32): ([n][m]i32, [n]i32) =
  unzip (map (\\xs ->
    let ys = loop ys = copy xs for i < k do
      let s = reduce (+) 0 ys
      let zs = if i % 2 == 0 then map (+ s) ys else rotate 1 ys
      in map2 (\\z j -> if j % 3 == 0 then z / 2 else z) zs (iota m)
    in (ys, reduce i32.max i32.lowest ys)) xss)
""",
    "rows that change in place": """
entry main [n][m] (xss: *[n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs -> let ys = scan (+) 0 xs
              in if m > 0 then (copy ys) with [i64.i32 k % m] = k else ys) xss
""",
    "an index that is checked": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs -> let ys = scan (+) 0 xs
              in map (\\y -> ys[i64.i32 (y & 0x7fffffff) % m]) ys) xss
""",
}
LENGTHS = [1, 31, 32, 100]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were side by side in the launches so far."""
    return noted(monkeypatch, "TeamCount", "teams")


@pytest.mark.sweep(keep=["oclgrind", "checked", "in place"])
@pytest.mark.parametrize(("on", "lengths", "counts"), [
    ("pocl", LENGTHS, [7, 8]), ("oclgrind", [5, 33], [3])])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=list(PROGRAMS))
def test_program(text: str, on: str, lengths: list[int], counts: list[int],
                 launched: list[int]) -> None:
    """Rows of all lengths, not as many as would come out even, by the version for groups."""
    program, force = by_groups(text, on)
    meaning = runelift.compile(text, device="interpreter")
    names = [name for name in program.kernel_parameters() if name.endswith(".teams")]
    assert names
    for m in lengths:
        for n in counts:
            rows = np.random.default_rng(m).integers(-50, 50, (n, m)).astype(np.int32)
            args = rows, np.int32(3)
            got, record = program.run("main", args, force=force, record=True,
                                      thresholds=dict.fromkeys(names, 4))
            assert record is not None
            assert not record.infeasible
            assert max(launched) > 1
            expected, _ = meaning.run("main", args)
            for each, right in zip(arrays(got), arrays(expected), strict=True):
                np.testing.assert_array_equal(each, right)


def arrays(values: list[Any]) -> list[np.ndarray[Any, Any]]:
    """The results as arrays."""
    return [np.asarray(value) for value in values]
