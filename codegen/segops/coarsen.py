"""Coarsening: code for one point becomes code for several, which are computed together.

The points are *lanes*.  Code that differs between lanes runs in short unrolled loops over them.
Code that does not differ between lanes runs once.  Loops of the same length for all lanes go around
them, not inside.  So the compiler sees the loads of neighbouring points next to each other, and
loads a common element once.  Each point is computed by the same operations in the same order as
before.

Indices are written as a common part plus the part that differs, with the sum of lane numbers first.
So compilers see that lane (0, 1) loads the same element as lane (1, 0).

Quotients by roots are computed by a quick method with one check for all lanes
(:mod:`~runelift.codegen.passes.rsqrt`).

Values that live from one loop over the lanes to another are in private arrays with a cell for each
lane.  Compilers keep these in registers once the loops are unrolled.  Values that follow from
indices alone are computed again instead.

Source: unroll and jam (Callahan, Carr and Kennedy 1990, "Improving register allocation for
subscripted variables").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.codegen.plan.views import all_of, lit, negated, op
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned, scalars_read
from runelift.ir.imp.traverse import (
    blocks,
    expressions,
    map_parts,
    map_statement,
    memories,
    statements,
    subexpressions,
    touched_by,
    variables,
)
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import Const, i64, zero

CHEAP_INDEX_OPERATIONS = frozenset({"add", "sub", "mul", "min", "max"})
"""Operations on indices that take no longer than loading their result."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """Indices whose combinations are computed together, each below a constant of the kernel.

    The constant ``cells`` is the number of combinations, ``cell`` the number of the present one.
    """

    indices: tuple[tuple[VName, VName], ...]
    cells: VName
    cell: Exp


@dataclass(slots=True)
class _Run:
    """Statements that are executed for one lane after the other; ``root``: a quotient by a root."""

    stms: list[Stm] = field(default_factory=list)
    root: bool = False


@dataclass(frozen=True, slots=True)
class _LoopAround:
    """A loop around lanes."""

    loop: imp.For
    inside: list[_Item]


_Item: TypeAlias = "_Run | _LoopAround | Stm"


def coarsen(names: Names, code: Sequence[Stm], lanes: Lanes, unroll: VName | bool = False,
            before: Mapping[VName, Sequence[Stm]] | None = None) -> list[Stm]:
    """The code for all lanes at once; ``unroll`` applies to innermost loops around lanes.

    ``before`` has code that is executed once for all lanes, before the loop with an index.
    CompilerLimitation if a private array is needed in different loops over the lanes.
    """
    return _Coarsener(names, lanes, code, unroll, before or {}).result()


def varying(code: Sequence[Stm], seeds: Iterable[VName]) -> set[VName]:
    """The scalars and arrays of code whose values depend on ``seeds``, with these."""
    found, before = set(seeds), -1
    written = written_by(code)
    while before != len(found):
        before = len(found)
        for stm in code:
            _note(stm, found, written, under=False)
    return found


def written_by(code: Sequence[Stm]) -> set[VName]:
    """The memories that code changes."""
    return {s.mem for s in statements(code) if isinstance(
        s, imp.Store | imp.Atomic | imp.AtomicUpdate | imp.Peek)}


def varies(exp: Exp, varying: Set[VName], written: Set[VName]) -> bool:
    """True if lanes may find different values, or the same value may change in memory."""
    return not (variables(exp).isdisjoint(varying) and memories(exp).isdisjoint(written))


def _note(stm: Stm, found: set[VName], written: set[VName], *, under: bool) -> None:
    """Add the names that a statement makes differ; ``under``: its execution differs, too."""
    differs = under or any(varies(exp, found, written) for exp in expressions(stm))
    match stm:
        case imp.Declare(name) | imp.Assign(name) | imp.DeclareArray(name) if differs:
            found.add(name)
        case imp.For(index) if differs:
            found.add(index)
        case imp.Atomic(old=old) | imp.AtomicUpdate(old=old) if old is not None:
            found.add(old)
            differs = True
        case imp.Peek(name):
            found.add(name)
    for block in blocks(stm):
        for inner in block:
            _note(inner, found, written, under=differs)


class _Coarsener:
    def __init__(self, names: Names, lanes: Lanes, code: Sequence[Stm], unroll: VName | bool,
                 before: Mapping[VName, Sequence[Stm]]) -> None:
        self.names = names
        self.lanes = lanes
        self.unroll = unroll
        self.before = before
        self.written = written_by(code)
        self.varying = varying(code, (index for index, _ in lanes.indices))
        self.assigned = assigned(code)
        while not self.assigned <= self.varying and (
                shared := self._shared(self._split(code)) - self.varying):
            self.varying = varying(code, self.varying | shared)
        self.sums = {index: Sum.of(index) for index, _ in lanes.indices}
        code = self._summed(code)
        self.items = self._split(code)
        self.types = {s.name: s.prim for s in statements(code) if isinstance(s, imp.Declare)}
        self.repeated: dict[VName, imp.Declare] = {}
        self.kept: set[VName] = set()
        self._find_crossing(code)

    def result(self) -> list[Stm]:
        """The coarsened code."""
        return list(self._emit(self.items))

    def _varies(self, exp: Exp) -> bool:
        """True if lanes may find different values."""
        return varies(exp, self.varying, self.written)

    # Indices

    def _summed(self, code: Sequence[Stm]) -> list[Stm]:
        """The code with indices that differ between lanes as sums."""
        found: list[Stm] = []
        for stm in code:
            match stm:
                case imp.Declare(name, Prim.I64, init) if (
                        init is not None and name in self.varying and name not in self.assigned
                        and (total := self._sum(init)) is not None):
                    base = self.names.fresh("base")
                    self.sums[name] = replace(total, same=imp.Var(base))
                    found += [imp.Declare(base, Prim.I64, total.same),
                              imp.Declare(name, Prim.I64, self.sums[name].exp())]
                case imp.For(body=body):
                    found.append(replace(stm, body=tuple(self._summed(body))))
                case _:
                    found.append(stm)
        return found

    def _sum(self, exp: Exp) -> Sum | None:
        """An index as a sum; None for other expressions."""
        return as_sum(exp, self.sums, self.varying)

    # Loops around lanes

    def _split(self, code: Sequence[Stm]) -> list[_Item]:
        items: list[_Item] = []
        for stm in code:
            match stm:
                case imp.For() if not any(map(self._varies, expressions(stm))):
                    items.append(_LoopAround(stm, self._split(stm.body)))
                case imp.Declare(name, _, init) if init is not None and name not in self.varying:
                    # independent of the run before it, so it may go first
                    place = len(items) - (bool(items) and isinstance(items[-1], _Run))
                    items.insert(place, stm)
                case imp.Declare(name) | imp.Assign(name) if name not in self.varying:
                    items.append(stm)
                case imp.Declare(_, _, imp.Apply("div_sqrt")):
                    items.append(_Run([stm], root=True))
                case _:
                    if not items or not isinstance(items[-1], _Run) or items[-1].root:
                        items.append(_Run())
                    items[-1].stms.append(stm)  # type: ignore[union-attr]
        return items

    # Variables

    def _shared(self, items: Sequence[_Item]) -> set[VName]:
        """The variables that a lane would find as another lane has left them.

        A run assigns them, and reads them before.  Or a statement reads them that is executed once.
        """
        found, changed = set[VName](), set[VName]()
        for run in _runs(items):
            read, _ = _read_first(run.stms)
            names = assigned(run.stms)
            found |= read & names
            changed |= names
        return found | (changed & scalars_read(_single(items)))

    def _find_crossing(self, code: Sequence[Stm]) -> None:
        runs = [_touched(run.stms) for run in _runs(self.items)]
        declared = {s.name: s for run in _runs(self.items) for s in run.stms
                    if isinstance(s, imp.Declare)}
        for stm in statements(code):
            match stm:
                case imp.Declare(name, _, init) if name in self.varying and name in declared:
                    crossing = sum(name in run for run in runs) > 1
                    if init is not None and name not in self.assigned and self._is_index(init):
                        self.repeated[name] = stm
                    elif crossing:
                        self.kept.add(name)
                case imp.DeclareArray(name) if sum(name in run for run in runs) > 1:
                    raise CompilerLimitation(
                        "a blocked reduction cannot keep an array for every point")

    def _is_index(self, exp: Exp) -> bool:
        """True if a value follows from indices, and is as cheap to compute as to keep."""
        return not memories(exp) and all(
            name in self.repeated or name not in self.varying or self._is_lane(name)
            for name in variables(exp)) and _is_simple(exp)

    def _is_lane(self, name: VName) -> bool:
        return any(name == index for index, _ in self.lanes.indices)

    # Code

    def _emit(self, items: Sequence[_Item]) -> Iterator[Stm]:
        for item in items:
            match item:
                case _Run(stms):
                    yield from self._arrays(stms)
                    yield from self._quotients(stms[0]) if item.root else [self._for_all(stms)]
                case _LoopAround(loop, inside):
                    innermost = not any(isinstance(each, _LoopAround) for each in inside)
                    yield from self.before.get(loop.index, ())
                    yield replace(loop, body=tuple(self._emit(inside)),
                                  unroll=loop.unroll or (innermost and self.unroll))
                case _:
                    yield item

    def _arrays(self, stms: Sequence[Stm]) -> Iterator[Stm]:
        """The cells of variables that are declared in these statements and used outside of them."""
        for stm in stms:
            if isinstance(stm, imp.Declare) and stm.name in self.kept:
                yield imp.DeclareArray(stm.name, stm.prim, self.lanes.cells)

    def _quotients(self, stm: Stm) -> list[Stm]:
        """Quotients by roots, by the quick method if it is right for all lanes."""
        assert isinstance(stm, imp.Declare)
        assert isinstance(stm.init, imp.Apply)
        easy = self.names.fresh("easy")
        near = replace(stm.init, op="div_sqrt_near")
        holds = all_of(imp.Var(easy), replace(stm.init, op="div_sqrt_easy"))
        return [imp.Declare(easy, Prim.BOOL, imp.Lit(Const(True, Prim.BOOL))),
                self._for_all([replace(stm, init=near), imp.Assign(easy, holds)]),
                imp.If(negated(imp.Var(easy)), (self._for_all([stm]),))]

    def _for_all(self, stms: Sequence[Stm]) -> Stm:
        """The loops over the lanes around a run."""
        needed, own = _touched(stms), {s.name for s in stms if isinstance(s, imp.Declare)}
        again: list[Stm] = []
        for name, stm in reversed(self.repeated.items()):
            if name in needed and name not in own:
                again.insert(0, stm)
                needed |= _touched([stm])
        body: tuple[Stm, ...] = tuple(self._stm(s) for s in (*again, *stms))
        for index, count in reversed(self.lanes.indices):
            body = (imp.For(index, imp.Lit(i64(0)), imp.Var(count), imp.Lit(i64(1)), body,
                            unroll=True),)
        return body[0]

    def _stm(self, stm: Stm) -> Stm:
        """A statement with cells in place of the variables that are kept in them."""
        match stm:
            case imp.Declare(name, prim, init) if name in self.kept:
                value = imp.Lit(zero(prim)) if init is None else self._exp(init)
                return imp.Store(name, self.lanes.cell, value, prim)
            case imp.Assign(name, value) if name in self.kept:
                return imp.Store(name, self.lanes.cell, self._exp(value), self.types[name])
        return map_statement(stm, self._exp, self._stm)

    def _exp(self, exp: Exp) -> Exp:
        if isinstance(exp, imp.Var) and exp.name in self.kept:
            return imp.Load(exp.name, self.lanes.cell, self.types[exp.name])
        return map_parts(exp, self._exp)


@dataclass(frozen=True, slots=True)
class Sum:
    """``same``, plus factors times sums of lane indices; neither part differs between lanes."""

    same: Exp
    lanes: tuple[tuple[Exp, tuple[VName, ...]], ...] = ()

    @staticmethod
    def of(index: VName) -> Sum:
        """The sum that is the index ``index`` of a lane."""
        return Sum(lit(0), ((lit(1), (index,)),))

    def plus(self, other: Sum) -> Sum:
        """The sum of both: indices with the same factor are added first."""
        found = dict(self.lanes)
        for factor, indices in other.lanes:
            found[factor] = tuple(sorted((*found.get(factor, ()), *indices), key=lambda n: n.tag))
        return Sum(op("add", self.same, other.same), tuple(found.items()))

    def times(self, factor: Exp) -> Sum:
        """The sum, multiplied by ``factor``."""
        return Sum(op("mul", self.same, factor),
                   tuple((op("mul", each, factor), indices) for each, indices in self.lanes))

    def exp(self) -> Exp:
        """The expression that computes the sum."""
        total = self.same
        for factor, indices in self.lanes:
            number: Exp = imp.Var(indices[0])
            for index in indices[1:]:
                number = op("add", number, imp.Var(index))
            total = op("add", total, op("mul", number, factor))
        return total


def as_sum(exp: Exp, sums: Mapping[VName, Sum], varying: Set[VName]) -> Sum | None:
    """An index as a sum; None for other expressions.  ``sums`` has the sums of varying names."""
    if not memories(exp) and variables(exp).isdisjoint(varying):
        return Sum(exp)
    match exp:
        case imp.Var(name):
            return sums.get(name)
        case imp.Apply("add" | "sub" | "mul" as operation, Prim.I64, (left, right)):
            one, other = as_sum(left, sums, varying), as_sum(right, sums, varying)
            if one is None or other is None:
                return None
            if operation == "mul":
                return (one.times(other.same) if not other.lanes else
                        other.times(one.same) if not one.lanes else None)
            return one.plus(other if operation == "add" else other.times(lit(-1)))
    return None


def _runs(items: Sequence[_Item]) -> Iterator[_Run]:
    for item in items:
        match item:
            case _Run():
                yield item
            case _LoopAround(_, inside):
                yield from _runs(inside)


def _single(items: Sequence[_Item]) -> Iterator[Stm]:
    """The statements that are executed once for all lanes, without loops."""
    for item in items:
        match item:
            case _LoopAround(_, inside):
                yield from _single(inside)
            case imp.Declare() | imp.Assign():
                yield item


def _read_first(stms: Sequence[Stm], known: Set[VName] = frozenset()
                ) -> tuple[set[VName], set[VName]]:
    """The names that statements may read before they set them, and the names that are set then.

    The names ``known`` are set before.
    """
    read, done = set[VName](), set(known)
    for stm in stms:
        read |= scalars_read([stm]) - done
        inner = [_read_first(block, done) for block in blocks(stm)]
        read = read.union(*(names for names, _ in inner))
        if isinstance(stm, imp.Declare | imp.Assign):
            done.add(stm.name)
        elif isinstance(stm, imp.If):
            done |= set.intersection(*(names for _, names in inner))
    return read, done


def _touched(stms: Sequence[Stm]) -> set[VName]:
    """The scalars and memories that statements read or change."""
    found: set[VName] = set()
    for stm in statements(stms):
        found |= touched_by(stm).union(*map(variables, expressions(stm)))
        if isinstance(stm, imp.Declare | imp.DeclareArray | imp.Assign):
            found.add(stm.name)
    return found


def _is_simple(exp: Exp) -> bool:
    """True if a value is an i64 that few integer operations compute."""
    return all(isinstance(part, imp.Var | imp.Lit) or (
        isinstance(part, imp.Apply) and part.op in CHEAP_INDEX_OPERATIONS and part.prim is Prim.I64)
        for part in subexpressions(exp))
