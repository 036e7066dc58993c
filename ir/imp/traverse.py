"""Walking through kernels: what statements and expressions consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_
from typing import Any

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.names import VName

_BLOCKS: dict[type, Callable[[Any], tuple[tuple[Stm, ...], ...]]] = {
    imp.For: lambda stm: (stm.body,),
    imp.While: lambda stm: (stm.body,),
    imp.AtomicUpdate: lambda stm: (stm.body,),
    imp.Locked: lambda stm: (stm.body,),
    imp.If: lambda stm: (stm.then_, stm.else_)}
"""The statements that have blocks.

Kernels are long and walked often, and a table is faster than a test for each type.
"""
_EXPRESSIONS: dict[type, Callable[[Any], tuple[Exp, ...]]] = {
    imp.Declare: lambda stm: () if stm.init is None else (stm.init,),
    imp.Assign: lambda stm: (stm.value,),
    imp.Store: lambda stm: (stm.index, stm.value),
    imp.For: lambda stm: (stm.start, stm.bound, stm.step),
    imp.While: lambda stm: (stm.cond,),
    imp.If: lambda stm: (stm.cond,),
    imp.Atomic: lambda stm: (stm.index, stm.value),
    imp.AtomicUpdate: lambda stm: (stm.index, stm.new),
    imp.Locked: lambda stm: (stm.index,),
    imp.Peek: lambda stm: (stm.index,),
    imp.Shuffle: lambda stm: (stm.value, stm.source),
    imp.Fail: lambda stm: stm.args}
"""The statements that evaluate expressions."""
_PARTS: dict[type, Callable[[Any], tuple[Exp, ...]]] = {
    imp.Apply: lambda exp: exp.args,
    imp.Convert: lambda exp: (exp.arg,),
    imp.Load: lambda exp: (exp.index,),
    imp.Select: lambda exp: (exp.cond, exp.then_, exp.else_)}
"""The expressions that have expressions inside."""


def blocks(stm: Stm) -> tuple[tuple[Stm, ...], ...]:
    """The blocks directly inside of a statement, such as both branches."""
    found = _BLOCKS.get(type(stm))
    return () if found is None else found(stm)


def statements(code: Iterable[Stm]) -> list[Stm]:
    """All statements of ``code``, with all inner statements."""
    found: list[Stm] = []
    _add(code, found)
    return found


def _add(code: Iterable[Stm], found: list[Stm]) -> None:
    for stm in code:
        found.append(stm)
        inside = _BLOCKS.get(type(stm))
        if inside is not None:
            for block in inside(stm):
                _add(block, found)


def has_barriers(code: Iterable[Stm]) -> bool:
    """True if work-items of a group wait for each other anywhere in the code."""
    for stm in code:
        inside = _BLOCKS.get(type(stm))
        if isinstance(stm, imp.Barrier) or (
                inside is not None and any(map(has_barriers, inside(stm)))):
            return True
    return False


def expressions(stm: Stm) -> tuple[Exp, ...]:
    """The expressions that a statement evaluates itself, outside of its blocks."""
    found = _EXPRESSIONS.get(type(stm))
    return () if found is None else found(stm)


def parts(exp: Exp) -> tuple[Exp, ...]:
    """The expressions that an expression is made of."""
    found = _PARTS.get(type(exp))
    return () if found is None else found(exp)


def subexpressions(*exps: Exp) -> list[Exp]:
    """Expressions with all their subexpressions, each before its parts."""
    found = [*exps]
    for place, each in enumerate(found, 1):
        inside = _PARTS.get(type(each))
        if inside is not None:
            found[place:place] = inside(each)
    return found


def evaluated(stms: Iterable[Stm]) -> list[Exp]:
    """The expressions that statements evaluate outside of their blocks, and all their parts."""
    return [each for stm in stms for exp in expressions(stm) for each in subexpressions(exp)]


def loaded(code: Iterable[Stm]) -> set[VName]:
    """The memories that code loads from or changes depending on their contents."""
    inside = statements(code)
    changed = {s.mem for s in inside if isinstance(s, imp.Atomic | imp.AtomicUpdate | imp.Peek)}
    changed |= {s.locks for s in inside if isinstance(s, imp.Locked)}
    return changed | {exp.mem for exp in evaluated(inside) if isinstance(exp, imp.Load)}


def memories(exp: Exp) -> set[VName]:
    """The memories that an expression loads from."""
    return {e.mem for e in subexpressions(exp) if isinstance(e, imp.Load)}


def asked(code: Iterable[Stm]) -> Iterator[imp.Id]:
    """The queries of code about its place in the launch."""
    return (e.kind for e in evaluated(statements(code)) if isinstance(e, imp.WorkItem))


def variables(exp: Exp) -> set[VName]:
    """The scalar variables of an expression."""
    if isinstance(exp, imp.Var):  # most often
        return {exp.name}
    return {e.name for e in subexpressions(exp) if isinstance(e, imp.Var)}


def touched_by(stm: Stm) -> set[VName]:
    """The memories that a statement touches itself, outside of its blocks."""
    found = {e.mem for e in subexpressions(*expressions(stm)) if isinstance(e, imp.Load)}
    if (mem := named_by(stm)) is not None:
        found.add(mem)
    return found


def named_by(stm: Stm) -> VName | None:
    """The memory that a statement itself names, not in its expressions."""
    if isinstance(stm, imp.Store | imp.Atomic | imp.AtomicUpdate | imp.Peek):
        return stm.mem
    return stm.locks if isinstance(stm, imp.Locked) else None


def map_parts(exp: Exp, change: Callable[[Exp], Exp]) -> Exp:
    """An expression whose direct operands are replaced by ``change``."""
    match exp:
        case imp.Apply(_, _, args):
            return replace(exp, args=tuple(map(change, args)))
        case imp.Convert(_, _, arg):
            return replace(exp, arg=change(arg))
        case imp.Load(_, index):
            return replace(exp, index=change(index))
        case imp.Select(cond, then_, else_):
            return replace(exp, cond=change(cond), then_=change(then_), else_=change(else_))
    return exp


def map_blocks(stm: Stm, change: Callable[[tuple[Stm, ...]], Iterable[Stm]]) -> Stm:
    """A statement with ``change`` of the blocks inside of it; itself if these stay as they are."""
    before = blocks(stm)
    if not before:
        return stm
    after = [tuple(change(block)) for block in before]
    if all(len(new) == len(old) and all(map(is_, new, old))
           for new, old in zip(after, before, strict=True)):
        return stm
    if isinstance(stm, imp.If):
        return replace(stm, then_=after[0], else_=after[1])
    assert isinstance(stm, imp.For | imp.While | imp.AtomicUpdate | imp.Locked)
    return replace(stm, body=after[0])


def map_statement(stm: Stm, change: Callable[[Exp], Exp], inside: Callable[[Stm], Stm]) -> Stm:
    """A statement with ``change`` of its expressions and ``inside`` of the statements in it.

    ``change`` gets only expressions that the statement itself evaluates.
    """
    match stm:
        case imp.Declare(_, _, init):
            return stm if init is None else replace(stm, init=change(init))
        case imp.Assign(_, value):
            return replace(stm, value=change(value))
        case imp.Store(_, index, value):
            return replace(stm, index=change(index), value=change(value))
        case imp.For(_, start, bound, step, body):
            return replace(stm, start=change(start), bound=change(bound), step=change(step),
                           body=tuple(map(inside, body)))
        case imp.While(cond, body):
            return replace(stm, cond=change(cond), body=tuple(map(inside, body)))
        case imp.If(cond, then_, else_):
            return replace(stm, cond=change(cond), then_=tuple(map(inside, then_)),
                           else_=tuple(map(inside, else_)))
        case imp.Atomic(_, _, _, index, value):
            return replace(stm, index=change(index), value=change(value))
        case imp.AtomicUpdate(_, index, _, _, _, body, new):
            return replace(stm, index=change(index), new=change(new), body=tuple(map(inside, body)))
        case imp.Locked(_, index, _, _, body):
            return replace(stm, index=change(index), body=tuple(map(inside, body)))
        case imp.Peek(_, _, _, index):
            return replace(stm, index=change(index))
        case imp.Shuffle(_, _, value, source):
            return replace(stm, value=change(value), source=change(source))
        case imp.Fail(_, args):
            return replace(stm, args=tuple(map(change, args)))
    return stm
