"""Results that are made in the memory of the array that they are meant for.

:mod:`runelift.rewrite.passes.short_circuit` has marked the updates whose values may be made in
place, as far as the reads of the map allow.  Here it is checked that the memory is free, and that
its layout suits the map.

The memory gets a second name for a map of work-items.  So a kernel under construction never takes
memory that it reads for memory that it owns.  Within a work-group the memory keeps its name, by
which :mod:`runelift.codegen.passes.barriers` finds the barrier before the results are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from runelift.codegen.plan.views import View
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import ArrayLit, Level, Param, SegMap, SegRed, Stm
from runelift.ir.traverse import free_vars

SHORT_ROW_BYTES = 256
"""Rows of up to this many bytes are complete before they leave the cache."""


@dataclass(slots=True)
class Places:
    """Names of the same memory, slices of arrays, and results made in place.

    ``given``: the place that a result will have.  ``waiting``: results that are in place, and views
    of them, before the update that they are meant for.  ``elements``: scalars that are made as
    elements of an array, which is the result of a literal, and their places there.
    """

    origins: dict[VName, VName] = field(default_factory=dict)
    arrays: dict[VName, VName] = field(default_factory=dict)
    given: dict[VName, View] = field(default_factory=dict)
    waiting: set[VName] = field(default_factory=set)
    elements: dict[VName, tuple[Param, int]] = field(default_factory=dict)

    def rename(self, mem: VName, other: VName) -> None:
        """Note that ``mem`` is another name for the memory ``other``."""
        if mem != other:
            self.origins[mem] = self.origin(other)

    def origin(self, mem: VName) -> VName:
        """The first name of a memory."""
        return self.origins.get(mem, mem)

    def sliced(self, name: VName) -> VName:
        """The array that ``name`` is a slice of, or itself."""
        while name in self.arrays:
            name = self.arrays[name]
        return name


def elements_of_literals(followed: Sequence[tuple[Stm, Set[VName]]], needed: Set[VName]
                         ) -> dict[VName, tuple[Param, int]]:
    """The scalars of a body that can be made as elements of an array, and their places there.

    All elements of such a literal are results of reductions of the body, and are used nowhere else.
    ``followed``: the statements, with the names that are used after each.  ``needed``: scalars that
    the host must know.
    """
    literals = [(place, stm) for place, (stm, _) in enumerate(followed)
                if isinstance(stm.exp, ArrayLit) and len(set(stm.exp.elems)) == len(stm.exp.elems)]
    if not literals:
        return {}
    made = {p.name for stm, _ in followed if isinstance(stm.exp, SegRed) for p in stm.pat
            if isinstance(p.type, Prim)} - needed
    users = Counter(name for stm, _ in followed for name in free_vars(stm))
    found: dict[VName, tuple[Param, int]] = {}
    for place, stm in literals:
        assert isinstance(stm.exp, ArrayLit)
        names = [elem for elem in stm.exp.elems if isinstance(elem, VName)]
        if len(names) == len(stm.exp.elems) and all(
                name in made and users[name] == 1 and name not in followed[place][1]
                for name in names):
            found |= {name: (stm.pat[0], k) for k, name in enumerate(names)}
    return found


def place_of(target: View, perm: tuple[int, ...], exp: SegMap, mem: VName, *,
             interleave: bool) -> View | None:
    """The view of the part ``target`` of an array into which the result of a map goes.

    None if neighbouring work-items would write long rows far apart, on a device that coalesces
    writes.  None also for a whole array in another order, if neighbours would write elements far
    apart: copies are made by tiles, which is faster.
    """
    view = target.rearrange([perm.index(d) for d in range(len(perm))])
    rank, dims = len(exp.space), len(view.shape)
    rows = exp.level is Level.GRID and dims > rank > 0
    if target.order is not None and target.order != view.order and not view.unit and not (
            interleave and rows and view.near == rank - 1):
        return None
    if exp.level is Level.GROUP:
        return view
    if interleave and dims > rank > 0:
        neighbours = view.rearrange([*(d for d in range(dims) if d != rank - 1), rank - 1])
        if not neighbours.unit and not _is_short(view, rank):
            return None
    return replace(view, mem=mem)


def _is_short(view: View, rank: int) -> bool:
    count = 1
    for size in view.shape[rank:]:
        if not isinstance(size, imp.Lit):
            return False
        count *= int(size.const.value)
    return count * view.prim.bytes <= SHORT_ROW_BYTES
