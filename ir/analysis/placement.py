"""Updates right behind the map that makes their values.

``a' = a with [s] <- ys``, where ``ys = segmap ...``: if nothing is between the two, the map may
make ``ys`` in the memory of ``a``.  :mod:`runelift.rewrite.passes.short_circuit` brings updates
there.  It marks an update if no work-item overwrites what another work-item reads.
:mod:`runelift.codegen.hostplan.in_place` checks that the memory is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runelift.ir.names import VName
from runelift.ir.syntax import Body, If, Loop, Map, Rearrange, Scanomap, Stm, Update
from runelift.ir.traverse import free_vars
from runelift.ir.types import shape_of

MOVED = "moved"
"""The attribute of an update that stands right behind the maker of its value."""
PLACED = "placed"
"""The attribute of a moved update whose value may be made in the memory of its operand."""


MAKERS = (Map, Scanomap, If, Loop, Update)
"""The expressions that make an array in memory that is allocated for it."""
SCRATCH = "scratch"
"""The attribute of an array of zeros that are all overwritten before anything looks at them."""
REPEATABLE = "repeatable"
"""The attribute of a scan whose elements cost no more to compute again than to load."""
IN_SLABS = "slabs"
"""The attribute of a loop over runs of segments: only what the device says differs between them."""
APPENDS = "appends"
"""The attribute of a loop that appends the rows of a flatmap to a buffer."""


def stored_in(space: str) -> str:
    """The attribute of a map whose results are stored in a memory, and not where they are read."""
    return f"stored({space})"


def is_stored(stm: Stm) -> bool:
    """True if results of a statement are stored, so that no other operation makes them."""
    return any(attr.startswith("stored(") for attr in stm.attrs)


@dataclass(frozen=True, slots=True)
class Placement:
    """Statement ``place`` behind a map updates an array by a result of the map.

    ``root``: the array before the first update of the row of updates that this one belongs to.
    Dimension k of the value is dimension ``perm[k]`` of the result.
    """

    place: int
    root: VName
    update: Update
    result: int
    perm: tuple[int, ...]


def placements(stms: Sequence[Stm]) -> Iterator[Placement]:
    """The updates right behind the first statement, a map, that its results go into, in order."""
    orders = {p.name: (k, tuple(range(len(shape_of(p.type))))) for k, p in enumerate(stms[0].pat)}
    roots: dict[VName, VName] = {}
    for n, stm in enumerate(stms[1:], 1):
        match stm.exp:
            case Rearrange(perm, array) if array in orders:
                k, before = orders[array]
                orders[stm.pat[0].name] = k, tuple(before[d] for d in perm)
            case Update(array=array, value=value) if MOVED in stm.attrs and value in orders:
                k, order = orders[value]  # type: ignore[index]
                root = roots[stm.pat[0].name] = roots.get(array, array)
                yield Placement(n, root, stm.exp, k, order)
            case _:
                return


def by_root(placed: Sequence[Placement]) -> dict[VName, list[Placement]]:
    """Placements by the array that they change; overlapping placements change one array."""
    found: dict[VName, list[Placement]] = {}
    for placement in placed:
        found.setdefault(placement.root, []).append(placement)
    return found


def first_made(body: Body, result: VName) -> VName:
    """The array of ``body`` whose memory becomes that of ``result``, perhaps ``result`` itself.

    A loop may keep its values in the memory of what it begins with.  An update may write into that
    of its operand.  Nothing else may need these arrays.
    """
    makers = {p.name: stm for stm in body.stms for p in stm.pat}
    found = result
    while (stm := makers.get(found)) is not None:
        before = _taken_over(stm, found)
        maker = None if before is None else makers.get(before)
        if before is None or maker is None or not isinstance(maker.exp, MAKERS) or any(
                before in free_vars(other) for other in body.stms if other is not stm) or (
                before in body.result):
            break
        found = before
    return found


def _taken_over(stm: Stm, name: VName) -> VName | None:
    """The array that a statement only begins with to make ``name``, if there is one."""
    match stm.exp:
        case Loop(params, _, inner):
            inits = [p.init for p in params]
            init = inits[[p.name for p in stm.pat].index(name)]
            if isinstance(init, VName) and inits.count(init) == 1 and init not in free_vars(inner):
                return init
        case Update(array, _, value) if array != value:
            return array
    return None
