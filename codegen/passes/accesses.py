"""Accesses of the memory that work-items share, and facts about the names in a kernel.

The law by which a cell belongs to a work-item is found in the form of its index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from runelift.codegen.plan.views import lit
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import blocks, expressions, parts
from runelift.ir.imp.uniformity import VARYING_IN_GROUP
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
    """An access to the shared memory ``mem``."""

    mem: VName
    kind: Kind
    owner: Owner
    case: Case | None = None
    """The case of the kernels that have this access; None for all kernels."""
    first: bool = False
    """True if only the first work-item comes by."""

    def only(self, case: Case) -> Access:
        """The access, restricted to kernels of ``case``."""
        return self if self.case is not None else replace(self, case=case)

    def conflicts(self, other: Access, overlaps: Mapping[VName, VName]) -> bool:
        """True if two work-items may access one element, and one of the accesses is a write."""
        if self.kind is other.kind and self.kind is not Kind.WRITE:
            return False
        if self.first and other.first:
            return False
        if self.mem != other.mem:
            place = overlaps.get(self.mem, self.mem)
            return place == overlaps.get(other.mem, other.mem)
        return self.owner is None or self.owner != other.owner


def padded(position: Exp) -> Exp:
    """The place of element ``position`` in padded local memory.

    One element in 33 is left out.  So work-items that each walk through 2^k elements access
    different banks.
    """
    return imp.Apply("add", Prim.I64, (
        position, imp.Apply("div", Prim.I64, (position, lit(PADDING)))))


@dataclass(slots=True)
class Facts:
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
                case imp.If() if is_first_only(stm):
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
                return kind not in VARYING_IN_GROUP
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
        """The expression behind variables that are set once.

        The place of an element, computed from the indices that were computed from this place, is
        that place again: ``x + (place - x) = place``.
        """
        match exp:
            case imp.Var(name) if name in self.known:
                return self.resolve(self.known[name])
            case imp.Apply(op, prim, args):
                args = tuple(map(self.resolve, args))
                match op, args:
                    case "add", (one, imp.Apply("sub", _, (place, other))) if one == other:
                        return place
                return imp.Apply(op, prim, args)
        return exp

    def unit(self, stm: Stm) -> tuple[bool, frozenset[Access]]:
        """True if barriers may stand inside a statement; also the accesses before the first."""
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
        """The accesses to shared memory in a statement and in its inner statements."""
        if isinstance(stm, imp.Locked):
            yield from self.under_lock(stm, alone)
            return
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
                first_only = alone or (is_first_only(stm) and number == 0)
                yield from self.accesses(inner, alone=first_only)

    def under_lock(self, stm: imp.Locked, alone: bool) -> Iterator[Access]:
        """The accesses of a statement that runs under a lock.

        Accesses to the lock and to the memory that it guards are atomic.  ``alone``: only the first
        work-item of a group runs the statement.
        """
        for exp in expressions(stm):
            yield from self.reads(exp, alone)
        for mem in (stm.locks, *stm.guarded):
            yield Access(mem, Kind.ATOMIC, None, first=alone)
        for inner in stm.body:
            yield from (each for each in self.accesses(inner, alone=alone)
                        if each.mem not in stm.guarded)

    def first_stored(self, stms: Iterable[Stm], first_stored: bool = False) -> bool:
        """True if a store by the first work-item alone is still waiting for a barrier.

        ``first_stored``: such a store was waiting before these statements.
        """
        for stm in stms:
            if isinstance(stm, imp.Barrier):
                first_stored = False
            elif is_first_only(stm):
                first_stored |= any(access.kind is Kind.WRITE for access in self.accesses(stm))
            else:
                inside = [self.first_stored(block, first_stored) for block in blocks(stm)]
                first_stored = any(inside) if inside else first_stored
        return first_stored

    def reads(self, exp: Exp, alone: bool) -> Iterator[Access]:
        """The accesses to shared memory in an expression."""
        if isinstance(exp, imp.Load) and exp.mem not in self.private:
            yield Access(exp.mem, Kind.READ, self.owner(exp.index, alone), first=alone)
        for part in parts(exp):
            yield from self.reads(part, alone)


def is_first_only(stm: Stm) -> bool:
    """True if only the first work-item runs a branch."""
    return isinstance(stm, imp.If) and stm.cond == IS_FIRST


def _is_group_size(exp: Exp) -> bool:
    return isinstance(exp, imp.WorkItem) and exp.kind is imp.Id.LOCAL_SIZE
