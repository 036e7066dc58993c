"""Loops of a nest in another order, split into tiles, padded, and with copies of their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, rename_lambda
from runelift.ir.types import Atom, Type, array_of, elem_of, shape_of
from runelift.rewrite.engine.scope import Scope, whole
from runelift.rewrite.lift.point import Rewrite
from runelift.rewrite.lift.points.nests import Nest
from runelift.rewrite.lift.points.storing import stored
from runelift.rewrite.lift.points.views import Views, padding


@dataclass(frozen=True, slots=True)
class Part:
    """A loop of the new nest: an old loop, or the one over its tiles (0) or inside a tile (1)."""

    loop: int
    part: int = 0


class Reordered:
    """A nest with its loops in another order, some of them split into tiles.

    An input that several loops take apart is reshaped and rearranged to their new order.  One that
    is computed inside is indexed.  A statement stands in the first loop that has all that the loop
    around it had.  ``tiles`` are the tile sizes of loops that are split.  Where a new loop has its
    number in ``copies``, the arrays that it takes apart are copied to a memory.
    """

    def __init__(self, scope: Scope, stm: ir.Stm, nest: Nest, order: Sequence[Part],
                 point: str, tiles: Mapping[int, Atom] | None = None,
                 copies: Mapping[int, str] | None = None) -> None:
        self.scope, self.stm, self.nest, self.order = scope, stm, nest, order
        self.tiles, self.copies = tiles or {}, copies or {}
        self.views = Views(scope, stm, point)
        self.pads: dict[int, Atom] = {}
        self.copied: list[list[ir.Stm]] = [[] for _ in order]
        self.place = {part: k for k, part in enumerate(order)}
        self.inputs: list[list[tuple[ir.Param, VName]]] = [[] for _ in order]
        self.reads: list[list[ir.Stm]] = [[] for _ in nest.loops]
        self.arithmetic: list[list[ir.Stm]] = [[] for _ in nest.loops]
        self.counters: dict[Part, VName] = {}
        self.indices: dict[int, Atom] = {}
        self.pats: list[tuple[ir.Param, ...]] = []
        self.widths = {Part(k): loop.width for k, loop in enumerate(nest.loops)}

    def pad(self, k: int, amount: Atom, width: Atom) -> None:
        """Make an old loop longer by an amount, to a width; elements there are of zeros."""
        self.pads[k] = amount
        self.widths[Part(k)] = width
        loops = list(self.nest.loops)
        loops[k] = replace(loops[k], width=width)
        self.nest = replace(self.nest, loops=tuple(loops))

    def rewrite(self, place: int) -> Rewrite | str:
        """The rewrite, of which the new loop at ``place`` is the inner statement."""
        stms = self.rewritten()
        return stms if isinstance(stms, str) else Rewrite(
            stms, tuple(self.views.constraints), self.name_at(place))

    def rewritten(self) -> tuple[ir.Stm, ...] | str:
        """The statements, or the reason why there are none."""
        for k, loop in enumerate(self.nest.loops):
            if k in self.tiles:
                tiles = self.views.quotient(loop.width, self.tiles[k])
                if isinstance(tiles, str):
                    return tiles
                self.widths |= {Part(k): tiles, Part(k, 1): self.tiles[k]}
            for op in loop.ops:
                if self.nest.bound & (free_vars(op.lam) | {*op.neutral}):
                    return "its operator differs between elements of the maps around"
        self._take_inputs()
        self._build()
        return tuple(self.views.stms)

    def name_at(self, place: int) -> VName:
        """A name that the statement of the new loop at ``place`` binds."""
        return self.pats[place][0].name

    # Inputs

    def _take_inputs(self) -> None:
        owner = {p.name: (k, a) for k, loop in enumerate(self.nest.loops)
                 for p, a in zip(loop.params, loop.arrays, strict=True)}
        bound = self.nest.bound
        used = free_vars(self.nest.body) | {
            v for loop in self.nest.loops for s in loop.before for v in free_vars(s)}
        for k, loop in reversed([*enumerate(self.nest.loops)]):
            for param, array in zip(loop.params, loop.arrays, strict=True):
                if param.name not in used:
                    continue
                chain, root = [k], array
                while root in owner:
                    j, root = owner[root]
                    chain.insert(0, j)
                if root in bound:
                    used.add(array)
                    self._index(k, param, array)
                else:
                    self._take(param, root, chain)

    def _take(self, param: ir.Param, root: VName, chain: list[int]) -> None:
        """Take elements of an array from outside, which the loops of ``chain`` take apart."""
        parts = [p for k in chain for p in self._parts(k)]
        tail = shape_of(param.type)
        for dim, k in enumerate(chain):
            if k in self.pads:
                shape = (*(self.nest.loops[j].width for j in chain[:dim + 1]),
                         *shape_of(self.scope.type(root))[dim + 1:])
                root = self.views.pad(root, dim, self.pads[k], shape, param.type)
        for dim, k in reversed([*enumerate(chain)]):
            if k in self.tiles:
                after = [p for j in chain[dim:] for p in self._parts(j)]
                shape = (*(self.nest.loops[j].width for j in chain[:dim]),
                         *(self.widths[p] for p in after), *tail)
                root = self.views.split(root, dim, self.tiles[k], shape, param.type)
        new = sorted(parts, key=self.place.__getitem__)
        shape = tuple(self.widths[p] for p in new)
        perm = tuple(parts.index(p) for p in new)
        root = self.views.rearrange(root, perm, (*shape, *tail), param.type)
        for number, part in enumerate(new, 1):
            last = number == len(new)
            taken = param if last else self.scope.fresh(
                param.name, array_of(shape[number:], param.type))
            place = self.place[part]
            space = self.copies.get(place)
            read = taken
            if space and shape_of(taken.type):
                read = self.scope.fresh(taken.name, taken.type)
                self.copied[place].append(stored(self.scope, taken, read.name, space, self.stm.loc))
            self.inputs[place].append((read, root))
            root = taken.name

    def _index(self, k: int, param: ir.Param, array: VName) -> None:
        """Add an index for elements of an array that is computed inside."""
        if k in self.pads:
            shape = (self.nest.loops[k].width, *shape_of(param.type))
            padded = padding(array, 0, self.pads[k], elem_of(param.type))
            name = self.scope.fresh(array, array_of(shape, elem_of(param.type)))
            self.reads[k].append(ir.Stm((name,), padded, loc=self.stm.loc))
            array = name.name
        self.reads[k].append(ir.Stm((param,), ir.Index(
            array, (self.index_of(k), *map(whole, shape_of(param.type)))), loc=self.stm.loc))

    def index_of(self, k: int) -> Atom:
        """The index of an old loop."""
        if k in self.indices:
            return self.indices[k]
        parts = self._parts(k)
        for part in parts:
            counter = self.scope.fresh("i", Prim.I64)
            self.inputs[self.place[part]].append((counter, self.views.iota(self.widths[part])))
            self.counters[part] = counter.name
        index: Atom = self.counters[parts[0]]
        if len(parts) > 1:
            start, sum_ = self.scope.fresh("start", Prim.I64), self.scope.fresh("i", Prim.I64)
            self.arithmetic[k] += [
                ir.Stm((start,), ir.PrimOp("mul", Prim.I64, (index, self.tiles[k]))),
                ir.Stm((sum_,), ir.PrimOp("add", Prim.I64, (start.name, self.counters[parts[1]])))]
            index = sum_.name
        self.indices[k] = index
        return index

    def _parts(self, k: int) -> list[Part]:
        return [Part(k), Part(k, 1)] if k in self.tiles else [Part(k)]

    # Statements

    def _statements(self) -> list[list[ir.Stm]]:
        """The statements in each new loop before the next one."""
        found = [list(each) for each in self.copied]
        ready = 0
        for k, loop in enumerate(self.nest.loops):
            ready = max(ready, *(self.place[part] for part in self._parts(k)))
            found[ready] += [*self.arithmetic[k], *self.reads[k], *loop.before]
        return found

    def _build(self) -> None:
        stms, inner_maps = self._statements(), list[Atom]()
        body, ret = self.nest.body, self.nest.ret
        shapes: list[Part] = []
        for place, part in reversed([*enumerate(self.order)]):
            loop, width = self.nest.loops[part.loop], self.widths[part]
            params = tuple(p for p, _ in self.inputs[place])
            arrays = tuple(a for _, a in self.inputs[place])
            lam = ir.Lambda(params, ir.Body((*stms[place], *body.stms), body.result), ret)
            exp: ir.Exp
            if loop.ops:
                exp = ir.Redomap(width, tuple(over_maps(self.views, op, inner_maps)
                                              for op in loop.ops), lam, arrays)
            else:
                exp = ir.Map(width, lam, arrays)
                inner_maps.insert(0, width)
                shapes.insert(0, part)
                ret = tuple(array_of((width,), type_) for type_ in ret)
            attrs = loop.attrs if part == self._parts(part.loop)[-1] else ()
            if place == 0:
                self._finish(exp, ret, shapes, attrs)
            else:
                pat = tuple(self.scope.fresh(p.name, t)
                            for p, t in zip(self.stm.pat, ret, strict=True))
                self.pats.insert(0, pat)
                body = ir.Body((ir.Stm(pat, exp, attrs, self.stm.loc),), tuple(p.name for p in pat))

    def _finish(self, exp: ir.Exp, ret: tuple[Type, ...], made: list[Part],
                attrs: tuple[str, ...]) -> None:
        """Add the outermost statement, and its results in the order of the old loops."""
        stm = replace(self.stm, exp=exp, attrs=tuple(dict.fromkeys((*self.stm.attrs, *attrs))))
        wanted = sorted(made, key=lambda part: (part.loop, part.part))
        if wanted == made and len(made) == len({part.loop for part in made}):
            self.pats.insert(0, self.stm.pat)
            self.views.stms.append(stm)
            return
        pat = tuple(self.scope.fresh(p.name, t) for p, t in zip(self.stm.pat, ret, strict=True))
        self.pats.insert(0, pat)
        self.views.stms.append(replace(stm, pat=pat))
        perm = tuple(made.index(part) for part in wanted)
        for out, param, element in zip(self.stm.pat, pat, self.nest.ret, strict=True):
            self.views.restore(param.name, perm, tuple(self.widths[p] for p in wanted), element,
                               out)


def over_maps(views: Views, op: ir.Operator, widths: Sequence[Atom]) -> ir.Operator:
    """The operator on arrays of shape ``widths`` that combines their elements one by one."""
    scope, lam = views.scope, rename_lambda(op.lam, views.scope.names)
    if not widths:
        return replace(op, lam=lam)
    for place in reversed(range(len(widths))):
        shape = tuple(widths[place:])
        params = tuple(scope.fresh(p.name, array_of(shape, t))
                       for p, t in zip(op.lam.params, (*op.lam.ret, *op.lam.ret), strict=True))
        pat = tuple(scope.fresh("combined", array_of(shape, t)) for t in op.lam.ret)
        inner = ir.Stm(pat, ir.Map(shape[0], lam, tuple(p.name for p in params)))
        lam = ir.Lambda(params, ir.Body((inner,), tuple(p.name for p in pat)),
                        tuple(p.type for p in pat))
    neutral = tuple(views.replicate(tuple(widths), atom, type_)
                    for atom, type_ in zip(op.neutral, op.lam.ret, strict=True))
    return ir.Operator(lam, neutral, op.comm)


def element_operator(scope: Scope, op: ir.Operator, depth: int,
                     before: list[ir.Stm]) -> ir.Operator | str:
    """The operator on elements of an operator that combines arrays element by element.

    ``depth`` is the number of their dimensions.  ``before`` gets the statements that make its
    neutral elements.
    """
    neutral: list[Atom] = []
    for atom in op.neutral:
        made = scope.exp(atom)
        if not isinstance(made, ir.Replicate):
            return "its neutral element is not replicated"
        rest = made.shape[depth:]
        if len(made.shape) < depth:
            return "its neutral element is not replicated along all dimensions of its maps"
        if rest:
            param = scope.fresh("neutral", array_of(rest, scope.type(made.value)))
            before.append(ir.Stm((param,), ir.Replicate(rest, made.value)))
            neutral.append(param.name)
        else:
            neutral.append(made.value)
    for _ in range(depth):
        inner = op.vector
        if inner is None:
            return f"its operator is not {depth} map{'s' * (depth > 1)} of another one"
        op = replace(op, lam=inner.lam)
    return ir.Operator(op.lam, tuple(neutral), op.comm)

