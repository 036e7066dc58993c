"""Segmented operations on the host: their kernels, and the buffers of their results.

Arrays of which each work-item makes a row are interleaved, on devices that coalesce writes.
Scatters and histograms change the buffer of their destination if it has no later reader, else a
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runelift.codegen.hostplan.dispatch import lower_length_facts, lower_segop
from runelift.codegen.hostplan.lazy_copies import LazyCopies
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Parameters, Quantity
from runelift.codegen.plan.views import View, interleaved, lit
from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import product
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type, elem_of, i64, shape_of

INTERLEAVE_ABOVE = 4
"""Arrays of rows of up to so many elements, or of so few rows, gain nothing by interleaving."""


class SegOps(LazyCopies):
    """Lowers segmented operations to steps."""

    __slots__ = ()

    def segop(self, stm: ir.Stm, checks: ir.SegMap | None = None) -> None:
        """Add the steps of a segmented operation whose result buffers exist, with ``checks``."""
        self.lowered(stm.pat, lambda parameters: lower_segop(
            stm, self, self.names, parameters, self.lengths, checks))

    def lowered(self, pat: Sequence[ir.Param],
                lower: Callable[[Parameters], tuple[plan.Step, ...]]) -> None:
        """Add the steps of an operation that makes ``pat``, as ``lower`` finds them."""
        parameters = self.new_operation(pat)
        steps = self.fill_where_read(lower(parameters))
        found = tuple(parameters.found.values())
        self.types |= {p.variable: Prim.I64 for p in found}
        self.emit(plan.Operation(parameters.operation, found, steps))

    def checks_lengths(self, stm: ir.Stm, following: ir.Stm | None) -> bool:
        """True for checks at points with lengths whose facts the ``following`` statement finds."""
        match stm.exp, following and following.exp:
            case ir.SegMap(ir.Level.GRID, (dim,)), ir.LengthFacts(lengths):
                return not stm.pat and shape_of(self.type(lengths)) == (dim.width,)
        return False

    def has_checks_beside(self, stm: ir.Stm, following: ir.Stm | None) -> bool:
        """True for a scatter over the grid if checks follow that need none of its results."""
        match stm.exp, following and following.exp:
            case ir.SegScatter(ir.Level.GRID), ir.SegMap(ir.Level.GRID) as checks:
                return not (following and following.pat) and free_vars(checks).isdisjoint(
                    p.name for p in stm.pat)
        return False

    def length_facts(self, stm: ir.Stm, exp: ir.LengthFacts, checks: ir.SegMap | None) -> None:
        """Add the steps that find facts about lengths, with the checks that stand before."""
        self.allocate(stm.pat[0])
        segments = self.size(shape_of(self.type(exp.lengths))[0])
        self.lowered(stm.pat, lambda parameters: lower_length_facts(
            stm, exp, checks, segments, self, self.names, parameters))

    def segment_length(self, stm: ir.Stm, likely: Atom) -> None:
        """Add an operation that computes the length of segments between checkpoints."""
        name, given = stm.pat[0].name, self.names.fresh("given")

        def steps(parameters: Parameters) -> tuple[plan.Step, ...]:
            chosen = parameters.variable(Quantity.SEGMENT)
            return (plan.Compute(given, "lt", Prim.I64, (i64(0), chosen), stm.loc),
                    plan.Branch(given, (plan.Bind(name, chosen),), (plan.Bind(name, likely),)))

        self.lowered(stm.pat, steps)

    def operation(self, stm: ir.Stm, exp: ir.SegOp, checks: ir.SegMap | None = None) -> None:
        """Add steps that allocate result buffers of a segmented operation, and its steps."""
        # A scalar result arrives in a buffer of one element, under a separate name.
        scalars = [p.name for p in stm.pat]
        pat = tuple(ir.Param(self.names.fresh(p.name), p.type) if isinstance(p.type, Prim) else p
                    for p in stm.pat)
        stm = replace(stm, pat=pat)
        match exp:
            case ir.SegScatter(_, _, dests):
                self._destinations(stm, [d.array for d in dests])
            case ir.SegHist(_, _, ops):
                self._destinations(stm, [d for o in ops for d in o.dests], virtual=True)
            case ir.SegAccumulate(dests=accumulated):
                self._destinations(stm, accumulated)
            case _:
                for name, param in zip(scalars, pat, strict=True):
                    if name in self.places.elements:
                        self._make_element(param, *self.places.elements[name])
                    else:
                        self._make_room(param, exp)
        self.segop(stm, checks)
        self.commit_versions(p.name for p in pat)
        for name, param in zip(scalars, pat, strict=True):
            if isinstance(param.type, Prim) and name not in self.places.elements:
                self.scalar_result(name, param.type, param.name)

    def _make_element(self, param: ir.Param, array: ir.Param, place: int) -> None:
        """Let a scalar result become an element of an array that is put together later."""
        if array.name not in self.views:
            self.allocate(array)
        at = lit(place)
        self.bind_view(param, View(elem_of(array.type), (), array.name, lambda _: at))

    def _make_room(self, param: ir.Param, exp: ir.SegOp) -> None:
        """Allocate a buffer for a result, interleaved if work-items make rows of it."""
        if (given := self.places.given.pop(param.name, None)) is not None:
            self.bind_view(param, given)
            self.places.waiting.add(param.name)
            return
        view = self.allocate(param)
        match exp:
            case ir.SegMap(ir.Level.GRID, space) if self.interleave:
                if self.interleaves(param.type, len(space)):
                    self.bind_view(param, interleaved(param.name, view.prim, view.shape,
                                                      len(space)))

    def interleaves(self, type_: Type, outer: int) -> bool:
        """True if an array should be interleaved in memory, so that its accesses are coalesced.

        Work-items divide the ``outer`` first dimensions.  Interleaving pays unless those or the
        inner dimensions are known to be short.
        """
        shape = [self.size(s) for s in shape_of(type_)]
        return all(n.constant is None or n.constant > INTERLEAVE_ABOVE
                   for n in (product(shape[:outer]), product(shape[outer:])))

    def _destinations(self, stm: ir.Stm, arrays: Sequence[VName], *, virtual: bool = False) -> None:
        """Bind destinations to the operand's own buffer if it has no later reader, else to a copy.

        The kernel's work-items run in any order, so it must not read what it overwrites.
        ``virtual``: the kernels compute the elements of an operand that is not in memory.
        """
        read = self.read_by(stm.exp)
        taken: set[VName] = set()
        for param, array in zip(stm.pat, arrays, strict=True):
            mem = self.views[array].mem
            if (mem is not None and mem not in taken and self.views[array].dense
                    and self.dead(array)
                    and not any(self.touches(self.views[name], mem) for name in read)):
                taken.add(mem)
                self.adopt(param, mem)
            elif mem is None and virtual:
                self.allocate(param)
            else:
                self.adopt(param, self.copy(array))
