"""Nests that steps of a schedule cut into blocks, and the kernel that this asks for.

Steps split the loops of maps around a reduction, and store what a tile needs.  There are generators
of such kernels: for products (:mod:`runelift.codegen.segops.product_tiles`), and for other points
that have elements in common (:mod:`runelift.codegen.segops.segred_blocked`).  So steps are followed
here, and what they ask for becomes the attribute :mod:`runelift.ir.analysis.blocks` of the nest as
it was.  The generators need no tiles that divide sizes, so neither does the nest.

| step | what it asks for |
| --- | --- |
| ``ab_tile`` of two maps, ``split_join`` of one | the block of a work-group |
| the same at the maps of a block | the points of a work-item |
| ``tile_map_reduce`` of the maps of a block | the slab; copies of inputs |
| ``privatise`` of a reduction | nothing: sums are in registers |
| ``materialise(local)`` of an input's slab | a copy of it; of all inputs if it is no product |
| ``tile_map_reduce`` of a reduction inside of another one | the tile of its inputs |
| ``tile_map_reduce`` of the innermost reduction | the unroll factor |

A nest with any other step inside is what its steps make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.blocks import COLUMNS, ROWS, Blocks
from runelift.ir.analysis.products import product_of
from runelift.ir.analysis.sharing import reduction_of, sharing
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    binders,
    bodies_inside,
    body_of,
    lambda_of,
    lambdas_of,
    map_inside,
    rename_lambda,
    statements_inside,
    stm_of,
    types_in,
)
from runelift.ir.types import Const, i64, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.lift.apply import with_attributes
from runelift.rewrite.lift.places import Place
from runelift.rewrite.lift.point import Arguments, Value
from runelift.rewrite.lift.schedule import Step


@dataclass(slots=True)
class BlockedNest:
    """A nest that steps have cut into blocks: the statement as it was, and what they ask for.

    It has so many ``levels`` of maps.  ``steps`` are their texts, and ``own`` the names that they
    have bound.  The maps of a block bind ``maps``, those over blocks ``tiles``.  Where ``folds``
    are bound, the reduction can be cut.  ``sides`` are the parameters of the maps over blocks.
    Depth 0 stands for a reduction that is not cut.
    """

    path: str
    original: ir.Stm
    levels: int
    is_product: bool
    blocks: Blocks
    maps: set[VName]
    tiles: set[VName] = field(default_factory=set)
    folds: set[VName] = field(default_factory=set)
    sides: dict[VName, str] = field(default_factory=dict)
    own: set[VName] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)

    @property
    def name(self) -> VName:
        """The first name that the nest binds."""
        return self.original.pat[0].name

    @property
    def is_complete(self) -> bool:
        """True if there is a generator for what the steps ask for."""
        return self.blocks.is_possible and (self.is_product or self.blocks.is_of_neighbours)

    def takes(self, fun: ir.Fun, after: ir.Fun, place: Place, point: str, given: Arguments,
              inner: VName | None) -> str:
        """Follow a step at a statement inside; the reason why if it asks for more than blocks.

        ``fun`` is the function before the step.  ``inner`` is the name that the rewrite gives to
        further steps.
        """
        following = {inner} if inner is not None else set[VName]()
        match point:
            case "ab_tile" if place.name in self.maps and given["copies"] == "local":
                return "a work-item shares no copies of the inputs of its points"
            case "ab_tile" if place.name in self.maps:
                return self._takes_points(given["rows"], given["columns"], following | {
                    p.name for stm in _two_around(after, inner) for p in stm.pat})
            case "split_join" if place.name in self.maps and self.levels == 1:
                return self._takes_points(i64(1), given["tile"], following | _map_in(after, inner))
            case "split_join" if place.name in self.tiles:
                return self._takes_items(given["tile"])
            case "tile_map_reduce" if place.name in self.folds and not self.blocks.depth:
                return self._takes_slab(given, following)
            case "tile_map_reduce" if self.blocks.depth and _is_innermost(place.stm):
                return self._takes_loop(given)
            case "privatise":
                if self.maps and not _is_sum(place.stm):
                    self.maps = following
                return ""
            case "materialise" if isinstance(place.stm.exp, ir.Index) and self.blocks.depth:
                return self._takes_copy(given["space"], self._side(fun, place.stm.exp.array))
            case "materialise" if given["space"] == "local":
                return ("'privatise' has to come before, so that the statement is the tile of an "
                        "input" if self.blocks.depth else "the reduction is not cut into slabs yet")
        return "it asks for what a block has not"

    def _takes_copy(self, space: Value, side: str | None) -> str:
        """A copy of the elements of a slab, of the input on a side."""
        if space == "global":
            return "elements of a slab in global memory are what another kernel stores"
        if space == "local" and self.is_product and side is None:
            return ("the input varies with neither map, and a block copies inputs that vary with "
                    "its rows or its columns")
        if space == "local":
            sides = {side} if side and self.is_product else {ROWS, COLUMNS}
            self.blocks = replace(self.blocks, copies=self.blocks.copies | sides)
        return ""

    def _takes_points(self, rows: Value, columns: Value, following: set[VName]) -> str:
        """Note the rows and columns of points that a work-item takes."""
        self.blocks = replace(self.blocks, own_rows=_number(rows), own_columns=_number(columns))
        self.maps, self.tiles = set(), set()
        self.folds |= following
        return ""

    def _takes_items(self, items: Value) -> str:
        """The work-items of a group, each of which has what was a block."""
        points = self.blocks.columns
        self.blocks = replace(self.blocks, columns=points * _number(items), own_columns=points)
        self.maps, self.tiles = set(), set()
        return ""

    def _takes_slab(self, given: Arguments, following: set[VName]) -> str:
        """The slab, and copies of all inputs."""
        copies = {ROWS, COLUMNS} if given["copies"] == "local" else set[str]()
        self.blocks = replace(self.blocks, depth=_number(given["tile"]), copies=frozenset(copies))
        if self.maps:
            self.maps = following
        return "work-items of a block keep no slabs of their own" if (
            given["copies"] == "private") else ""

    def _takes_loop(self, given: Arguments) -> str:
        """The tile of a loop at each element, or the unroll factor of the innermost loop."""
        number = _number(given["tile"])
        if not (self.is_product or self.blocks.tile) and self._has_inner_loop:
            self.blocks = replace(self.blocks, tile=number)
            return ""
        if self.blocks.unroll or given["copies"] == "local":
            return "the innermost loop of a block is cut once, and copies are those of its slabs"
        self.blocks = replace(self.blocks, unroll=number)
        return ""

    @property
    def _has_inner_loop(self) -> bool:
        """True if an element of the reduction is one itself."""
        return sum(isinstance(stm.exp, ir.Redomap) for stm in _inside(self.original)) > 1

    def _side(self, fun: ir.Fun, array: VName) -> str | None:
        """The side that an array inside of the maps over blocks varies with."""
        sources = dict[VName, VName]()
        for stm in statements_inside([fun.body]):
            match stm.exp:
                case ir.Map(lam=lam, arrays=arrays) | ir.Redomap(lam=lam, arrays=arrays):
                    sources |= {p.name: a for p, a in zip(lam.params, arrays, strict=True)}
                case (ir.Index(array=source) | ir.Rearrange(array=source)
                      | ir.Reshape(array=source) | ir.Slide(array=source)):
                    sources[stm.pat[0].name] = source
        while array not in self.sides and array in sources:
            array = sources[array]
        return self.sides.get(array)


@dataclass(slots=True)
class Blocking:
    """The nests of a program that steps have cut into blocks so far."""

    nests: list[BlockedNest] = field(default_factory=list)

    def follow(self, before: ir.Fun, after: ir.Fun, place: Place, step: Step, given: Arguments,
               inner: VName | None, names: Names) -> Iterator[str]:
        """Follow a step from function ``before`` to ``after``; yields the undone steps in words.

        ``inner`` is the name that the rewrite gives to further steps.
        """
        point, known = step.request.point, [*self.nests]
        rewritten = {p.name for stm in _inside(place.stm) for p in stm.pat}
        self.nests = [each for each in self.nests if each.name not in rewritten
                      or place.name in each.own]  # others stand in what the step rewrites
        yield from (f"This ends the block of {each.path}: it stands in what is rewritten"
                    for each in known if each not in self.nests)
        nest = next((each for each in self.nests if place.name in each.own), None)
        if nest is not None:
            if reason := nest.takes(before, after, place, point, given, inner):
                self.nests.remove(nest)
                yield f"This ends the block of {nest.path}: {reason}"
                return
        elif point in ("ab_tile", "split_join") and inner is not None:
            nest = _begun(before, after, place, given, inner, names)
        if nest is not None:
            nest.steps.append(str(step))
            nest.own |= {*binders(after.body)} - {*binders(before.body)}
            if nest not in self.nests:
                self.nests.append(nest)

    @property
    def complete(self) -> list[BlockedNest]:
        """The nests of which one kernel is made."""
        return [each for each in self.nests if each.is_complete]

    def made(self, fun: ir.Fun, names: Names) -> ir.Fun:
        """``fun`` with complete nests as before blocking, and attributes for their blocks."""
        for nest in self.complete:
            fun = replace(fun, body=_with_statement(fun.body, _marked(nest, names)))
        return fun


def _begun(before: ir.Fun, after: ir.Fun, place: Place, given: Arguments, inner: VName,
           names: Names) -> BlockedNest | None:
    """The nest whose maps a step has cut into blocks, if there is a generator for it.

    ``inner`` is what two maps of a block make, or one map over blocks.
    """
    if given.get("copies", "none") != "none":
        return None
    original = replace(place.stm, attrs=settings(place.stm))
    levels = 2 if "rows" in given else 1
    kernel = _kernel(original, levels, copy(names))
    product = product_of(kernel)
    is_product = product is not None and (product.rows, product.columns) == ((0,), (1,))
    if not is_product:
        found = reduction_of(kernel, copy(names))
        if found is None or sharing(types_in(before).__getitem__, found[1]) is None:
            return None
    own = {p.name for stm in (original, *_inside(original)) for p in stm.pat}
    if levels == 1:
        block = Blocks(1, _number(given["tile"]), depth=0)
        maps = _map_in(after, inner)
        if not maps:
            return None
        return BlockedNest(place.path, original, 1, False, block, maps, {inner}, maps, own=own)
    block = Blocks(_number(given["rows"]), _number(given["columns"]), depth=0)
    around = _two_around(after, inner)
    if not around:  # a condition is tested where the nest stands, and its branches have new names
        return None
    sides = {p.name: side for side, stm in zip((ROWS, COLUMNS), around, strict=True)
             for p in lambdas_of(stm.exp)[0].params}
    return BlockedNest(place.path, original, 2, is_product, block, {inner}, set(), {inner}, sides,
                       own)


def _two_around(fun: ir.Fun, name: VName | None) -> tuple[ir.Stm, ...]:
    """The two maps in each other around the statement that binds a name first."""
    for outer in statements_inside([fun.body]):
        for stm in outer.exp.lam.body.stms if isinstance(outer.exp, ir.Map) else ():
            if isinstance(stm.exp, ir.Map) and any(
                    s.pat and s.pat[0].name == name for s in stm.exp.lam.body.stms):
                return outer, stm
    return ()


def _map_in(fun: ir.Fun, name: VName | None) -> set[VName]:
    """The names that the map binds which ends the function of the map that binds a name."""
    for stm in statements_inside([fun.body]):
        if stm.pat and stm.pat[0].name == name and isinstance(stm.exp, ir.Map):
            return {p.name for p in stm.exp.lam.body.stms[-1].pat}
    return set()


def _number(value: Value) -> int:
    """The value of a constant; 0 for other values."""
    return int(value.value) if isinstance(value, Const) else 0


def _is_sum(stm: ir.Stm) -> bool:
    """True if a statement reduces scalars."""
    return isinstance(stm.exp, ir.Redomap) and all(isinstance(p.type, Prim) for p in stm.pat)


def _is_innermost(stm: ir.Stm) -> bool:
    """True if a statement reduces scalars, and has no reduction inside."""
    return _is_sum(stm) and not any(isinstance(s.exp, ir.Redomap) for s in _inside(stm))


def _inside(stm: ir.Stm) -> list[ir.Stm]:
    """The statements inside of a statement."""
    return [*statements_inside(bodies_inside(stm.exp))]


def _kernel(stm: ir.Stm, levels: int, names: Names) -> ir.SegMap:
    """The kernel with a work-item for each point of so many maps."""
    space, stms, exp = list[ir.SegDim](), list[ir.Stm](), stm.exp
    for level in range(levels):
        assert isinstance(exp, ir.Map)
        index, lam = names.fresh("i"), exp.lam
        space.append(ir.SegDim(index, exp.width))
        stms += (ir.Stm((p,), ir.Index(a, (index, *map(whole, shape_of(p.type)))))
                 for p, a in zip(lam.params, exp.arrays, strict=True))
        if level + 1 < levels:
            *before, last = lam.body.stms
            stms, exp = [*stms, *before], last.exp
    return ir.SegMap(ir.Level.GRID, tuple(space), ir.Body((*stms, *lam.body.stms),
                                                          lam.body.result), lam.ret)


def _marked(nest: BlockedNest, names: Names) -> ir.Stm:
    """The nest as it was, with an attribute of its maps; what it binds inside has new names."""
    def marked(stm: ir.Stm, depth: int) -> ir.Stm:
        assert isinstance(stm.exp, ir.Map)
        exp, body = stm.exp, stm.exp.lam.body
        if depth:
            stms = (*body.stms[:-1], marked(body.stms[-1], depth - 1))
            exp = replace(exp, lam=replace(exp.lam, body=replace(body, stms=stms)))
        return replace(stm, exp=exp, attrs=(*stm.attrs, str(nest.blocks)))

    stm = _without_points(nest.original)
    exp = ir.node_of(stm, ir.Map)
    return marked(replace(stm, exp=replace(exp, lam=rename_lambda(exp.lam, names))),
                  nest.levels - 1)


def _without_points(stm: ir.Stm) -> ir.Stm:
    """A statement without the points of what is inside: they have been taken."""
    holder = ir.Fun("", (), (), ir.Body((stm,), ()))
    return with_attributes(holder, {
        each.pat[0].name: settings(each) for each in _inside(stm) if each.pat}).body.stms[0]


def _with_statement(body: ir.Body, new: ir.Stm) -> ir.Body:
    """A body with the statement ``new`` in place of the statements that bind its names."""
    bound, stms, put = {p.name for p in new.pat}, list[ir.Stm](), False
    for stm in body.stms:
        if bound.isdisjoint(p.name for p in stm.pat):
            stms.append(stm_of(stm, map_inside(
                stm.exp, lambda inner: _with_statement(inner, new),
                lambda lam: lambda_of(lam, lam.params, _with_statement(lam.body, new), lam.ret))))
        elif not put:
            stms.append(new)
            put = True
    return body_of(body, stms, body.result)
