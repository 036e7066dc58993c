"""What the host would launch by itself becomes part of a kernel beside it, where that is right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from runelift.codegen.emit.python import python_source
from runelift.codegen.plan import plan
from tests.programs import agree, compiled, expected, program

BEHIND = """
entry main [n] (xs: *[n]i32) (is: [n]i64): ([n]i32, [n]i32) =
  let ys = map2 (\\x i -> x * 2 + xs[(i % n + n) % n]) xs is
  in (scatter xs (map (% 4) is) (map (const 9) is), ys)
"""
OVERWRITTEN = """
entry main [n] (xs: *[n]i32) (is: [n]i64): ([n]i32, [n]i32) =
  let ys = map (\\i -> xs[(i % n + n) % n] - 1) is
  in (scatter xs is ys, map (+ 1) ys)
"""
BOTH_FAIL = """
entry main [n] (xs: [n]i32) (is: [n]i64): ([n]i32, [n]i32) =
  let ys = map (\\x -> 100 / x) xs
  let zs = scatter (replicate n 0) (map (\\i -> 12 % (i - 3)) is) ys
  in (zs, ys)
"""
NEEDED_BETWEEN = """
entry main [n] (xs: [n]i32) (is: [n]i64): ([n]i32, [n]i32) =
  let (ks, ys) = unzip (map2 (\\x i -> (i % 4, x * 2)) xs is)
  let total = i32.sum ys
  let zs = scatter (replicate n total) ks (map (% 7) ys)
  in (zs, ys)
"""
CONSUMED = """
entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 =
  let ys = scan (+) 0 xs
  let last = if n > 2 then ys[n - 1] else 0
  let zs = scatter ys is (map (const 50) is)
  in map (\\z -> z + last) zs
"""
CHAIN = """
entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 =
  let ys = scan (+) 0 xs
  let last = if n > 2 then ys[n - 1] else 0
  let twice = 2 * last + 1
  in map2 (\\x i -> x * twice - i32.i64 i) xs is
"""
NEEDED_BY_THE_HOST = """
entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 =
  let ys = map (\\x -> x % 3 + 3) (scan (+) 0 xs)
  let k = i64.i32 ys[n - 1]
  in map2 (\\x i -> x + i32.i64 (k + i)) (rotate k xs) is
"""
COPIED = """
entry main [n] (xs: [n]i32) (is: [n]i64): ([n]i32, [n]i32) =
  loop (xs, out) = (xs, xs) for i < 3 do
    let ys = scan (+) 0 (map (+ i) xs)
    let zs = scatter (copy xs) is ys
    in (zs, map2 (-) xs zs)
"""
TOGETHER = """
entry main [n] (xs: [n]i32) (is: [n]i64): ([]i32, []i32) =
  let ss = scan (+) 0 xs
  let ts = scan i32.max i32.lowest xs
  let k = if n > 2 then i64.i32 ss[n - 1] else 1
  let ys = tabulate k (\\i -> ss[i % n] + i32.i64 (is[0] * i))
  let m = if n > 2 then i64.i32 ts[n - 1] else 2
  in (ys, tabulate m (\\i -> ts[i % n] - 1))
"""
MADE_BETWEEN = """
entry main [n] (xs: [n]i32) (is: [n]i64): []i32 =
  let ss = scan (+) 0 xs
  let k = if n > 2 then i64.i32 ss[n - 1] else 1
  let ts = scan (+) 0 (tabulate k (\\i -> xs[i % n]))
  let m = if n > 2 then i64.i32 ts[k - 1] % 50 else 2
  in tabulate m (\\i -> xs[i % n] - 1)
"""
PROGRAMS = {name.lower(): text for name, text in globals().items()
            if name.isupper() and isinstance(text, str)}


def steps_of(text: str) -> Iterator[plan.Step]:
    return plan.all_steps(compiled(text).plan("main").steps)


@pytest.mark.sweep(keep=["oclgrind", "chain", "consumed"])
@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_results(name: str, device: str) -> None:
    """Indices are outside, twice the same, or negative; a run of one element, and of many."""
    for n in (3, 40):
        xs = np.random.default_rng(n).integers(1, 30, n).astype(np.int32)
        is_ = np.random.default_rng(n + 1).permutation(n) - 1
        if name != "overwritten":
            is_[0] = n + 2
        if name in ("behind", "needed_between"):  # all that meet there are the same
            is_, xs = is_ // 4 * 4 + np.arange(n) % 4, xs
            xs[:] = 7
        if name == "both_fail":
            is_ = is_ * 0 + 9
            xs[:] = 5
        wanted = expected(PROGRAMS[name], "main", [xs, is_])
        assert agree(program(PROGRAMS[name], device), "main", [xs, is_], wanted, [{}])


@pytest.mark.parametrize(("name", "kernels"), [
    ("behind", 2), ("overwritten", 2), ("both_fail", 3), ("needed_between", 3), ("chain", 2),
])
def test_operations(name: str, kernels: int) -> None:
    """How many there are, with those that fill what is overwritten."""
    found = {step.name for step in steps_of(PROGRAMS[name]) if isinstance(step, plan.Operation)}
    assert len(found) == kernels


@pytest.mark.parametrize(("name", "copies"), [
    ("consumed", True), ("chain", False), ("copied", False)])
def test_copies(name: str, copies: bool) -> None:
    """There is none of elements that stay as they are, and of arrays that a kernel reads."""
    steps = list(steps_of(PROGRAMS[name]))
    loops = [step for step in steps if isinstance(step, plan.CountedLoop)]
    inside = plan.all_steps(loops) if loops else steps
    assert copies == any(isinstance(step, plan.CopyBuffer) for step in inside)


@pytest.mark.parametrize(("name", "waits"), [("together", 1), ("made_between", 2)])
def test_the_host_waits_once_for_elements_that_it_needs(name: str, waits: int) -> None:
    code = compiled(PROGRAMS[name]).plan("main")
    assert python_source(code).source.count("rt.reads(") == waits


def test_an_element_that_the_host_needs_is_read() -> None:
    assert any(isinstance(step, plan.Read) for step in steps_of(NEEDED_BY_THE_HOST))
