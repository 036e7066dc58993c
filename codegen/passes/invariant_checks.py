"""Checks that no iteration of a loop changes: they run once, before the loop.

A check that fails writes to memory, so that compilers neither move it out of a loop nor move loads
across it.  Then each iteration waits for the loads of the one before.  One example is the
check of a slice of a row, in a loop over its elements.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import (
    blocks,
    expressions,
    has_barriers,
    map_blocks,
    memories,
    named_by,
    statements,
    variables,
)
from runelift.ir.names import VName
from runelift.ir.prim import Prim


def with_early_checks(code: Sequence[Stm]) -> list[Stm]:
    """The code with such checks before their loops, if these have any iteration."""
    if not any(isinstance(stm, imp.Fail) for stm in statements(code)):
        return list(code)
    written = {mem for stm in statements(code) if (mem := named_by(stm)) is not None}
    return _early(code, written)


def runs_ever(code: Sequence[Stm]) -> Exp | None:
    """True if the loop at the end of the code has any iteration; None if there is no loop."""
    if not code or not isinstance(code[-1], imp.For):
        return None
    return imp.Apply("lt", Prim.I64, (code[-1].start, code[-1].bound))


def _early(code: Sequence[Stm], written: Set[VName]) -> list[Stm]:
    """The code of a kernel that writes to these memories."""
    found = list[Stm]()
    for stm in code:
        stm = map_blocks(stm, lambda block: _early(block, written))
        found += _before_and_loop(stm, written) if isinstance(stm, imp.For) else [stm]
    return found


def _before_and_loop(loop: imp.For, written: Set[VName]) -> list[Stm]:
    """The loop behind its checks that stay as they are, with the declarations that they need."""
    if not any(map(_is_check, loop.body)):
        return [loop]
    changing = {loop.index} | {name for stm in statements(loop.body)
                               if (name := _set_by(stm)) is not None}
    changed = assigned(loop.body)
    early, late = list[Stm](), list[Stm]()
    for stm in loop.body:
        stays = (isinstance(stm, imp.Declare) and stm.init is not None
                 and stm.name not in changed) or _is_check(stm)
        parts = expressions(stm) + tuple(e for block in blocks(stm) for s in block
                                         for e in expressions(s))
        if stays and not any(variables(e) & changing or memories(e) & written for e in parts):
            early.append(stm)
            if isinstance(stm, imp.Declare):
                changing.discard(stm.name)
        else:
            late.append(stm)
    if not any(map(_is_check, early)) or has_barriers(loop.body):
        return [loop]
    rest = replace(loop, body=tuple(late))
    condition = runs_ever([rest])
    assert condition is not None
    if isinstance(loop.start, imp.Lit) and isinstance(loop.bound, imp.Lit) and (
            loop.start.const.value < loop.bound.const.value):
        return [*early, rest]
    return [imp.If(condition, (*early, rest))]


def _set_by(stm: Stm) -> VName | None:
    """The scalar variable that a statement sets."""
    match stm:
        case (imp.Declare(name) | imp.Assign(name) | imp.For(name) | imp.Peek(name)
              | imp.Shuffle(name)):
            return name
        case imp.Atomic(old=old) | imp.AtomicUpdate(old=old):
            return old
    return None


def _is_check(stm: Stm) -> bool:
    """True for a branch that does nothing but fail, and perhaps note that in a variable."""
    match stm:
        case imp.If(_, (imp.Fail(), *rest), ()):
            return all(isinstance(each, imp.Fail | imp.Assign) for each in rest)
    return False
