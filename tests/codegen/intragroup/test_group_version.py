"""Bodies that a work-group runs together: results, races and barriers under Oclgrind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from runelift.codegen.hostplan.dispatch import lower_segop
from runelift.codegen.passes.barriers import count_barriers
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import blocks
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    ArrayLit,
    Body,
    Concat,
    Copy,
    Dest,
    ForLoop,
    Hist,
    HistOp,
    If,
    Index,
    Level,
    Loop,
    LoopParam,
    Map,
    Param,
    Rearrange,
    Scanomap,
    Scatter,
    SegDim,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SliceDim,
    Space,
    Stm,
    Update,
    WhileLoop,
)
from runelift.ir.types import TRUE, ArrayType, Type, array_of, i64
from tests.codegen.harness import SHARES, Builder, Host, ModelMachine, Rows, agree, rows, slice_all

I64, GROUP, LOCAL = Prim.I64, Level.GROUP, Level.LOCAL


def shared(r: Rows, b: Builder, f: Callable[[Builder, VName], VName]) -> VName:
    """A segmap over the row whose points ``f`` computes."""
    inner, j = b.inner(), b.fresh("j")
    result = f(inner, j)
    return b.let(r.row_type, SegMap(LOCAL, (SegDim(j, r.m),), inner.body(result), (I64,)))


def neighbours(r: Rows, b: Builder, left: VName, right: VName) -> VName:
    """``left[j] + right[(j + 1) % m]``."""
    def point(k: Builder, j: VName) -> VName:
        beside = k.op("mod", I64, k.add(j, i64(1)), r.m)
        return k.add(k.let(I64, Index(left, (j,))), k.let(I64, Index(right, (beside,))))
    return shared(r, b, point)


def local_sum(r: Rows, b: Builder, array: VName) -> VName:
    inner, j = b.inner(), b.fresh("j")
    body = inner.body(inner.let(I64, Index(array, (j,))))
    return b.let(I64, SegRed(LOCAL, (SegDim(j, r.m),), (b.operator("add", I64, 0),), body, (I64,)))


@pytest.mark.parametrize("m", [0, 1, 3, 4, 6, 30])
def test_map_scan_reduce_on_rows_of_any_length(m: int) -> None:
    r = rows(3, m)
    b, j = r.body, r.body.fresh("j")
    row_types = [r.row_type] * 4
    squares = shared(r, b, lambda k, p: k.mul(k.let(I64, Index(r.row, (p,))), p))
    ops = (b.affine(), b.operator("add", I64, 0))
    k = b.inner()
    x = k.let(I64, Index(squares, (j,)))
    scans = b.lets(row_types, SegScan(LOCAL, (SegDim(j, r.m),), ops, k.body(x, j, x, x),
                                      (I64,) * 4))
    k, j = b.inner(), b.fresh("j")
    x = k.let(I64, Index(scans[1], (j,)))
    sums = b.lets([I64] * 3 + [r.row_type], SegRed(
        LOCAL, (SegDim(j, r.m),), ops, k.body(x, j, x, x), (I64,) * 4))
    turned = shared(r, b, lambda k, p: k.let(I64, Index(scans[0], (
        k.op("sub", I64, k.op("sub", I64, r.m, i64(1)), p),))))
    r.check([*scans, *sums, turned], [*row_types, *[I64] * 3, *[r.row_type] * 2], GROUP)


def test_two_dimensions() -> None:
    r = rows(3, 5)
    b, table = r.body, ArrayType(I64, (r.m, r.m))

    def over(point: Callable[[Builder, VName, VName], tuple[VName, ...]]) -> tuple[Space, Body]:
        k, x, y = b.inner(), b.fresh("x"), b.fresh("y")
        results = point(k, x, y)
        return (SegDim(x, r.m), SegDim(y, r.m)), k.body(*results)

    def operands(k: Builder, x: VName, y: VName) -> tuple[VName, ...]:
        value = k.let(I64, Index(products, (y, x)))
        return value, x, value

    space, body = over(lambda k, x, y: (k.mul(k.let(I64, Index(r.row, (x,))),
                                              k.let(I64, Index(r.row, (y,)))),))
    products = b.let(table, SegMap(LOCAL, space, body, (I64,)))
    space, body = over(operands)
    sums = b.lets([r.row_type, r.row_type, table],
                  SegRed(LOCAL, space, (b.affine(),), body, (I64,) * 3))
    space, body = over(operands)
    scans = b.lets([table] * 3, SegScan(LOCAL, space, (b.affine(),), body, (I64,) * 3))
    r.check([products, *sums, *scans], [table, r.row_type, r.row_type, *[table] * 4], GROUP)


@pytest.mark.parametrize("m", [0, 1, 2, 3, 7, 40])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 17])
def test_few_rows_are_reduced_by_several_work_items_each(
        count: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelMachine, "shares", replace(
        SHARES, lanes=4, max_group=16, subgroup=4))
    r = rows(3, m)
    b, width = r.body, i64(count)

    def over(point: Callable[[Builder, VName, VName], tuple[VName, ...]]) -> tuple[Space, Body]:
        k, x, y = b.inner(), b.fresh("x"), b.fresh("y")
        results = point(k, x, y)
        return (SegDim(x, width), SegDim(y, r.m)), k.body(*results)

    def operands(k: Builder, x: VName, y: VName) -> tuple[VName, ...]:
        value = k.add(k.let(I64, Index(r.row, (y,))), x)
        return value, y, value

    per_row, table = ArrayType(I64, (width,)), ArrayType(I64, (width, r.m))
    space, body = over(operands)
    pairs = b.lets([per_row, per_row, table],
                   SegRed(LOCAL, space, (b.affine(),), body, (I64,) * 3))
    space, body = over(lambda k, x, y: operands(k, x, y)[:2])
    sums = b.lets([per_row] * 2, SegRed(LOCAL, space, (
        b.operator("add", I64, 0), b.operator("max", I64, -100)), body, (I64,) * 2))
    r.check([*pairs, *sums], [per_row, per_row, table, per_row, per_row], GROUP)


@pytest.mark.parametrize("m", [1, 5, 13])
def test_loop_over_rows(m: int) -> None:
    r = rows(3, m)
    b, body, p, t = r.body, r.body.inner(), r.body.fresh("p"), r.body.fresh("t")
    loop = Loop((LoopParam(Param(p, r.row_type), r.row),), ForLoop(t, i64(4)),
                body.body(neighbours(r, body, p, p)))
    r.check([*b.lets([r.row_type], loop), r.row], [r.row_type] * 2, GROUP)


def test_loop_that_swaps() -> None:
    r = rows(3, 7)
    b, body = r.body, r.body.inner()
    p, q, t = (b.fresh(base) for base in "pqt")
    params = tuple(LoopParam(Param(v, r.row_type), r.row) for v in (p, q))
    after = neighbours(r, body, p, q)
    loop = Loop(params, ForLoop(t, i64(3)), body.body(q, after))
    r.check(b.lets([r.row_type] * 2, loop), [r.row_type] * 2, GROUP)


@pytest.mark.parametrize("on", ["Oclgrind", "Portable"])
def test_while_loop_on_a_reduction(on: str) -> None:
    r = rows(3, 7)
    b, body, go, p = r.body, r.body.inner(), r.body.fresh("go"), r.body.fresh("p")
    more = shared(r, body, lambda k, j: k.add(k.let(I64, Index(p, (j,))), i64(3)))
    again = body.op("lt", I64, local_sum(r, body, more), i64(60))
    loop = Loop((LoopParam(Param(go, Prim.BOOL), TRUE), LoopParam(Param(p, r.row_type), r.row)),
                WhileLoop(go), body.body(again, more))
    r.check([b.lets([Prim.BOOL, r.row_type], loop)[1]], [r.row_type], GROUP, on)


@pytest.mark.sweep(keep=["Oclgrind"])
@pytest.mark.parametrize("on", ["Oclgrind", "Portable"])
def test_while_loops_inside_each_other(on: str) -> None:
    r = rows(3, 9)
    b, outer, inner = r.body, r.body.inner(), r.body.inner()
    go, p, again, q = (b.fresh(base) for base in ("go", "p", "again", "q"))
    moved = neighbours(r, inner, q, q)
    less = inner.op("lt", I64, local_sum(r, inner, moved), i64(300))
    more = inner.op("lt", I64, i64(20), local_sum(r, inner, moved))
    nested = Loop((LoopParam(Param(again, Prim.BOOL), TRUE), LoopParam(Param(q, r.row_type), p)),
                  WhileLoop(again), inner.body(inner.op("and", Prim.BOOL, less, more), moved))
    _, grown = outer.lets([Prim.BOOL, r.row_type], nested)
    next_ = scan(r, outer, grown)
    going = outer.op("lt", I64, local_sum(r, outer, next_), i64(5000))
    positive = outer.op("lt", I64, i64(0), local_sum(r, outer, next_))
    loop = Loop((LoopParam(Param(go, Prim.BOOL), TRUE), LoopParam(Param(p, r.row_type), r.row)),
                WhileLoop(go), outer.body(outer.op("and", Prim.BOOL, going, positive), next_))
    r.check([b.lets([Prim.BOOL, r.row_type], loop)[1]], [r.row_type], GROUP, on)


def test_elements_updated_in_a_loop() -> None:
    r = rows(3, 6)
    b, body = r.body, r.body.inner()
    p, t, s = (b.fresh(base) for base in "pts")
    beside = body.op("mod", I64, body.add(t, i64(1)), r.m)
    value = body.add(body.let(I64, Index(p, (t,))), body.let(I64, Index(p, (beside,))))
    changed = body.let(r.row_type, Update(p, (beside,), value))
    total = body.add(s, body.let(I64, Index(changed, (beside,))))
    ys = b.let(r.row_type, Copy(r.row))
    loop = Loop((LoopParam(Param(p, r.row_type), ys), LoopParam(Param(s, I64), i64(0))),
                ForLoop(t, r.m), body.body(changed, total))
    r.check(b.lets([r.row_type, I64], loop), [r.row_type, I64], GROUP)


def test_literal_written_again_while_others_read_it() -> None:
    r = rows(3, 6)
    b, body, t, s = r.body, r.body.inner(), r.body.fresh("t"), r.body.fresh("s")
    literal = body.let(ArrayType(I64, (i64(3),)), ArrayLit((t, s, i64(4)), I64))
    total = body.add(body.let(I64, Index(literal, (i64(1),))),
                     body.add(body.let(I64, Index(literal, (i64(0),))), i64(1)))
    loop = Loop((LoopParam(Param(s, I64), i64(0)),), ForLoop(t, r.m), body.body(total))
    r.check(b.lets([I64], loop), [I64], GROUP)


def test_uniform_branches() -> None:
    r = rows(4, 6)
    b, then_, else_ = r.body, r.body.inner(), r.body.inner()
    moved = shared(r, then_, lambda k, j: k.add(k.let(I64, Index(r.row, (j,))), r.i))
    total = local_sum(r, then_, moved)
    array, number = b.lets([r.row_type, I64], If(
        b.op("lt", I64, r.i, i64(2)), then_.body(moved, total), else_.body(r.row, r.i),
        (r.row_type, I64)))
    after = shared(r, b, lambda k, j: k.add(k.let(I64, Index(array, (j,))), number))
    r.check([array, number, after], [r.row_type, I64, r.row_type], GROUP)


def test_scatter_and_histogram() -> None:
    r = rows(3, 9)
    b, j = r.body, r.body.fresh("j")
    ys = b.let(r.row_type, Copy(r.row))
    k = b.inner()
    place = k.op("sub", I64, k.mul(j, i64(2)), i64(1))
    zs = b.let(r.row_type, SegScatter(LOCAL, (SegDim(j, r.m),), (Dest(ys, 1),),
                                      k.body(place, r.i)))
    k, j = b.inner(), b.fresh("j")
    x = k.let(I64, Index(r.row, (j,)))
    op = HistOp(r.m, (zs,), b.operator("add", I64, 0))
    hist = b.let(r.row_type, SegHist(LOCAL, (SegDim(j, r.m),), (op,), k.body(x, j)))
    r.check([hist, ys], [r.row_type] * 2, GROUP)


def test_layouts_copies_and_slices() -> None:
    r = rows(3, 6)
    b, table = r.body, ArrayType(I64, (r.m, r.m))
    two, four = ArrayType(I64, (i64(2),)), ArrayType(I64, (i64(4),))
    k, j = b.inner(), b.fresh("j")
    sums = k.let(r.row_type, Scanomap(r.m, (b.operator("add", I64, 0),),
                                      b.function(lambda _, x: x), (r.row,)))
    last = k.let(I64, Index(sums, (j,)))
    lasts, all_ = b.lets([r.row_type, table], SegMap(
        LOCAL, (SegDim(j, r.m),), k.body(last, sums), (I64, r.row_type)))
    turned = b.let(table, Rearrange((1, 0), all_))
    copied = b.let(table, Copy(turned))
    changed = b.let(table, Update(copied, (i64(0), slice_all(r.m)), lasts))
    part = b.let(two, Index(r.row, (SliceDim(i64(1), i64(2), i64(1)),)))
    joined = b.let(four, Concat(0, (part, part), i64(4)))
    r.check([lasts, all_, turned, copied, changed, joined],
            [r.row_type, *[table] * 4, four], GROUP)


def test_sequential_operations_between_shared_ones() -> None:
    r = rows(3, 6)
    b, x, y = r.body, r.body.fresh("x"), r.body.fresh("y")
    moved = shared(r, b, lambda k, j: k.add(k.let(I64, Index(r.row, (j,))), r.i))
    squares = b.let(r.row_type, Map(r.m, b.function(lambda k, p: k.mul(p, p)), (moved,)))
    sums = b.let(r.row_type, Scanomap(r.m, (b.operator("add", I64, 0),),
                                      b.function(lambda _, p: p), (squares,)))
    ys = b.let(r.row_type, Copy(r.row))
    write = b.inner().lam([(x, I64)], [I64, I64], x, i64(7))
    zs = b.let(r.row_type, Scatter(r.m, write, (r.row,), (Dest(ys, 1),)))
    count = b.inner().lam([(y, I64)], [I64, I64], y, y)
    op = HistOp(r.m, (zs,), b.operator("add", I64, 0))
    hist = b.let(r.row_type, Hist(r.m, (op,), count, (r.row,)))
    r.check([squares, sums, hist], [r.row_type] * 3, GROUP)


def test_index_out_of_bounds() -> None:
    r = rows(3, 7)
    array = shared(r, r.body, lambda k, j: k.let(I64, Index(r.row, (k.add(j, i64(2)),), True)))
    message = r.failure([array], [r.row_type], GROUP)
    assert message.endswith("out of bounds for array of shape [7].")


# What kernels look like


def kernel_of(r: Rows, results: list[VName], types: list[Type]) -> imp.Kernel:
    """The kernel that the work-groups run."""
    exp = SegMap(GROUP, r.space(), r.body.body(*results), tuple(types))
    pat = tuple(Param(r.body.fresh("out"), array_of((r.n,), t)) for t in types)
    host = Host({p.name: p.type for p in r.args} | {p.name: p.type for p in pat})
    (kernel,) = plan.kernels(lower_segop(Stm(pat, exp), host, r.body.names))
    return kernel


def scan(r: Rows, b: Builder, array: VName) -> VName:
    """The sums of ``array[j] + i``."""
    k, j = b.inner(), b.fresh("j")
    x = k.add(k.let(I64, Index(array, (j,))), r.i)
    return b.let(r.row_type, SegScan(LOCAL, (SegDim(j, r.m),), (b.operator("add", I64, 0),),
                                     k.body(x), (I64,)))


def carried(r: Rows, step: Callable[[Rows, Builder, VName], VName]) -> list[VName]:
    """A loop that carries a row."""
    body, p, t = r.body.inner(), r.body.fresh("p"), r.body.fresh("t")
    loop = Loop((LoopParam(Param(p, r.row_type), r.row),), ForLoop(t, i64(3)),
                body.body(step(r, body, p)))
    return r.body.lets([r.row_type], loop)


def elementwise(r: Rows, b: Builder, array: VName) -> VName:
    return shared(r, b, lambda k, j: k.mul(k.let(I64, Index(array, (j,))), j))


def stencil(r: Rows, b: Builder, array: VName) -> VName:
    return neighbours(r, b, array, array)


@pytest.mark.parametrize("m", [1, 4, 7, 16, 30])
@pytest.mark.parametrize("step", [scan, elementwise, stencil])
def test_carried_rows(step: Callable[[Rows, Builder, VName], VName], m: int) -> None:
    r = rows(3, m)
    r.check(carried(r, step), [r.row_type], GROUP)


@pytest.mark.parametrize(("step", "arrays", "barriers"), [
    (elementwise, 0, 0),   # each work-item changes its own elements
    (stencil, 1, 3),       # written, barrier, read, barrier; one after the loop
    (scan, 2, 9),          # as above, or one barrier between sub-groups; one is a stage, too
])
def test_rows_stay_in_private_memory(step: Callable[[Rows, Builder, VName], VName], arrays: int,
                                     barriers: int) -> None:
    r = rows()
    kernel = kernel_of(r, carried(r, step), [r.row_type])
    assert len(kernel.local_memory) == arrays
    assert count_barriers(kernel.body) == barriers
    assert any(isinstance(s, imp.DeclareArray) for s in statements(kernel.body))


@pytest.mark.parametrize("m", [1, 7, 30])
def test_scatter_of_what_it_reads(m: int) -> None:
    """Element j of the old row goes to place (j + 1) % m of the new one."""
    r = rows(3, m)
    b, j = r.body, r.body.fresh("j")
    ys = b.let(r.row_type, Copy(r.row))
    turned = b.let(r.row_type, Update(ys, (i64(0),), i64(50)))
    k = b.inner()
    place = k.op("mod", I64, k.add(j, i64(1)), r.m)
    beside = k.op("mod", I64, k.add(j, i64(2)), r.m)
    value = k.add(k.let(I64, Index(turned, (j,))), k.let(I64, Index(turned, (beside,))))
    zs = b.let(r.row_type, SegScatter(LOCAL, (SegDim(j, r.m),), (Dest(turned, 1),),
                                      k.body(place, value)))
    r.check([zs], [r.row_type], GROUP)


@pytest.mark.parametrize(("name", "neutral"), [("add", 0), ("min", 1 << 40), ("mul", 1)])
@pytest.mark.parametrize("made", [True, False])
def test_histograms_of_made_and_of_given_rows(name: str, neutral: int, made: bool) -> None:
    """Atomic instructions where there are any, else compare and swap."""
    r = rows(3, 19)
    b = r.body
    row = r.row
    if made:
        row = shared(r, b, lambda k, j: k.mul(k.let(I64, Index(r.row, (j,))), i64(3)))
    bins = shared(r, b, lambda k, j: k.add(j, i64(4)))
    k, j = b.inner(), b.fresh("j")
    x = k.let(I64, Index(row, (j,)))
    op = HistOp(r.m, (bins,), b.operator(name, I64, neutral))
    hist = b.let(r.row_type, SegHist(LOCAL, (SegDim(j, r.m),), (op,), k.body(x, j)))
    r.check([hist, bins], [r.row_type] * 2, GROUP)
    kernel = kernel_of(r, [hist], [r.row_type])
    assert any(isinstance(s, imp.AtomicUpdate if name == "mul" else imp.Atomic)
               for s in statements(kernel.body))


def statements(code: Sequence[imp.Stm]) -> Iterator[imp.Stm]:
    """All statements, also inside of others."""
    for stm in code:
        yield stm
        for block in blocks(stm):
            yield from statements(block)


def test_histogram_of_pairs() -> None:
    """Without atomic updates of pairs, one work-item takes all values."""
    r = rows(3, 9)
    b = r.body
    firsts, seconds = (shared(r, b, lambda k, j, by=by: k.mul(j, i64(by))) for by in (2, 3))
    k, j = b.inner(), b.fresh("j")
    x = k.let(I64, Index(r.row, (j,)))
    op = HistOp(r.m, (firsts, seconds), b.affine())
    hists = b.lets([r.row_type] * 2, SegHist(LOCAL, (SegDim(j, r.m),), (op,), k.body(x, j, x)))
    r.check([*hists], [r.row_type] * 2, GROUP)


def test_one_group_runs_a_whole_loop() -> None:
    """A kernel without points around it: the matrix stays with one work-group."""
    r = rows(3, 5)
    b, body, table = Builder(r.body.names), Builder(r.body.names), ArrayType(I64, (r.n, r.m))
    (xs,) = (p.name for p in r.args if isinstance(p.type, ArrayType))
    p, q, t, x, y = (b.fresh(base) for base in ("p", "q", "t", "x", "y"))
    point = body.inner()
    beside = point.op("mod", I64, point.add(y, i64(1)), r.m)
    value = point.add(point.let(I64, Index(p, (x, y))), point.let(I64, Index(p, (x, beside))))
    space = (SegDim(x, r.n), SegDim(y, r.m))
    moved = body.let(table, SegMap(LOCAL, space, point.body(value), (I64,)))
    sums = body.inner()
    element = sums.let(I64, Index(moved, (x, y)))
    rows_ = body.let(ArrayType(I64, (r.n,)), SegRed(
        LOCAL, space, (body.operator("add", I64, 0),), sums.body(element), (I64,)))
    total = body.add(q, body.let(I64, Index(rows_, (t,))))
    loop = Loop((LoopParam(Param(p, table), xs), LoopParam(Param(q, I64), i64(1))),
                ForLoop(t, r.n), body.body(moved, total))
    done, count = b.lets([table, I64], loop)
    agree(SegMap(GROUP, (), b.body(done, count), (table, I64)), [table, I64], r.args,
          r.body.names)
