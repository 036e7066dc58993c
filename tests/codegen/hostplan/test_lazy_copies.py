"""Promised copies for kernels that walk along rows, on the simulator of a GPU and on a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from runelift.codegen.hostplan.coalescing import CARRIED_LAYOUT, coalesce
from runelift.codegen.plan import plan
from runelift.ir.names import Names
from runelift.ir.syntax import Body, Loop, Stm
from runelift.ir.traverse import bodies_of
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests.programs import program as program_of

SOURCE = r"""
def folded [m] (t: i32) (xs: [m]i32): i32 = loop a = t for x in xs do a * 3 + x
def often [m] (xs: [m]i32): i32 = loop s = 0 for _k < 3 do s + folded s xs

entry once [n][m] (xss: [n][m]i32): [n]i32 = map (folded 1) xss
entry again [n][m] (xss: [n][m]i32): [n]i32 = map often xss
entry small [n][m] (xss: [n][m]i8): [n]i32 = map (\xs -> folded 1 (map i32.i8 xs)) xss
entry long [n][m] (xss: [n][m]i64): [n]i64 =
  map (\xs -> loop a = 1 for x in xs do a * 3 + (loop b = x for y in xs do b * 5 + y)) xss
entry shared [n][m] (xss: [n][m]i32): [n]i32 =
  let t = i32.sum (map (folded 1) xss) in map (folded t) xss
entry several [n][m] (as: [n][m]i32) (bs: [n][m]i32) (cs: [n][m]i32): [n]i32 =
  map3 (\a b c -> loop s = 0 for i < m do s * 3 + a[i] * b[i] + c[i]) as bs cs
entry cubes [n][k][l] (xsss: [n][k][l]i32): [n]i32 =
  map (\xss -> loop s = 0 for _t < 2 do loop s for i < k do loop s for j < l do s * 3 + xss[i, j])
      xsss
entry inner [n][k][l] (xsss: [k][n][l]i32): [k][n]i32 = map (map often) xsss
entry until [n][m] (xss: [n][m]i32): [n]i32 =
  map (\xs -> loop s = 0 for _t < 3 do
    let (_, s) = loop (i, s) = (0i64, s) while i < m && s < 1000 do (i + 1, s * 2 + xs[i])
    in s) xss
entry both_ways [n] (xss: [n][n]i32): [n]i32 =
  map (\i -> loop s = 0 for _t < 3 do loop s for j < n do s * 3 + xss[i, j] - xss[j, i]) (iota n)
entry changed [n][m] (xss: *[n][m]i32): ([n]i32, [n][m]i32) =
  let found = map often xss
  let yss = if n > 0 && m > 0 then xss with [0, 0] = 7 else xss
  in (found, yss)
entry carried [n][m] (xss: *[n][m]i32): i32 =
  let t = i32.sum (map often xss)
  let yss = loop xss for i < i64.min n m do xss with [i, i] = t
  in i32.sum (map often yss)
entry chosen [n][m] (xss: [n][m]i32): [n]i32 =
  map (\xs -> i32.sum (map (\x -> x + often xs) xs)) xss
entry every_pair [n][m] (xss: [n][m]i32) (yss: [n][m]i32): [n][n]i32 =
  map (\xs -> map (\ys -> loop a = 0 for k < m do a * 3 + xs[k] * ys[k]) yss) xss
"""

COPIES = {"once": 0, "again": 1, "small": 1, "long": 1, "shared": 1, "several": 3, "cubes": 1,
          "inner": 2, "until": 1, "both_ways": 0, "changed": 1, "carried": 2, "chosen": 1,
          "every_pair": 2}
"""How many copies the entry points promise."""
SHAPES = [(40, 33), (5, 1), (0, 40)]


@pytest.fixture(scope="module")
def reference() -> Program:
    return program_of(SOURCE, "interpreter")


@pytest.fixture(scope="module")
def programs(reference: Program) -> dict[str, Program]:
    """The program on a simulator, and on a processor with the layouts of a GPU."""
    return {"oclgrind": program_of(SOURCE, "oclgrind"), "Portable": program_of(
        SOURCE, "Portable", interleaves=True, num_groups=2, group_size=64)}


def given(program: Program, entry: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Random arguments of an entry point, all of one shape."""
    rng = np.random.default_rng(sum(shape))
    specs = program.compiled.interfaces[entry].params
    rank = len(specs[0].shape or ())
    if entry == "both_ways":
        shape = shape[:1] * 2
    return [rng.integers(-9, 9, (*shape, 3)[:rank]).astype(spec.prim.dtype) for spec in specs]


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("device", "shapes"), [("oclgrind", SHAPES[:1]), ("Portable", SHAPES)])
@pytest.mark.parametrize("entry", COPIES)
def test_copies_do_not_change_results(reference: Program, programs: dict[str, Program],
                                      device: str, shapes: list[tuple[int, int]],
                                      entry: str) -> None:
    program = programs[device]
    forest = next((f for f in program.tree.entries if f.entry == entry), None)
    for shape in shapes:
        args = given(program, entry, shape)
        expected, _ = reference.run(entry, [np.copy(a) for a in args])
        for force in plans(forest) if forest else ({},):
            actual, _ = program.run(entry, [np.copy(a) for a in args], force=force)
            for one, other in zip(actual, expected, strict=True):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize(("entry", "copies"), COPIES.items())
def test_what_is_read_often_enough_is_copied(reference: Program, entry: str, copies: int) -> None:
    """Unless the same kernel reads it the other way, too."""
    def promises(*, interleave: bool) -> list[plan.LazyCopy]:
        steps = reference.compiled.plan(entry, interleave=interleave).steps
        return [step for step in plan.all_steps(steps) if isinstance(step, plan.LazyCopy)]

    assert len(promises(interleave=True)) == copies
    assert promises(interleave=False) == []


def launches(program: Program, entry: str, shape: tuple[int, ...],
             force: Mapping[str, int] | None = None) -> int:
    """How many kernels a run launches."""
    return MeasuredProgram(program).record(entry, given(program, entry, shape),
                                           force=force).launches


@pytest.mark.parametrize(("shape", "copies"), [((64, 32), 1), ((64, 31), 0), ((20, 64), 0)])
def test_short_rows_and_few_are_left_as_they_are(
        programs: dict[str, Program], shape: tuple[int, ...], copies: int) -> None:
    assert launches(programs["Portable"], "again", shape) == 1 + copies


def test_two_kernels_share_a_copy(programs: dict[str, Program]) -> None:
    program = programs["Portable"]
    assert launches(program, "shared", (40, 32)) == launches(program, "shared", (40, 31)) + 1


def test_several_arrays_are_copied_if_many_rows_are_under_way(
        programs: dict[str, Program]) -> None:
    """More than the device has work-items, each of which walks along three."""
    assert launches(programs["Portable"], "several", (40, 32)) == 1
    assert launches(programs["Portable"], "several", (50, 32)) == 1 + 3


def test_only_the_version_that_wants_a_copy_makes_it(programs: dict[str, Program]) -> None:
    """The work-item of a row wants one; those of elements read rows together."""
    program = programs["Portable"]
    made = [launches(program, "chosen", (40, 32), force)
            - launches(program, "chosen", (40, 31), force)
            for force in plans(program.tree.entry("chosen"))]
    assert made[0] == 1
    assert 0 in made


# Arrays that loops hand on

LOOPS = r"""
def row [m] (t: i32) (xs: [m]i32): [m]i32 =
  (loop (a, ys) = (t, copy xs) for i < m do
     let a = a * 3 + xs[i] in (a, ys with [i] = a)).1
entry kept [n][m] (steps: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for t < steps do map (row (i32.i64 t)) xss
entry used [n][m] (steps: i64) (xss: [n][m]i32): ([m][n]i32, [n]i32) =
  let yss = loop xss for t < steps do map (row (i32.i64 t)) xss
  in (transpose yss, map (row 1 >-> i32.sum) yss)
entry both [n][m] (steps: i64) (xss: [n][m]i32): ([n][m]i32, [n][m]i32) =
  loop (ass, bss) = (xss, xss) for t < steps do
    unzip (map2 (\as bs -> (row (i32.i64 t) as, row as[m - 1] bs)) ass bss)
entry nested [n][m] (steps: i64) (xss: [n][m]i32): [n][m]i32 =
  loop xss for t < steps do
    let yss = loop yss = xss for u < 2 do map (row (i32.i64 (t + u))) yss
    in map2 (map2 (-)) yss (map (row 1) yss)
entry across [n] (steps: i64) (xss: [n][n]i32): [n][n]i32 =
  loop xss for t < steps do map (row (i32.i64 t)) (transpose xss)
entry last [n][m] (steps: i64) (xss: [n][m]i32): ([n][m]i32, i32) =
  loop (xss, s) = (xss, 0) for t < steps do
    (map (row s) xss, if n > 0 && m > 0 then xss[0, m - 1] else 0)
"""
HANDED = {"kept": 1, "used": 1, "both": 2, "nested": 1, "across": 0, "last": 0}
"""How many arrays the loops of the entry points hand on in another order."""


@pytest.fixture(scope="module")
def loops() -> dict[str, Program]:
    return {"interpreter": program_of(LOOPS, "interpreter"),
            "oclgrind": program_of(LOOPS, "oclgrind"),
            "Portable": program_of(LOOPS, "Portable", interleaves=True, optimised_size=0)}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("entry", HANDED)
@pytest.mark.parametrize(("device", "shapes"), [
    ("oclgrind", [(6, 5)]), ("Portable", [(40, 13), (1, 7), (0, 9)])])
def test_arrays_of_loops_keep_their_values(loops: dict[str, Program], entry: str, device: str,
                                           shapes: list[tuple[int, int]]) -> None:
    forest = next((f for f in loops[device].tree.entries if f.entry == entry), None)
    for shape in shapes:
        shape = (shape[0], shape[0]) if entry == "across" else shape
        xss = np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.int32)
        for steps in (0, 3):
            args = [np.int64(steps), xss]
            expected, _ = loops["interpreter"].run(entry, args)
            for force in plans(forest) if forest else ({},):
                actual, _ = loops[device].run(entry, args, force=force)
                for one, other in zip(actual, expected, strict=True):
                    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize(("entry", "count"), HANDED.items())
def test_what_kernels_make_and_read_row_by_row_is_handed_on_so(
        loops: dict[str, Program], entry: str, count: int) -> None:
    (fun,) = (f for f in loops["interpreter"].compiled.versioned.funs if f.name == entry)
    loop = [stm for stm in _statements(coalesce(fun, Names(100_000)).body)
            if isinstance(stm.exp, Loop)]
    assert sum(attr.startswith(CARRIED_LAYOUT) for stm in loop for attr in stm.attrs) == count


def test_a_loop_copies_nothing(loops: dict[str, Program]) -> None:
    """But what it begins with and what comes out."""
    args = [np.int64(7), np.zeros((40, 20), np.int32)]
    assert MeasuredProgram(loops["Portable"]).record("kept", args).launches == 1 + 7 + 1


def _statements(body: Body) -> Iterator[Stm]:
    for stm in body.stms:
        yield stm
        for inner in bodies_of(stm.exp):
            yield from _statements(inner)
