"""Nests that steps of a schedule cut into blocks, and the kernel that this asks for.

A product is a nest of two maps around a reduction (:mod:`runelift.ir.products`).  Steps split its
loops, and store what a tile needs.  One generator makes kernels of all such nests
(:mod:`runelift.codegen.segops.product_tiles`).  So steps are followed here, and what they ask for
becomes the attribute :mod:`runelift.ir.blocks` of the nest as it was.  The generator needs no tiles
that divide sizes, so neither does the nest.

| step | what it asks for |
| --- | --- |
| ``ab_tile`` of the nest | the block of a work-group |
| ``tile_map_reduce`` of the maps of a block | the slab; copies of both operands |
| ``privatise`` of a reduction | nothing: sums are in registers |
| ``materialise(local)`` of an operand's slab | a copy of it |
| ``ab_tile`` of the maps of a block | the points of a work-item |
| ``tile_map_reduce`` of the reduction of a slab | the unroll factor |

A nest with any other step inside is what its steps make of it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.blocks import COLUMNS, ROWS, Blocks
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.products import product_of
from runelift.ir.traverse import (
    body_of,
    lambda_of,
    map_inside,
    rename_lambda,
    statements_inside,
    stm_of,
)
from runelift.ir.types import Atom, Const, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.lift.places import Place
from runelift.rewrite.lift.point import Arguments
from runelift.rewrite.lift.schedule import Step


@dataclass(slots=True)
class BlockedNest:
    """A nest that steps have cut into blocks: the statement as it was, and what they ask for.

    ``steps`` are their texts, and ``own`` the names that they have bound.  ``maps`` are names that
    the maps of a block bind, and ``folds`` those where their reduction can be cut.  ``sides`` are
    the parameters of the maps over blocks.  Depth 0 stands for a reduction that is not cut.
    """

    path: str
    original: ir.Stm
    blocks: Blocks
    maps: set[VName]
    folds: set[VName]
    sides: dict[VName, str]
    own: set[VName]
    steps: list[str] = field(default_factory=list)

    @property
    def name(self) -> VName:
        """The first name that the nest binds."""
        return self.original.pat[0].name

    @property
    def is_complete(self) -> bool:
        """True if a kernel can be made of what the steps ask for."""
        return bool(self.blocks.depth) and not self.blocks.obstacle

    def takes(self, fun: ir.Fun, place: Place, point: str, given: Arguments,
              inner: VName | None) -> bool:
        """Follow a step at a statement inside; False if it asks for more than blocks.

        ``fun`` is the function before the step, ``inner`` what the rewrite names for further ones.
        """
        blocks, name = self.blocks, place.name
        following = {inner} if inner is not None else set[VName]()
        match point:
            case "ab_tile" if name in self.maps and given["copies"] != "local":
                rows, columns = _number(given["rows"]), _number(given["columns"])
                if (blocks.own_rows, blocks.own_columns) != (1, 1) or not (rows and columns):
                    return False
                self.blocks = replace(blocks, own_rows=rows, own_columns=columns)
                self.maps = set()
                self.folds |= following
            case "tile_map_reduce" if name in self.folds and not blocks.depth:
                depth = _number(given["tile"])
                if not depth or given["copies"] == "private":
                    return False
                copies = {ROWS, COLUMNS} if given["copies"] == "local" else set[str]()
                self.blocks = replace(blocks, depth=depth, copies=frozenset(copies))
                if self.maps:
                    self.maps = following
            case "tile_map_reduce" if blocks.depth and not blocks.unroll and _is_sum(place.stm):
                unroll = _number(given["tile"])
                if not unroll or given["copies"] == "local":
                    return False
                self.blocks = replace(blocks, unroll=unroll)
            case "privatise":
                if self.maps and not _is_sum(place.stm):
                    self.maps = following
            case "materialise" if isinstance(place.stm.exp, ir.Index) and blocks.depth:
                side = self._side(fun, place.stm.exp.array)
                if side is None or given["space"] == "global":
                    return False
                if given["space"] == "local":
                    self.blocks = replace(blocks, copies=blocks.copies | {side})
            case _:
                return False
        return True

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
               inner: VName | None, names: Names) -> None:
        """Follow a step, with the function before and after it.

        ``inner`` is what the rewrite names for further steps.
        """
        point = step.request.point
        nest = next((each for each in self.nests if place.name in each.own), None)
        if nest is not None:
            if not nest.takes(before, place, point, given, inner):
                self.nests.remove(nest)
                return
        elif point == "ab_tile" and inner is not None and _is_product(place.stm, names):
            nest = _begun(after, place, given, inner)
        if nest is not None:
            nest.steps.append(str(step))
            nest.own |= _names(after) - _names(before)
            if nest not in self.nests:
                self.nests.append(nest)

    @property
    def complete(self) -> list[BlockedNest]:
        """The nests of which one kernel is made."""
        return [each for each in self.nests if each.is_complete]

    def made(self, fun: ir.Fun, names: Names) -> ir.Fun:
        """``fun`` with its complete nests as they were, and the attribute for their blocks."""
        for nest in self.complete:
            fun = replace(fun, body=_with_statement(fun.body, _marked(nest, names)))
        return fun


def _begun(after: ir.Fun, place: Place, given: Arguments, inner: VName) -> BlockedNest | None:
    """The nest of a product whose maps have been cut; ``inner`` is what those of a block make."""
    rows, columns = _number(given["rows"]), _number(given["columns"])
    if not rows or not columns or given["copies"] != "none":
        return None
    sides = dict[VName, str]()
    for outer in statements_inside([after.body]):
        for stm in outer.exp.lam.body.stms if isinstance(outer.exp, ir.Map) else ():
            if isinstance(stm.exp, ir.Map) and any(
                    p.name == inner for s in stm.exp.lam.body.stms for p in s.pat):
                assert isinstance(outer.exp, ir.Map)
                sides = {**{p.name: ROWS for p in outer.exp.lam.params},
                         **{p.name: COLUMNS for p in stm.exp.lam.params}}
    original = replace(place.stm, attrs=settings(place.stm))
    assert isinstance(original.exp, ir.Map)
    return BlockedNest(place.path, original, Blocks(rows, columns, depth=0), {inner}, {inner},
                       sides, {p.name for each in (original, *statements_inside(
                           [original.exp.lam.body])) for p in each.pat})


def _number(value: Atom | str) -> int:
    """A number that is known; 0 for one that is not."""
    return int(value.value) if isinstance(value, Const) else 0


def _is_sum(stm: ir.Stm) -> bool:
    """True if a statement reduces scalars."""
    return isinstance(stm.exp, ir.Redomap) and all(isinstance(p.type, Prim) for p in stm.pat)


def _names(fun: ir.Fun) -> set[VName]:
    """The names that statements of a function bind."""
    return {p.name for stm in statements_inside([fun.body]) for p in stm.pat}


def _is_product(stm: ir.Stm, names: Names) -> bool:
    """True if blocks of two maps share the elements of rows and of columns."""
    names, space, stms = copy(names), list[ir.SegDim](), list[ir.Stm]()
    exp = stm.exp
    for _ in range(2):
        assert isinstance(exp, ir.Map)
        index, lam = names.fresh("i"), exp.lam
        space.append(ir.SegDim(index, exp.width))
        stms += (ir.Stm((p,), ir.Index(a, (index, *map(whole, shape_of(p.type)))))
                 for p, a in zip(lam.params, exp.arrays, strict=True))
        if len(space) == 1:
            *before, last = lam.body.stms
            stms, exp = [*stms, *before], last.exp
    body = ir.Body((*stms, *lam.body.stms), lam.body.result)
    found = product_of(ir.SegMap(ir.Level.GRID, tuple(space), body, lam.ret))
    return found is not None and (found.rows, found.columns) == ((0,), (1,))


def _marked(nest: BlockedNest, names: Names) -> ir.Stm:
    """The nest as it was, with an attribute of its maps; what it binds inside has new names."""
    def marked(stm: ir.Stm, depth: int) -> ir.Stm:
        assert isinstance(stm.exp, ir.Map)
        exp, body = stm.exp, stm.exp.lam.body
        if depth:
            stms = (*body.stms[:-1], marked(body.stms[-1], depth - 1))
            exp = replace(exp, lam=replace(exp.lam, body=replace(body, stms=stms)))
        return replace(stm, exp=exp, attrs=(*stm.attrs, str(nest.blocks)))

    stm, exp = nest.original, nest.original.exp
    assert isinstance(exp, ir.Map)
    return marked(replace(stm, exp=replace(exp, lam=rename_lambda(exp.lam, names))), 1)


def _with_statement(body: ir.Body, new: ir.Stm) -> ir.Body:
    """A body with a statement in place of those that bind the same names."""
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
