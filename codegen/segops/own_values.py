"""Values of a work-item's own segments, loaded once for all tiles of their elements.

A load whose index does not depend on the element gives each element of a segment an equal value.
The place of a body in an n-body problem is such a value.  Compilers take such loads out of a loop,
but not beyond the barriers around a tile.  So they are made before the tiles, and kept in private
arrays with a cell for each segment of a work-item.

Source: stage 4, private memory, of the paper of :mod:`~runelift.ir.analysis.patterns`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from runelift.codegen.kernel.kernel_builder import CodeBuilder
from runelift.codegen.plan.views import lit, op
from runelift.codegen.segops.coarsen import varies, varying, written_by
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned, scalars_read
from runelift.ir.imp.traverse import memories, statements
from runelift.ir.names import VName


@dataclass(frozen=True, slots=True)
class Segment:
    """The index ``r`` of a segment of a work-item, below the constant ``points``."""

    r: VName
    points: VName


def with_own_values(k: CodeBuilder, code: Sequence[Stm], segment: Segment, changed: Set[VName],
                    moving: Sequence[VName], length: Exp) -> tuple[Stm, ...]:
    """The code for an element that reads what segments load from private arrays.

    The arrays are filled in the kernel ``k``, unless segments have no elements: ``length`` is their
    number.  ``moving`` are the indices that differ between elements, ``changed`` the memories that
    the kernel writes.  Loads that nothing needs are left out.
    """
    own = _own(code, changed, moving)
    used, differ = scalars_read(statements(code)), varying(code, (segment.r,))
    loads = {name: stm for name, stm in own.items() if name in differ and _loads(stm)}
    arrays = {name: k.names.fresh(name.base) for name in loads if name in used}
    k.emit(*(imp.DeclareArray(array, own[name].prim, segment.points)
             for name, array in arrays.items()))
    r, needed, before = imp.Var(segment.r), set(arrays), list[Stm]()
    for name, stm in reversed(own.items()):
        if name in needed:
            needed |= scalars_read([stm])
            before.insert(0, stm)
    if arrays:
        stores = (imp.Store(array, r, imp.Var(name), own[name].prim)
                  for name, array in arrays.items())
        each = imp.For(segment.r, lit(0), imp.Var(segment.points), lit(1), (*before, *stores),
                       unroll=True)
        k.emit(imp.If(op("lt", lit(0), length), (each,)))
    return tuple(_read(stm, arrays, r) for stm in code
                 if not (isinstance(stm, imp.Declare) and stm.name in loads.keys() - used))


def _read(stm: Stm, arrays: Mapping[VName, VName], r: Exp) -> Stm:
    """A statement that reads an array, if there is one for its value."""
    if isinstance(stm, imp.Declare) and stm.name in arrays:
        return replace(stm, init=imp.Load(arrays[stm.name], r, stm.prim))
    return stm


def _own(code: Sequence[Stm], changed: Set[VName], moving: Sequence[VName]
         ) -> dict[VName, imp.Declare]:
    """The statements whose values are equal for all elements of a segment, in order, by name."""
    written = written_by(code) | changed
    differ = varying(code, moving) | assigned(code)
    return {stm.name: stm for stm in code if isinstance(stm, imp.Declare) and stm.init is not None
            and stm.name not in differ and not varies(stm.init, differ, written)}


def _loads(stm: imp.Declare) -> bool:
    """True if a value is from memory."""
    return stm.init is not None and bool(memories(stm.init))
