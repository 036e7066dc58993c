"""Teams: several groups side by side, as one group of the device; for short rows.

A kernel for one row per group works for several rows if all of them come to the same barriers
(:func:`runelift.ir.imp.uniformity.among_groups`).  Each row keeps its work-items, a *team*, and its
local memory.  The last group may have more teams than rows.  Teams without a row take part in the
barriers, and in code that decides about these, but in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runelift.codegen.passes.masks import last_uses, masked
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import map_blocks, statements, subexpressions
from runelift.ir.imp.uniformity import Uniformity, among_groups
from runelift.ir.names import VName


def can_team(code: Sequence[Stm]) -> bool:
    """True if groups that run ``code`` side by side come to the same barriers.

    Code that asks for the previous contents of memory that it changes is rejected.
    """
    return among_groups(code).barriers_meet and not any(
        isinstance(stm, imp.Peek) or (isinstance(stm, imp.Atomic) and stm.old is not None)
        for stm in statements(code))


def mask_absent_teams(present: imp.Var, code: Sequence[Stm]) -> tuple[Stm, ...]:
    """``code`` for teams side by side; a team that is not ``present`` does nothing."""
    return tuple(_Masks(present, among_groups(code), frozenset(assigned(code))).block(code))


@dataclass(frozen=True, slots=True)
class _Masks:
    """Puts code between barriers under a condition.

    Values that are equal in all groups are computed by all, since barriers may depend on them.
    They come from memory that no group writes.
    """

    present: imp.Var
    common: Uniformity
    assigned: frozenset[VName]
    free: set[VName] = field(default_factory=set)

    def block(self, code: Sequence[Stm]) -> Iterator[Stm]:
        """The statements of a block that all groups run."""
        held: list[Stm] = []
        last = last_uses(code)
        for place, stm in enumerate(code):
            match stm:
                case imp.Declare(name, _, init) if (
                        name not in self.common.varying or self._harmless(name, init)):
                    yield stm
                    continue
                case imp.Assign(name) if name not in self.common.varying:
                    inside: Stm = stm
                case imp.Barrier() | imp.Shuffle():
                    inside = stm
                case imp.For() | imp.While() | imp.If() if self._together(stm):
                    inside = map_blocks(stm, self.block)
                case _:
                    held.append(stm)
                    continue
            yield from masked(self.present, held, last, place)
            held = []
            yield inside
        yield from masked(self.present, held, last, len(code))

    def _harmless(self, name: VName, init: Exp | None) -> bool:
        """True if all groups may compute the first value of a variable: it depends on no memory."""
        parts = () if init is None else tuple(subexpressions(init))
        if any(isinstance(e, imp.Load) or (isinstance(e, imp.Var) and e.name not in self.free
                                           and e.name in self.common.varying) for e in parts):
            return False
        if name not in self.assigned:
            self.free.add(name)
        return True

    def _together(self, stm: Stm) -> bool:
        """True if all groups must run a loop or branch."""
        inside = statements((stm,))
        declared = {s.name for s in inside if isinstance(s, imp.Declare)}
        return any(isinstance(s, imp.Barrier | imp.Shuffle)
                   or (isinstance(s, imp.Assign) and s.name not in declared
                       and s.name not in self.common.varying)
                   for s in inside)
