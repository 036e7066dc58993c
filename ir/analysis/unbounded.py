"""Sizes that nothing bounds before the code that computes them runs."""

from __future__ import annotations

from collections.abc import Iterable

from runelift.ir.names import VName
from runelift.ir.syntax import Loop, Stm
from runelift.ir.traverse import bodies_inside
from runelift.ir.types import shape_of


def unbounded_size(stms: Iterable[Stm]) -> VName | None:
    """A size that is bound together with an array that has it, also inside of statements.

    None if there is none, so that a kernel knows how much memory arrays need before it starts.
    """
    for stm in stms:
        bound = list(stm.pat)
        if isinstance(stm.exp, Loop):
            bound += (p.param for p in stm.exp.params)
        own = {param.name for param in bound}
        for size in (size for param in bound for size in shape_of(param.type)):
            if isinstance(size, VName) and size in own:
                return size
        for inner in bodies_inside(stm.exp):
            if (found := unbounded_size(inner.stms)) is not None:
                return found
    return None
