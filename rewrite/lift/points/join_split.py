"""The point that makes one map of maps in each other."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, array_of, shape_of
from runelift.rewrite.engine.scope import Scope, whole
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import Nest, maps_of
from runelift.rewrite.lift.points.views import Views, number


@point(ir.Map, needs_reductions=True)
def join_split(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """map (map f) xss ⇒ split m (map f (join xss)),
    map (λx → map (λy → f x y) ys) xs ⇒
    split m (map (λp → f xs[p / m] ys[p % m]) (iota (n * m)))

    Provided: the maps are a perfect nest of so many loops, but for what is cheap to repeat.
    Because: points that tile find one dimension, with more divisors.
    Source: Mogers 2023, section 6.2.5.1.
    """
    loops = int(number(given, "loops").value)
    if loops < 2:
        return "one loop is one map already"
    nest = maps_of(stm, loops).nest(loops)
    if isinstance(nest, str):
        return nest
    views = Views(scope, stm, "join_split")
    size: Atom = nest.loops[0].width
    for loop in nest.loops[1:]:
        size = views.compute("mul", size, loop.width)
    joined = _Joined(views, nest, size)
    lam = ir.Lambda(tuple(p for p, _ in joined.inputs),
                    ir.Body((*joined.stms, *nest.body.stms), nest.body.result), nest.ret)
    pat = tuple(scope.fresh(p.name, array_of((size,), t))
                for p, t in zip(stm.pat, nest.ret, strict=True))
    attrs = tuple(dict.fromkeys(a for attrs in (stm.attrs, *(loop.attrs for loop in nest.loops))
                                for a in attrs))
    views.stms.append(ir.Stm(pat, ir.Map(size, lam, tuple(a for _, a in joined.inputs)), attrs,
                             stm.loc))
    views.stms += [ir.Stm((out,), ir.Reshape(shape_of(out.type), p.name), loc=stm.loc)
                   for out, p in zip(stm.pat, pat, strict=True)]
    return Rewrite(tuple(views.stms), inner=pat[0].name)


class _Joined:
    """The inputs of the joined loops, and the statements before the innermost loop's body."""

    def __init__(self, views: Views, nest: Nest, size: Atom) -> None:
        self.views, self.nest, self.size = views, nest, size
        self.inputs: list[tuple[ir.Param, VName]] = []
        self.stms: list[ir.Stm] = []
        self.indices: list[Atom] = []
        used = free_vars(nest.body) | {
            v for loop in nest.loops for s in loop.before for v in free_vars(s)}
        rows = self._rows()
        last = len(nest.loops) - 1
        for k in reversed(range(len(nest.loops))):  # what an input is taken from is used, too
            used |= {a for p, a in self._inputs(k) if p.name in used and not (
                k == last and p.name in rows)}
        for k, loop in enumerate(nest.loops):
            for param, array in self._inputs(k):
                if param.name not in used:
                    continue
                if k == last and param.name in rows:
                    shape = (size, *shape_of(param.type))
                    flat = views.reshape(rows[param.name], shape, param.type)
                    self.inputs.append((param, flat))
                else:
                    self.stms.append(ir.Stm((param,), ir.Index(
                        array, (self._index(k), *map(whole, shape_of(param.type)))),
                        loc=views.stm.loc))
            self.stms += loop.before

    def _inputs(self, k: int) -> list[tuple[ir.Param, VName]]:
        loop = self.nest.loops[k]
        return list(zip(loop.params, loop.arrays, strict=True))

    def _rows(self) -> dict[VName, VName]:
        """The arrays from outside whose elements all loops together take."""
        rows = {p.name: a for p, a in self._inputs(0)}
        for k in range(1, len(self.nest.loops)):
            rows = {p.name: rows[a] for p, a in self._inputs(k) if a in rows}
        return rows

    def _index(self, k: int) -> Atom:
        """The index of a loop, of the index of all."""
        if not self.indices:
            counter = self.views.scope.fresh("p", Prim.I64)
            self.inputs.append((counter, self.views.iota(self.size)))
            rest: Atom = counter.name
            for loop in reversed(self.nest.loops[1:]):
                self.indices.insert(0, self._compute("rem", rest, loop.width))
                rest = self._compute("quot", rest, loop.width)
            self.indices.insert(0, rest)
        return self.indices[k]

    def _compute(self, op: str, left: Atom, right: Atom) -> VName:
        param = self.views.scope.fresh("i", Prim.I64)
        self.stms.append(ir.Stm((param,), ir.PrimOp(op, Prim.I64, (left, right)),
                                loc=self.views.stm.loc))
        return param.name
