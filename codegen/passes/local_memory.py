"""Sharing of local memory by arrays that are not in use at the same time.

An array belongs to the innermost block of code with all its accesses, since memory is made where it
is first filled.  There it is in use from the first statement that accesses it to the last.
Numbered in the order of the text, uses are intervals.  First fit colours intervals with as few
places as there are arrays in use at once.  Barriers have to be found afterwards: arrays in one
place depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runelift.ir.imp import LocalArray, Stm
from runelift.ir.imp.traverse import blocks, touched_by
from runelift.ir.names import VName
from runelift.ir.sizes import Size, ceil_div, greatest

CELL_BYTES = 16
"""Arrays in local memory start at multiples of this many bytes, the size of the widest type."""


@dataclass(frozen=True, slots=True)
class _Use:
    """The statements, by number, during which an array is in use."""

    first: int
    last: int


def share_local_memory(code: Sequence[Stm], arrays: Sequence[LocalArray]) -> list[LocalArray]:
    """The arrays, some of which lie in another's memory, which is as long as needed.

    Arrays that are never accessed are left out.
    """
    uses = find_uses(code, {a.name for a in arrays})
    places: list[_Place] = []
    for array in sorted((a for a in arrays if a.name in uses), key=lambda a: uses[a.name].first):
        use = uses[array.name]
        free = [p for p in places if p.until < use.first]
        place = next((p for p in free if p.size == _bytes(array)), free[0] if free else None)
        if place is None:
            place = _Place()
            places.append(place)
        place.arrays.append(array)
        place.until = use.last
        place.size = greatest(place.size, _bytes(array)) if place.size.terms else _bytes(array)
    return [array for place in places for array in place.laid_out()]


@dataclass(slots=True)
class _Place:
    """A part of local memory, and the statement at which it is free again."""

    arrays: list[LocalArray] = field(default_factory=list)
    until: int = -1
    size: Size = field(default_factory=lambda: Size.of(0))

    def laid_out(self) -> Iterator[LocalArray]:
        """The arrays: first that with the widest elements, in whose memory all other arrays lie."""
        widest = max(self.arrays, key=lambda a: a.prim.bytes)
        width = widest.prim.bytes
        length = greatest(*(a.length if a.prim.bytes == width else
                            ceil_div(_bytes(a), Size.of(width)) for a in self.arrays))
        yield replace(widest, length=length)
        yield from (replace(a, within=widest.name) for a in self.arrays if a is not widest)


def _bytes(array: LocalArray) -> Size:
    return array.length * array.prim.bytes


def cells_of(array: LocalArray) -> Size:
    """The number of cells of local memory that an array takes."""
    return ceil_div(_bytes(array), Size.of(CELL_BYTES))


def find_uses(code: Sequence[Stm], names: set[VName]) -> Mapping[VName, _Use]:
    """The statements during which each array is in use."""
    uses: dict[VName, _Use] = {}
    _find(code, 0, names, uses)
    return uses


def _find(code: Sequence[Stm], number: int, names: set[VName], uses: dict[VName, _Use]) -> int:
    """Add the uses in a block whose first statement has ``number``; the number after it."""
    touched: dict[VName, list[tuple[int, int]]] = {}
    nested: dict[VName, _Use] = {}
    for stm in code:
        start, number = number, number + 1
        own = touched_by(stm) & names
        within: dict[VName, list[_Use]] = {}
        for block in blocks(stm):
            found: dict[VName, _Use] = {}
            number = _find(block, number, names, found)
            for name, use in found.items():
                within.setdefault(name, []).append(use)
        for name in own | within.keys():
            touched.setdefault(name, []).append((start, number - 1))
            if name not in own and len(within[name]) == 1:
                nested[name] = within[name][0]
    for name, places in touched.items():
        if len(places) == 1 and name in nested:
            uses[name] = nested[name]
        else:
            uses[name] = _Use(places[0][0], places[-1][1])
    return number


def places(arrays: Sequence[LocalArray]) -> dict[VName, VName]:
    """Each array to the array that represents its place in local memory."""
    return {a.name: a.within or a.name for a in arrays}
