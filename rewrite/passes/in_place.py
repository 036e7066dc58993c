"""In-place results of a map, made in the memory of an array that the map may look at.

``a with [s] <- ys``, where ``ys = segmap ...``: the work-items could write the elements of ``ys``
into the memory of ``a``, if that is not looked at any more.  They run in any order.  So no other
work-item may look at what one overwrites, and that one only before it writes.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import view_of
from runelift.ir.analysis.placement import Placement, by_root, first_made, placements
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, shape_of
from runelift.rewrite.analysis.bounds import Known
from runelift.rewrite.analysis.regions import (
    Access,
    Region,
    accesses,
    disjoint,
    equal,
    kept,
    part,
    region,
    same,
    whole,
)
from runelift.rewrite.engine.rule import rule


@dataclass(frozen=True, slots=True)
class Seen:
    """A view of ``array``: the slice ``array[dims]``, or another kind if ``dims`` is None."""

    array: VName
    dims: tuple[ir.Dim, ...] | None


Views: TypeAlias = dict[VName, Seen]
"""The names of views, each after that of its array."""


def note_view(views: Views, stm: ir.Stm) -> None:
    """Remember a view, or a copy, which may be one."""
    match stm.exp:
        case ir.Index(array, dims, False) if any(isinstance(d, ir.SliceDim) for d in dims):
            views[stm.pat[0].name] = Seen(array, dims)
        case ir.Copy(array):
            views[stm.pat[0].name] = Seen(array, None)
        case exp if (shared := view_of(exp)) is not None:
            views[stm.pat[0].name] = Seen(shared, None)


def shown(array: VName, views: Views, known: Known) -> dict[VName, Region | None]:
    """The names under which (parts of) an array are known, each with the region it shows.

    None for views that are no slices.
    """
    found: dict[VName, Region | None] = {array: whole(known, shape_of(known.types[array]))}
    for name, view in views.items():
        if view.array in found:
            outer = found[view.array]
            found[name] = (None if outer is None or view.dims is None
                           else part(outer, region(known, view.dims)))
    return found


@rule(ir.SegMap)
def made_in_place(stms: Sequence[ir.Stm], known: Known, views: Views) -> list[int]:
    """ys = segmap f; a' = a with [s] ← ys ⇒ a' = segmap f, in the memory of a

    Provided: a point of the map looks at a only outside of s, or where its results go.  There it
    looks only at the very element, or at its row (or the part overwritten) before it begins to
    write it.  The work-items of a group may look at the row of the group until the end, as there is
    a barrier then.
    Because: a launch less, and nothing is copied.
    Source: Munksgaard, Henriksen, Sadayappan and Oancea 2022, section 4.
    """
    return sorted(place for root, found in by_root(list(placements(stms))).items()
                  for place in _harmless(stms[0], root, found, known, views))


def _harmless(stm: ir.Stm, root: VName, found: Sequence[Placement], known: Known, views: Views
              ) -> list[int]:
    """The indices of the updates of array ``root`` whose values may be made in place."""
    aliases = shown(root, views, known)
    targets = [region(known, p.update.dims) for p in found]
    return [p.place for n, p in enumerate(found)
            if all(disjoint(known, targets[n], other)
                   for k, other in enumerate(targets) if k != n)
            and _Judge(stm, p, targets[n], known.inner()).harmless(dict(aliases))]


@dataclass(frozen=True, slots=True)
class _Judge:
    """A check that a result of a map, ``placed`` at ``target``, overwrites nothing still needed."""

    stm: ir.Stm
    placed: Placement
    target: Region
    known: Known

    @property
    def exp(self) -> ir.SegMap:
        """The map that makes the result."""
        assert isinstance(self.stm.exp, ir.SegMap)
        return self.stm.exp

    def harmless(self, aliases: dict[VName, Region | None]) -> bool:
        """``aliases``: how the array is known around the map, first under its own name."""
        known, whole = self.known.within(self.exp), next(iter(aliases.items()))
        names = {n for n, shows in aliases.items() if n != whole[0] and self._meets(known, shows)}
        direct: set[int] = set()
        for n, stm in enumerate(self.exp.body.stms):
            for access in accesses(stm, aliases, known):
                if self._meets(access.known, access.region) and not self._is_own(access):
                    return False
            found = [access for access in accesses(stm, dict([whole]), known)
                     if self._meets(access.known, access.region)]
            names |= {a.name for a in found if a.name is not None}
            if found and view_of(stm.exp) != whole[0]:
                direct.add(n)
            known.pass_by(stm)
        if self.exp.level is ir.Level.GROUP or not self._rows():
            return _views(self.exp.body, names).isdisjoint(self.exp.body.result)
        exact = {n for n, shows in aliases.items() if shows is not None
                 and n in names and self._is_row(known, shows)}
        return _is_orderly(self.exp.body, self.placed.result, names, exact, direct)

    def _meets(self, known: Known, shown: Region | None) -> bool:
        return not disjoint(known, shown, self.target)

    def _dims(self) -> dict[int, int]:
        """The dimension of the result that goes along each dimension of the array."""
        return dict(zip(kept(self.target), self.placed.perm, strict=True))

    def _rows(self) -> list[int]:
        """The dimensions of the array along which a point has a row, in the order of the row."""
        rank = len(self.exp.space)
        along = {j: a for a, j in self._dims().items()}
        return [along[j] for j in sorted(along) if j >= rank]

    def _is_own(self, access: Access) -> bool:
        """True if an access stays where the values of the point go."""
        dims, space = self._dims(), self.exp.space
        for a, span in enumerate(self.target):
            if a not in dims:
                index = span.start
            elif dims[a] < len(space):
                index = span.start + Size.var(space[dims[a]].index) * span.stride
            else:
                continue
            if access.region is None:
                return False
            there = access.region[a]
            if there.count is not None or not same(access.known, there.start, index):
                return False
        return True

    def _is_row(self, known: Known, shown: Region) -> bool:
        """True if a part of the array is exactly the row of the point, in the same order."""
        rows = self._rows()
        return kept(shown) == rows and all(equal(known, shown[a], self.target[a]) for a in rows)


def _views(body: ir.Body, names: Set[VName]) -> set[VName]:
    """The names, and the names of views of their arrays; a copy may be a view."""
    found = set(names)
    for stm in body.stms:
        if view_of(stm.exp) in found or (isinstance(stm.exp, ir.Copy | ir.Replicate)
                                         and not found.isdisjoint(free_vars(stm))):
            found |= {p.name for p in stm.pat}
    return found


def _is_orderly(body: ir.Body, position: int, names: Set[VName], exact: Set[VName],
                direct: Set[int] = frozenset()) -> bool:
    """True if a work-item looks at a row before it begins to write its result there.

    It sees parts of the row under ``names``.  Under the names ``exact`` it sees exactly the row.
    The statements ``direct`` look at it under the name of the array.
    """
    names, exact = _views(body, names), set(exact)
    last = max([*direct, *(n for n, stm in enumerate(body.stms) if view_of(stm.exp) is None
                           and not names.isdisjoint(free_vars(stm)))], default=-1)
    for stm in body.stms:
        if isinstance(stm.exp, ir.Copy) and stm.exp.array in exact:
            exact.add(stm.pat[0].name)
    if not names.isdisjoint(body.result):
        return False
    result = body.result[position]
    if isinstance(result, VName):
        result = first_made(body, result)
    made = next((n for n, s in enumerate(body.stms) if any(p.name == result for p in s.pat)),
                len(body.stms))
    return last < made or (last == made and made not in direct
                           and _begins_with_row(body.stms[made], result, names, exact))


def _begins_with_row(stm: ir.Stm, result: Atom, names: Set[VName], exact: Set[VName]) -> bool:
    """True if a statement makes its result from the row that is there, part by part.

    A loop may begin with the row.  A map may read each element before it writes it.
    """
    position = [p.name for p in stm.pat].index(result)  # type: ignore[arg-type]
    met = names & free_vars(stm)
    match stm.exp:
        case ir.Loop(params, _, body):
            first = params[position].init
            return (met == {first} and first in exact and first not in free_vars(body)
                    and [p.init for p in params].count(first) == 1)
        case ir.Map(_, lam, arrays):
            if not met <= exact & set(arrays) or not met.isdisjoint(free_vars(lam)):
                return False
            parts = {p.name for p, array in zip(lam.params, arrays, strict=True) if array in met}
            return isinstance(lam.ret[position], Prim) or _is_orderly(
                lam.body, position, parts, parts)
    return False
