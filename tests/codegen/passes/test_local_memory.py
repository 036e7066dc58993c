"""Local arrays that share their memory."""

from __future__ import annotations

from runelift.codegen.passes.local_memory import find_uses, share_local_memory
from runelift.codegen.plan.views import lit
from runelift.ir import imp
from runelift.ir.imp import LocalArray
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest

A, B, C = (VName(base, k) for k, base in enumerate("abc", 1))
N, M = Size.var(VName("n", 8)), Size.var(VName("m", 9))
COND = imp.Apply("lt", Prim.I64, (imp.WorkItem(imp.Id.GROUP_ID), lit(2)))


def write(mem: VName) -> imp.Stm:
    return imp.Store(mem, lit(0), lit(7), Prim.I64)


def read(mem: VName) -> imp.Stm:
    return imp.Declare(VName("x", 100 + mem.tag), Prim.I64, imp.Load(mem, lit(0), Prim.I64))


def loop(*body: imp.Stm) -> imp.For:
    return imp.For(VName("i", 50), lit(0), lit(9), lit(1), body)


def i64s(name: VName, length: Size) -> LocalArray:
    return LocalArray(name, Prim.I64, length)


def shared(*code: imp.Stm) -> set[VName]:
    """Which of A and B lie in another's memory."""
    return {a.name for a in share_local_memory(code, [i64s(A, N), i64s(B, N)]) if a.within}


def test_one_after_the_other() -> None:
    assert shared(write(A), read(A), write(B), read(B)) == {B}


def test_at_the_same_time() -> None:
    assert shared(write(A), write(B), read(A), read(B)) == set()


def test_from_one_to_the_other_in_one_statement() -> None:
    copy = imp.Store(B, lit(0), imp.Load(A, lit(0), Prim.I64), Prim.I64)
    assert shared(write(A), copy, read(B)) == set()


def test_in_a_loop() -> None:
    """What a loop uses is in use all the time if it was made before."""
    assert shared(loop(write(A), read(A), write(B), read(B))) == {B}
    assert shared(write(A), loop(read(A), write(B), read(B))) == set()
    assert shared(write(A), read(A), loop(write(B), read(B))) == {B}


def test_in_branches() -> None:
    assert shared(imp.If(COND, (write(A), read(A)), (write(B), read(B)))) == {B}
    assert shared(write(A), imp.If(COND, (read(A),), (write(B), read(B)))) == set()


def test_arrays_in_both_branches_are_in_use_around_them() -> None:
    uses = find_uses((imp.If(COND, (write(A),), (write(A),)), read(A), write(B)), {A, B})
    assert uses[A].last < uses[B].first


def test_the_widest_elements_come_first_and_the_place_is_long_enough() -> None:
    arrays = [LocalArray(A, Prim.I32, N), i64s(B, M)]
    found = share_local_memory((write(A), read(A), write(B), read(B)), arrays)
    assert found == [i64s(B, greatest(M, ceil_div(N * 4, Size.of(8)))),
                     LocalArray(A, Prim.I32, N, within=B)]


def test_a_place_of_the_same_size_is_preferred() -> None:
    arrays = [i64s(A, N), i64s(B, M), i64s(C, M)]
    found = share_local_memory((write(A), write(B), read(A), read(B), write(C)), arrays)
    assert found == [i64s(A, N), i64s(B, M), LocalArray(C, Prim.I64, M, within=B)]


def test_unused_arrays_need_nothing() -> None:
    assert share_local_memory((write(A),), [i64s(A, N), i64s(B, N)]) == [i64s(A, N)]
