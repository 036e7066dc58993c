"""Loops behind a failed check, whose length may be a wrong value.

Failures do not stop a kernel, so code behind a check may run with a wrong index or a wrong length.
A ``while`` loop asks in each iteration whether a check has failed, as it might not end otherwise.
A loop of known length ends in any case, but a wrong length may be very long.  Such a loop asks
once, before it begins.

Lowering writes the length of each loop of the program as a selection by a *mark*.  When the kernel
is complete, selections are kept where the length may be wrong, and stand before the loop.
Elsewhere the length alone stays, so kernels without such loops have no trace of the marks.

No iteration of such a loop runs behind a failed check.  So accesses in it need not ask again
whether a slice was inside of its array, and compilers see plain addresses.  A loop over such a
slice asks for that alone, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import (
    blocks,
    expressions,
    map_blocks,
    map_parts,
    map_statement,
    memories,
    statements,
    subexpressions,
    variables,
)
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import i64

ITEM = imp.Var(VName("fine", -1))
"""The mark for: no check of this work-item has failed."""
GROUP = imp.Var(VName("fine", -2))
"""The mark for: no check of this work-group has failed."""


def marked(length: Exp, mark: imp.Var) -> Exp:
    """The length of a loop of the program, which is 0 where a check has failed."""
    return imp.Select(mark, length, imp.Lit(i64(0)), Prim.I64)


def with_ends(code: Sequence[Stm], asked: Iterable[VName], names: Names,
              fine: Mapping[imp.Var, Callable[[], Exp]]) -> list[Stm]:
    """The code with its marks replaced or taken away.

    ``asked``: the variables that checks ask for.  ``fine`` makes the condition of each mark.
    """
    failing = set[int]()
    _note_failing(code, failing)
    return [*_Ends(code, asked, names, fine, failing).block(code)]


def with_notes(code: Sequence[Stm], note: Stm) -> list[Stm]:
    """Code that notes each failure by a statement as well."""
    def noted(stm: Stm) -> Stm:
        match stm:
            case imp.If(_, (imp.Fail(), *_) as failure):
                return replace(stm, then_=(*failure, note))
        return map_statement(stm, lambda exp: exp, noted)

    return list(map(noted, code))


def _doubtful(code: Sequence[Stm], asked: Iterable[VName]) -> set[VName]:
    """The variables and memories whose values may be wrong where a check has failed.

    They are what checks ask for, elements of which that is computed, and what is computed from
    these.  Indices of loops and of work-items are right in any case.
    """
    uses, users = _uses(code)
    elements = _reached((name for _, name, _, mems in uses if mems), users)
    inputs = dict[VName, list[VName]]()
    for stm, name, names, _ in uses:
        if isinstance(stm, imp.Declare | imp.Assign):
            inputs.setdefault(name, []).extend(names & elements if name in elements else names)
    found = _reached(asked, inputs)
    return _reached(found, users) if found else elements


def _uses(code: Sequence[Stm]) -> tuple[
        list[tuple[Stm, VName, set[VName], set[VName]]], Mapping[VName, Sequence[VName]]]:
    """Names with the variables and memories they are computed from, and what each is used for."""
    uses = [(stm, name, variables(exp), memories(exp)) for stm in statements(code)
            if (name := _computes(stm)) is not None for exp in expressions(stm)]
    users = dict[VName, list[VName]]()
    for _, name, names, mems in uses:
        for used in names | mems:
            users.setdefault(used, []).append(name)
    return uses, users


def led_by_elements(kernel: imp.Kernel) -> bool:
    """True if elements that a kernel loads may decide where it loads or stores, or what it runs.

    Otherwise its accesses are inside of arrays whatever elements these have.  Divisors count, too,
    as processors stop at 0.  What atomic operations return counts as no element: numbers of tiles,
    for one.
    """
    given = {param.name for param in kernel.params if isinstance(param, imp.BufferParam)}
    uses, users = _uses(kernel.body)
    elements = given | _reached((name for _, name, _, mems in uses if mems & given), users)
    return any(not elements.isdisjoint(variables(exp) | memories(exp))
               for stm in statements(kernel.body) for exp in _leading(stm))


def _leading(stm: Stm) -> Iterator[Exp]:
    """The expressions of a statement that decide where it loads or stores, what runs, or traps."""
    if isinstance(stm, imp.For | imp.While | imp.If):
        yield from expressions(stm)
    elif isinstance(stm, imp.Store | imp.Atomic | imp.AtomicUpdate | imp.Locked | imp.Peek):
        yield stm.index
    elif isinstance(stm, imp.Shuffle):
        yield stm.source
    for exp in subexpressions(*expressions(stm)):
        match exp:
            case imp.Load(index=index):
                yield index
            case imp.Apply("quot" | "rem" | "div" | "mod", _, (_, divisor)):
                yield divisor


def _computes(stm: Stm) -> VName | None:
    """The variable or memory whose value a statement computes."""
    match stm:
        case (imp.Declare(name) | imp.Assign(name) | imp.Shuffle(name) | imp.Peek(name)
              | imp.Store(name) | imp.Atomic(mem=name) | imp.AtomicUpdate(name)):
            return name
    return None


def _reached(names: Iterable[VName], edges: Mapping[VName, Iterable[VName]]) -> set[VName]:
    """The names, and all names to which edges lead from them."""
    found, left = set[VName](), list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += edges.get(name, ())
    return found


def _note_failing(code: Iterable[Stm], found: set[int]) -> bool:
    """Add the statements with a check in them to ``found``, by identity; True if there are any."""
    failing = False
    for stm in code:
        inside = [_note_failing(block, found) for block in blocks(stm)]
        if isinstance(stm, imp.Fail) or True in inside:
            found.add(id(stm))
            failing = True
    return failing


def _is_marked(exp: Exp) -> bool:
    return isinstance(exp, imp.Select) and exp.cond in (ITEM, GROUP)


def _asks_again(stm: Stm, checked: Set[VName]) -> bool:
    """True for a loop whose iterations ask for what was checked before it."""
    return isinstance(stm, imp.For) and any(
        isinstance(exp, imp.Select) and isinstance(exp.cond, imp.Var) and exp.cond.name in checked
        for each in statements(stm.body) for exp in subexpressions(*expressions(each)))


def _sure(stm: Stm, checked: Set[VName]) -> Stm:
    """A statement that runs only if these conditions hold."""
    def chosen(exp: Exp) -> Exp:
        if isinstance(exp, imp.Select) and isinstance(exp.cond, imp.Var) and (
                exp.cond.name in checked):
            return chosen(exp.then_)
        return map_parts(exp, chosen)

    return map_statement(stm, chosen, lambda inner: _sure(inner, checked))


@dataclass(frozen=True)
class _Ends:
    """Decides about marks in ``code``; ``failing`` statements have checks in them."""

    code: Sequence[Stm]
    asked: Iterable[VName]
    names: Names
    fine: Mapping[imp.Var, Callable[[], Exp]]
    failing: set[int]

    @cached_property
    def doubtful(self) -> set[VName]:
        """The values that may be wrong where a check has failed."""
        return _doubtful(self.code, self.asked)

    def block(self, code: Iterable[Stm], failed: bool = False,
              checked: Set[VName] = frozenset()) -> tuple[Stm, ...]:
        """A block; ``failed`` if a check may have failed before, ``checked`` what these asked."""
        found = list[Stm]()
        for stm in code:
            fails = id(stm) in self.failing
            if any(map(_is_marked, subexpressions(*expressions(stm)))):
                asks, before = _asks_again(stm, checked), len(found)
                decide = partial(self._decided, found if failed else None, asks)
                stm = map_statement(stm, decide, lambda inner: inner)
                if asks and before < len(found):
                    stm = _sure(stm, checked)
            again = failed or (fails and isinstance(stm, imp.For | imp.While))
            found.append(map_blocks(stm, partial(self.block, failed=again, checked=checked)))
            failed = failed or fails
            match stm:
                case imp.If(imp.Apply("not", _, (imp.Var(cond),)), (imp.Fail(), *_), ()):
                    checked = {*checked, cond}
        return tuple(found)

    def _decided(self, before: list[Stm] | None, asks: bool, exp: Exp) -> Exp:
        """An expression without marks; what it needs behind a check goes ``before`` it.

        ``asks``: the loop needs the mark whatever its length.
        """
        if not isinstance(exp, imp.Select) or not _is_marked(exp):
            return map_parts(exp, partial(self._decided, before, asks))
        length = self._decided(None, asks, exp.then_)
        needed = (asks and exp.cond == ITEM) or not self.doubtful.isdisjoint(
            variables(length) | memories(length))
        if before is None or not needed:
            return length
        assert isinstance(exp.cond, imp.Var)
        held = self.names.fresh("length")
        before.append(imp.Declare(held, Prim.I64, replace(
            exp, cond=self.fine[exp.cond](), then_=length), expected=length))
        return imp.Var(held)
