"""Concatenations as updates of their parts, which short-circuiting can make where they belong."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.rule import rule


def makes(exp: ir.Exp) -> bool:
    """True if an operation is a map, or has a version that ends in one."""
    if isinstance(exp, ir.SegMap):
        return True
    return isinstance(exp, ir.Versions) and any(
        makes(stm.exp) for version in exp.alternatives for stm in version.body.stms)


def maker(array: VName, stms: Sequence[ir.Stm], place: Callable[[VName], int]
          ) -> tuple[int, int | None] | None:
    """The statement that makes an array and could make it elsewhere, and its rearrangement.

    ``place`` gives the place where a name is bound, -1 if that is not here.
    """
    made, view = place(array), None
    if made >= 0 and isinstance(turned := stms[made].exp, ir.Rearrange):
        made, view = place(turned.array), made
    if made < 0:
        return None
    return (made, view) if makes(stms[made].exp) else None


def scalars_for(atoms: Iterable[Atom], stms: Sequence[ir.Stm], place: int) -> list[int] | None:
    """The statements from ``place`` on that compute ``atoms``, the last one first.

    None if they are not such as can be computed before.
    """
    wanted = {a for a in atoms if isinstance(a, VName)}
    found: list[int] = []
    for n in range(len(stms) - 1, place - 1, -1):
        stm = stms[n]
        if wanted.isdisjoint(p.name for p in stm.pat):
            continue
        plain = isinstance(stm.exp, ir.Convert | ir.AtomExp) or (
            isinstance(stm.exp, ir.PrimOp) and not stm.exp.may_trap)
        if not plain:
            return None
        wanted |= free_vars(stm)
        found.append(n)
    return found


@rule(ir.Concat)
def concat_in_parts(stms: Sequence[ir.Stm], types: Mapping[VName, Type], names: Names
                    ) -> tuple[ir.Stm, ...] | None:
    """ys = map …; zs = concat ys ws ⇒ a = scratch; ys = map …; zs = a with [:n] ← ys, [n:] ← ws

    Provided: what comes before computes the size of the result without looking at any array.
    Because: the work-items of the map can write into the memory of a.  Parts that no map makes are
    copied, as they would be.
    Source: Munksgaard, Henriksen, Sadayappan and Oancea 2022, section 4.
    """
    *before, stm = stms
    exp = ir.node_of(stm, ir.Concat)
    bound = {p.name: n for n, s in enumerate(before) for p in s.pat}
    makers = [found for a in exp.arrays
              if (found := maker(a, before, lambda name: bound.get(name, -1))) is not None]
    if not makers:
        return None
    first, (param,) = min(made for made, _ in makers), stm.pat
    shape = shape_of(param.type)
    early = scalars_for(shape, before, first)
    if early is None:
        return None
    scratch = ir.Param(names.fresh(param.name), param.type)
    return (*before[:first], *(before[n] for n in reversed(early)),
            ir.Stm((scratch,), ir.Replicate(shape, zero(elem_of(param.type))), (SCRATCH,), stm.loc),
            *(s for n, s in enumerate(before[first:], first) if n not in early),
            *_updates(stm, exp, scratch.name, types, names))


def _updates(stm: ir.Stm, exp: ir.Concat, array: VName, types: Mapping[VName, Type],
             names: Names) -> list[ir.Stm]:
    """The parts written into ``array``, one after the other."""
    (param,), found = stm.pat, list[ir.Stm]()
    start: Atom = i64(0)
    whole = [ir.SliceDim(i64(0), size, i64(1)) for size in shape_of(param.type)]
    for number, part in enumerate(exp.arrays, 1):
        count = shape_of(types[part])[exp.dim]
        dims = tuple(ir.SliceDim(start, count, i64(1)) if k == exp.dim else dim
                     for k, dim in enumerate(whole))
        last = number == len(exp.arrays)
        new = param if last else ir.Param(names.fresh(param.name), param.type)
        found.append(ir.Stm((new,), ir.Update(array, dims, part), stm.attrs, stm.loc))
        array = new.name
        if not last:
            end = names.fresh("end")
            found.append(ir.Stm((ir.Param(end, Prim.I64),),
                                ir.PrimOp("add", Prim.I64, (start, count))))
            start = end
    return found
