"""The point that keeps two operations in two kernels."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import free_vars, needed_for, rename_lambda, substitute_body
from runelift.ir.types import ArrayType, array_of, shape_of
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.flatten.parallelism import is_cheap
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.storing import storage, stored

MADE = (ir.Map, ir.Scanomap, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.Index, ir.Concat)
"""The makers of arrays that what reads them would otherwise compute, or look through."""


@point(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def kernel_fission(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """f (g xs) ⇒ f (map id (g xs)),
    map (λx → h (g x)) xs ⇒ map h (map id (map g xs))

    Provided: g is an array operation or a view.  In a map, h is the last array operation, and
    what both need has one shape for all elements.
    Because: g gets a kernel with work-groups of its size, and other readers of it, too.  If g are
    windows, the stored matrix is that of im2col.
        The map has an attribute, so that no rule removes or fuses it with f; g is fused with it.
    Source: Mogers 2023, section 6.2.5.4.
    """
    written = _destinations(stm.exp)
    made = [name for name in sorted(free_vars(stm.exp)) if name not in written
            and isinstance(scope.type(name), ArrayType)
            and name in scope.defs and isinstance(scope.defs[name].exp, MADE)]
    if not made:
        return _divided(scope, stm)
    stms: list[ir.Stm] = []
    known: dict[VName, VName] = {}
    for name in made:
        out = scope.fresh(name, scope.type(name))
        stms.append(stored(scope, out, name, "global", stm.loc))
        known[name] = out.name
    body = substitute_body(ir.Body((stm,), ()), dict(known))
    return Rewrite((*stms, replace(body.stms[0], pat=stm.pat)))


def _destinations(exp: ir.Exp) -> set[VName]:
    """The arrays that an operation updates, which fission would have to copy."""
    match exp:
        case ir.Scatter(dests=dests):
            return {dest.array for dest in dests}
        case ir.Hist(ops=ops):
            return {name for op in ops for name in op.dests}
    return set()


def _divided(scope: Scope, stm: ir.Stm) -> Rewrite | str:
    """The last array operation in a map, divided from the array operations before it."""
    exp = stm.exp
    if not isinstance(exp, ir.Map):
        return "no array operation and no view makes what it reads"
    stms = exp.lam.body.stms
    places = [k for k, each in enumerate(stms) if isinstance(each.exp, ir.SOACS)]
    if len(places) < 2:
        return "no array operation and no view makes what it reads, and it has no two inside"
    first, last = stms[: places[-1]], stms[places[-1]:]
    needed = free_vars(ir.Body(last, exp.lam.body.result))
    shared = needed_for([each for each in first if is_cheap(each.exp)], needed)
    cheap = {p.name for each in shared for p in each.pat}
    inside = {p.name for each in first for p in each.pat}
    wanted = needed | {v for each in shared for v in free_vars(each)}
    crossing = [p for each in first for p in each.pat if p.name in wanted and p.name not in cheap]
    names = {p.name for p in exp.lam.params}
    for param in crossing:
        if (inside | names) & {*shape_of(param.type)}:
            return f"'{param.name.base}' has another shape for each element"
    kept = ir.Lambda(exp.lam.params, ir.Body(first, tuple(p.name for p in crossing)),
                     tuple(p.type for p in crossing))
    return _two(scope, stm, exp, kept, crossing, (*shared, *last))


def _two(scope: Scope, stm: ir.Stm, exp: ir.Map, first: ir.Lambda, crossing: list[ir.Param],
         rest: tuple[ir.Stm, ...]) -> Rewrite:
    """The map that makes the ``crossing`` arrays, and the map with the statements ``rest``."""
    arrays = tuple(scope.fresh(p.name, array_of((exp.width,), p.type)) for p in crossing)
    before = ir.Stm(arrays, ir.Map(exp.width, rename_lambda(first, scope.names), exp.arrays),
                    storage("global"), stm.loc)
    lam = ir.Lambda((*exp.lam.params, *crossing), ir.Body(rest, exp.lam.body.result), exp.lam.ret)
    return Rewrite((before, replace(stm, exp=ir.Map(
        exp.width, lam, (*exp.arrays, *(p.name for p in arrays))))))
