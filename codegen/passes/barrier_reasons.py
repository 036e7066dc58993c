"""Reasons for the barriers of a kernel: the pairs of accesses that each of them separates.

A finished kernel is followed along its control flow.  A barrier separates two accesses if a path
from the first to the second meets it and no other barrier.  Both must depend on each other by the
laws of :mod:`runelift.codegen.passes.accesses`.  So barriers of
:mod:`runelift.codegen.passes.barriers` and barriers that lowerings write are explained alike.

Source: LIFT, section 5.4 (Steuwer, Remmelg and Dubach 2017, "Lift: a functional data-parallel IR
for high-performance GPU code generation"); the graph is of all accesses there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.codegen.passes.accesses import Access, Facts, Kind, is_first_only
from runelift.codegen.passes.local_memory import places
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.base.source import Loc
from runelift.ir.imp import Exp, Id, Kernel, Stm
from runelift.ir.imp.pretty import pretty_expression
from runelift.ir.imp.traverse import blocks, expressions, subexpressions
from runelift.ir.names import VName
from runelift.ir.prim import Prim

MOST_PAIRS = 2
"""The most pairs of a barrier that the text shows."""
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "quot": "/", "mod": "%", "rem": "%"}
_SHORT = {Id.LOCAL_ID: "lid", Id.GROUP_ID: "group", Id.LOCAL_SIZE: "group_size",
          Id.GLOBAL_ID: "gid", Id.NUM_GROUPS: "groups", Id.GLOBAL_SIZE: "global_size",
          Id.FAILURE: "failed"}


@dataclass(frozen=True, slots=True)
class AccessSite:
    """An access of shared memory in a kernel, numbered in the order of the text."""

    number: int
    access: Access
    index: str
    loc: Loc | None

    def __str__(self) -> str:
        place = f" at {self.loc}" if self.loc is not None else ""
        return f"{self.access.kind.value} {self.access.mem}[{self.index}]{place}"


@dataclass(frozen=True, slots=True)
class Separated:
    """Two accesses that a barrier separates, and why they may not meet."""

    before: AccessSite
    after: AccessSite

    @property
    def comes_round(self) -> bool:
        """True if the second access is in a later iteration of a loop than the first."""
        return self.before.number >= self.after.number

    @property
    def reason(self) -> str:
        """The reason why work-items must not be at both accesses at a time."""
        one, other = self.before.access, self.after.access
        if one.mem != other.mem:
            return f"{one.mem} and {other.mem} have one place in local memory"
        if other.kind is Kind.READ:
            return "the cell that a work-item reads may be one that another has written"
        if one.kind is Kind.READ:
            return "the cell that a work-item changes may be one that another still reads"
        return "two work-items may change one cell"


@dataclass(frozen=True, slots=True)
class ExplainedBarrier:
    """A barrier of a kernel, the index of the loop around it, and the pairs that it separates."""

    number: int
    placement: imp.Placement
    loop: VName | None
    pairs: tuple[Separated, ...]

    def render(self) -> Iterator[str]:
        """The lines that explain the barrier."""
        inside = f", in the loop over {self.loop}" if self.loop is not None else ""
        yield f"barrier {self.number}{inside}: {self.placement.value}"
        shown = self.pairs[:MOST_PAIRS]
        for pair in shown:
            later = ", in a later iteration" if pair.comes_round else ""
            yield f"  separates {pair.before}"
            yield f"       from {pair.after}{later}"
            yield f"    because {pair.reason}"
        if len(self.pairs) > len(shown):
            yield f"  and {len(self.pairs) - len(shown)} more pairs"
        if not self.pairs:
            yield "  separates no two accesses that depend on each other"


@dataclass(frozen=True, slots=True)
class Follows:
    """An access that comes next after another, with the number of the barrier between them."""

    before: int
    after: int
    barrier: int | None


@dataclass(frozen=True, slots=True)
class ExplainedKernel:
    """The barriers of a kernel, its accesses, and which comes next after which."""

    name: str
    comment: str
    barriers: tuple[ExplainedBarrier, ...]
    sites: tuple[AccessSite, ...]
    order: tuple[Follows, ...]

    def render(self) -> str:
        """The explanation as text."""
        count = len(self.barriers)
        title = f"kernel {self.name} ({self.comment}): {count} barrier{'s' * (count != 1)}"
        return "\n".join([title, *(f"  {line}" for each in self.barriers
                                   for line in each.render())])


def explain_barriers(kernel: Kernel, origins: Origins) -> ExplainedKernel:
    """The barriers of a kernel with their reasons; ``origins`` were noted when it was made."""
    facts = Facts(set(origins.private), set(origins.independent), places(kernel.locals),
                  frozenset(kernel.built_for))
    facts.collect(kernel.body)
    walk = _Walk(facts, origins)
    walk.block(kernel.body, _State(), False, None)
    local = {array.name for array in kernel.locals}
    return ExplainedKernel(
        kernel.name, kernel.comment,
        tuple(ExplainedBarrier(number, barrier.placement, loop, walk.pairs(number, local))
              for number, (barrier, loop) in enumerate(walk.barriers, 1)),
        tuple(walk.sites),
        tuple(sorted(walk.order, key=lambda f: (f.before, f.after, f.barrier or 0))))


_Last: TypeAlias = tuple[int, int | None]
"""The number of an access, and of the last barrier since."""


@dataclass(frozen=True, slots=True)
class _State:
    """The accesses since the last barriers, these barriers, and the latest accesses."""

    pending: frozenset[int] = frozenset()
    barriers: frozenset[int] = frozenset()
    last: frozenset[_Last] = frozenset()

    def joined(self, other: _State) -> _State:
        """The state where two paths meet."""
        return _State(self.pending | other.pending, self.barriers | other.barriers,
                      self.last | other.last)


@dataclass(slots=True)
class _Walk:
    """Follows the control flow of a kernel; loops are followed until nothing new comes round."""

    facts: Facts
    origins: Origins
    sites: list[AccessSite] = field(default_factory=list)
    barriers: list[tuple[imp.Barrier, VName | None]] = field(default_factory=list)
    order: set[Follows] = field(default_factory=set)
    _before: dict[int, set[int]] = field(default_factory=dict)
    _after: dict[int, set[int]] = field(default_factory=dict)
    _known: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """The numbers of accesses by statement, and by the number of the block that comes next."""
    _numbers: dict[int, int] = field(default_factory=dict)

    def block(self, code: Sequence[Stm], state: _State, alone: bool, loop: VName | None) -> _State:
        """The state behind the statements of a block."""
        for stm in code:
            state = self._statement(stm, state, alone, loop)
        return state

    def _statement(self, stm: Stm, state: _State, alone: bool, loop: VName | None) -> _State:
        match stm:
            case imp.Barrier():
                number = self._numbers.get(id(stm))
                if number is None:
                    self.barriers.append((stm, loop))
                    number = self._numbers[id(stm)] = len(self.barriers)
                self._before.setdefault(number, set()).update(state.pending)
                self._after.setdefault(number, set())
                return _State(frozenset(), frozenset([number]),
                              frozenset((site, number) for site, _ in state.last))
            case imp.For(body=body) | imp.While(body=body):
                before = state = self._touch(stm, state, alone)
                index = stm.index if isinstance(stm, imp.For) else loop
                once = isinstance(stm, imp.For) and stm.index in self.facts.independent
                while True:
                    after = self.block(body, state, alone, index)
                    if once or (joined := state.joined(after)) == state:
                        return before.joined(after)
                    state = joined
            case imp.If(_, then_, else_):
                state = self._touch(stm, state, alone)
                only = alone or is_first_only(stm)
                return self.block(then_, state, only, loop).joined(
                    self.block(else_, state, alone, loop))
        state = self._touch(stm, state, alone)
        for inner in blocks(stm):
            state = self.block(inner, state, alone, loop)
        return state

    def _touch(self, stm: Stm, state: _State, alone: bool) -> _State:
        """The state after the accesses of a statement, without inner statements."""
        known = self._known.get((id(stm), alone))
        if known is None:
            known = self._known[id(stm), alone] = []
            loc = self.origins.of(stm)
            for access, index in self._accesses(stm, alone):
                known.append(len(self.sites))
                self.sites.append(AccessSite(len(self.sites), access, _text(index), loc))
        for number in known:
            for barrier in state.barriers:
                self._after[barrier].add(number)
            self.order.update(Follows(site, number, barrier) for site, barrier in state.last)
            state = _State(state.pending | {number}, state.barriers, frozenset([(number, None)]))
        return state

    def _accesses(self, stm: Stm, alone: bool) -> Iterator[tuple[Access, Exp]]:
        """The accesses that a statement makes outside of its blocks, with their indices."""
        for exp in subexpressions(*expressions(stm)):
            if isinstance(exp, imp.Load) and exp.mem not in self.facts.private:
                owner = self.facts.owner(exp.index, alone)
                yield Access(exp.mem, Kind.READ, owner, first=alone), exp.index
        match stm:
            case imp.Store(mem, index) if mem not in self.facts.private:
                owner = self.facts.owner(index, alone)
                yield Access(mem, Kind.WRITE, owner, first=alone), index
            case (imp.Atomic(mem=mem, index=index) | imp.AtomicUpdate(mem=mem, index=index)
                  | imp.Peek(mem=mem, index=index)) if mem not in self.facts.private:
                yield Access(mem, Kind.ATOMIC, None, first=alone), index
            case imp.Locked(index=index):
                yield from ((each, index) for each in self.facts.under_lock(stm, alone))

    def pairs(self, number: int, local: set[VName]) -> tuple[Separated, ...]:
        """The pairs that a barrier separates: in local memory if there are any, nearest first."""
        found = [Separated(self.sites[one], self.sites[other])
                 for one in self._before[number] for other in self._after[number]
                 if self.sites[one].access.conflicts(self.sites[other].access,
                                                     self.facts.overlaps)]
        inside = [pair for pair in found if pair.before.access.mem in local]
        return tuple(_distinct(sorted(inside or found, key=lambda pair: (
            pair.comes_round, abs(pair.after.number - pair.before.number)))))


def _distinct(pairs: Sequence[Separated]) -> Iterator[Separated]:
    """Pairs, without a pair that reads like an earlier one."""
    seen: dict[tuple[str, str], None] = {}
    for pair in pairs:
        key = str(pair.before), str(pair.after)
        if key not in seen:
            seen[key] = None
            yield pair


def _text(index: Exp) -> str:
    """An index as people write it."""
    match index:
        case imp.Apply(op, Prim.I64, (left, right)) if op in _INFIX:
            sides = (f"({_text(each)})" if isinstance(each, imp.Apply) and not (
                op == "add" and each.op in ("add", "mul")) else _text(each)
                for each in (left, right))
            return f" {_INFIX[op]} ".join(sides)
        case imp.Apply(op, _, args):
            return f"{op}({', '.join(map(_text, args))})"
        case imp.Load(mem, inner):
            return f"{mem}[{_text(inner)}]"
        case imp.Lit(const):
            return str(const.value)
        case imp.WorkItem(kind):
            return _SHORT[kind]
        case imp.Select(cond, then_, else_):
            return f"if {_text(cond)} then {_text(then_)} else {_text(else_)}"
        case imp.Convert(_, _, arg):
            return _text(arg)
    return pretty_expression(index)


def facts_of(explained: ExplainedKernel) -> Mapping[str, object]:
    """The explanation of a kernel's barriers as a JSON object: kernel, comment, barriers."""
    def site(each: AccessSite) -> Mapping[str, object]:
        return {"array": str(each.access.mem), "kind": each.access.kind.value,
                "index": each.index, "at": None if each.loc is None else str(each.loc)}

    return {"kernel": explained.name, "comment": explained.comment, "barriers": [
        {"number": each.number, "placement": each.placement.value,
         "loop": None if each.loop is None else str(each.loop),
         "pairs": [{"before": site(pair.before), "after": site(pair.after),
                    "later_iteration": pair.comes_round, "because": pair.reason}
                   for pair in each.pairs]} for each in explained.barriers]}
