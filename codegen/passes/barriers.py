"""Barriers from the memory accesses of a work-group: the memory access graph.

A barrier stands between two accesses of a shared memory, at least one of which writes.  None is
needed if both are known to access a cell from the same work-item, or if only the first work-item
makes both.

*Places.*  Barriers can stand where all work-items come by.  A statement that only some of them run,
or a loop that they run unequally often, is one unit.  A unit is taken to be free of races; its
author is responsible for that.  In straight-line code a barrier is put as late as possible, which
is optimal.  Back edges of loops count.  A barrier that only the first iteration would need is put
before the loop.  If a branch is decided when the kernel is built, a barrier that only one side
needs stands in a branch of the same condition.

*Workarounds* for PoCL, which turns the code between barriers into loops over work-items:

- A barrier follows a branch with barriers inside: PoCL 3.0 computes wrong results otherwise.
- A barrier follows a loop with barriers inside, unless it is the last statement.  Otherwise PoCL
  3.0 crashes on a loop of two iterations that ends like the code behind it begins.  LLVM merges the
  two branches, so the code after the loop's last barrier has two ends.
- The two sides of a branch with barriers become two branches, one after the other.  PoCL 5.0
  crashes if both sides assign a variable: LLVM merges the stores into a phi node.
- Barriers inside of branches are put outside, and the code between them under the condition. PoCL
  copies all code that follows a branch with barriers.  PoCL 3.0 may then read a value that the
  first work-item stored from the wrong copy.
- A barrier stands between a store by the first work-item alone and a branch of all, also across
  iterations of a loop.  PoCL 3 loses the store otherwise.

Source: LIFT, section 5.4 (Steuwer, Remmelg and Dubach 2017, "Lift: a functional data-parallel IR
for high-performance GPU code generation").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from runelift.codegen.passes.accesses import Access, Facts, is_first_only
from runelift.codegen.passes.masks import barriers_outside
from runelift.codegen.plan.origins import noted
from runelift.ir import imp
from runelift.ir.imp import Exp, Placement, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import blocks, has_barriers, subexpressions
from runelift.ir.names import VName
from runelift.ir.prim import Prim


def insert_barriers(code: Iterable[Stm], private: Iterable[VName] = (),
                    independent: Iterable[VName] = (),
                    overlaps: Mapping[VName, VName] | None = None,
                    constants: Iterable[VName] = ()) -> tuple[Stm, ...]:
    """``code`` with the barriers that it needs; its earlier barriers are dropped.

    ``private``: buffers of which each work-item has a separate part.  ``independent``: the indices
    of loops that are units, since no two iterations of any work-items access the same cells.
    ``overlaps`` maps memories in the same place to one representative.  ``constants`` are known
    when the kernel is built.
    """
    stms = tuple(_without_barriers(code))
    facts = Facts(set(private), set(independent), dict(overlaps or {}), frozenset(constants))
    facts.collect(stms)
    if (origins := noted()) is not None:
        origins.private |= facts.private
        origins.independent |= facts.independent
    placed, _ = _place(stms, frozenset(), facts)
    return placed


def count_barriers(code: Iterable[Stm]) -> int:
    """The number of barriers in the code."""
    return sum(isinstance(stm, imp.Barrier) or sum(count_barriers(b) for b in blocks(stm))
               for stm in code)


def _without_barriers(code: Iterable[Stm]) -> Iterator[Stm]:
    for stm in code:
        match stm:
            case imp.Barrier():
                continue
            case imp.For() | imp.While():
                yield replace(stm, body=tuple(_without_barriers(stm.body)))
            case imp.If(_, then_, else_):
                sides = tuple(_without_barriers(then_)), tuple(_without_barriers(else_))
                if any(sides):
                    yield replace(stm, then_=sides[0], else_=sides[1])
            case _:
                yield stm


def _is_branch(stm: Stm) -> bool:
    """True for a branch or a loop that all work-items come to."""
    return isinstance(stm, imp.If | imp.For | imp.While) and not is_first_only(stm)


def _begins_with_branch(stms: Iterable[Stm]) -> bool:
    """True if a branch or loop of all work-items stands before the first barrier."""
    first = next((stm for stm in stms if isinstance(stm, imp.Barrier) or _is_branch(stm)), None)
    return first is not None and _is_branch(first)


# Placing


_Pending: TypeAlias = frozenset[Access]


def _barrier(placement: Placement) -> imp.Barrier:
    """A new barrier: work-items that wait at different barriers do not meet."""
    return imp.Barrier(imp.Space.LOCAL, placement)


def _place(stms: tuple[Stm, ...], pending: _Pending,
           facts: Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """Code with barriers, and the accesses after its last barrier.

    ``pending`` are the accesses since the last barrier before the code.
    """
    placed: list[Stm] = []
    first_stored = False
    for count, stm in enumerate(stms, 1):
        together, own = facts.unit(stm)
        barrier, pending = _separate(own, pending, facts)
        if first_stored and not barrier and _is_branch(stm):
            barrier, pending = (_barrier(Placement.LONE_STORE),), frozenset()
        before = len(placed)
        placed += barrier
        pending |= own
        if not together:
            placed.append(stm)
        elif isinstance(stm, imp.If) and facts.is_known(stm.cond):
            branch, pending = _place_known_branch(stm, pending, facts)
            placed.append(branch)
        elif isinstance(stm, imp.If):
            branches, pending = _place_branch(stm, pending, facts)
            placed += branches
        else:
            assert isinstance(stm, imp.For | imp.While)
            body, after = _place_loop_body(stm.body, pending, facts)
            alone, after_alone = body, after
            if pending and has_barriers(body):
                alone, after_alone = _place_loop_body(stm.body, frozenset(), facts)
            if count_barriers(body) > count_barriers(alone):
                placed.append(_barrier(Placement.BEFORE_LOOP))
                pending, body = after_alone | own, alone
            else:
                pending |= after
            if facts.has_first_only and facts.first_stored(body) and _begins_with_branch(body):
                # between one iteration and the next
                body = *body, _barrier(Placement.LONE_STORE)
            placed.append(replace(stm, body=body))
            if count < len(stms) and has_barriers(body):
                placed.append(_barrier(Placement.AFTER_LOOP))
                pending = frozenset()
        first_stored = facts.has_first_only and facts.first_stored(placed[before:], first_stored)
    return tuple(placed), pending


def _place_branch(stm: imp.If, pending: _Pending, facts: Facts
                  ) -> tuple[tuple[Stm, ...], _Pending]:
    """A branch of the whole group, or one for each of its sides if there are barriers inside."""
    then_, after_then = _place(stm.then_, pending, facts)
    splits = bool(stm.else_) and _keeps(stm.then_, stm.cond)
    else_, after_else = _place(
        stm.else_, frozenset() if splits and has_barriers(then_) else pending, facts)
    if not has_barriers((*then_, *else_)):
        return (replace(stm, then_=then_, else_=else_),), after_then | after_else
    if else_ and not splits:
        return (replace(stm, then_=then_, else_=else_),
                _barrier(Placement.AFTER_BRANCH)), frozenset()
    placed = _under(stm.cond, then_, facts)
    if else_:
        placed += _under(imp.Apply("not", Prim.BOOL, (stm.cond,)), else_, facts)
    return placed, frozenset()


def _under(cond: Exp, code: tuple[Stm, ...], facts: Facts) -> tuple[Stm, ...]:
    """Code under a condition, and a barrier; barriers inside are put outside if possible."""
    if has_barriers(code) and _keeps(code, cond):
        outside = barriers_outside(cond, code, facts.is_known)
        if outside is not None:
            return outside if isinstance(outside[-1], imp.Barrier) else (
                *outside, _barrier(Placement.AFTER_BRANCH))
    return imp.If(cond, code), _barrier(Placement.AFTER_BRANCH)


def _keeps(code: Iterable[Stm], cond: Exp) -> bool:
    """True if code does not change a condition."""
    changed = assigned(code)
    asked = [part for part in subexpressions(cond)
             if not isinstance(part, imp.Apply | imp.Lit | imp.WorkItem)]
    return all(isinstance(part, imp.Var) and part.name not in changed for part in asked)


def _separate(own: Iterable[Access], pending: _Pending,
              facts: Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """The barrier that accesses need before them, if any, and the pending accesses behind it."""
    cases = {b.case for b in pending if any(a.conflicts(b, facts.overlaps) for a in own)}
    if not cases:
        return (), pending
    case, *others = cases
    placed = _barrier(Placement.DEPENDENCE)
    if case is None or others:
        return (placed,), frozenset()
    cond, value = case
    barrier = imp.If(cond, (placed,), ()) if value else imp.If(cond, (), (placed,))
    return (barrier,), frozenset(a.only((cond, not value)) for a in pending if a.case != case)


def _place_known_branch(stm: imp.If, pending: _Pending, facts: Facts) -> tuple[imp.If, _Pending]:
    """A branch of which only one side is in the kernel."""
    sides: list[tuple[tuple[Stm, ...], _Pending]] = []
    for value, side in ((True, stm.then_), (False, stm.else_)):
        before = frozenset(replace(a, case=None) if a.case == (stm.cond, value) else a
                           for a in pending if a.case != (stm.cond, not value))
        sides.append(_place(side, before, facts))
    (then_, after_then), (else_, after_else) = sides
    both = after_then & after_else
    return replace(stm, then_=then_, else_=else_), both.union(
        (a.only((stm.cond, True)) for a in after_then - both),
        (a.only((stm.cond, False)) for a in after_else - both))


def _place_loop_body(body: tuple[Stm, ...], before: _Pending,
                     facts: Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """The body of a loop, where each iteration follows ``before`` or another iteration."""
    pending = before
    while True:
        placed, after = _place(body, pending, facts)
        if after <= pending:
            return placed, after
        pending |= after
