"""Scalar operations in kernels mean what the table of operations says, at every type."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.codegen.emit.opencl import opencl_source
from runelift.ir import imp
from runelift.ir.meaning import apply, convert
from runelift.ir.names import VName
from runelift.ir.prim import FLOATS, INTS, OPS, SCALARS, Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import Convert, If, Index, Level, Param, SegDim, SegMap, Stm
from runelift.ir.types import ArrayType, Const, i64
from tests.codegen.harness import DEVICE, Builder, agree, lowered_results

POLES = {"gamma", "lgamma"}


def edge_values(prim: Prim) -> list[int | float | bool]:
    """Where operations tend to differ: ends of ranges, widths, signs, infinities."""
    if prim is Prim.BOOL:
        return [False, True]
    if prim.is_float:
        special = [float("nan"), float("inf"), float("-inf"), -0.0]
        return [*special, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 7.0, 1e10, -1e10,
                3e38, 127.9, -128.9, 65535.5, 2147483648.0, 9.3e18, 1.9e19, 1e-3]
    least, greatest = int(prim.least), int(prim.greatest)
    inside = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, *([-1, -2, -3, -8] if least else [])]
    return sorted({least, least + 1, greatest - 1, greatest, *inside})


def differences(want: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Where values differ by more than the rounding of OpenCL's functions."""
    with np.errstate(all="ignore"):
        same = (want == got) | ((want != want) & (got != got))
        if want.dtype.kind == "f":
            relative = 1e-4 if want.dtype.itemsize > 2 else 1e-3  # an f16 has 11 digits
            same |= np.isfinite(want) & np.isclose(got, want, rtol=relative, atol=1e-6)
            same &= (want != 0) | (got != 0) | (np.signbit(want) == np.signbit(got))
    return np.flatnonzero(~same)


@pytest.mark.parametrize("prim", SCALARS, ids=str)
def test_every_operation_and_conversion(prim: Prim) -> None:
    with np.errstate(over="ignore"):
        edges = np.array(edge_values(prim), prim.dtype)
    xs, ys = (a.reshape(-1) for a in np.meshgrid(edges, edges, indexing="ij"))
    zs = np.roll(ys, 5)
    b = Builder()
    n, i, *arrays = (b.fresh(base) for base in ("n", "i", "xs", "ys", "zs"))
    body = b.inner()
    x, y, z = (body.let(prim, Index(a, (i,))) for a in arrays)
    divisor = y
    if prim.is_int:
        zero = body.op("eq", prim, y, Const(0, prim))
        divisor = body.let(prim, If(zero, b.inner().body(Const(1, prim)), b.inner().body(y),
                                    (prim,)))
    divisors = np.where(ys == 0, np.ones_like(ys), ys) if prim.is_int else ys
    names, results, types, expected = [], [], [], []
    for op in OPS.values():
        if prim not in op.domain or op.name in POLES:
            continue
        args = (x, divisor) if op.traps else (x, y, z)[: op.arity]
        values = (xs, divisors) if op.traps else (xs, ys, zs)[: op.arity]
        names.append(op.name)
        results.append(body.op(op.name, prim, *args))
        types.append(op.result(prim))
        expected.append(apply(op.name, prim, *values))
    for to in SCALARS:
        names.append(f"convert.{to}")
        results.append(body.let(to, Convert(prim, to, x)))
        types.append(to)
        expected.append(convert(xs, to))
    exp = SegMap(Level.GRID, (SegDim(i, n),), body.body(*results), tuple(types))
    stm = Stm(tuple(Param(b.fresh("out"), ArrayType(t, (n,))) for t in types), exp)
    given = {Param(n, Prim.I64): len(xs)} | {
        Param(a, ArrayType(prim, (n,))): v for a, v in zip(arrays, (xs, ys, zs), strict=True)}
    actual = lowered_results(stm, given, b.names, DEVICE)
    wrong = {}
    for name, want, got in zip(names, expected, actual, strict=True):
        if len(where := differences(want, got)):
            k = where[0]
            wrong[name] = (xs[k], divisors[k], want[k], got[k])
    assert wrong == {}


@pytest.mark.parametrize("prim", [Prim.I8, Prim.I16, Prim.I32, Prim.I64], ids=str)
def test_overflow_wraps_where_compilers_may_assume_it_away(prim: Prim) -> None:
    """An optimising compiler takes ``x < x + 1`` for true unless the addition is unsigned."""
    b = Builder()
    n, xs, i = b.fresh("n"), b.fresh("xs"), b.fresh("i")
    body = b.inner()
    x = body.let(prim, Index(xs, (i,)))
    one, two, zero = Const(1, prim), Const(2, prim), Const(0, prim)
    grows = body.op("lt", prim, x, body.op("add", prim, x, one))
    halved = body.op("quot", prim, body.op("mul", prim, x, two), two)
    negative = body.op("lt", prim, body.op("neg", prim, x), zero)
    absolute = body.op("lt", prim, body.op("abs", prim, x), zero)
    ret = (Prim.BOOL, prim, Prim.BOOL, Prim.BOOL)
    exp = SegMap(Level.GRID, (SegDim(i, n),), body.body(grows, halved, negative, absolute), ret)
    data = np.array([prim.greatest, prim.least, 5, int(prim.greatest) // 2 + 1], prim.dtype)
    given = {Param(n, Prim.I64): 4, Param(xs, ArrayType(prim, (n,))): data}
    agree(exp, [ArrayType(t, (n,)) for t in ret], given, b.names, on="Portable")


@pytest.mark.parametrize("prim", INTS, ids=str)
def test_division_by_powers_of_two_rounds_down(prim: Prim) -> None:
    """These are shifts and masks; the least number is no power of two, though one bit is set."""
    b = Builder()
    n, xs, i = b.fresh("n"), b.fresh("xs"), b.fresh("i")
    body = b.inner()
    x = body.let(prim, Index(xs, (i,)))
    divisors = [1, 2, 8, 64, int(prim.least) or 3]
    results = [body.op(op, prim, x, Const(d, prim)) for op in ("div", "mod") for d in divisors]
    ret = (prim,) * len(results)
    exp = SegMap(Level.GRID, (SegDim(i, n),), body.body(*results), ret)
    data = np.array(edge_values(prim), prim.dtype)
    given = {Param(n, Prim.I64): len(data), Param(xs, ArrayType(prim, (n,))): data}
    agree(exp, [ArrayType(t, (n,)) for t in ret], given, b.names)


@pytest.mark.parametrize("prim", FLOATS, ids=str)
def test_floats_are_not_contracted(prim: Prim) -> None:
    """``x * y - x * y`` rounded twice is 0; a fused multiply-add would leave the error."""
    b = Builder()
    n, xs, i = b.fresh("n"), b.fresh("xs"), b.fresh("i")
    body = b.inner()
    x = body.let(prim, Index(xs, (i,)))
    square = body.op("mul", prim, x, x)
    exp = SegMap(Level.GRID, (SegDim(i, n),), body.body(body.op(
        "sub", prim, body.op("mul", prim, x, x), square)), (prim,))
    given = {Param(n, Prim.I64): 3, Param(xs, ArrayType(prim, (n,))): np.array([0.1, 1.3, 7.7])}
    agree(exp, [ArrayType(prim, (n,))], given, b.names)


@pytest.mark.parametrize(("a", "b", "unrolled"), [(8, 8, True), (8, 9, False), (1, 64, True)])
def test_loops_of_constant_length_are_unrolled_if_they_are_short(a: int, b: int,
                                                                 unrolled: bool) -> None:
    one, other, index, out = (VName(base, tag) for tag, base in enumerate("abix"))
    bound = imp.Apply("mul", Prim.I64, (imp.Var(one), imp.Var(other)))
    store = imp.Store(out, imp.Var(index), imp.Var(index), Prim.I64)
    kernel = imp.Kernel("k", (imp.BufferParam(out, Prim.I64, True),), (), (
        imp.For(index, imp.Lit(i64(0)), bound, imp.Lit(i64(1)), (store,), unroll=True),),
        constants=(one, other))
    source = opencl_source(kernel, 0, {one: a, other: b})
    assert ("#pragma unroll\n" in source) == unrolled
    assert ("PARTLY_UNROLLED" in source) == (not unrolled)


@pytest.mark.parametrize(("bound", "memory"), [(imp.Lit(i64(3)), False),
                                                (imp.Var(VName("n", 1)), True)])
def test_arrays_in_memory_are_declared_so(bound: imp.Exp, memory: bool) -> None:
    """NVIDIA's compiler takes wrong elements of some of them otherwise."""
    own, n, i = (VName(base, tag) for tag, base in enumerate(("own", "n", "i")))
    store = imp.Store(own, imp.Var(i), imp.Var(i), Prim.I64)
    zero, one = imp.Lit(i64(0)), imp.Lit(i64(1))
    text = opencl_source(imp.Kernel("k", (imp.ScalarParam(n, Prim.I64),), (), (
        imp.DeclareArray(own, Prim.I64, 8), imp.For(i, zero, bound, one, (store,)))), 0, {})
    assert ("IN_MEMORY long own_1[8];" in text) == memory
    assert "long own_1[8];" in text


@pytest.mark.parametrize(("load", "joined"), [(False, "&"), (True, "&&")])
def test_selections_by_quick_conditions_have_no_branch(load: bool, joined: str) -> None:
    """A branch would keep loads of later iterations from being issued; a load may be far."""
    x, out = VName("x", 0), VName("out", 1)
    other = imp.Load(out, imp.Var(x), Prim.I64) if load else imp.Lit(i64(9))
    both = imp.Apply("and", Prim.BOOL, (
        imp.Apply("lt", Prim.I64, (imp.Var(x), imp.Lit(i64(5)))),
        imp.Apply("lt", Prim.I64, (other, imp.Var(x)))))
    either = imp.Apply("not", Prim.BOOL, (both,))
    value = imp.Select(either, imp.Var(x), imp.Lit(i64(0)), Prim.I64)
    kernel = imp.Kernel("k", (
        imp.BufferParam(out, Prim.I64, True), imp.ScalarParam(x, Prim.I64)), (),
        (imp.If(both, (imp.Store(out, imp.Var(x), value, Prim.I64),)),))
    branch, selection = (line for line in opencl_source(kernel, 0, {}).splitlines()
                         if "if (" in line or " ? " in line)
    assert " && " in branch
    assert f" {joined} " in selection


def test_each_part_of_a_deep_expression_is_written_once() -> None:
    """The work would double with each level if operands were written twice."""
    index, out = VName("i", 1), VName("x", 2)
    value: imp.Exp = imp.Load(out, imp.Var(index), Prim.F32)
    for _ in range(200):
        value = imp.Apply("div", Prim.F32, (imp.Lit(Const(1.0, Prim.F32)), value))
    kernel = imp.Kernel("k", (imp.BufferParam(out, Prim.F32, True),), (), (
        imp.Declare(index, Prim.I64, imp.WorkItem(imp.Id.GLOBAL_ID)),
        imp.Store(out, imp.Var(index), value, Prim.F32)))
    assert opencl_source(kernel, 0, {}).count(" / ") == 200


def test_pocl_finds_no_block_of_a_barrier_and_a_branch_alone() -> None:
    """PoCL 3.0 takes the sides of the branch for those of the whole group."""
    lid, cond = imp.WorkItem(imp.Id.LOCAL_ID), imp.Var(VName("c", 2))
    zero, barrier = imp.Lit(i64(0)), imp.Barrier(imp.Space.LOCAL)
    taken = imp.Apply("eq", Prim.I64, (zero, zero))
    first = imp.If(imp.Apply("lt", Prim.I64, (zero, lid)), (
        imp.Store(VName("xs", 1), lid, zero, Prim.I64),))
    loop = imp.For(VName("i", 3), zero, imp.Lit(i64(9)), imp.Lit(i64(1)), (first,))
    xs = imp.LocalArray(VName("xs", 1), Prim.I64, Size.of(9))
    kernel = imp.Kernel("k", (), (xs,), (
        imp.Declare(VName("x", 4), Prim.I64, zero), barrier, first,
        imp.If(cond, (first, loop), (first, loop)), imp.If(cond, (first,)), barrier,
        *first.then_, barrier, first, barrier, imp.If(taken, first.then_)))
    lines = [line.strip() for line in opencl_source(kernel).splitlines()]
    meetings = [k for k, line in enumerate(lines) if line.startswith("MEET_ALL;")]
    stored = "xs_1[LID] = 0L;"
    assert [lines[k - 1] for k in meetings] == ["JOINED;", "}", stored, "}"]
    sides = [lines[k + 1] for k, line in enumerate(lines) if "c_1" in line or "else" in line]
    assert sides == ["BEGUN(1);", "BEGUN(2);", "if (0L < LID) {"]


@pytest.mark.parametrize("known", [False, True])
def test_pocl_finds_no_barrier_alone_where_a_loop_is_unrolled(known: bool) -> None:
    """What stands before a loop of known length is not beside the barriers of later iterations."""
    n, lid, zero = VName("n", 5), imp.WorkItem(imp.Id.LOCAL_ID), imp.Lit(i64(0))
    store = imp.Store(VName("xs", 1), lid, zero, Prim.I64)
    loop = imp.For(VName("i", 3), zero, imp.Lit(i64(9)) if known else imp.Var(n), imp.Lit(i64(1)),
                   (imp.Barrier(imp.Space.LOCAL),
                    imp.If(imp.Apply("lt", Prim.I64, (zero, lid)), (store,))))
    xs = imp.LocalArray(VName("xs", 1), Prim.I64, Size.of(9))
    kernel = imp.Kernel("k", (imp.ScalarParam(n, Prim.I64),), (xs,), (store, loop))
    assert ("JOINED;" in opencl_source(kernel)) == known
