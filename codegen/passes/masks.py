"""Masks: code with barriers under a condition, with the barriers outside of the condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import blocks, evaluated, named_by, statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import zero


def masked(cond: Exp, code: Sequence[Stm], last: Mapping[VName, int], place: int
           ) -> Iterator[Stm]:
    """``code`` under the condition ``cond``; its variables may be used from ``place`` on."""
    inside: list[Stm] = []
    for stm in code:
        match stm:
            case imp.Declare(name, prim, init) if last.get(name, -1) >= place:
                yield imp.Declare(name, prim, imp.Lit(zero(prim)))
                if init is not None:
                    inside.append(imp.Assign(name, init))
            case imp.DeclareArray(name) if last.get(name, -1) >= place:
                yield stm
            case _:
                inside.append(stm)
    if inside:
        yield imp.If(cond, tuple(inside))


def last_uses(code: Sequence[Stm]) -> dict[VName, int]:
    """The last statement of a block that reads or changes each variable and memory."""
    last: dict[VName, int] = {}
    for place, outer in enumerate(code):
        inside = statements((outer,))
        for exp in evaluated(inside):
            if isinstance(exp, imp.Var):
                last[exp.name] = place
            elif isinstance(exp, imp.Load):
                last[exp.mem] = place
        for stm in inside:
            name = stm.name if isinstance(stm, imp.Assign) else named_by(stm)
            if name is not None:
                last[name] = place
    return last


def barriers_outside(cond: Exp, code: Sequence[Stm], is_known: Callable[[Exp], bool]
                     ) -> tuple[Stm, ...] | None:
    """``code`` if ``cond``, with its barriers outside of the condition.

    ``code`` does not change ``cond``.  Loops and branches that are ``is_known`` when the kernel is
    built keep their shape.  Other loops with barriers do nothing unless the condition holds.  None
    if a branch with barriers changes its condition, or if work-items shuffle.
    """
    found: list[Stm] = []
    held: list[Stm] = []
    last = last_uses(code)
    own = {stm.name for stm in code if isinstance(stm, imp.Declare)}
    for place, stm in enumerate(code):
        if not any(isinstance(s, imp.Barrier | imp.Shuffle) for s in statements((stm,))):
            held.append(stm)
            continue
        outside = _outside(cond, stm, is_known, own)
        if outside is None:
            return None
        found += *masked(cond, held, last, place), *outside
        held = []
    return *found, *masked(cond, held, last, len(code))


def _outside(cond: Exp, stm: Stm, is_known: Callable[[Exp], bool], own: Set[VName]
             ) -> tuple[Stm, ...] | None:
    """A statement with barriers if ``cond``; ``own`` are variables that only this code uses."""
    match stm:
        case imp.For(_, start, bound, step, body) if all(map(is_known, (start, bound, step))):
            inside = barriers_outside(cond, body, is_known)
            return None if inside is None else (replace(stm, body=inside),)
        case imp.If(known, then_, else_) if is_known(known):
            return imp.If(known, *(_side(cond, side, is_known) for side in (then_, else_))),
        case imp.Barrier():
            return stm,
    if _shuffles(stm, is_known):
        return None
    match stm:
        case imp.For(_, start, bound):
            return replace(stm, bound=imp.Select(cond, bound, start, Prim.I64)),
        case imp.While(imp.Var(going)) if going in own:  # PoCL 3.0 wants no more than a variable
            return imp.Assign(going, imp.Apply("and", Prim.BOOL, (cond, stm.cond))), stm
    return None  # a branch that changes what it asks: of others the barriers are outside


def _shuffles(stm: Stm, is_known: Callable[[Exp], bool]) -> bool:
    """True if work-items shuffle even on a device without sub-groups."""
    if isinstance(stm, imp.If) and is_known(stm.cond):
        return False
    return isinstance(stm, imp.Shuffle) or any(
        _shuffles(inner, is_known) for block in blocks(stm) for inner in block)


def _side(cond: Exp, code: tuple[Stm, ...], is_known: Callable[[Exp], bool]) -> tuple[Stm, ...]:
    """A side of a known branch; with barriers under the condition if there is no other way.

    That side may be in no kernel for this device.
    """
    found = barriers_outside(cond, code, is_known)
    return (imp.If(cond, code),) if found is None else found
