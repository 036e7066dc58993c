"""Loops that are unrolled so that small private arrays are in registers."""

from __future__ import annotations

import re

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.codegen.passes.unrolling import (
    MOST_UNROLLED_STATEMENTS,
    arrays_in_memory,
    unroll_private_arrays,
)
from runelift.ir import imp
from runelift.ir.imp.traverse import statements
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Const
from runelift.runtime.devices.info import DeviceInfo
from tests.random_programs.private_arrays import RandomKernel, check

SOLVE = """
entry main [n] (matrix: [4][4]i32) (xss: [n][4]i32): [n][4]i32 =
  map (\\row -> loop xs = copy row for i < 4i64 do
                  let s = loop s = 0 for k < i do s + matrix[i, k] * xs[k]
                  in xs with [i] = xs[i] - s) xss
"""
WALKS = """
entry main [n] (d: i64) (seeds: [n]i64): i64 =
  let walk seed =
    let path = loop path = replicate d seed for i < d - 1 do
                 path with [i + 1] = (path[i] * 5 + path[i / 2] + i) % 1009
    in i64.sum (map (\\x -> x * x % 7) path) - path[d - 1]
  in i64.sum (map walk seeds)
"""


def lit(value: int) -> imp.Lit:
    return imp.Lit(Const(value, Prim.I64))


def loop(index: VName, bound: imp.Exp, *body: imp.Stm) -> imp.For:
    return imp.For(index, lit(0), bound, lit(1), body)


class Code:
    """An array of so many elements, and the loops around an element of it."""

    def __init__(self, length: int = 8) -> None:
        names = Names()
        self.array, self.i, self.k, self.x = (names.fresh(base) for base in ("xs", "i", "k", "x"))
        self.declaration = imp.DeclareArray(self.array, Prim.I64, length)

    def store(self, *indices: VName) -> imp.Store:
        place: imp.Exp = lit(0)
        for index in indices:
            place = imp.Apply("add", Prim.I64, (place, imp.Var(index)))
        return imp.Store(self.array, place, lit(1), Prim.I64)

    def unrolled(self, *code: imp.Stm) -> set[VName]:
        found = unroll_private_arrays((self.declaration, *code))
        return {s.index for s in statements(found) if isinstance(s, imp.For) and s.unroll}


def test_loops_around_elements() -> None:
    c = Code()
    assert c.unrolled(loop(c.i, lit(8), c.store(c.i))) == {c.i}
    assert c.unrolled(loop(c.k, lit(9), loop(c.i, lit(8), c.store(c.i)))) == {c.i}


def test_loops_as_long_as_others_have_run() -> None:
    c = Code()
    assert c.unrolled(loop(c.k, lit(8), loop(c.i, imp.Var(c.k), c.store(c.i)))) == {c.i, c.k}


def test_arrays_that_stay_in_memory() -> None:
    """Those with an index from the data, those that are long, and where too much code is made."""
    c, long = Code(), Code(1000)
    data = imp.Declare(c.x, Prim.I64, imp.Load(c.k, lit(0), Prim.I64))
    assert not c.unrolled(data, loop(c.i, lit(8), c.store(c.i), c.store(c.x)))
    assert not c.unrolled(data, loop(c.i, imp.Var(c.x), c.store(c.i)))
    assert not c.unrolled(loop(c.i, lit(8), imp.Barrier(imp.Space.LOCAL), c.store(c.i)))
    assert not long.unrolled(loop(long.i, lit(1000), long.store(long.i)))
    assert not c.unrolled(loop(c.k, lit(MOST_UNROLLED_STATEMENTS),
                               loop(c.i, lit(8), c.store(c.i, c.k))))


def test_rows_that_loops_change_are_in_registers(simulator: str) -> None:
    program = runelift.compile(SOLVE, device=simulator, tuning={})
    for kernel in re.findall(r"__kernel.*?\n}", program.source("kernels"), re.DOTALL):
        if "* x_" not in kernel:
            continue
        array = re.search(r"int (loop_\d+)\[4\];", kernel)
        assert array is not None
        around = re.findall(r"(\S+)\s+for \(long (\w+) = ", kernel)
        indices = {re.escape(i) for i in re.findall(rf"{array[1]}\[(\w+)\]", kernel)}
        assert {how for how, index in around if index in indices} == {"unroll"}
    matrix = np.arange(16, dtype=np.int32).reshape(4, 4)
    xss = np.arange(20, dtype=np.int32).reshape(5, 4) % 7
    expected = xss.copy()
    for i in range(4):
        expected[:, i] -= expected[:, :i] @ matrix[i, :i]
    forest = program.tree.entry("main")
    for force in [{}, *({site: k} for site, s in forest.sites().items()
                        for k in range(len(s.alternatives)))]:
        (found,), _ = program.run("main", [matrix, xss], force=force)
        np.testing.assert_array_equal(found, expected)


def test_iterations_that_share_no_reads_are_compiled_by_themselves(simulator: str) -> None:
    apart = runelift.compile(SOLVE, device=simulator, tuning={}).source("kernels")
    shared = runelift.compile(SOLVE.replace("matrix[i, k]", "matrix[0, k]"), device=simulator,
                              tuning={}).source("kernels")
    once = re.findall(r"#pragma unroll\n *for \(long (\w+) = [^\n]*\n *NEXT_PIECE;", apart)
    assert once
    assert all(re.search(rf"< {index};", apart) for index in once)
    assert "NEXT_PIECE;" not in shared
    assert len(re.findall("#pragma unroll", shared)) == len(re.findall("#pragma unroll", apart))


def indexed(code: Code, *body: imp.Stm) -> bool:
    """True if the array of ``code`` is in memory in a kernel with a constant ``k``."""
    kernel = imp.Kernel("kernel", (imp.BufferParam(code.x, Prim.I64, True),), (),
                        (code.declaration, *body), constants=(code.k,))
    return code.array in arrays_in_memory(kernel)


def test_arrays_with_places_of_the_time_of_the_run_are_in_memory() -> None:
    """Constants of the build, constant loops and what is computed from these are known before."""
    c = Code()
    i, j, n = imp.Var(c.i), VName("j", 90), VName("n", 91)
    half = imp.Apply("quot", Prim.I64, (i, lit(2)))
    found = imp.Load(c.x, lit(0), Prim.I64)
    assert not indexed(c, c.store(), c.store(c.k))
    assert not indexed(c, loop(c.i, lit(3), c.store(c.i)), loop(j, imp.Var(c.k), c.store(j, c.k)))
    assert not indexed(c, loop(c.i, lit(3), imp.Declare(j, Prim.I64, half), c.store(j),
                               loop(n, i, c.store(n))))
    assert indexed(c, c.store(n))
    assert indexed(c, loop(c.i, imp.Var(n), c.store(c.i)))
    assert indexed(c, loop(c.i, imp.Var(n), loop(j, i, c.store(j))))
    assert indexed(c, imp.Declare(j, Prim.I64, found), c.store(j))
    assert indexed(c, imp.Declare(j, Prim.I64, lit(0)), loop(c.i, lit(3), c.store(j),
                                                               imp.Assign(j, i)))
    assert indexed(c, imp.Declare(j, Prim.I64, imp.Load(c.array, imp.Var(n), Prim.I64)))
    assert not indexed(c, loop(c.i, imp.Var(n), c.store()))


def test_random_kernels_with_private_arrays(installed: DeviceInfo) -> None:
    context = cl.Context([installed.handle])
    assert [check(context, seed) for seed in range(5)] == [[]] * 5
    assert {bool(arrays_in_memory(RandomKernel(seed).kernel)) for seed in range(5)} == {False, True}


@pytest.mark.parametrize("d", [1, 2, 5, 8, 33, 100])
def test_small_arrays_of_what_is_reduced(simulator: str, d: int) -> None:
    """The kernel for short paths has them in private memory, that for long ones in scratch."""
    program = runelift.compile(WALKS, device=simulator, tuning={})
    assert re.search(r"long \w+\[length_\d+\]", program.source("kernels"))
    seeds = np.arange(1, 40)
    expected = 0
    for seed in seeds.tolist():
        path = [seed] * d
        for i in range(d - 1):
            path[i + 1] = (path[i] * 5 + path[i // 2] + i) % 1009
        expected += sum(x * x % 7 for x in path) - path[-1]
    forest = program.tree.entry("main")
    for force in [{}, *({site: 0} for site in forest.sites())]:
        (found,), _ = program.run("main", [np.int64(d), seeds], force=force)
        assert found == expected
