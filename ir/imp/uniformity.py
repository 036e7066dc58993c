"""Uniformity analysis: values that are equal for all work-items that come to a barrier together.

Every value is *uniform* (equal for all these work-items) or *varying*.  Control flow around a
barrier must be uniform.  The work-items belong to one group, or to several groups that run side by
side.  For several groups, the number of the group and the contents of memory may vary, too.

Source: Karrenberg and Hack, Improving performance of OpenCL on CPUs, 2012, section 3 (divergence
analysis).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runelift.ir import imp
from runelift.ir.imp import Exp, Id, Stm
from runelift.ir.imp.traverse import statements, subexpressions
from runelift.ir.names import VName

VARYING_IN_GROUP = frozenset({Id.LOCAL_ID, Id.GLOBAL_ID, Id.FAILURE})
VARYING_AMONG_GROUPS = VARYING_IN_GROUP | {Id.GROUP_ID}


def within_group(code: Sequence[Stm], shared: Iterable[VName]) -> Uniformity:
    """Uniformity in one group; all its work-items see equal contents of the memories ``shared``."""
    return _settled(Uniformity(VARYING_IN_GROUP, frozenset(shared)), code)


def among_groups(code: Sequence[Stm]) -> Uniformity:
    """Uniformity among groups side by side: memory is uniform if it is never written."""
    own = set[VName]()
    for stm in statements(code):
        match stm:
            case imp.Store(mem) | imp.Atomic(mem=mem) | imp.AtomicUpdate(mem=mem) | imp.Peek(
                    mem=mem) | imp.DeclareArray(mem) | imp.Locked(mem):
                own.add(mem)
    return _settled(Uniformity(VARYING_AMONG_GROUPS, varying=own), code)


def _settled(uniformity: Uniformity, code: Sequence[Stm]) -> Uniformity:
    """Find the varying names: names only ever become varying, so this ends.

    Code is gone through again only if something was taken to be uniform before it was found to
    vary, as in loops.
    """
    hasty = True
    while hasty:
        hasty = uniformity.go_through(code)
    return uniformity


@dataclass(slots=True)
class Uniformity:
    """The names that vary; all work-items see equal contents of ``shared`` after any write."""

    ids: frozenset[Id]
    shared: frozenset[VName] = frozenset()
    varying: set[VName] = field(default_factory=set)
    barriers_meet: bool = True
    """True if all come to every barrier that one comes to."""
    _trusted: set[VName] = field(default_factory=set)
    """Names that were taken to be uniform."""
    _hasty: bool = False
    """True if some of them were found to vary later."""

    @property
    def among(self) -> bool:
        """True if the work-items are of several groups."""
        return Id.GROUP_ID in self.ids

    def varies(self, *exps: Exp) -> bool:
        """True if work-items may see different values."""
        names: list[VName] = []
        for exp in subexpressions(*exps):
            match exp:
                case imp.Var(name) | imp.Load(name):
                    names.append(name)
                case imp.WorkItem(kind) if kind in self.ids:
                    return True
        if not self.varying.isdisjoint(names):
            return True
        self._trusted.update(names)
        return False

    def _mark(self, name: VName | None, varies: bool) -> None:
        if varies and name is not None and name not in self.shared:
            self._hasty |= name in self._trusted
            self.varying.add(name)

    def go_through(self, code: Sequence[Stm]) -> bool:
        """Note the names that vary, and whether barriers meet; True if that must be repeated."""
        self._hasty = False
        self._trusted.clear()
        self.barriers_meet = self._meet(code)
        return self._hasty

    def _meet(self, stms: Sequence[Stm], uniform: bool = True) -> bool:
        """True if all come to every barrier in ``stms``, which they reach together if ``uniform``.

        Notes the names that are found to vary.
        """
        meet = True
        for stm in stms:
            match stm:
                case imp.Declare(name, _, init):
                    self._mark(name, init is not None and self.varies(init))
                case imp.Assign(name, value):
                    self._mark(name, not uniform or self.varies(value))
                case imp.Store(mem, index, value):
                    self._mark(mem, not uniform or self.varies(index, value))
                case imp.For(index, start, bound, step, body):
                    varies = self.varies(start, bound, step)
                    self._mark(index, varies)
                    meet &= self._meet(body, uniform and not varies)
                case imp.While(cond, body):
                    meet &= self._meet(body, uniform and not self.varies(cond))
                case imp.If(cond, then_, else_):
                    together = uniform and not self.varies(cond)
                    meet &= self._meet(then_, together)
                    meet &= self._meet(else_, together)
                case imp.Atomic(old=old) | imp.Peek(name=old):
                    self._mark(old, True)
                case imp.AtomicUpdate(old=old, body=body):
                    self._mark(old, True)
                    meet &= self._meet(body, uniform=False)
                case imp.Locked(body=body):
                    meet &= self._meet(body, uniform=False)
                case imp.Barrier():
                    meet &= uniform
                case imp.Shuffle(name, _, value, source):
                    self._mark(name, self.varies(value) and (self.among or self.varies(source)))
                    meet &= uniform
                case _:
                    pass
        return meet
