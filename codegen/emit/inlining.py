"""Variables that are written where they are used: each is used once, and only names an expression.

Texts of kernels become much shorter.  Compilers see no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import blocks, expressions, has_barriers, parts
from runelift.ir.names import VName

MOST_DEPTH = 12
"""The greatest depth of an expression in C; compilers limit the nesting of brackets."""


def used_once(code: Sequence[Stm]) -> Mapping[VName, Exp]:
    """The variables that can be replaced by their expression, each with the expression.

    The expression loads nothing, and mentions no variable that changes.  It is evaluated as often
    at its use as where it stands, and no work-items meet in between.
    """
    walk = _Walk()
    walk.block(code)
    found = dict[VName, Exp]()
    depths = dict[VName, int]()
    for name, (exp, place) in walk.declared.items():  # in order: an expression names earlier ones
        if walk.uses.get(name) != place or name in walk.changed:
            continue
        depth = _depth(exp, depths, walk.changed)
        if depth is not None and depth <= MOST_DEPTH:
            found[name], depths[name] = exp, depth
    return found


class _Walk:
    """The declarations of code, and the place of the only use of each variable.

    A place is a loop, and a number of meetings of work-items.
    """

    def __init__(self) -> None:
        self.declared: dict[VName, tuple[Exp, tuple[int, int]]] = {}
        self.uses: dict[VName, tuple[int, int] | None] = {}
        self.changed = set[VName]()
        self.loop, self.loops, self.meetings = 0, 0, 0

    def block(self, code: Sequence[Stm]) -> None:
        """Inline in the statements of a block."""
        for stm in code:
            inside = blocks(stm)
            if isinstance(stm, imp.For | imp.While | imp.AtomicUpdate | imp.Locked):
                self._loop(stm, inside)
                continue
            place = self.loop, self.meetings
            for exp in expressions(stm):
                self._use(exp, place)
            match stm:
                case imp.Declare(name, _, init) if init is not None:
                    self.declared[name] = init, place
                case imp.Assign(name):
                    self.changed.add(name)
                case imp.Barrier() | imp.Shuffle() | imp.Fence():
                    self.meetings += 1
            for each in inside:
                self.block(each)

    def _loop(self, stm: Stm, inside: Sequence[Sequence[Stm]]) -> None:
        around, self.loops = self.loop, self.loops + 1
        self.loop = self.loops
        self.meetings += any(map(has_barriers, inside))
        for exp in expressions(stm):
            self._use(exp, (self.loop, self.meetings))
        for each in inside:
            self.block(each)
        self.loop = around

    def _use(self, exp: Exp, place: tuple[int, int]) -> None:
        left = [exp]
        while left:
            each = left.pop()
            if isinstance(each, imp.Var):
                self.uses[each.name] = None if each.name in self.uses else place
            else:
                left += parts(each)


def _depth(exp: Exp, depths: Mapping[VName, int], changed: set[VName]) -> int | None:
    """The depth of an expression in C; None if it cannot be written elsewhere."""
    if isinstance(exp, imp.Var):
        return None if exp.name in changed else depths.get(exp.name, 0)
    if isinstance(exp, imp.Load):
        return None
    deepest = 0
    for part in parts(exp):
        depth = _depth(part, depths, changed)
        if depth is None:
            return None
        deepest = max(deepest, depth + 1)
    return deepest
