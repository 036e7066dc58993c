"""The point that makes a loop longer than its data."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import binders, bodies_inside, free_vars
from runelift.ir.types import ArrayType, Atom, Const, Type, array_of, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.scalar_code import may_fail
from runelift.rewrite.engine.scope import Scope, whole
from runelift.rewrite.lift.point import Arguments, Rewrite, point
from runelift.rewrite.lift.points.nests import Nest, maps_of
from runelift.rewrite.lift.points.reductions import Reduction, reduction_in
from runelift.rewrite.lift.points.reordered import Part, Reordered
from runelift.rewrite.lift.points.views import Views, number


@point(ir.Map, ir.Redomap, needs_reductions=True)
def pad_extra(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
    """map f xs ⇒ take n (map f (pad 0 amount xs)),
    redomap ⊕ e f xs ⇒ redomap ⊕ e (λ(i, x) → if i < n then f x else e)
    (iota (n + amount)) (pad 0 amount xs)

    Provided: a function that fails, or reads elsewhere, is applied to elements of xs alone.
    Because: tiles need not divide n, only n + amount.  With form multiple the loop gets as long as
    the next multiple of amount, which tiles that divide amount divide for all n.
        The loop counts from 1, the outermost of a nest; a reduction inside is the last.
    Source: Mogers 2023, section 6.2.5.10; a reduction may be padded, as its neutral element is
    known.
    """
    k = int(number(given, "loop").value) - 1
    found = _loops(scope, stm, k)
    if isinstance(found, str):
        return found
    nest, loop = found.nest, found.nest.loops[k]
    views = Views(scope, stm, "pad_extra")
    amount, width = _longer(views, loop.width, number(given, "amount"), str(given["form"]))
    if amount == i64(0):
        return Rewrite((stm,), inner=stm.pat[0].name)
    sums = found.sums
    pat = sums.pat
    if not loop.ops:
        pat = tuple(scope.fresh(p.name, _with_size(p.type, k, width)) for p in pat)
    new = Reordered(scope, replace(sums, pat=pat), nest,
                    tuple(Part(n) for n in range(len(nest.loops))), "pad_extra")
    new.views.stms += views.stms
    new.pad(k, amount, width)
    if loop.ops or _unsafe(nest, k):
        if any(_needs_element(each, _dependent(nest, k)) for later in nest.loops[k:]
               for each in later.before):
            return "what stands between its maps fails or reads elsewhere, at elements of padding"
        other = [a for op in loop.ops for a in op.neutral]
        new.nest = replace(new.nest, body=_guarded(scope, nest, new.index_of(k), loop.width, other))
    stms = new.rewritten()
    if isinstance(stms, str):
        return stms
    taken = () if loop.ops else tuple(
        ir.Stm((out,), ir.Index(p.name, _first(out.type, k)), loc=stm.loc)
        for out, p in zip(sums.pat, pat, strict=True))
    return Rewrite((*stms, *taken, *found.after), inner=new.name_at(0))


def _loops(scope: Scope, stm: ir.Stm, k: int) -> Reduction | str:
    """The nest of a statement that has loop ``k``, or the reason why there is none."""
    count = 0
    if isinstance(stm.exp, ir.Map):
        maps = maps_of(stm)
        count = len(maps.loops)
        if k < count:
            nest = maps.nest(count)
            assert isinstance(nest, Nest)
            return Reduction(nest, stm)
    if k > count:
        return f"it has not so many loops: {maps.end}" if count else "it has one loop"
    return reduction_in(scope, stm)


def _longer(views: Views, width: Atom, amount: Const, form: str) -> tuple[Atom, Atom]:
    """The number of elements to add to a width, and the width with them."""
    if form == "exactly":
        return amount, views.compute("add", width, amount)
    if isinstance(width, Const):
        more = -int(width.value) % int(amount.value)
        return i64(more), i64(int(width.value) + more)
    up = views.compute("add", width, i64(int(amount.value) - 1))
    blocks = views.bind("blocks", Prim.I64, ir.PrimOp("quot", Prim.I64, (up, amount)))
    full = views.compute("mul", blocks, amount)
    return views.bind("extra", Prim.I64, ir.PrimOp("sub", Prim.I64, (full, width))), full


def _with_size(type_: Type, dim: int, size: Atom) -> Type:
    shape = shape_of(type_)
    return ArrayType(elem_of(type_), (*shape[:dim], size, *shape[dim + 1:]))


def _first(type_: Type, dim: int) -> tuple[ir.Dim, ...]:
    """The part of a longer array that has a type, which is shorter along a dimension."""
    assert 0 <= dim < len(shape_of(type_))
    return tuple(map(whole, shape_of(type_)))


def _guarded(scope: Scope, nest: Nest, index: Atom, width: Atom, neutral: Sequence[Atom]
             ) -> ir.Body:
    """The body of a nest where an index is below a width, and other results elsewhere."""
    inside = scope.fresh("inside", Prim.BOOL)
    results = tuple(scope.fresh("result", type_) for type_ in nest.ret)
    other: tuple[Atom, ...] = tuple(neutral)
    blanks: list[ir.Stm] = []
    if not other:
        for type_ in nest.ret:
            blank: Atom = zero(elem_of(type_))
            if shape := shape_of(type_):
                param = scope.fresh("blank", array_of(shape, elem_of(type_)))
                blanks.append(ir.Stm((param,), ir.Replicate(shape, blank)))
                blank = param.name
            other = (*other, blank)
    return ir.Body((
        ir.Stm((inside,), ir.PrimOp("lt", Prim.I64, (index, width))),
        ir.Stm(results, ir.If(inside.name, nest.body, ir.Body(tuple(blanks), other), nest.ret))),
        tuple(p.name for p in results))


# Elements that padding does not have


def _dependent(nest: Nest, k: int) -> set[VName]:
    """The names outside of the body that depend on the element of loop ``k``."""
    found: set[VName] = set()
    for n, loop in enumerate(nest.loops):
        found |= {p.name for p, a in zip(loop.params, loop.arrays, strict=True)
                  if n == k or a in found}
        found |= _depending(loop.before, found)
    return found


def _depending(stms: Iterable[ir.Stm], names: set[VName]) -> set[VName]:
    found = set(names)
    for stm in stms:
        if found & free_vars(stm.exp):
            found |= {p.name for p in stm.pat}
    return found


def _unsafe(nest: Nest, k: int) -> bool:
    """True if an operation in a nest would change its result on padded zeros."""
    names = _dependent(nest, k)
    stms = [s for loop in nest.loops[k:] for s in loop.before] + [*nest.body.stms]
    names = _depending(stms, names)
    return any(_needs_element(stm, names) for stm in stms)


def _needs_element(stm: ir.Stm, names: set[VName]) -> bool:
    """True if a statement fails, reads or loops by one of ``names``, or by a name inside of it."""
    exp = stm.exp
    if not names & free_vars(exp):
        return False
    if may_fail(exp) or isinstance(exp, ir.Loop | ir.Scatter | ir.Hist | ir.Update):
        return True
    inside = names | set(binders(exp))
    if isinstance(exp, ir.Index):
        atoms = {a for d in exp.dims for a in (
            (d.start, d.count) if isinstance(d, ir.SliceDim) else (d,))}
        return bool(atoms & names)
    return any(_needs_element(each, inside) for body in bodies_inside(exp) for each in body.stms)
