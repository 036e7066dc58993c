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
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from runelift.codegen.passes.masks import barriers_outside
from runelift.codegen.plan.views import lit
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import (
    blocks,
    expressions,
    has_barriers,
    parts,
    statements,
    subexpressions,
)
from runelift.ir.names import VName
from runelift.ir.prim import Prim

LID = imp.WorkItem(imp.Id.LOCAL_ID)
IS_FIRST = imp.Apply("eq", Prim.I64, (LID, lit(0)))
"""The condition that a work-item is the first of its group."""
PADDING = 32
"""The number of elements of local memory before each one that is not used; see :func:`padded`."""


class Kind(Enum):
    """The kind of an access.  Atomic accesses do not race with each other."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


Owner: TypeAlias = str | None
"""The law by which cells belong to work-items; None if any work-item may own a cell."""

Case: TypeAlias = tuple[Exp, bool]
"""A condition that is known when the kernel is built, and its value."""


@dataclass(frozen=True, slots=True)
class Access:
    """An access of a shared memory."""

    mem: VName
    kind: Kind
    owner: Owner
    case: Case | None = None
    """The case of the kernels that have this access; None for all kernels."""
    first: bool = False
    """True if only the first work-item comes by."""

    def only(self, case: Case) -> Access:
        """The same access, known to be in kernels of ``case`` alone."""
        return self if self.case is not None else replace(self, case=case)

    def conflicts(self, other: Access, overlaps: Mapping[VName, VName]) -> bool:
        """True if two work-items may meet in a cell, and one of them writes."""
        if self.kind is other.kind and self.kind is not Kind.WRITE:
            return False
        if self.first and other.first:
            return False
        if self.mem != other.mem:
            place = overlaps.get(self.mem, self.mem)
            return place == overlaps.get(other.mem, other.mem)
        return self.owner is None or self.owner != other.owner


def insert_barriers(code: Iterable[Stm], private: Iterable[VName] = (),
                    independent: Iterable[VName] = (),
                    overlaps: Mapping[VName, VName] | None = None,
                    constants: Iterable[VName] = ()) -> tuple[Stm, ...]:
    """``code`` with the barriers it needs; those it has are dropped.

    ``private``: buffers of which each work-item has a separate part.  ``independent``: the indices
    of loops that are units, since no two iterations of any work-items access the same cells.
    ``overlaps`` maps memories in the same place to one representative.  ``constants`` are known
    when the kernel is built.
    """
    stms = tuple(_without_barriers(code))
    facts = _Facts(set(private), set(independent), dict(overlaps or {}), frozenset(constants))
    facts.collect(stms)
    placed, _ = _place(stms, frozenset(), facts)
    return placed


def count_barriers(code: Iterable[Stm]) -> int:
    """The number of barriers in the code."""
    return sum(isinstance(stm, imp.Barrier) or sum(count_barriers(b) for b in blocks(stm))
               for stm in code)


def padded(position: Exp) -> Exp:
    """The place of element ``position`` in padded local memory.

    One element in 33 is left out.  So work-items that each walk through 2^k elements access
    different banks.
    """
    return imp.Apply("add", Prim.I64, (
        position, imp.Apply("div", Prim.I64, (position, lit(PADDING)))))


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


# Facts about names


@dataclass(slots=True)
class _Facts:
    """Facts about names: private memories, variables that differ between work-items, definitions.

    Bodies of loops are visited several times, so the accesses of statements are cached.
    """

    private: set[VName]
    independent: set[VName]
    overlaps: dict[VName, VName]
    constants: frozenset[VName]
    differing: set[VName] = field(default_factory=set)
    known: dict[VName, Exp] = field(default_factory=dict)
    assigned: set[VName] = field(default_factory=set)
    has_first_only: bool = False
    """True if the first work-item does something alone."""
    _units: dict[int, tuple[Stm, bool, frozenset[Access]]] = field(default_factory=dict)
    """Cached by identity, so that statements need not be compared; they are kept alive for that."""

    def collect(self, stms: tuple[Stm, ...]) -> None:
        """Find the facts about a kernel."""
        self._names(stms)
        for name in self.assigned:
            self.known.pop(name, None)
        before = -1
        while before != len(self.differing):
            before = len(self.differing)
            self._differences(stms, False)

    def _names(self, stms: tuple[Stm, ...]) -> None:
        for stm in stms:
            match stm:
                case imp.DeclareArray(name):
                    self.private.add(name)
                case imp.Declare(name, _, init) if init is not None:
                    self.known[name] = init
                case imp.Assign(name):
                    self.assigned.add(name)
                case imp.For(index, start, _, step) if (
                        start == LID and isinstance(step, imp.WorkItem)
                        and step.kind is imp.Id.LOCAL_SIZE):
                    self.known[index] = LID
                case imp.If() if _is_first_only(stm):
                    self.has_first_only = True
            for block in blocks(stm):
                self._names(block)

    def _differences(self, stms: tuple[Stm, ...], divergent: bool) -> None:
        for stm in stms:
            here = divergent or not self.same(stm)
            match stm:
                case imp.Declare(name) | imp.Assign(name) if here:
                    self.differing.add(name)
                case imp.For(index) if here:
                    self.differing.add(index)
                case imp.AtomicUpdate(old=old) | imp.Peek(name=old):
                    self.differing.add(old)
                case imp.Shuffle(name, _, _, source) if not self.uniform(source):
                    self.differing.add(name)
            for block in blocks(stm):
                self._differences(block, here)

    def same(self, stm: Stm) -> bool:
        """True if the expressions of a statement have equal values for all work-items."""
        return all(map(self.uniform, expressions(stm)))

    def uniform(self, exp: Exp) -> bool:
        """True if an expression has one value for the whole group."""
        match exp:
            case imp.Var(name):
                return name not in self.differing
            case imp.WorkItem(kind):
                return kind not in (imp.Id.LOCAL_ID, imp.Id.GLOBAL_ID)
            case imp.Load(mem):
                if mem in self.private:
                    return False
        return all(map(self.uniform, parts(exp)))

    def is_known(self, exp: Exp) -> bool:
        """True if an expression is known when the kernel is built."""
        match exp:
            case imp.Lit():
                return True
            case imp.Var(name):
                return name in self.constants
            case imp.WorkItem(imp.Id.LOCAL_SIZE):
                return bool(self.constants)
            case imp.Apply(_, _, args):
                return all(map(self.is_known, args))
        return False

    def owner(self, index: Exp, alone: bool) -> Owner:
        """The law by which the cell at ``index`` belongs to the running work-item."""
        index = self.resolve(index)
        match index:
            case imp.Apply("add", _, (inner, imp.Apply("div", _, (again, width)))) if (
                    inner == again and width == lit(PADDING)):
                law = self.owner(inner, alone)
                return None if law is None else f"padded {law}"
            case imp.Lit(const) if alone and const.value == 0:
                return "cyclic"
            case imp.Apply("add", _, (imp.Apply("mul", _, (_, size)), last)) if (
                    last == LID and _is_group_size(size)):
                return "cyclic"
            case imp.Apply("add", _, (imp.Apply("mul", _, (first, imp.Var(chunk))), _)) if (
                    first == LID):
                return f"chunks of {chunk}"
        return "cyclic" if index == LID else None

    def resolve(self, exp: Exp) -> Exp:
        """The expression behind variables that are set once."""
        match exp:
            case imp.Var(name) if name in self.known:
                return self.resolve(self.known[name])
            case imp.Apply(op, prim, args):
                return imp.Apply(op, prim, tuple(map(self.resolve, args)))
        return exp

    def unit(self, stm: Stm) -> tuple[bool, frozenset[Access]]:
        """A flag for barriers inside of a statement, and the accesses before the first of them."""
        found = self._units.get(id(stm))
        if found is None:
            together = (isinstance(stm, imp.For | imp.While | imp.If) and self.same(stm)
                        and not (isinstance(stm, imp.For) and stm.index in self.independent))
            own = frozenset(self._own_accesses(stm) if together else self.accesses(stm))
            found = self._units[id(stm)] = stm, together, own
        return found[1:]

    def _own_accesses(self, stm: Stm) -> Iterator[Access]:
        for exp in expressions(stm):
            yield from self.reads(exp, False)

    def accesses(self, stm: Stm, *, alone: bool = False) -> Iterator[Access]:
        """The accesses of shared memory in a statement and all that is inside of it."""
        for exp in expressions(stm):
            yield from self.reads(exp, alone)
        match stm:
            case imp.Store(mem, index) if mem not in self.private:
                yield Access(mem, Kind.WRITE, self.owner(index, alone), first=alone)
            case (imp.Atomic(mem=mem) | imp.AtomicUpdate(mem=mem) | imp.Peek(mem=mem)) if (
                    mem not in self.private):
                yield Access(mem, Kind.ATOMIC, None, first=alone)
        for number, block in enumerate(blocks(stm)):
            for inner in block:
                first_only = alone or (_is_first_only(stm) and number == 0)
                yield from self.accesses(inner, alone=first_only)

    def first_stored(self, stms: Iterable[Stm], first_stored: bool = False) -> bool:
        """True if the first work-item alone stored something since the last barrier.

        ``first_stored``: whether it had before these statements.
        """
        for stm in stms:
            if isinstance(stm, imp.Barrier):
                first_stored = False
            elif _is_first_only(stm):
                first_stored |= any(access.kind is Kind.WRITE for access in self.accesses(stm))
            else:
                inside = [self.first_stored(block, first_stored) for block in blocks(stm)]
                first_stored = any(inside) if inside else first_stored
        return first_stored

    def reads(self, exp: Exp, alone: bool) -> Iterator[Access]:
        """The shared memory that an expression reads."""
        if isinstance(exp, imp.Load) and exp.mem not in self.private:
            yield Access(exp.mem, Kind.READ, self.owner(exp.index, alone), first=alone)
        for part in parts(exp):
            yield from self.reads(part, alone)


def _is_first_only(stm: Stm) -> bool:
    """True if only the first work-item runs a branch."""
    return isinstance(stm, imp.If) and stm.cond == IS_FIRST


def _is_branch(stm: Stm) -> bool:
    """True for a branch or a loop that all work-items come to."""
    return isinstance(stm, imp.If | imp.For | imp.While) and not _is_first_only(stm)


def _begins_with_branch(stms: Iterable[Stm]) -> bool:
    """True if such a branch comes before the first barrier."""
    first = next((stm for stm in stms if isinstance(stm, imp.Barrier) or _is_branch(stm)), None)
    return first is not None and _is_branch(first)


def _is_group_size(exp: Exp) -> bool:
    return isinstance(exp, imp.WorkItem) and exp.kind is imp.Id.LOCAL_SIZE


# Placing


_Pending: TypeAlias = frozenset[Access]
BARRIER = imp.Barrier(imp.Space.LOCAL)


def _place(stms: tuple[Stm, ...], pending: _Pending,
           facts: _Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """Code with barriers, given the accesses since the last barrier; those at its end."""
    placed: list[Stm] = []
    first_stored = False
    for count, stm in enumerate(stms, 1):
        together, own = facts.unit(stm)
        barrier, pending = _separate(own, pending, facts)
        if first_stored and not barrier and _is_branch(stm):
            barrier, pending = (BARRIER,), frozenset()
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
            alone, after_alone = _place_loop_body(stm.body, frozenset(), facts)
            body, after = _place_loop_body(stm.body, pending, facts)
            if count_barriers(body) > count_barriers(alone):
                placed.append(BARRIER)
                pending, body = after_alone | own, alone
            else:
                pending |= after
            if facts.has_first_only and facts.first_stored(body) and _begins_with_branch(body):
                body = *body, BARRIER  # between one iteration and the next
            placed.append(replace(stm, body=body))
            if count < len(stms) and has_barriers(body):
                placed.append(BARRIER)
                pending = frozenset()
        first_stored = facts.has_first_only and facts.first_stored(placed[before:], first_stored)
    return tuple(placed), pending


def _place_branch(stm: imp.If, pending: _Pending, facts: _Facts
                  ) -> tuple[tuple[Stm, ...], _Pending]:
    """A branch of the whole group, or one for each of its sides if there are barriers inside."""
    then_, after_then = _place(stm.then_, pending, facts)
    splits = bool(stm.else_) and _keeps(stm.then_, stm.cond)
    else_, after_else = _place(
        stm.else_, frozenset() if splits and has_barriers(then_) else pending, facts)
    if not has_barriers((*then_, *else_)):
        return (replace(stm, then_=then_, else_=else_),), after_then | after_else
    if else_ and not splits:
        return (replace(stm, then_=then_, else_=else_), BARRIER), frozenset()
    placed = _under(stm.cond, then_, facts)
    if else_:
        placed += _under(imp.Apply("not", Prim.BOOL, (stm.cond,)), else_, facts)
    return placed, frozenset()


def _under(cond: Exp, code: tuple[Stm, ...], facts: _Facts) -> tuple[Stm, ...]:
    """Code under a condition, and a barrier; barriers inside are put outside if possible."""
    if has_barriers(code) and _keeps(code, cond):
        outside = barriers_outside(cond, code, facts.is_known)
        if outside is not None:
            return outside if outside[-1] == BARRIER else (*outside, BARRIER)
    return imp.If(cond, code), BARRIER


def _keeps(code: Iterable[Stm], cond: Exp) -> bool:
    """True if code does not change a condition."""
    changed = {stm.name for stm in statements(code) if isinstance(stm, imp.Assign)}
    asked = [part for part in subexpressions(cond)
             if not isinstance(part, imp.Apply | imp.Lit | imp.WorkItem)]
    return all(isinstance(part, imp.Var) and part.name not in changed for part in asked)


def _separate(own: Iterable[Access], pending: _Pending,
              facts: _Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """The barrier that accesses need before them, if any, and the pending accesses behind it."""
    cases = {b.case for b in pending if any(a.conflicts(b, facts.overlaps) for a in own)}
    if not cases:
        return (), pending
    case, *others = cases
    if case is None or others:
        return (BARRIER,), frozenset()
    cond, value = case
    barrier = imp.If(cond, (BARRIER,), ()) if value else imp.If(cond, (), (BARRIER,))
    return (barrier,), frozenset(a.only((cond, not value)) for a in pending if a.case != case)


def _place_known_branch(stm: imp.If, pending: _Pending, facts: _Facts) -> tuple[imp.If, _Pending]:
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
                     facts: _Facts) -> tuple[tuple[Stm, ...], _Pending]:
    """The body of a loop, where each iteration follows ``before`` or another iteration."""
    pending = before
    while True:
        placed, after = _place(body, pending, facts)
        if after <= pending:
            return placed, after
        pending |= after
