"""The variables on which control, and what is stored, depend in a kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import expressions, parts, statements, variables
from runelift.ir.names import VName


def assigned(code: Iterable[Stm]) -> set[VName]:
    """The variables that code assigns to."""
    return {s.name for s in statements(code) if isinstance(s, imp.Assign)}


def scalars_read(stms: Iterable[Stm]) -> set[VName]:
    """The scalars that statements read themselves, outside of their blocks."""
    return {name for stm in stms for exp in expressions(stm) for name in variables(exp)}


def _definitions(stms: Sequence[Stm]) -> dict[VName, list[Exp]]:
    """The expressions that variables are set to."""
    found: defaultdict[VName, list[Exp]] = defaultdict(list)
    for stm in statements(stms):
        match stm:
            case imp.Declare(name, _, init) if init is not None:
                found[name].append(init)
            case imp.Assign(name, value) | imp.Shuffle(name, _, value):
                found[name].append(value)
            case imp.For(index, start, _, step):
                found[index] += [start, step]
    return found


def _closed(names: set[VName], definitions: Mapping[VName, Sequence[Exp]],
            needs: Callable[[Exp], set[VName]]) -> frozenset[VName]:
    """``names`` and all names that they are computed from."""
    found, left = set(names), list(names)
    while left:
        for exp in definitions.get(left.pop(), ()):
            new = needs(exp) - found
            found |= new
            left += new
    return frozenset(found)


def controlling(body: Sequence[Stm]) -> frozenset[VName]:
    """The variables on which conditions and lengths of loops in a body depend.

    Conditions within expressions are among them: only one side is evaluated.
    """
    names = set[VName]()
    for stm in statements(body):
        if isinstance(stm, imp.For | imp.While | imp.If):
            for exp in expressions(stm):
                names |= variables(exp)
        for exp in expressions(stm):
            names |= _conditions(exp)
    return _closed(names, _definitions(body), variables)


def _conditions(exp: Exp) -> set[VName]:
    own = variables(exp.cond) if isinstance(exp, imp.Select) else set[VName]()
    return own.union(*map(_conditions, parts(exp)))


def reaching_memory(body: Sequence[Stm]) -> frozenset[VName]:
    """The variables whose values are stored, or computed with into what is stored."""
    names = set[VName]()
    for stm in statements(body):
        match stm:
            case imp.Store(value=value) | imp.Atomic(value=value) | imp.Shuffle(value=value):
                names |= _as_data(value)
            case imp.AtomicUpdate(new=new):
                names |= _as_data(new)
    return _closed(names, _definitions(body), _as_data)


def _as_data(exp: Exp) -> set[VName]:
    """The variables from whose values the value of an expression is computed, indices aside."""
    match exp:
        case imp.Var(name):
            return {name}
        case imp.Load():
            return set()
        case imp.Select(_, then_, else_):
            return _as_data(then_) | _as_data(else_)
    return set[VName]().union(*map(_as_data, parts(exp)))
