"""Adding up the work of a kernel: operations and accesses, each with how often it is executed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from runelift.codegen.cost.expressions import Expr, Graph, Region
from runelift.codegen.cost.forms import Forms
from runelift.codegen.cost.polynomials import Atom, Form
from runelift.codegen.cost.sectors import Box, edges_along, moved
from runelift.codegen.cost.totals import LINE, SECTOR
from runelift.ir import imp
from runelift.ir.imp.traverse import evaluated, statements
from runelift.ir.imp.work_counts import UNCOUNTED
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim

ARRAY = "private:"
"""Opens the names of sums of accesses to a private array."""
_PLAIN = frozenset({"add", "sub", "mul", "min", "max", "eq", "lt", "le", "neg", "abs", "sgn",
                    "floor", "ceil", "trunc", "round", "isnan", "isinf", "copysign", "fma", "bits"})
"""Operations on floating-point numbers that take few steps; any other operation is special."""
_DIVISIONS = frozenset({"div", "mod", "quot", "rem"})
DIVISION = {32: 20, 64: 60}
"""Steps of an integer division, by bits."""
BY_CONSTANT = 8
"""Steps of an integer division by a constant of the kernel."""
SPECIAL_STEPS = 8
"""Steps of a special operation for the work-item that waits for it."""


@lru_cache(maxsize=512)
def class_of(op: str, prim: Prim) -> tuple[str, float]:
    """The sum that an operation counts in, and how much it counts there."""
    if prim.is_float:
        if op not in _PLAIN:
            return "special", 1
        return ("doubles" if prim is Prim.F64 else "operations"), 1
    if op in _DIVISIONS:
        return "operations", DIVISION[64 if prim.bits == 64 else 32]
    if prim.bits == 64:
        return "operations", 4.0 if op in ("mul", "mul_hi") else 2.0
    return "operations", 1


def is_vector(body: Sequence[imp.Stm]) -> bool:
    """True if unrolled iterations can be the lanes of a vector: no check fails, none divides."""
    inside = statements(body)
    return not any(isinstance(each, imp.Fail) for each in inside) and not any(
        isinstance(each, imp.Apply) and each.op in _DIVISIONS and each.prim.is_int
        for each in evaluated(inside))


@dataclass(frozen=True, slots=True)
class Frame:
    """A loop around: the count of its iterations, and how often it is entered.

    ``before``: of the work-items that run the body around the loop, the share that reach the loop.
    ``longest`` is how often the longest work-item runs the body.  ``serial``: loads of an iteration
    wait for the iteration before.  That iteration stores, waits for other work-items, or decides if
    there is a next iteration.  ``announced``: the loop goes through a segment, and says what to
    expect.  ``scalar``: unrolled, but its iterations are no vector.  The atoms up to number
    ``before_body`` were made before the body was followed.
    """

    item: Atom
    unrolled: bool
    trips: Expr
    outer: Expr
    before: Expr
    longest: Expr
    serial: bool
    announced: bool = False
    scalar: bool = False
    before_body: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Here:
    """The place of a statement.

    ``weight`` is how often all work-items execute it, ``longest`` how often the longest one does.
    ``part`` is the share of all work-items that come here.  ``share`` counts only work-items that
    run the body of the innermost loop.  ``lanes`` of a sub-group execute it together.
    """

    region: Region
    weight: Expr
    longest: Expr
    part: Expr
    share: Expr
    lanes: Expr
    frames: tuple[Frame, ...] = ()


def _first(seen: dict[Hashable, list[Region]], region: Region, key: Hashable) -> bool:
    """True if a key has not been seen in a region or around it; it has been then."""
    known = seen.setdefault(key, [])
    around: Region | None = region
    while around is not None:
        if around in known:
            return False
        around = around.parent
    known.append(region)
    return True


@dataclass(slots=True)
class Access:
    """An access to global memory: element ``index`` of ``mem``; None if the index is unknown."""

    mem: VName
    index: Form | None
    prim: Prim
    writes: bool


class Places(NamedTuple):
    """Scattered places: ``sectors`` that accesses need, and how many of them are ``walked`` to.

    ``lookups`` are the accesses that find their sector, each alone in a line.
    """

    sectors: Expr
    walked: Expr = 0
    lookups: Expr = 0


@dataclass(slots=True)
class Sums:
    """The operations and bytes of a kernel that have been counted so far."""

    graph: Graph
    forms: Forms
    lane: Atom
    meaningful: frozenset[VName]
    epoch: int = 0
    """The barriers before."""
    dynamic: set[VName] = field(default_factory=set)
    """The private arrays that are indexed by what is not known when the kernel is compiled."""
    buffers: dict[str, None] = field(default_factory=dict)
    """The maxima of what is reached in each buffer."""
    _charged: dict[Hashable, list[Region]] = field(default_factory=dict)
    _waited: dict[Hashable, list[Region]] = field(default_factory=dict)

    # Operations

    def operation(self, exp: imp.Apply, here: Here, by: Form | None, result: Form | None,
                  counts: bool) -> None:
        """Count an operation with a last operand; ``counts`` says that integers are data.

        Indices are computed outside of loops.  The compiler computes an index from constants.
        """
        op, prim = exp.op, exp.prim
        arithmetic = op not in UNCOUNTED and not OPS[op].predicate and (counts or prim.is_float)
        if arithmetic:
            here.region.add("arithmetic", here.weight)
        name, cost = class_of(op, prim)
        weight, longest = here.weight, here.longest
        if op in _DIVISIONS and by is not None and self.forms.is_fixed(by):
            cost = BY_CONSTANT
        if result is not None and self.forms.is_fixed(result):
            return
        if result is not None and not self.forms.unknown(result):
            weight, longest = self._hoisted(here, result)
            if not _first(self._charged, here.region, (op, result, weight)):
                return
        here.region.add(name, weight, cost)
        here.region.add("steps", longest, SPECIAL_STEPS if name == "special" else cost)

    def _hoisted(self, here: Here, result: Form) -> tuple[Expr, Expr]:
        """The times that an index is computed: outside of loops in which it grows evenly or not."""
        bent = frozenset(v for monomial in result.terms for atom in monomial
                         for v in atom.varies if atom is not v)
        frames = here.frames
        for k in range(len(frames) - 1, -1, -1):
            if frames[k].item in bent and not frames[k].unrolled:
                if k + 1 == len(frames):
                    return here.weight, here.longest
                return self.graph.mul(frames[k + 1].outer, here.share), frames[k].longest
        if not frames:
            return here.weight, here.longest
        return self.graph.mul(frames[0].outer, here.share), 1

    # Accesses

    def global_access(self, access: Access, here: Here) -> None:
        """Count a load from, or a store to, global memory."""
        graph, region, size = self.graph, here.region, access.prim.bytes
        region.add("touched", here.weight, size)
        region.reach("part", here.part)
        index = access.index
        executed, unrolled = self._unrolled(index, here)
        region.add("accesses", executed)
        region.add("operations", executed)
        region.add("steps", here.longest, 2)
        if not access.writes:
            self._wait(index, here)
        scattered = 1 if index is None or self._in_parts(index, here) else self._scattered(
            index, here.lanes)
        places = self._places(index, executed, size, here)
        region.add("random", graph.mul(places.sectors, scattered))
        region.add("walked", graph.mul(places.walked, scattered))
        region.add("lookups", graph.mul(places.lookups, scattered))
        if index is None or scattered == 1:
            self._reach(access, None, executed, here)
            return
        shared = graph.mul(executed, graph.sub(1, scattered))
        flat = self.forms.resolved(self.forms.unclamped(index))
        edges = edges_along(self.forms, flat, self.lane, here.lanes, size)
        along = [edge for frame in unrolled
                 for edge in edges_along(self.forms, flat, frame.item, frame.trips, size)]
        inner = graph.mul(1, *[frame.trips for frame in unrolled])
        loop = next((f for f in reversed(here.frames) if not f.unrolled), None)
        step = None if loop is None else self._step(flat, loop, size)
        found = moved(self.forms, Box(here.lanes, edges, along, inner), step,
                      1 if loop is None else loop.trips)
        groups = graph.over(shared, graph.mul(here.lanes, inner))
        kept = graph.mul(groups, found.kept)
        region.add("written" if access.writes else "read", kept, SECTOR)
        if found.all is not found.kept and found.all != found.kept:
            apart = graph.most(graph.sub(graph.mul(groups, found.all), kept), 0)
            region.add("apart", apart, SECTOR)
        self._reach(access, index, executed, here)

    def _places(self, index: Form | None, executed: Expr, size: int, here: Here) -> Places:
        """The sectors and look-ups that accesses to scattered places need.

        A loop over a segment reads a place that it does not change once.  A work-item finds the
        next elements of a segment in the sector of the last, or in the sector behind it.  It shares
        lines with neighbours if the segments between them are short.
        """
        graph = self.graph
        loop = next((f for f in reversed(here.frames) if not f.unrolled), None)
        if index is None or loop is None or not loop.announced:
            return Places(executed)
        flat = self.forms.resolved(self.forms.unclamped(index))
        atoms, varies = flat.atoms(), self.forms.varies(flat)
        if loop.item not in varies and all(
                each.kind != "element" or each.number <= loop.before_body for each in varies):
            return Places(graph.least(executed, loop.outer))
        if loop.item not in atoms or any(
                each.kind == "element" and loop.item in each.varies for each in atoms):
            return Places(executed)
        part: Expr = 1
        for frame in (loop, *self._unrolled(index, here)[1]):
            part = graph.least(part, graph.over(self._step(flat, frame, size), SECTOR))
        found = graph.least(executed, graph.add(graph.mul(executed, part), loop.outer))
        walk = graph.mul(self._step(flat, loop, size), loop.trips)
        alone = graph.least(1, graph.over(walk, LINE))
        return Places(found, graph.most(0, graph.sub(found, loop.outer)),
                      graph.mul(graph.sub(executed, found), alone))

    def _in_parts(self, index: Form, here: Here) -> bool:
        """True if work-items go through parts of a segment, which elements make so long."""
        return any(f.announced for f in here.frames) and any(
            self.lane in monomial and any(each.kind == "element" for atom in monomial
                                          for each in atom.varies) for monomial in index.terms)

    def _scattered(self, index: Form, lanes: Expr) -> Expr:
        """The share of accesses to places that elements decide for each work-item alone.

        Neighbouring work-items share an element whose place is a quotient by a long row.
        """
        graph, places, seen = self.graph, list[Expr](), set[Atom]()
        pending = [index]
        while pending:
            for atom in sorted(self.forms.varies(pending.pop()) - seen):
                if atom.kind != "element" or self.lane not in atom.varies:
                    continue
                seen.add(atom)
                pending += atom.sources
                for source in atom.sources:
                    flat = self.forms.resolved(self.forms.unclamped(source))
                    if any(self.lane in each.varies and each.kind not in ("quotient", "element")
                           for each in flat.atoms()):
                        return 1
                    places += [edge.number for edge in edges_along(
                        self.forms, flat, self.lane, lanes, 1) if edge.bytes != 0]
        if not seen:
            return 0
        most: Expr = graph.least(graph.mul(*places), lanes)
        alone = graph.over(graph.sub(most, 1), graph.sub(lanes, 1))
        return graph.choose(graph.less(1, lanes), alone, 1)

    def _step(self, flat: Form, frame: Frame, size: int) -> Expr:
        """The bytes between the places of an access in iterations of a loop."""
        return self.graph.absolute(self.graph.mul(self.forms.rate(flat, frame.item), size))

    def _unrolled(self, index: Form | None, here: Here) -> tuple[Expr, list[Frame]]:
        """The times that an access is executed, and the unrolled loops in which it varies.

        Compilers leave out repeated accesses to one place in the iterations of unrolled loops.
        """
        frames = here.frames
        first = len(frames)
        while first and frames[first - 1].unrolled:
            first -= 1
        if first == len(frames) or index is None:
            return here.weight, []
        varies = self.forms.varies(index)
        varying = [frame for frame in frames[first:] if frame.item in varies]
        if len(varying) == len(frames) - first:
            return here.weight, varying
        shares = [frame.before for frame in frames[first + 1:]] + [here.share]
        return self.graph.mul(frames[first].outer, *shares, *[f.trips for f in varying]), varying

    def _wait(self, index: Form | None, here: Here) -> None:
        """Count a load that the longest work-item waits for, unless it waits for another then."""
        depth = 1
        if index is not None:
            depth += max((v.depth for v in self.forms.varies(index)), default=0)
        frame = next((f for f in reversed(here.frames) if not f.unrolled or f.scalar), None)
        if _first(self._waited, here.region, (frame, self.epoch, depth)):
            if frame is None:
                here.region.add("waits", here.longest)
            else:
                here.region.add("waits" if frame.serial else "streams", frame.longest)

    def _reach(self, access: Access, index: Form | None, executed: Expr, here: Here) -> None:
        """Note how many elements of a buffer are accessed at least."""
        graph, forms = self.graph, self.forms
        name = f"{'w' if access.writes else 'r'}_{access.mem.tag}"
        self.buffers[name] = None
        reached = executed
        if index is not None and not forms.unknown(index):
            reached = graph.least(reached, forms.span(index))
        here.region.reach(name, graph.mul(reached, access.prim.bytes))

    def local_access(self, index: Form | None, here: Here) -> None:
        """Count an access to local memory."""
        executed, _ = self._unrolled(index, here)
        here.region.add("local", executed)
        here.region.add("operations", executed)
        here.region.add("steps", here.longest, 2)

    def private_access(self, mem: VName, index: Form | None, here: Here) -> None:
        """Count an access to a private array.

        It is in memory if any index is dynamic, or if lanes are no vector.
        """
        varies = frozenset[Atom]() if index is None else self.forms.varies(index)
        fixed = {frame.item for frame in here.frames if frame.unrolled}
        if index is None or not varies <= fixed or any(f.scalar for f in here.frames):
            self.dynamic.add(mem)
        here.region.add(f"{ARRAY}{mem.tag}", here.weight)

    def atomic(self, access: Access, space: imp.Space, here: Here, times: int = 1) -> None:
        """Count an atomic operation, which takes as long as so many."""
        region = here.region
        if space is not imp.Space.GLOBAL:
            region.add("local_atomics", here.weight, times)
            return
        region.add("atomics", here.weight, times)
        region.add("touched", here.weight, 2 * access.prim.bytes)
        region.add("steps", here.longest, 2)
        region.reach("part", here.part)
        for writes in (False, True):
            self._reach(Access(access.mem, access.index, access.prim, writes), access.index,
                        here.weight, here)
