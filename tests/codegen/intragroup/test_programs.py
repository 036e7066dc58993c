"""Whole programs whose rows are work-groups: the intra-group version against the interpreter."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.passes.accesses import LID
from runelift.codegen.plan.plan import Choose, all_steps, kernels
from runelift.ir import imp
from runelift.ir.guards import Kind
from runelift.ir.imp.pretty import pretty
from runelift.ir.imp.traverse import expressions, statements, subexpressions
from tests.codegen.harness import by_groups
from tests.gpus import gpu

PROGRAMS = {
    "affine scan, forwards and backwards": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs ->
    let op (a, b) (c, d) = (a * c, b * c + d)
    let (bs, cs) = unzip (scan op (1, 0) (zip (map (% 3) xs) xs))
    let ss = reverse (scan (+) 0 (reverse bs))
    in map3 (\\s x c -> s + x * k + c) ss xs cs) xss
""",
    "a reduction decides about a branch in a loop; the last branch exchanges elements": """
entry main [n][m] (xss: [n][m]i32) (k: i32): ([n][m]i32, [n]i32) =
  unzip (map (\\xs ->
    let ys = loop ys = copy xs for i < k do
      let s = reduce (+) 0 ys
      let zs = if s % 2 == 0 then map (\\y -> y / 2 + s % 7) ys
               else map2 (\\y j -> y * 3 + i32.i64 j) ys (iota m)
      in if k > 3 then map2 (+) zs (rotate 1 zs) else zs
    in (ys, reduce i32.max i32.lowest ys)) xss)
""",
    "points read their own element and others' of the same row": """
entry main [n][m] (xss: [n][m]i32) (k: i32): ([n][m]i32, [n][m]f64, [n][m]i8) =
  unzip3 (map (\\xs ->
    let steps row = loop row for s < i64.i32 k do
      let h = 1 << s
      in map (\\i -> let j = (i ^ h) % m
                    in if i & h == 0 then row[i] + row[j] else row[j] - row[i]) (iota m)
    let ys = steps xs
    let (zs, bs) = loop (zs, bs) = (map f64.i32 xs, map i8.i32 xs) for s < i64.i32 k do
      unzip (map (\\i -> (zs[i] / 2 + zs[m - 1 - i], bs[i] - i8.bool (bs[(i + s) % m] > bs[i])))
                 (iota m))
    in (ys, zs, bs)) xss)
""",
    "blocks of a matrix read their own element and others'": """
entry main [n][p] (xss: [n][p]i32) (k: i32): [n][p][2]i32 =
  map (\\xs ->
    loop yss = map (\\x -> [x, x + 1]) xs for s < k do
      let at i j = yss[i, j] * 3 - yss[p - 1 - i, 1 - j] + yss[i, 1 - j]
      in map (\\i -> map (at i) (iota 2)) (iota p)) xss
""",
    "rows and columns of a matrix": """
entry main [n][p] (xss: [n][p]i32) (k: i32): ([n][p]i32, [n][p][2]i32, [n][2][p]i32) =
  unzip3 (map (\\xs ->
    let xss = map (\\x -> map (\\j -> x + i32.i64 j * k) (iota 2)) xs
    let sums = map (reduce (+) 0) xss
    let scans = map (scan (+) 0) xss
    let turned = transpose (map2 (\\row s -> map (+ s) row) scans sums)
    in (sums, scans, map (scan i32.max i32.lowest) turned)) xss)
""",
    "single elements change one after the other": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs ->
    let ys = loop ys = copy xs for _i < k do
      let ys[0] = ys[m - 1] + 1
      in ys with [m - 1] = ys[0] + 3
    in map (+ i32.sum ys) ys) xss
""",
    "an element changes behind what a scan keeps": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs -> loop xs = copy xs for _i < k do
    let ys = scan (+) 0 xs
    in ys with [0 % m] = ys[0] - ys[i64.i32 k % m]) xss
""",
    "a single element changes at the end of loops that begin with checks": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs ->
    let ys = if xs[i64.i32 k % m] > 0
             then loop ys = copy xs for _i < i64.i32 (k % 3) do rotate 1 (ys with [0] = 2)
             else copy xs with [0] = -4 - xs[i64.i32 k % m]
    let zs = loop ys for _i < i64.i32 (k % 3) do
      let ys = loop ys for _j < 3i64 do
        loop ys for _l < 2i64 do ys with [3 % m] = ys[0]
      in loop ys for _j < 3i64 do
        let ys = reverse ys
        in if ys[m - 1] % 2 == 0 then ys with [m - 1] = 1 else ys
    in map (% 1007) (if k > 2 then zs with [i64.i32 (i32.abs k) % m] = k else zs)) xss
""",
    "rows change places while one of them is still used": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m][m]i32 =
  map (\\xs ->
    loop yss = map (\\x -> map (* x) xs) xs for i < m do
      let p = (i + i64.i32 k) % m
      let there = copy yss[p]
      let here = copy yss[i]
      let yss = yss with [p] = here
      let yss = yss with [i] = there
      in map2 (\\j row -> map2 (\\y t -> y + t * i32.i64 j) row there) (iota m) yss) xss
""",
    "odd-even sort": """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs -> loop xs = copy xs for t < m do
    map (\\j -> let left = (j + t) % 2 == 1
               let other = if left then j - 1 else j + 1
               in if other < 0 || other >= m then xs[j]
                  else if left then i32.max xs[j] xs[other] else i32.min xs[j] xs[other])
        (iota m)) xss
""",
    "radix sort": """
def step [m] (xs: [m]i32) (b: i32): [m]i32 =
  let bits = map (\\x -> i64.i32 (((x + 64) >> b) & 1)) xs
  let zeros = scan (+) 0 (map (1 -) bits)
  let ones = scan (+) 0 bits
  let total = if m > 0 then zeros[m - 1] else 0
  let is = map3 (\\bit z o -> if bit == 0 then z - 1 else total + o - 1) bits zeros ones
  in scatter (copy xs) is xs
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =
  map (\\xs -> loop xs for b < 3 + k do step xs b) xss
""",
    "a while loop on the largest element, found with its place": """
entry main [n][m] (xss: [n][m]i32) (k: i32): ([n]i64, [n][m]i32) =
  unzip (map (\\xs ->
    let larger (a, i) (b, j) = if a > b || (a == b && i < j) then (a, i) else (b, j)
    let (best, at) = reduce larger (i32.lowest, -1) (zip xs (iota m))
    let (ys, _, _) = loop (ys, go, t) = (map (+ best) xs, true, 0i32) while go do
      let s = reduce (+) 0 ys
      let zs = map (\\y -> (y * 3 + s) / 4) ys
      in (zs, reduce i32.max 0 zs > 20 && t < k, t + 1)
    in (at, ys)) xss)
""",
}
SHAPES = [(3, 5), (2, 37)]


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("on", ["pocl", "oclgrind"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=list(PROGRAMS))
def test_program(text: str, on: str) -> None:
    program, force = by_groups(text, on)
    meaning = runelift.compile(text, device="interpreter")
    for shape in SHAPES:
        rows = np.random.default_rng(shape[1]).integers(-50, 50, shape).astype(np.int32)
        args = rows, np.int32(4)
        for got, expected in zip(results(program.run("main", args, force=force)),
                                 results(meaning.run("main", args)), strict=True):
            np.testing.assert_array_equal(got, expected)


def results(value: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that a run gives."""
    return [np.asarray(x) for x in value[0]]


SIDES = {
    "once": "i32.maximum p",
    "again and again": "loop most = 0 for j < steps do most + i32.maximum (map (+ i32.i64 j) p)",
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("on", ["pocl", "oclgrind"])
def test_a_branch_reduces_what_was_scanned(side: str, on: str) -> None:
    """PoCL 3.0 lost the first element where barriers were inside of the branch."""
    text = f"""
entry main (paths: i64) (steps: i64) (cs: []bool) =
  map (\\c -> tabulate paths (\\i ->
    let zs = loop zs = replicate steps 0 for k < steps do zs with [k] = i32.i64 (i + 6 - 10 * k)
    let p = scan (+) 0 zs
    in if c then {SIDES[side]} else p[steps - 1])) cs
"""
    program, force = by_groups(text, on)
    meaning = runelift.compile(text, device="interpreter")
    for paths, steps in ((3, 2), (2, 3), (3, 4), (1, 3), (33, 7)):
        args = np.int64(paths), np.int64(steps), np.array([True, False, True])
        for got, expected in zip(results(program.run("main", args, force=force)),
                                 results(meaning.run("main", args)), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("on", ["pocl", "oclgrind"])
def test_what_all_count_alike_is_what_each_has_counted(on: str) -> None:
    """PoCL 3.0 kept one count for all work-items, that of the last one."""
    text = """
entry main [n][m] (xss: [n][m]i32) =
  map (\\xs ->
    let counts = map (\\x -> (loop (a, i) = (0f32, 0i32) while i < 9 && a < 4 do
                              (a + f32.i32 x, i + 1)).1) xs
    in map (\\c -> c - i32.maximum counts) counts) xss
"""
    program, force = by_groups(text, on)
    rows = np.array([[1, 2, 9, 3], [3, 4, 0, 5]], np.int32)
    (found,) = results(program.run("main", [rows], force=force))
    np.testing.assert_array_equal(found, [[0, -2, -3, -2], [-7, -8, 0, -8]])


CUBES = """
entry main [n][m] (xss: [n][m]i32) (k: i32): [n][3][m + 2][m + 1]i32 =
  map (\\xs ->
    let cube = replicate 3 (replicate (m + 2) (replicate (m + 1) k))
    let cube[1:, 1:m + 1, :m] = map (\\x -> map (\\y -> map (+ (x * y)) xs) xs) [1, 2]
    in loop cube for i < 2 do
      cube with [i] = copy (reverse cube[i + 1])) xss
"""


@pytest.mark.parametrize("on", ["pocl", "oclgrind"])
def test_a_work_item_counts_the_indices_of_its_points(on: str) -> None:
    program, force = by_groups(CUBES, on)
    assert program.device_info is not None
    program.loaded.info = replace(program.device_info, interleaves=True)
    loops = [stm for kernel in kernels(program.loaded.plan("main").steps)
             if "intragroup" in kernel.name for stm in statements(kernel.body)
             if isinstance(stm, imp.For) and stm.start == LID]
    assert loops
    assert not any(isinstance(exp, imp.Apply) and exp.op in ("quot", "rem")
                   for loop in loops for inner in statements(loop.body)
                   for part in expressions(inner) for exp in subexpressions(part))
    meaning = runelift.compile(CUBES, device="interpreter")
    for shape in [(2, 0), (3, 1), (2, 4), (1, 19)]:
        rows = np.random.default_rng(shape[1]).integers(-50, 50, shape).astype(np.int32)
        args = rows, np.int32(4)
        for got, expected in zip(results(program.run("main", args, force=force)),
                                 results(meaning.run("main", args)), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_scans_of_short_rows_run_one_kernel_in_a_group_and_flat() -> None:
    """With a map behind.  So predicted times of these versions are equal."""
    program = gpu("entry main [n][m] (xss: [n][m]f32): [n][m]f32 =\n"
                  "  map (\\xs -> map (* 2) (scan (+) 0 xs)) xss")
    (choice,) = (step for step in all_steps(program.loaded.executable("main").plan.steps)
                 if isinstance(step, Choose))
    intra, flat = ({_renamed(kernel) for kernel in kernels(version.steps)
                    if kernel.kind == "intragroup"}
                   for version in choice.versions if version.kind in (Kind.INTRA, Kind.FLAT))
    assert len(intra) == 1
    assert intra == flat


def _renamed(kernel: imp.Kernel) -> str:
    """The text of a kernel, but for its comment, with names by the order of their appearance."""
    numbers: dict[str, int] = {}
    return re.sub(r"\b[a-z]\w*_\d+\b", lambda name: f"x{numbers.setdefault(name[0], len(numbers))}",
                  pretty([kernel]).split("\n", 1)[1])
