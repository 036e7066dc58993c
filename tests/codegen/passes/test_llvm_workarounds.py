"""Loops whose places in memory go round: LLVM 14 and 15, of PoCL 3, vectorise them wrongly."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.opencl import opencl_source
from runelift.codegen.passes.llvm_workarounds import wraps_around
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.plan import kernels
from runelift.ir import imp
from runelift.ir.imp.traverse import statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import i64
from runelift.runtime.devices.info import find_devices
from runelift.runtime.versions.forest import plans

SHIFTED = "let ys = map (+ 1) xs in tabulate 16 (\\i -> ys[(i + 4 * (i % 4)) % 16])"
TIMES = "let ys = map (+ 1) xs in let zs = tabulate 16 (\\i -> ys[(5 * i) % 16]) in map2 (+) zs ys"
TWICE = """
loop ys = map (+ 1) xs for k < 3 do
  let zs = tabulate 16 (\\i -> ys[(i + 4 * (i % 4)) % 16])
  in if k == 2 then zs else tabulate 16 (\\i -> zs[i] + zs[i / 4 * 4 + (i + 1) % 4])"""


def program(row: str) -> str:
    return f"entry main [n] (xss: [n][16]u8): [n][16]u8 = map (\\xs -> {row}) xss"


@pytest.mark.parametrize("row", [SHIFTED, TIMES, TWICE])
def test_every_version(row: str) -> None:
    if not any("Portable" in d.platform and d.problem is None for d in find_devices()):
        pytest.skip("no PoCL here")
    xss = np.random.default_rng(1).integers(0, 256, (5, 16)).astype(np.uint8)
    expected = runelift.compile(program(row), device="interpreter").main(xss)
    compiled = runelift.compile(program(row), device="pocl", tuning={})
    for force in plans(compiled.tree.entry("main")):
        (result,), _ = compiled.run("main", [xss], force=force)
        np.testing.assert_array_equal(result, expected)


FIRST, SECOND, THIRD = (VName(base, tag) for tag, base in enumerate("ijk"))


def value(name: VName, op: str, other: int) -> imp.Stm:
    operand = imp.Var(SECOND if name == THIRD else FIRST)
    return imp.Declare(name, Prim.I64, imp.Apply(op, Prim.I64, (operand, imp.Lit(i64(other)))))


def test_only_loops_that_cut_off_what_they_count_are_marked() -> None:
    """What is loaded is no place."""
    assert wraps_around(FIRST, [value(SECOND, "mul", 5), value(THIRD, "mod", 16)])
    assert wraps_around(FIRST, [imp.If(imp.Var(THIRD), (value(SECOND, "and", 15),), ())])
    assert not wraps_around(FIRST, [value(SECOND, "mul", 5), value(THIRD, "add", 16)])
    assert not wraps_around(SECOND, [value(SECOND, "mod", 16)])  # the index is i there
    loaded = imp.Declare(SECOND, Prim.I64, imp.Load(THIRD, imp.Var(FIRST), Prim.I64))
    assert not wraps_around(FIRST, [loaded, value(THIRD, "mod", 16)])


@pytest.mark.parametrize("body", [
    "i32.sum (loop ys = map i32.i64 (iota l) while i32.sum ys < 99 && l > 0 do map (+ c) ys)",
    "i32.sum (map (\\z -> loop q = z for y < l do q * 3 - i32.i64 y) "
    "(loop ys = map i32.i64 (iota l) while i32.sum ys < 99 && l > 0 do map (+ c) ys))"])
def test_factors_to_unroll_by_beside_while_loops(body: str, sweeps: bool) -> None:
    """PoCL 3 makes loops with such a factor run too often there, so it is left out."""
    text = f"entry main [n] (len: [n]i64) (c: i32) = i32.sum (map (\\l -> {body}) len)"
    args = [np.array([1, 2, 0, 0, 0, 0, 0, 2, 2]), np.int32(6)]
    expected = runelift.compile(text, device="interpreter").main(*args)
    compiled = runelift.compile(text, device="pocl")
    names = {each.parameter.name for space in compiled.spaces("main") for each in space.ranges
             if each.parameter.quantity is Quantity.UNROLL}
    assert names
    for force in plans(compiled.tree.entry("main"))[:None if sweeps else 1]:
        for times in (1, 2, 4) if sweeps else (2,):
            (found,), _ = compiled.run("main", args, force=force,
                                       thresholds=dict.fromkeys(names, times))
            assert found == expected
    for times in (1, 2, 4):
        texts = [(any(isinstance(stm, imp.While) for stm in statements(kernel.body)),
                  opencl_source(kernel, 0, dict.fromkeys(kernel.built_for, times)))
                 for kernel in kernels(compiled.compiled.plan("main").steps)]
        assert any(repeats for repeats, _ in texts)
        assert {repeats for repeats, text in texts
                if f"#pragma unroll {times}\n" in text} == {False}
