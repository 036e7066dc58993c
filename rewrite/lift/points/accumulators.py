"""Reductions as loops that carry their sums."""

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import rename_lambda
from runelift.ir.types import Atom, array_of, shape_of
from runelift.rewrite.engine.scope import Scope, whole
from runelift.rewrite.lift.points.nests import Loop, maps_of


def accumulated(scope: Scope, stm: ir.Stm) -> tuple[ir.Stm, VName]:
    """A reduction without further results as a loop; and a name bound by what makes its terms.

    Where maps make the terms, the sums are added to there, element by element.
    """
    redomap = ir.node_of(stm, ir.Redomap)
    index = scope.fresh("i", Prim.I64)
    sums = tuple(ir.LoopParam(scope.fresh(p.name, p.type), neutral) for p, neutral in zip(
        stm.pat, (atom for op in redomap.ops for atom in op.neutral), strict=True))
    stms = [ir.Stm((p,), ir.Index(a, (index.name, *map(whole, shape_of(p.type)))), loc=stm.loc)
            for p, a in zip(redomap.lam.params, redomap.arrays, strict=True)]
    added = _added(scope, redomap, tuple(p.param.name for p in sums))
    body = ir.Body((*stms, *added.stms), added.result)
    loop = ir.Loop(sums, ir.ForLoop(index.name, redomap.width), body)
    terms = {p.name for each in redomap.lam.body.stms for p in each.pat}
    made = [p.name for each in reversed(added.stms) for p in each.pat[:1]
            if p.name in terms or isinstance(each.exp, ir.Map)]
    return replace(stm, exp=loop), made[0] if made else stm.pat[0].name


def _added(scope: Scope, redomap: ir.Redomap, sums: tuple[VName, ...]) -> ir.Body:
    """The next sums."""
    functions = [op.lam for op in redomap.ops]
    before, levels, terms = _maps(redomap.lam.body)
    depth = 0
    while depth < len(levels):
        inner = [replace(op, lam=lam).vector
                 for op, lam in zip(redomap.ops, functions, strict=True)]
        if any(each is None for each in inner):
            break
        functions = [each.lam for each in inner if each is not None]
        depth += 1
    if depth == 0:
        return _combined(scope, functions, sums, redomap.lam.body)
    if depth < len(levels):
        before, levels, terms = _maps(redomap.lam.body, depth)
    elements = tuple(t for lam in functions for t in lam.ret)
    rows = [tuple(scope.fresh("sum", array_of(tuple(loop.width for loop in levels[k:]), t))
                  for t in elements) for k in range(1, depth + 1)]
    body = _combined(scope, functions, tuple(p.name for p in rows[-1]), terms)
    ret = elements
    for k in reversed(range(depth)):
        loop = levels[k]
        arrays = tuple(p.name for p in rows[k - 1]) if k else sums
        lam = ir.Lambda((*loop.params, *rows[k]), body, ret)
        ret = tuple(array_of((loop.width,), t) for t in ret)
        pat = tuple(scope.fresh("sum", t) for t in ret)
        inside = levels[k - 1].before if k else before
        body = ir.Body((*inside, ir.Stm(pat, ir.Map(loop.width, lam, (*loop.arrays, *arrays)),
                                        loop.attrs)), tuple(p.name for p in pat))
    return body


def _maps(body: ir.Body, most: int | None = None
          ) -> tuple[tuple[ir.Stm, ...], tuple[Loop, ...], ir.Body]:
    """The statements before the maps that end a body, the maps, and the body of the innermost."""
    *before, last = body.stms or (None,)
    if last is None or not isinstance(last.exp, ir.Map) or (
            body.result != tuple(p.name for p in last.pat)):
        return (), (), body
    maps = maps_of(last, most)
    first = replace(maps.loops[0], attrs=last.attrs)
    stms = tuple(each for each in before if each is not None)
    return stms, (first, *maps.loops[1:]), maps.lam.body


def _combined(scope: Scope, functions: list[ir.Lambda], sums: tuple[VName, ...], terms: ir.Body
              ) -> ir.Body:
    """The operators on sums and the results of a body."""
    stms, result, place = [*terms.stms], list[Atom](), 0
    for function in functions:
        lam = rename_lambda(function, scope.names)
        count = len(lam.ret)
        operands = (*sums[place : place + count], *terms.result[place : place + count])
        stms += [ir.Stm((p,), ir.AtomExp(a)) for p, a in zip(lam.params, operands, strict=True)]
        stms += lam.body.stms
        result += lam.body.result
        place += count
    return ir.Body(tuple(stms), tuple(result))
