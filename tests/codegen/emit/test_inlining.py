"""Variables that are written where they are used."""

from __future__ import annotations

from itertools import pairwise

from runelift.codegen.emit.inlining import MOST_DEPTH, used_once
from runelift.codegen.emit.opencl import opencl_source
from runelift.codegen.plan.views import lit, op
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.names import VName
from runelift.ir.prim import Prim

I64 = Prim.I64
OUT, A, B, C = (VName(base, tag) for tag, base in enumerate(("out", "a", "b", "c"), 1))


def store(value: Exp) -> imp.Store:
    return imp.Store(OUT, lit(0), value, I64)


def declare(name: VName, value: Exp) -> imp.Declare:
    return imp.Declare(name, I64, value)


def names(*code: Stm) -> set[VName]:
    return set(used_once(code))


def test_a_variable_used_once_is_written_there() -> None:
    code = declare(A, op("mul", imp.Var(C), imp.Var(C))), store(op("add", imp.Var(A), lit(1)))
    assert names(*code) == {A}
    kernel = imp.Kernel("k", (imp.BufferParam(OUT, I64, True), imp.ScalarParam(C, I64)), (), code)
    assert "out_1[0L] = ADD(MUL(c_1, c_1), 1L);" in opencl_source(kernel)


def test_variables_that_must_stand_where_they_are() -> None:
    use, value = store(imp.Var(A)), op("mul", imp.Var(C), lit(3))
    twice = declare(A, value), use, use
    load = declare(A, imp.Load(OUT, lit(1), I64)), use
    changed = declare(A, value), imp.Assign(A, lit(2)), use
    mentions = declare(B, lit(0)), declare(A, imp.Var(B)), imp.Assign(B, lit(2)), use
    loop = declare(A, value), imp.For(C, lit(0), lit(9), lit(1), (use,))
    bound = declare(A, value), imp.For(C, lit(0), imp.Var(A), lit(1), (store(lit(1)),))
    meeting = declare(A, value), imp.Barrier(imp.Space.LOCAL), use
    inside = declare(A, value), imp.If(imp.Var(B), (imp.Barrier(imp.Space.LOCAL),)), use
    for code in (twice, load, changed, mentions, loop, bound, meeting, inside):
        assert A not in names(*code), code
    assert names(declare(A, value), imp.If(imp.Var(B), (use,))) == {A}


def test_expressions_do_not_become_too_deep() -> None:
    steps = [VName("t", 100 + k) for k in range(100)]
    code = [declare(steps[0], imp.Var(C)), *(
        declare(now, op("add", imp.Var(before), imp.Var(C)))
        for before, now in pairwise(steps)), store(imp.Var(steps[-1]))]
    written = names(*code)
    assert len(steps) > len(written) > len(steps) - 100 // MOST_DEPTH - 1
