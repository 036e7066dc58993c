"""Results that are rearranged, written in their order by the operation that makes them.

If ``t = rearrange ys`` is a result of a body, perhaps reshaped, it gets separate memory.  If
nothing else looks at ``ys``, its maker can write there, through the inverse of the rearrangement.
A reshape of all of a memory costs nothing.

This is done if the last dimension of ``ys`` is also the last one of ``t``.  Else neighbouring
work-items would write elements far apart.  It is faster then to store ``ys`` and to copy it, as
copies are made by tiles (:mod:`runelift.codegen.segops.transpose`).
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import Names, VName
from runelift.ir.traverse import free_vars
from runelift.ir.types import Type, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.passes.concat_parts import maker, scalars_for


def with_rearranged_results(body: ir.Body, known: Mapping[VName, Type], names: Names,
                            rewriting: Rewriting) -> ir.Body:
    """The body with rearranged results as updates; ``known``: the types of free names."""
    if not (wanted := _rearranged_results(body)):
        return body
    types = {**known, **{p.name: p.type for stm in body.stms for p in stm.pat}}
    done: list[ir.Stm] = []
    for place, stm in enumerate(body.stms):
        done.append(stm)
        if stm.pat and stm.pat[0].name in wanted:
            done = list(rewriting.tried(rearranged_result, (stm,), done, body.stms[place + 1:],
                                        types, names) or done)
    return replace(body, stms=tuple(done))


def _rearranged_results(body: ir.Body) -> list[VName]:
    """The rearranged arrays that a body makes for its results only, as they are or reshaped."""
    makers = {p.name: stm.exp for stm in body.stms for p in stm.pat}
    if not any(isinstance(exp, ir.Rearrange) for exp in makers.values()):
        return []
    uses = Counter(name for stm in body.stms for name in free_vars(stm))
    uses.update(atom for atom in body.result if isinstance(atom, VName))
    found: list[VName] = []
    for atom in body.result:
        name = atom
        while isinstance(name, VName) and uses[name] == 1:
            match makers.get(name):
                case ir.Reshape(_, array):
                    name = array
                    continue
                case ir.Rearrange():
                    found.append(name)
            break
    return found


@rule(ir.Rearrange)
def rearranged_result(stms: Sequence[ir.Stm], later: Sequence[ir.Stm], types: Mapping[VName, Type],
                      names: Names) -> tuple[ir.Stm, ...] | None:
    """ys = map …; t = rearrange ys ⇒ a = scratch; ys = map …; t = a with [:] ← rearrange ys

    Provided: t is a result, and nothing else looks at ys.  The last dimension stays the last, so
    that neighbouring work-items write neighbours.
    Because: the work-items of the map can write into the memory of a.  Other versions copy what
    they make, as they would without.
    Source: Mogers 2023, "Guided Rewriting and Constraint Satisfaction for Parallel GPU Code
    Generation", section 2.3.2.2 (output views).
    """
    *before, stm = stms
    exp, (param,) = stm.exp, stm.pat
    assert isinstance(exp, ir.Rearrange)
    bound = {p.name: n for n, s in enumerate(before) for p in s.pat}
    found = maker(exp.array, before, lambda name: bound.get(name, -1))
    if found is None or found[1] is not None:
        return None
    first, shape = found[0], shape_of(param.type)
    others = (*before[first + 1:], *later)
    if exp.perm[-1] != len(exp.perm) - 1 or any(exp.array in free_vars(s) for s in others):
        return None
    early = scalars_for(shape, before, first)
    if early is None:
        return None
    scratch = ir.Param(names.fresh(param.name), param.type)
    turned = ir.Param(names.fresh(param.name), param.type)
    whole = tuple(ir.SliceDim(i64(0), size, i64(1)) for size in shape)
    return (*before[:first], *(before[n] for n in reversed(early)),
            ir.Stm((scratch,), ir.Replicate(shape, zero(elem_of(param.type))), (SCRATCH,), stm.loc),
            *(s for n, s in enumerate(before[first:], first) if n not in early),
            ir.Stm((turned,), exp, stm.attrs, stm.loc),
            ir.Stm((param,), ir.Update(scratch.name, whole, turned.name), (), stm.loc))
