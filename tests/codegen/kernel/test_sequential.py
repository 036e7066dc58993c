"""Statements inside of a work-item: value semantics, views, loops, sequential operations."""

from __future__ import annotations

import pytest

from runelift.codegen.hostplan.dispatch import lower_segop
from runelift.codegen.kernel.kernel_builder import CACHE_LINE_BYTES
from runelift.codegen.plan import plan
from runelift.ir.base import failures
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import (
    ArrayLit,
    Concat,
    Copy,
    Dest,
    ForLoop,
    Hist,
    HistOp,
    If,
    Index,
    Iota,
    Level,
    Loop,
    LoopParam,
    Map,
    Operator,
    Param,
    Rearrange,
    Redomap,
    Replicate,
    Reshape,
    Scanomap,
    Scatter,
    SegMap,
    SliceDim,
    Stm,
    Update,
    WhileLoop,
)
from runelift.ir.types import TRUE, ArrayType, i64
from tests.codegen.harness import Builder, Host, Rows, rows, slice_all

I64 = Prim.I64


def matrix(r: Rows) -> ArrayType:
    return ArrayType(I64, (r.m, r.m))


def carried(name: VName, type_: ArrayType | Prim, init: VName) -> LoopParam:
    return LoopParam(Param(name, type_), init)


def reversed_row(r: Rows, array: VName, b: Builder) -> VName:
    last = b.op("sub", I64, r.m, i64(1))
    return b.let(r.row_type, Index(array, (SliceDim(last, r.m, i64(-1)),)))


@pytest.mark.parametrize("m", [0, 1, 6])
def test_map_reduce_scan(m: int) -> None:
    r = rows(5, m)
    b = r.body
    squares = b.let(r.row_type, Map(r.m, b.function(lambda k, x: k.mul(x, x)), (r.row,)))
    add, same = b.operator("add", I64, 0), b.function(lambda k, x: x)
    total = b.let(I64, Redomap(r.m, (add,), same, (squares,)))
    sums = b.let(r.row_type, Scanomap(r.m, (add,), b.function(lambda k, x: x), (squares,)))
    r.check([total, sums, squares], [I64, r.row_type, r.row_type])


def test_redomap_with_several_operators_and_array_results() -> None:
    r = rows(7, 6)
    b, inner, x = r.body, r.body.inner(), r.body.fresh("x")
    shifted = inner.let(r.row_type, Map(r.m, b.function(lambda k, y: k.add(x, y)), (r.row,)))
    lam = inner.lam([(x, I64)], [I64, I64, I64, r.row_type], inner.mul(x, x), x, x, shifted)
    types = [I64, I64, I64, matrix(r)]
    exp = Redomap(r.m, (b.operator("add", I64, 0), b.affine()), lam, (r.row,))
    r.check(b.lets(types, exp), types)


def test_operator_over_arrays() -> None:
    r = rows(4, 5)
    b, inner = r.body, r.body.inner()
    product = b.fresh("x")
    table = b.inner()
    row = table.let(r.row_type, Map(r.m, b.function(lambda k, y: k.mul(product, y)), (r.row,)))
    lam = table.lam([(product, I64)], [r.row_type], row)
    mat = b.let(matrix(r), Map(r.m, lam, (r.row,)))
    zeros = b.let(r.row_type, Replicate((r.m,), i64(0)))
    u, v, p = (b.fresh(base) for base in "uvp")
    added = inner.let(r.row_type, Map(r.m, b.function(lambda k, x, y: k.add(x, y), 2), (u, v)))
    op = Operator(inner.lam([(u, r.row_type), (v, r.row_type)], [r.row_type], added), (zeros,))
    same = b.inner().lam([(p, r.row_type)], [r.row_type], p)
    total = b.let(r.row_type, Redomap(r.m, (op,), same, (mat,)))
    r.check([total, b.let(matrix(r), Scanomap(r.m, (op,), same, (mat,)))],
            [r.row_type, matrix(r)])


def test_update_leaves_the_old_value_alone() -> None:
    r = rows()
    b = r.body
    ys = b.let(r.row_type, Copy(r.row))
    zs = b.let(r.row_type, Update(ys, (i64(0),), i64(77)))
    ws = b.let(r.row_type, Update(zs, (i64(1),), i64(78)))
    r.check([ys, zs, ws], [r.row_type] * 3)


def test_update_while_a_view_of_the_old_value_lives() -> None:
    r = rows()
    b = r.body
    ys = b.let(r.row_type, Copy(r.row))
    view = reversed_row(r, ys, b)
    zs = b.let(r.row_type, Update(ys, (i64(0),), i64(99)))
    r.check([zs, view], [r.row_type] * 2)


def test_update_with_an_overlapping_slice_of_itself() -> None:
    """The slice has a size that the kernel computes, but that the host can compute too."""
    r = rows()
    b = r.body
    ys = b.let(r.row_type, Copy(r.row))
    rest = b.op("sub", I64, r.m, i64(1))
    front = b.let(ArrayType(I64, (rest,)), Index(ys, (slice_all(rest),)))
    zs = b.let(r.row_type, Update(ys, (SliceDim(i64(1), rest, i64(1)),), front))
    r.check([zs], [r.row_type])


def test_replicated_array_is_what_it_was() -> None:
    r = rows()
    b = r.body
    ys = b.let(r.row_type, Copy(r.row))
    both = ArrayType(I64, (i64(2), r.m))
    twice = b.let(both, Replicate((i64(2),), ys))
    zs = b.let(r.row_type, Update(ys, (i64(0),), i64(5)))
    r.check([zs, twice], [r.row_type, both])


def test_branches_with_arrays() -> None:
    r = rows()
    b, then_, else_ = r.body, r.body.inner(), r.body.inner()
    ys = b.let(r.row_type, Copy(r.row))
    changed = then_.let(r.row_type, Update(ys, (i64(0),), i64(5)))
    cond = b.op("lt", I64, r.i, i64(2))
    array, number = b.lets([r.row_type, I64], If(
        cond, then_.body(changed, i64(1)), else_.body(ys, i64(2)), (r.row_type, I64)))
    zs = b.let(r.row_type, Update(array, (i64(1),), i64(6)))
    r.check([array, zs, ys, number], [r.row_type] * 3 + [I64])


def test_loop_that_swaps_its_arrays() -> None:
    r = rows()
    b, body = r.body, r.body.inner()
    ys = b.let(r.row_type, Copy(r.row))
    zs = b.let(r.row_type, Map(r.m, b.function(lambda k, x: k.add(x, i64(1))), (r.row,)))
    p, q, x, y, k = (b.fresh(base) for base in "pqxyk")
    changed = body.let(r.row_type, Update(q, (i64(0),), k))
    loop = Loop((carried(p, r.row_type, ys), carried(q, r.row_type, zs),
                 LoopParam(Param(x, I64), i64(1)), LoopParam(Param(y, I64), i64(1))),
                ForLoop(k, i64(3)), body.body(changed, p, y, body.add(x, y)))
    types = [r.row_type, r.row_type, I64, I64]
    r.check([*b.lets(types, loop), ys], [*types, r.row_type])


@pytest.mark.parametrize("result", ["both", "one"])
def test_loop_arrays_that_start_or_end_as_one(result: str) -> None:
    r = rows()
    b, body = r.body, r.body.inner()
    ys = b.let(r.row_type, Copy(r.row))
    p, q, k = (b.fresh(base) for base in "pqk")
    first = body.let(r.row_type, Update(p, (i64(1),), k))
    second = body.let(r.row_type, Update(q, (i64(0),), k))
    loop = Loop((carried(p, r.row_type, ys), carried(q, r.row_type, ys)),
                ForLoop(k, i64(3)), body.body(first if result == "both" else second, second))
    outs = b.lets([r.row_type] * 2, loop)
    changed = b.let(r.row_type, Update(outs[0], (i64(2),), i64(100)))
    r.check([*outs, changed], [r.row_type] * 3)


def test_loop_whose_result_is_a_view_of_its_parameter() -> None:
    r = rows()
    b, body = r.body, r.body.inner()
    ys, p, k = b.let(r.row_type, Copy(r.row)), b.fresh("p"), b.fresh("k")
    turned = reversed_row(r, p, body)
    loop = Loop((carried(p, r.row_type, ys),), ForLoop(k, i64(3)), body.body(turned))
    r.check(b.lets([r.row_type], loop), [r.row_type])


def test_loop_parameter_read_after_its_update() -> None:
    r = rows()
    b, body = r.body, r.body.inner()
    p, k, s = (b.fresh(base) for base in "pks")
    changed = body.let(r.row_type, Update(p, (i64(0),), i64(50)))
    total = body.add(s, body.let(I64, Index(p, (i64(0),))))
    loop = Loop((carried(p, r.row_type, r.row), LoopParam(Param(s, I64), i64(0))),
                ForLoop(k, i64(3)), body.body(changed, total))
    r.check([*b.lets([r.row_type, I64], loop), r.row], [r.row_type, I64, r.row_type])


def test_inner_loop_does_not_take_the_memory_of_the_outer() -> None:
    r = rows()
    b, outer, inner = r.body, r.body.inner(), r.body.inner()
    p, k, s, q, j = (b.fresh(base) for base in "pksqj")
    changed = inner.let(r.row_type, Update(q, (j,), k))
    nested = Loop((carried(q, r.row_type, p),), ForLoop(j, i64(3)), inner.body(changed))
    (after,) = outer.lets([r.row_type], nested)
    total = outer.add(s, outer.let(I64, Index(p, (i64(1),))))
    loop = Loop((carried(p, r.row_type, r.row), LoopParam(Param(s, I64), i64(0))),
                ForLoop(k, i64(3)), outer.body(after, total))
    r.check(b.lets([r.row_type, I64], loop), [r.row_type, I64])


def test_while_loop() -> None:
    r = rows()
    b, body, go, x = r.body, r.body.inner(), r.body.fresh("go"), r.body.fresh("x")
    more = body.add(x, i64(2))
    loop = Loop((LoopParam(Param(go, Prim.BOOL), TRUE), LoopParam(Param(x, I64), r.i)),
                WhileLoop(go), body.body(body.op("lt", I64, more, i64(11)), more))
    r.check([b.lets([Prim.BOOL, I64], loop)[1]], [I64])


def test_layouts_compose() -> None:
    r = rows()
    b = r.body
    wide, tall = ArrayType(I64, (i64(2), i64(3))), ArrayType(I64, (i64(3), i64(2)))
    six = ArrayType(I64, (i64(6),))
    counted = b.let(r.row_type, Iota(r.m, r.i, i64(3), I64))
    literal = b.let(ArrayType(I64, (i64(3),)), ArrayLit((r.i, i64(4), r.m), I64))
    joined = b.let(six, Concat(0, (literal, literal), i64(6)))
    table = b.let(wide, Reshape((i64(2), i64(3)), joined))
    turned = b.let(tall, Rearrange((1, 0), table))
    flat = b.let(six, Reshape((i64(6),), turned))
    stacked = b.let(wide, ArrayLit((literal, literal), ArrayType(I64, (i64(3),))))
    r.check([counted, joined, table, turned, flat, stacked],
            [r.row_type, six, wide, tall, six, wide])


def test_nested_maps_in_scratch_memory() -> None:
    r = rows(7, 5)
    b, inner, x = r.body, r.body.inner(), r.body.fresh("x")
    copied = inner.let(r.row_type, Copy(r.row))
    changed = inner.let(r.row_type, Update(copied, (i64(0),), x))
    lam = inner.lam([(x, I64)], [r.row_type] * 3, changed, changed, r.row)
    one, two, three = b.lets([matrix(r)] * 3, Map(r.m, lam, (r.row,)))
    turned = b.let(matrix(r), Rearrange((1, 0), one))
    r.check([one, two, three, one, turned], [matrix(r)] * 5)


def test_sequential_scatter_and_histogram() -> None:
    r = rows(7, 6)
    b, x, y = r.body, r.body.fresh("x"), r.body.fresh("y")
    ys = b.let(r.row_type, Copy(r.row))
    write = b.inner().lam([(x, I64)], [I64, I64], x, i64(7))
    zs = b.let(r.row_type, Scatter(r.m, write, (r.row,), (Dest(ys, 1),)))
    count = b.inner().lam([(y, I64)], [I64, I64], y, y)
    op = HistOp(r.m, (ys,), b.operator("add", I64, 0))
    hist = b.let(r.row_type, Hist(r.m, (op,), count, (r.row,)))
    r.check([zs, hist, ys], [r.row_type] * 3)


def test_index_out_of_bounds() -> None:
    r = rows(7, 6)
    x = r.body.let(I64, Index(r.row, (r.i,), True))
    assert r.failure([x], [I64]) == failures.access([1]).format(6, 6)


def test_division_by_zero() -> None:
    r = rows()
    x = r.body.op("div", I64, i64(4), r.i)
    assert r.failure([x], [I64]) == failures.DIVISION


def test_size_that_only_the_kernel_knows() -> None:
    r = rows()
    b = r.body
    part = ArrayType(I64, (r.i,))
    array = b.let(part, Copy(b.let(part, Index(r.row, (slice_all(r.i),)))))
    changed = b.let(part, Update(array, (i64(0),), i64(1)))
    same = b.function(lambda k, x: x)
    total = b.let(I64, Redomap(r.i, (b.operator("add", I64, 0),), same, (changed,)))
    exp = SegMap(Level.GRID, r.space(), b.body(total), (I64,))
    out = Param(b.fresh("out"), ArrayType(I64, (r.n,)))
    types = {p.name: p.type for p in r.args} | {out.name: out.type}
    with pytest.raises(CompilerLimitation, match="known only inside"):
        lower_segop(Stm((out,), exp), Host(types), b.names)


@pytest.mark.parametrize("m", [0, 5, 16, 17])
def test_small_arrays_are_private_in_a_kernel_built_for_their_size(m: int) -> None:
    """Two arrays of m i64s in one kernel: 256 bytes at 16."""
    r = rows(5, m)
    b, body = r.body, r.body.inner()
    p, t = b.fresh("p"), b.fresh("t")
    sums = body.let(r.row_type, Scanomap(r.m, (b.operator("add", I64, 0),),
                                         b.function(lambda k, x: k.add(x, r.i)), (p,)))
    loop = Loop((carried(p, r.row_type, r.row),), ForLoop(t, i64(3)), body.body(sums))
    results = b.lets([r.row_type], loop)
    exp = SegMap(Level.GRID, r.space(), b.body(*results), (r.row_type,))
    pat = (Param(b.fresh("out"), ArrayType(I64, (r.n, r.m))),)
    host = Host({q.name: q.type for q in (*r.args, *pat)})
    (branch,) = (s for s in lower_segop(Stm(pat, exp), host, b.names)
                 if isinstance(s, plan.Branch))
    inside, scratch = (next(s for s in side if isinstance(s, plan.Launch))
                       for side in (branch.then_, branch.else_))
    assert inside.group == Size.var(inside.kernel.constants[0])
    assert r.m in inside.kernel.constants
    assert not scratch.kernel.constants
    # cores read ahead of what is theirs, so there is a line of the cache in between
    strides = [s.size for s in branch.else_
               if isinstance(s, plan.ComputeSize) and s.name.base == "stride"]
    assert strides
    assert set(strides) == {Size.var(r.m) + CACHE_LINE_BYTES // I64.bytes}
    r.check(results, [r.row_type])
