"""Code under a condition that has barriers: what lies between them is under the condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import expressions, named_by, statements, subexpressions
from runelift.ir.names import VName
from runelift.ir.types import zero


def masked(cond: Exp, code: Sequence[Stm], last: Mapping[VName, int], place: int
           ) -> Iterator[Stm]:
    """``code`` if ``cond``; what it declares may be used from ``place`` of its block on."""
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
    """By which statement of a block variables and memories are read or changed last."""
    last: dict[VName, int] = {}
    for place, outer in enumerate(code):
        for stm in statements((outer,)):
            for exp in expressions(stm):
                for part in subexpressions(exp):
                    if isinstance(part, imp.Var):
                        last[part.name] = place
                    elif isinstance(part, imp.Load):
                        last[part.mem] = place
            name = stm.name if isinstance(stm, imp.Assign) else named_by(stm)
            if name is not None:
                last[name] = place
    return last


def apart(cond: Exp, code: Sequence[Stm], settled: Callable[[Exp], bool]
          ) -> tuple[Stm, ...] | None:
    """``code`` if ``cond``, with its barriers outside of the condition.

    ``cond`` does not change meanwhile.  None where a barrier is in a loop that is not ``settled``
    when the kernel is built: how often it runs may be known only if the condition holds.
    """
    found: list[Stm] = []
    held: list[Stm] = []
    last = last_uses(code)
    for place, stm in enumerate(code):
        if not any(isinstance(s, imp.Barrier | imp.Shuffle) for s in statements((stm,))):
            held.append(stm)
            continue
        outside: Stm
        match stm:
            case imp.Barrier():
                outside = stm
            case imp.For(_, start, bound, step, body) if all(map(settled, (start, bound, step))):
                inside = apart(cond, body, settled)
                if inside is None:
                    return None
                outside = replace(stm, body=inside)
            case imp.If(known, then_, else_) if settled(known):
                sides = [apart(cond, side, settled) for side in (then_, else_)]
                if sides[0] is None or sides[1] is None:
                    return None
                outside = imp.If(known, sides[0], sides[1])
            case _:
                return None
        found += *masked(cond, held, last, place), outside
        held = []
    return *found, *masked(cond, held, last, len(code))
