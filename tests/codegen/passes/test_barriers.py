"""Where barriers are needed between accesses of local memory."""

from __future__ import annotations

from dataclasses import replace

from runelift.codegen.passes.accesses import LID
from runelift.codegen.passes.barriers import count_barriers, insert_barriers
from runelift.codegen.plan.views import lit, op
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Const

I64 = Prim.I64
A, B = VName("a", 1), VName("b", 2)
BARRIER = imp.Barrier(imp.Space.LOCAL)
BEFORE = op("sub", LID, lit(1))
FALSE = imp.Lit(Const(False, Prim.BOOL))
SIZE = imp.WorkItem(imp.Id.LOCAL_SIZE)


def write(mem: VName, index: Exp = LID) -> imp.Stm:
    return imp.Store(mem, index, lit(7), I64)


def read(mem: VName, index: Exp = LID, tag: int = 100) -> imp.Stm:
    return imp.Declare(VName("x", tag), I64, imp.Load(mem, index, I64))


def loop(*body: imp.Stm, start: Exp | None = None, step: Exp | None = None,
         tag: int = 50) -> imp.For:
    return imp.For(VName("i", tag), start or lit(0), lit(9), step or lit(1), body)


def test_own_cells_need_none() -> None:
    code = (write(A), read(A), write(A))
    assert insert_barriers(code) == code


def test_others_cells_need_one_between() -> None:
    assert insert_barriers([write(A), read(B), read(A, BEFORE), read(A, lit(0), 101)]) == (
        write(A), read(B), BARRIER, read(A, BEFORE), read(A, lit(0), 101))


def test_write_after_read() -> None:
    assert insert_barriers([read(A, BEFORE), write(A)]) == (read(A, BEFORE), BARRIER, write(A))


def test_given_barriers_are_dropped() -> None:
    assert insert_barriers([BARRIER, read(A, BEFORE), BARRIER, read(A)]) == (
        read(A, BEFORE), read(A))


def test_private_arrays_need_none() -> None:
    code = (imp.DeclareArray(A, I64, 4), write(A, lit(1)), read(A, lit(1)))
    assert insert_barriers(code) == code
    assert insert_barriers(code[1:], private=[A]) == code[1:]


def test_back_edge() -> None:
    """The next iteration writes what this one reads."""
    placed = insert_barriers([loop(write(A), read(A, BEFORE))])
    assert placed == (loop(BARRIER, write(A), BARRIER, read(A, BEFORE)),)


def test_back_edge_with_arrays_that_take_turns() -> None:
    placed = insert_barriers([loop(read(A, BEFORE), write(B), read(B, BEFORE, 101), write(A))])
    assert count_barriers(placed) == 2


def test_barrier_before_a_loop_that_needs_it_once() -> None:
    assert insert_barriers([write(A), loop(read(A, BEFORE))]) == (
        write(A), BARRIER, loop(read(A, BEFORE)))


def test_a_loop_with_barriers_ends_with_one_if_something_follows() -> None:
    """PoCL 3.0 ends the process when it compiles some such loops that run twice."""
    inside = loop(BARRIER, write(A), BARRIER, read(A, BEFORE))
    assert insert_barriers([inside, write(B)]) == (inside, BARRIER, write(B))
    assert insert_barriers([loop(write(A), read(A)), write(B)]) == (
        loop(write(A), read(A)), write(B))


def test_branches() -> None:
    """A barrier inside where the group takes one side, around where work-items differ."""
    alike = imp.If(imp.Apply("lt", I64, (imp.WorkItem(imp.Id.GROUP_ID), lit(2))),
                   (write(A), read(A, BEFORE)))
    assert insert_barriers([alike, read(B)]) == (
        imp.If(alike.cond, (write(A),)), BARRIER, imp.If(alike.cond, (read(A, BEFORE),)), BARRIER,
        read(B))
    apart = imp.If(imp.Apply("lt", I64, (LID, lit(2))), (read(A, BEFORE),))
    assert insert_barriers([write(A), apart]) == (write(A), BARRIER, apart)


def test_sides_with_barriers_are_branches_one_after_the_other() -> None:
    """PoCL 5.0 ends the process where both assign the same variable."""
    cond, result = imp.Var(VName("c", 70)), VName("r", 71)
    side = write(A), read(A, BEFORE), imp.Assign(result, lit(1))
    quiet = read(B), imp.Assign(result, lit(2))
    split = imp.If(cond, side[:1]), BARRIER, imp.If(cond, side[1:]), BARRIER
    no = imp.Apply("not", Prim.BOOL, (cond,))
    assert insert_barriers([imp.If(cond, side, quiet)]) == (*split, imp.If(no, quiet), BARRIER)
    assert insert_barriers([imp.If(cond, quiet, side)]) == (
        imp.If(cond, quiet), BARRIER, imp.If(no, side[:1]), BARRIER, imp.If(no, side[1:]), BARRIER)
    assert insert_barriers([imp.If(cond, quiet, quiet)]) == (imp.If(cond, quiet, quiet),)
    changes = *side, imp.Assign(VName("c", 70), imp.Lit(Const(False, Prim.BOOL)))
    assert insert_barriers([imp.If(cond, changes, quiet)]) == (
        imp.If(cond, (side[0], BARRIER, *changes[1:]), quiet), BARRIER)


def test_barriers_are_put_outside_of_branches() -> None:
    """Loops of which only the branch knows how often they run do nothing without the condition."""
    cond, x = imp.Var(VName("c", 70)), VName("x", 100)
    steps = loop(write(A), read(A, BEFORE, 101))
    inside = imp.Declare(x, I64, lit(3)), steps, imp.Store(B, LID, imp.Var(x), I64)
    assert insert_barriers([imp.If(cond, inside)]) == (
        imp.Declare(x, I64, lit(0)), imp.If(cond, (imp.Assign(x, lit(3)),)),
        replace(steps, body=(
            BARRIER, imp.If(cond, (write(A),)), BARRIER, imp.If(cond, (read(A, BEFORE, 101),)))),
        BARRIER, imp.If(cond, inside[2:]), BARRIER)
    often = imp.Var(VName("n", 80))
    unknown = replace(steps, bound=often)
    (placed,) = insert_barriers([unknown])
    assert isinstance(placed, imp.For)
    assert insert_barriers([imp.If(cond, (unknown,))]) == (
        replace(placed, bound=imp.Select(cond, often, lit(0), I64)), BARRIER)
    going = imp.Var(VName("going", 90))
    waiting = imp.While(going, (*placed.body, imp.Assign(going.name, FALSE)))
    begin = imp.Declare(going.name, Prim.BOOL, imp.Lit(Const(True, Prim.BOOL)))
    assert begin.init is not None
    assert insert_barriers([imp.If(cond, (begin, waiting))]) == (
        replace(begin, init=FALSE), imp.If(cond, (imp.Assign(going.name, begin.init),)),
        imp.Assign(going.name, imp.Apply("and", Prim.BOOL, (cond, going))), waiting, BARRIER)
    assert insert_barriers([imp.If(cond, (waiting,))]) == (imp.If(cond, (waiting,)), BARRIER)


def test_barriers_in_branches_of_branches() -> None:
    cond, further = (imp.Var(VName(name, tag)) for name, tag in (("c", 70), ("d", 80)))
    inner = imp.If(further, (write(A), read(A, BEFORE)))
    assert insert_barriers([imp.If(cond, (write(B), inner)), read(A)]) == (
        imp.If(cond, (write(B), imp.If(further, (write(A),)))), BARRIER,
        imp.If(cond, (imp.If(further, (read(A, BEFORE),)),)), BARRIER, read(A))
    changes = *inner.then_, imp.Assign(further.name, FALSE)
    assert insert_barriers([imp.If(cond, (imp.If(further, changes),))]) == (
        imp.If(cond, (imp.If(further, (changes[0], BARRIER, *changes[1:])), BARRIER)), BARRIER)


def test_what_differs_between_work_items_is_followed_through_variables() -> None:
    flag, other = VName("flag", 60), VName("other", 61)
    code = (imp.Declare(flag, Prim.BOOL, imp.Lit(Const(False, Prim.BOOL))),
            imp.If(imp.Apply("lt", I64, (LID, lit(2))),
                   (imp.Assign(flag, imp.Lit(Const(True, Prim.BOOL))),)),
            imp.Declare(other, Prim.BOOL, imp.Var(flag)),
            write(A), imp.If(imp.Var(other), (read(A, BEFORE),)))
    assert insert_barriers(code)[-2:] == (BARRIER, code[-1])


def test_first_work_item_owns_the_first_cell() -> None:
    first = imp.If(imp.Apply("eq", I64, (LID, lit(0))), (read(A, lit(0)),))
    assert insert_barriers([write(A), first]) == (write(A), first)


def first(*body: imp.Stm, else_: tuple[imp.Stm, ...] = ()) -> imp.If:
    return imp.If(imp.Apply("eq", I64, (LID, lit(0))), body, else_)


def test_what_the_first_work_item_does_alone_is_in_order() -> None:
    code = first(write(A, lit(1))), first(write(A, lit(2))), first(loop(read(A, lit(1))))
    assert insert_barriers(code) == code
    assert insert_barriers(code, overlaps={A: B}) == code
    assert insert_barriers([*code, read(A)]) == (*code, BARRIER, read(A))
    others = first(else_=(write(A, lit(3)),))
    assert insert_barriers([code[0], others]) == (code[0], BARRIER, others)


def test_no_branch_of_all_comes_behind_what_the_first_work_item_stores() -> None:
    """PoCL 3.0 loses that, also where the store is in a branch or at the end of a loop."""
    store, branch = first(write(A, lit(1))), imp.If(imp.Var(VName("c", 60)), (write(B),))
    for before in (store, replace(branch, then_=(store,))):
        assert insert_barriers([before, branch]) == (before, BARRIER, branch)
        assert insert_barriers([loop(branch, before)]) == (loop(branch, before, BARRIER),)
    assert insert_barriers([loop(write(B), store)]) == (loop(write(B), store),)


def test_strided_loops_agree_about_cells() -> None:
    i = imp.Var(VName("i", 50))
    code = (loop(write(A, i), start=LID, step=SIZE), loop(read(A, i), start=LID, step=SIZE))
    assert insert_barriers(code) == code


def test_a_place_computed_from_its_indices_is_that_place() -> None:
    """(p / n) n + (p - (p / n) n) = p, also for the indices of three dimensions."""
    n, m, place = (imp.Var(VName(name, tag)) for name, tag in (("n", 60), ("m", 61), ("p", 62)))
    cyclic = op("add", op("mul", imp.Var(VName("k", 63)), SIZE), LID)
    declared = imp.Declare(place.name, I64, cyclic)

    def split(whole: Exp, width: Exp) -> tuple[Exp, Exp]:
        quotient = imp.Apply("quot", I64, (whole, width))
        return quotient, op("sub", whole, op("mul", quotient, width))

    rows, column = split(place, n)
    outer, row = split(rows, m)
    two = op("add", op("mul", rows, n), column)
    three = op("add", op("mul", op("add", op("mul", outer, m), row), n), column)
    for index in (two, three):
        code = declared, write(A, index), read(A)
        assert insert_barriers(code) == code
    other = op("add", op("mul", rows, m), column)
    assert count_barriers(insert_barriers([declared, write(A, other), read(A)])) == 1


def test_atomic_updates() -> None:
    add = imp.Atomic("add", Prim.I32, A, BEFORE, lit(1), imp.Space.LOCAL)
    assert insert_barriers([add, add, read(A)]) == (add, add, BARRIER, read(A))


def test_memories_in_one_place() -> None:
    code = (read(A), write(B))
    assert insert_barriers(code) == code
    assert insert_barriers(code, overlaps={A: A, B: A}) == (code[0], BARRIER, code[1])


def test_independent_loops_are_units() -> None:
    i = imp.Var(VName("i", 50))
    body = loop(write(A, op("add", i, LID)))
    assert count_barriers(insert_barriers([body])) == 1
    assert insert_barriers([body], independent=[VName("i", 50)]) == (body,)


GIVEN = VName("subgroup", 9)
SEVERAL = imp.Apply("lt", I64, (lit(1), imp.Var(GIVEN)))


def settled(then_: tuple[imp.Stm, ...], else_: tuple[imp.Stm, ...]) -> imp.If:
    return imp.If(SEVERAL, then_, else_)


def test_what_one_side_of_a_settled_branch_needs_is_for_that_side() -> None:
    """Behind it, B was read by some kernels only, and only those need a barrier before a write."""
    branch = settled((read(B, BEFORE),), (read(A, BEFORE),))
    code = [branch, write(B), write(A, LID)]
    assert insert_barriers(code, constants=[GIVEN]) == (
        branch, settled((BARRIER,), ()), write(B), settled((), (BARRIER,)), write(A, LID))
    assert insert_barriers(code) == (branch, BARRIER, write(B), write(A, LID))


def test_a_barrier_in_one_side_of_a_settled_branch_counts_there_alone() -> None:
    branch = settled((read(A, BEFORE), write(A), read(A, BEFORE, 102)), ())
    placed = insert_barriers([write(B), branch, read(B, BEFORE, 103)], constants=[GIVEN])
    assert placed == (
        write(B),
        settled((read(A, BEFORE), BARRIER, write(A), BARRIER, read(A, BEFORE, 102)), ()),
        settled((), (BARRIER,)), read(B, BEFORE, 103))


def test_settled_branches_of_one_condition_know_of_each_other() -> None:
    """What happened where sub-groups exist does not matter where they do not."""
    code = (settled((write(A),), ()), settled((), (read(A, BEFORE),)))
    assert insert_barriers(code, constants=[GIVEN]) == code
    assert insert_barriers([settled((write(A),), ()), settled((read(A, BEFORE),), ())],
                           constants=[GIVEN]) == (
        settled((write(A),), ()), settled((BARRIER, read(A, BEFORE)), ()))


def test_both_sides_of_a_settled_branch_together_need_a_plain_barrier() -> None:
    branch = settled((read(A, BEFORE),), (read(A, BEFORE, 102),))
    assert insert_barriers([branch, write(A)], constants=[GIVEN]) == (
        branch, BARRIER, write(A))


def test_settled_barriers_are_dropped_whole() -> None:
    assert insert_barriers([settled((BARRIER,), ()), write(A)]) == (write(A),)
