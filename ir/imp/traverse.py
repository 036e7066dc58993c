"""Walking through kernels: what statements and expressions consist of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.names import VName


def blocks(stm: Stm) -> tuple[tuple[Stm, ...], ...]:
    """The blocks of a statement."""
    match stm:
        case imp.For(body=body) | imp.While(body=body) | imp.AtomicUpdate(body=body):
            return (body,)
        case imp.If(_, then_, else_):
            return then_, else_
    return ()


def statements(code: Iterable[Stm]) -> Iterator[Stm]:
    """All statements of ``code``, also those inside of others."""
    for stm in code:
        yield stm
        for block in blocks(stm):
            yield from statements(block)


def expressions(stm: Stm) -> tuple[Exp, ...]:
    """The expressions that a statement evaluates itself, outside of its blocks."""
    match stm:
        case imp.Declare(_, _, init):
            return () if init is None else (init,)
        case imp.Assign(_, value):
            return (value,)
        case imp.Store(_, index, value):
            return index, value
        case imp.For(_, start, bound, step):
            return start, bound, step
        case imp.While(cond) | imp.If(cond):
            return (cond,)
        case imp.Atomic(_, _, _, index, value):
            return index, value
        case imp.AtomicUpdate(_, index, _, _, _, _, new):
            return index, new
        case imp.Peek(_, _, _, index):
            return (index,)
        case imp.Fail(_, args):
            return args
    return ()


def parts(exp: Exp) -> tuple[Exp, ...]:
    """The expressions that an expression is made of."""
    match exp:
        case imp.Apply(_, _, args):
            return args
        case imp.Convert(_, _, arg):
            return (arg,)
        case imp.Load(_, index):
            return (index,)
        case imp.Select(cond, then_, else_):
            return cond, then_, else_
    return ()


def subexpressions(exp: Exp) -> Iterator[Exp]:
    """An expression and all that it is made of."""
    yield exp
    for part in parts(exp):
        yield from subexpressions(part)


def loaded(code: Iterable[Stm]) -> set[VName]:
    """The memories that code loads from or changes depending on what they hold."""
    found: set[VName] = set()
    for stm in statements(code):
        if isinstance(stm, imp.Atomic | imp.AtomicUpdate | imp.Peek):
            found.add(stm.mem)
        for exp in expressions(stm):
            found |= memories(exp)
    return found


def memories(exp: Exp) -> set[VName]:
    """The memories that an expression loads from."""
    return {e.mem for e in subexpressions(exp) if isinstance(e, imp.Load)}


def variables(exp: Exp) -> set[VName]:
    """The scalar variables of an expression."""
    return {e.name for e in subexpressions(exp) if isinstance(e, imp.Var)}


def touched_by(stm: Stm) -> set[VName]:
    """The memories that a statement touches itself, outside of its blocks."""
    found = set[VName]().union(*map(memories, expressions(stm)))
    if isinstance(stm, imp.Store | imp.Atomic | imp.AtomicUpdate | imp.Peek):
        found.add(stm.mem)
    return found
