"""The imperative IR: its text, its well-formedness, its meaning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug, ProgramError
from runelift.ir.base.files import read_source
from runelift.ir.imp import Exp, Kernel, Stm
from runelift.ir.imp.check import check
from runelift.ir.imp.interpret import Launch, Reported, run
from runelift.ir.imp.pretty import pretty
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.types import Const
from runelift.runtime.compilation.pipeline import compile_source
from tests.ir.imp.parse import parse

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.fut"))
A, X, I64 = VName("a", 1), VName("x", 2), Prim.I64


@pytest.mark.sweep(every=20)
@pytest.mark.parametrize("policy", ["all", "moderate"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples(path: Path, policy: str) -> None:
    compiled, found = compile_source(read_source(path), policy=policy), 0
    for entry in compiled.interfaces:
        kernels = tuple(plan.kernels(compiled.plan(entry).steps))
        found += len(kernels)
        assert parse(pretty(kernels)) == kernels
        for kernel in kernels:
            check(kernel)
    assert found


# Text

names = st.builds(VName, st.sampled_from(["a", "x'", "i_2", "group", "load"]), st.integers(0, 99))
prims = st.sampled_from(list(Prim))
spaces = st.sampled_from([imp.Space.GLOBAL, imp.Space.LOCAL])
literals = prims.flatmap(lambda prim: st.builds(
    imp.Lit, st.builds(Const, st.booleans() if prim is Prim.BOOL else
                       st.floats(width=prim.bits, allow_nan=False) if prim.is_float else
                       st.integers(int(prim.least), int(prim.greatest)), st.just(prim))))
expressions: st.SearchStrategy[Exp] = st.recursive(
    st.one_of(literals, st.builds(imp.Var, names),
              st.builds(imp.WorkItem, st.sampled_from(imp.Id), st.integers(0, 2))),
    lambda inner: st.one_of(
        st.builds(lambda op, p, x, y: imp.Apply(op, p, (x, y)),
                  st.sampled_from(["add", "min", "lt", "and"]), prims, inner, inner),
        st.builds(imp.Convert, prims, prims, inner), st.builds(imp.Load, names, inner, prims),
        st.builds(imp.Select, inner, inner, inner, prims)), max_leaves=6)
simple: st.SearchStrategy[Stm] = st.one_of(
    st.builds(imp.Declare, names, prims, st.none() | expressions),
    st.builds(imp.DeclareArray, names, prims, st.integers(1, 99) | names),
    st.builds(imp.Assign, names, expressions),
    st.builds(imp.Store, names, expressions, expressions, prims),
    st.builds(imp.Barrier, spaces), st.just(imp.Fence()), st.builds(imp.Comment, st.text()),
    st.builds(imp.Fail, st.integers(0, 9), st.lists(expressions, max_size=2).map(tuple)),
    st.builds(imp.Atomic, st.sampled_from(["add", "xor"]), prims, names, expressions,
              expressions, spaces, st.none() | names))
statements: st.SearchStrategy[Stm] = st.recursive(simple, lambda inner: st.one_of(
    st.builds(imp.For, names, expressions, expressions, expressions,
              st.lists(inner, max_size=2).map(tuple), st.booleans()),
    st.builds(imp.While, expressions, st.lists(inner, max_size=2).map(tuple)),
    st.builds(imp.If, expressions, st.lists(inner, max_size=2).map(tuple),
              st.lists(inner, max_size=2).map(tuple)),
    st.builds(imp.Locked, names, expressions, spaces,
              st.lists(names, min_size=1, max_size=2).map(tuple),
              st.lists(inner, max_size=2).map(tuple)),
    st.builds(imp.AtomicUpdate, names, expressions, prims, spaces, names,
              st.lists(inner, max_size=2).map(tuple), expressions)), max_leaves=5)


@given(st.lists(statements, max_size=4).map(tuple))
def test_statements_are_read_back(body: tuple[Stm, ...]) -> None:
    local = imp.LocalArray(A, Prim.F64, Size.var(X) + Size.of(2), VName("b", 7))
    params = (imp.BufferParam(X, Prim.U8, True), imp.ScalarParam(VName("n", 3), Prim.BOOL))
    kernel = Kernel("k_4", params, (local,), body, (imp.Failure('a "{}"\n'),), constants=(A, X))
    assert parse(pretty([kernel])) == (kernel,)


@pytest.mark.parametrize(("text", "message"), [
    ("kernel k { x_1 = 3i64 }", "cannot go on with '= 3i64"),
    ("kernel k { x_1 := frob.i64(3i64) }", "'frob.i64' is no operation on 1 values"),
    ("kernel k { store.f8 a_1[0i64] <- 1i32 }", "'store.f8' does not end with a primitive"),
    ("kernel k { barrier", "the end of the text"),
])
def test_malformed_texts(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        parse(text)


# Well-formedness


def kernel(body: str, head: str = "(a_1 : global i64 written) (n_2 : i64)") -> Kernel:
    (parsed,) = parse(f"kernel k {head} {{ {body} }}")
    return parsed


@pytest.mark.parametrize(("body", "message"), [
    ("x_3 := 1i64", "x_3 is no variable"),
    ("n_2 := 1i64", "n_2 is no variable"),
    ("var x_3 : i64 = y_4", "there is no scalar y_4 here"),
    ("if true { var x_3 : i64 = 1i64 } n_2 := x_3", "n_2 is no variable"),
    ("if true { var x_3 : i64 = 1i64 } var y_4 : i64 = x_3", "there is no scalar x_3 here"),
    ("var n_2 : i64", "n_2 is declared twice"),
    ("var x_3 : i32 = 1i64", "'1i64' has type i64, not i32"),
    ("var x_3 : i64 = add.i64(1i64, 2i32)", "'2i32' has type i32, not i64"),
    ("var x_3 : f32 = and.f32(1f32, 2f32)", "there is no and.f32"),
    ("store.i64 b_9[0i64] <- 1i64", "there is no memory b_9"),
    ("store.i32 a_1[0i64] <- 1i32", "a_1 has elements of type i64, not i32"),
    ("store.i64 a_1[0i32] <- 1i64", "'0i32' has type i32, not i64"),
    ("while 1i64 { }", "'1i64' has type i64, not bool"),
    ("for i_3 from 0i64 below n_2 by 1i64 { i_3 := 2i64 }", "i_3 is no variable"),
    ("atomic.add.i64 local a_1[0i64] <- 1i64", "a_1 is in global memory, not in local"),
    ("atomic.mul.i64 global a_1[0i64] <- 1i64", "no device has an atomic mul on i64"),
    ("atomic.add.f16 global a_1[0i64] <- 1f16", "no device has an atomic add on f16"),
    ("atomic.max.f32 global a_1[0i64] <- 1f32", "no device has an atomic max on f32"),
    ("locked global a_1[0i64] for a_1 { }", "a_1 has elements of type i64, not i32"),
    ("array t_3 : i64[n_2]", "the length n_2 is no constant"),
    ("fail 0 ()", "there is no failure 0"),
    ("if lt.i64(local_id(0), n_2) { barrier local }", "only some work-items may come"),
    ("var i_3 : i64 = 0i64 while lt.i64(i_3, local_id(0)) { barrier local "
     "i_3 := add.i64(i_3, 1i64) }", "only some work-items may come"),
    ("var b_3 : bool = false while b_3 { barrier local b_3 := lt.i64(global_id(0), n_2) }",
     "only some work-items may come"),
    ("array t_3 : bool[2] store.bool t_3[0i64] <- lt.i64(local_id(0), n_2) "
     "if load.bool t_3[0i64] { barrier local }", "only some work-items may come"),
])
def test_kernels_that_are_not_well_formed(body: str, message: str) -> None:
    with pytest.raises(CompilerBug, match=message):
        check(kernel(body))


def test_a_buffer_is_written_only_if_its_parameter_says_so() -> None:
    with pytest.raises(CompilerBug, match="a_1 is only read"):
        check(kernel("store.i64 a_1[0i64] <- 1i64", "(a_1 : global i64)"))


@pytest.mark.parametrize("body", [
    "if lt.i64(group_id(0), n_2) { barrier local }",
    "if lt.i64(load.i64 a_1[0i64], n_2) { barrier local }",
    "for i_3 from 0i64 below n_2 by 1i64 { if lt.i64(local_id(0), i_3) { } barrier local }",
])
def test_barriers_that_all_work_items_come_to(body: str) -> None:
    check(kernel(body))


# Meaning


def launch(body: str, *, local: str = "", size: int = 4, count: int = 8,
           n: int = 5) -> tuple[list[int], Reported | None]:
    """What is in ``a`` after two groups of ``size`` have run, and what they reported."""
    cells = np.arange(count, dtype=np.int64)
    code = kernel(f"{local} {body}")
    check(code)
    reported = run(code, Launch(2, size, {A: cells, X: n, VName("n", 2): n}, lengths={
        array.name: size for array in code.local_memory}))
    return cells.tolist(), reported


LOCAL = "local l_4 : i32[4] local t_5 : i64[4]"
OPEN = "store.i32 l_4[local_id(0)] <- 0i32 store.i64 t_5[local_id(0)] <- 0i64 barrier local "
ADDED = "store.i64 t_5[{0}] <- add.i64(load.i64 t_5[{0}], local_id(0))"


def test_a_lock_for_each_of_two_cells() -> None:
    place = "rem.i64(local_id(0), 2i64)"
    cells, _ = launch(
        f"{OPEN} locked local l_4[{place}] for t_5 {{ {ADDED.format(place)} }} barrier local "
        "store.i64 a_1[global_id(0)] <- load.i64 t_5[local_id(0)]", local=LOCAL)
    assert cells == [2, 4, 0, 0] * 2


@pytest.mark.parametrize(("body", "message"), [
    (f"locked local l_4[local_id(0)] for t_5 {{ {ADDED.format('0i64')} }}",
     "reads t_5.0., which work-item 0 accesses under l_4.0."),
    (f"locked local l_4[0i64] for t_5 {{ {ADDED.format('0i64')} }} "
     "if eq.i64(local_id(0), 3i64) { store.i64 t_5[0i64] <- 1i64 }",
     "writes t_5.0., which work-item 0 accesses under l_4.0."),
    ("atomic.add.i32 local l_4[0i64] <- 1i32 locked local l_4[0i64] for t_5 { }",
     "finds l_4.0. locked")])
def test_locks_that_do_not_guard(body: str, message: str) -> None:
    with pytest.raises(CompilerBug, match=message):
        launch(OPEN + body, local=LOCAL)


def test_a_rotation_within_groups() -> None:
    cells, reported = launch(
        "var i_3 : i64 = local_id(0) store.i64 t_4[i_3] <- load.i64 a_1[global_id(0)] "
        "barrier local "
        "store.i64 a_1[global_id(0)] <- load.i64 t_4[rem.i64(add.i64(i_3, 1i64), 4i64)]",
        local="local t_4 : i64[4]")
    assert cells == [1, 2, 3, 0, 5, 6, 7, 4]
    assert reported is None


def test_loops_atomics_and_failures() -> None:
    cells, reported = launch(
        "if lt.i64(global_id(0), n_2) { atomic.add.i64 global a_1[0i64] <- 1i64 } else "
        "{ fail 0 (global_id(0), n_2) } "
        "update.i64 global a_1[1i64] as old_3 { var new_4 : i64 = mul.i64(old_3, 2i64) } <- new_4",
        local='failure "no {} of {}"')
    assert cells == [5, 256, 2, 3, 4, 5, 6, 7]
    assert reported == Reported(0, (5, 5))


@pytest.mark.parametrize(("body", "message"), [
    ("store.i64 a_1[9i64] <- 1i64", r"reaches for a_1\[9\] of 8 elements"),
    ("store.i64 a_1[group_id(0)] <- 1i64", r"writes a_1\[0\], which work-item 0 writes"),
    ("if eq.i64(local_id(0), 0i64) { store.i64 a_1[0i64] <- 1i64 }",
     r"writes a_1\[0\], which group 0 writes in the same launch"),
    ("if eq.i64(global_id(0), 0i64) { store.i64 a_1[0i64] <- 1i64 } barrier global "
     "var x_5 : i64 = load.i64 a_1[0i64]",
     r"of group 1 reads a_1\[0\], which group 0 writes in the same launch"),
    ("var x_5 : i64 = load.i64 a_1[0i64] if eq.i64(global_id(0), 4i64) "
     "{ atomic.add.i64 global a_1[0i64] <- 1i64 }",
     r"atomically changes a_1\[0\], which group 0 reads in the same launch"),
    ("store.i64 t_4[local_id(0)] <- 1i64 var x_5 : i64 = load.i64 t_4[0i64]",
     r"reads t_4\[0\], which work-item 0 writes"),
    ("var x_5 : i64 = load.i64 t_4[0i64] if eq.i64(local_id(0), 3i64) "
     "{ store.i64 t_4[0i64] <- 1i64 }", r"writes t_4\[0\], which work-item 0 reads"),
    ("var x_5 : i64 store.i64 a_1[global_id(0)] <- x_5", "uses x_5, which was never set"),
    ("atomic.add.i64 local t_4[0i64] <- 1i64 var x_5 : i64 = load.i64 t_4[0i64]",
     r"atomically changes t_4\[0\], which work-item 0 reads"),
    ("store.i64 t_4[local_id(0)] <- local_id(0) "
     "if lt.i64(load.i64 t_4[0i64], 1i64) { barrier local }", "reads t_4"),
])
def test_what_no_kernel_may_do(body: str, message: str) -> None:
    with pytest.raises(CompilerBug, match=message):
        launch(body, local="local t_4 : i64[4]")


def test_arrays_in_one_place_are_one_memory() -> None:
    local = "local t_4 : i64[4] local u_6 : i32[8] within t_4"
    with pytest.raises(CompilerBug, match=r"writes u_6\[7\], which work-item 0 writes"):
        launch("if eq.i64(local_id(0), 0i64) { store.i64 t_4[3i64] <- 1i64 } "
               "if eq.i64(local_id(0), 1i64) { store.i32 u_6[7i64] <- 7i32 }", local=local)
    cells, _ = launch("store.i64 t_4[local_id(0)] <- 0i64 "
                      "store.i32 u_6[mul.i64(local_id(0), 2i64)] <- 7i32 "
                      "store.i64 a_1[global_id(0)] <- load.i64 t_4[local_id(0)]", local=local)
    assert cells == [7] * 8


def test_a_buffer_with_two_names_is_one_memory() -> None:
    code = kernel("store.i64 a_1[local_id(0)] <- load.i64 x_2[0i64]",
                  "(a_1 : global i64 written) (x_2 : global i64)")
    cells = np.zeros(4, np.int64)
    run(code, Launch(1, 4, {A: cells, X: cells.copy()}))
    with pytest.raises(CompilerBug, match=r"x_2\[0\], which work-item 0 writes"):
        run(code, Launch(1, 4, {A: cells, X: cells}))


@pytest.mark.parametrize("body", [
    "atomic.add.i64 global a_1[0i64] <- 1i64",
    "if eq.i64(global_id(0), 0i64) { store.i64 a_1[0i64] <- 8i64 } fence barrier global "
    "if eq.i64(global_id(0), 4i64) { store.i64 a_1[0i64] <- load.i64 a_1[0i64] }",
])
def test_groups_meet_in_atomics_and_after_fences(body: str) -> None:
    cells, _ = launch(body)
    assert cells == [8, 1, 2, 3, 4, 5, 6, 7]


def test_a_barrier_that_some_work_items_miss() -> None:
    code = kernel("if lt.i64(local_id(0), n_2) { barrier local }")
    with pytest.raises(CompilerBug, match="only some work-items come to a barrier"):
        run(code, Launch(1, 4, {A: np.zeros(1, np.int64), VName("n", 2): 2}))
