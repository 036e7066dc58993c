"""Rules for the source's attributes, which are tried before any other rule."""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import syntax as ir
from runelift.ir.analysis.blocks import blocks_of
from runelift.ir.prim import Prim
from runelift.ir.traverse import statements_inside
from runelift.ir.types import Atom, array_of, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import show_nest
from runelift.rewrite.flatten.parallelism import called_in
from runelift.rewrite.flatten.rules.common import descend, emit_with_nest, enter, irregular, zeros
from runelift.rewrite.flatten.rules.maps import outer_version
from runelift.rewrite.flatten.walk import Walk

OUTER = "sequential_outer"


@flattening("blocks", ir.Map)
def maps_in_blocks(walk: Walk, stm: ir.Stm, soac: ir.Map) -> str | None:
    """Σ ⊢ #[blocks(...)] map (λx → #[blocks(...)] map (λy → e) ys) xs ⇒
    segmap (Σ, ⟨x ∈ xs⟩, ⟨y ∈ ys⟩) e

    A schedule has decided, so there are no versions, neither of maps around.  Provided the maps do
    not stand inside of a group, whose work-items compute them as ever.
    """
    blocks = blocks_of(stm)
    inside = any(blocks_of(inner) for inner in statements_inside([soac.lam.body]))
    if blocks is None and not inside:
        return Unlike("no schedule asks for blocks")
    if walk.level is not ir.Level.GRID:
        return Unlike("it stands inside of a group")
    if why := irregular(walk, stm) or walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    walk.flattener.derivation.fired("blocks", stm, f"{blocks or 'what is around'}: "
                                    f"{show_nest(nest)}")
    if inside:
        descend(walk, stm, nest, soac.lam)
    else:
        emit_with_nest(walk, stm, nest, outer_version(walk, nest, soac.lam))
    return None


@flattening("sequential outer", ir.Map, ir.Redomap, ir.Scanomap)
def loop_of_elements(walk: Walk, stm: ir.Stm, soac: ir.Map | ir.Redomap | ir.Scanomap
                     ) -> str | None:
    """Σ ⊢ #[sequential_outer] map (λx → e) xs ⇒ Σ ⊢ loop (ys = 0) for i < n do ys with [i] <- e

    The elements come one after the other, with x = xs[i]; e itself is flattened as ever.  The rule
    also takes reductions and scans: their loops carry the accumulators.  It takes them without the
    attribute if an operator calls a function that calls itself, as kernels never recurse.
    """
    ops = () if isinstance(soac, ir.Map) else soac.ops
    if OUTER not in stm.attrs and not any(called_in(op.lam.body) for op in ops):
        return Unlike("it has no attribute sequential_outer")
    if why := irregular(walk, stm):
        return why
    neutral = [atom for op in ops for atom in op.neutral]
    folded = len(neutral)
    index = walk.fresh("i", Prim.I64)
    totals = tuple(walk.fresh("total", type_) for op in ops for type_ in op.lam.ret)
    filled = soac.lam.ret if isinstance(soac, ir.Scanomap) else soac.lam.ret[folded:]
    arrays = tuple(walk.fresh("filled", array_of((soac.width,), t)) for t in filled)
    blanks = tuple(ir.Stm((walk.fresh("blank", p.type),), zeros(p.type)) for p in arrays)
    stms = [ir.Stm((param,), ir.Index(array, (index.name, *map(whole, shape_of(param.type)))))
            for param, array in zip(soac.lam.params, soac.arrays, strict=True)]
    stms += soac.lam.body.stms
    mapped = soac.lam.body.result
    sums: list[Atom] = []
    for op in ops:
        here, count = len(sums), len(op.lam.ret)
        operands = (*(p.name for p in totals[here : here + count]), *mapped[here : here + count])
        stms += _applied(op.lam, operands)
        sums += op.lam.body.result
    elements = (*sums, *mapped[folded:]) if isinstance(soac, ir.Scanomap) else mapped[folded:]
    stored: list[Atom] = []
    for array, value, type_ in zip(arrays, elements, filled, strict=True):
        after = walk.fresh("filled", array.type)
        dims: tuple[ir.Dim, ...] = (index.name, *map(whole, shape_of(type_)))
        stms.append(ir.Stm((after,), ir.Update(array.name, dims, value)))
        stored.append(after.name)
    carried = [ir.LoopParam(p, init) for p, init in
               zip((*totals, *arrays), (*neutral, *(b.pat[0].name for b in blanks)), strict=True)]
    last = [walk.fresh(p.name.base, p.type) for p in totals] if isinstance(
        soac, ir.Scanomap) else []
    loop = ir.Loop(tuple(carried), ir.ForLoop(index.name, soac.width),
                ir.Body(tuple(stms), (*sums, *stored)))
    attrs = tuple(attr for attr in stm.attrs if attr != OUTER)
    walk.flattener.derivation.fired("sequential outer", stm, "a loop")
    walk.need(name.pat[0].name for name in blanks)
    with walk.flattener.derivation.inside():
        for blank in blanks:
            walk.statement(blank)
        walk.statement(ir.Stm((*last, *stm.pat), loop, attrs, stm.loc))
    return None


def _applied(lam: ir.Lambda, args: Sequence[Atom]) -> list[ir.Stm]:
    """The statements of ``lam``, whose names are its own, on ``args``."""
    bound = [ir.Stm((p,), ir.AtomExp(a)) for p, a in zip(lam.params, args, strict=True)]
    return [*bound, *lam.body.stms]
