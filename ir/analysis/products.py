"""Products: maps whose points share elements, as the points of a product of matrices do.

A reduction over k runs at every point (i, j).  It combines elements of arrays that vary with i and
k only with elements of arrays that vary with j and k only.  Each of i, j and k stands for any
number of dimensions, as in contractions of tensors.  In a convolution, i is an output channel.  j
is a pixel, and k an input channel with a place in the filter.

Source: Chellapilla, Puri and Simard 2006, "High performance convolutional neural networks for
document processing", for convolutions as products.  Chetlur et al. 2014, "cuDNN: efficient
primitives for deep learning", for doing without a stored matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, names_from_outside, needed_for, substitute_stm
from runelift.ir.types import Atom, Type

REPEATED = (ir.Index, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad, ir.AtomExp, ir.PrimOp,
            ir.Convert, ir.Iota)
"""Expressions allowed before the reduction: they are computed again for every element loaded."""


def is_cheap(body: ir.Body) -> bool:
    """True if elements cost no more to compute than to load."""
    return all(isinstance(s.exp, (*REPEATED, ir.Replicate)) for s in body.stms)


@dataclass(frozen=True, slots=True)
class Reducing:
    """The parts of a map's body that reduces scalars: statements before and after the reduction.

    ``redomap`` is the expression of the statement ``reduction``; ``result`` is that of the body.
    """

    before: tuple[ir.Stm, ...]
    reduction: ir.Stm
    redomap: ir.Redomap
    after: tuple[ir.Stm, ...]
    result: tuple[Atom, ...]

    def needed(self, wanted: Iterable[VName]) -> tuple[ir.Stm, ...]:
        """The statements that must be computed before these names are known."""
        return needed_for(self.before, wanted)

    def inner_names(self) -> set[VName]:
        """The free names of the reduction's functions."""
        functions = (self.redomap.lam, *(o.lam for o in self.redomap.ops))
        return {v for function in functions for v in free_vars(function)}


def reducing(body: ir.Body, ret: Sequence[Type], *, rows: bool = False) -> Reducing | None:
    """The parts of a map's body with one reduction of scalars; None for other bodies.

    ``rows``: elements may be made from rows of arrays.
    """
    place = next((n for n, s in enumerate(body.stms) if isinstance(s.exp, ir.Redomap)), None)
    if place is None:
        return None
    before, reduction, after = body.stms[:place], body.stms[place], body.stms[place + 1:]
    redomap = ir.node_of(reduction, ir.Redomap)
    simple = (all(isinstance(s.exp, REPEATED) for s in (*before, *after))
              and all(isinstance(p.type, Prim)
                      for p in (*reduction.pat, *(() if rows else redomap.lam.params)))
              and len(reduction.pat) == sum(len(o.neutral) for o in redomap.ops)
              and all(isinstance(t, Prim) for t in ret))
    return Reducing(before, reduction, redomap, after, body.result) if simple else None


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop of a nested reduction: ``stms`` for the elements ``params`` of ``arrays``."""

    width: Atom
    params: tuple[ir.Param, ...]
    arrays: tuple[VName, ...]
    stms: tuple[ir.Stm, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An element that a product combines, and the statements that compute it.

    ``before`` are the statements before the reduction.  ``walks`` has the elements and statements
    of each loop of the reduction.
    """

    param: ir.Param
    before: tuple[ir.Stm, ...]
    walks: tuple[Walk, ...]


@dataclass(frozen=True, slots=True)
class Nest(Reducing):
    """The parts of a body that reduces scalars in nested loops, with one operator for all loops.

    ``combine`` makes what is reduced of ``operands``, which are elements of arrays.
    """

    walks: tuple[Walk, ...]
    operands: tuple[Operand, ...]
    combine: ir.Body

    @property
    def lengths(self) -> tuple[Atom, ...]:
        """The numbers of iterations of the loops, the outermost first."""
        return tuple(walk.width for walk in self.walks)

    @property
    def constant_names(self) -> set[VName]:
        """The free names of the functions, without the operands."""
        found = {*names_from_outside(self.combine)}
        for operator in self.redomap.ops:
            found |= free_vars(operator.lam)
        return found - {o.param.name for o in self.operands}

    def dependences(self) -> dict[VName, set[VName]]:
        """The dependences of each name that is bound before the functions.

        A loop's first parameter stands for its index.
        """
        found = dependences(self.before)
        for walk in self.walks:
            for param, array in zip(walk.params, walk.arrays, strict=True):
                found[param.name] = {param.name, walk.params[0].name, *found.get(array, {array})}
            dependences(walk.stms, found)
        return found


def nest_of(body: ir.Body, ret: Sequence[Type]) -> Nest | None:
    """The parts of a map's body with nested reductions of scalars; None for other bodies."""
    parts = reducing(body, ret, rows=True)
    if parts is None:
        return None
    walks, redomap = list[Walk](), parts.redomap
    while (inner := _only_reduction(redomap)) is not None:
        walks.append(Walk(redomap.width, redomap.lam.params, redomap.arrays,
                          redomap.lam.body.stms[:-1]))
        redomap = inner
    if any(isinstance(s.exp, ir.Redomap) for s in redomap.lam.body.stms):
        return None
    innermost = Walk(redomap.width, redomap.lam.params, redomap.arrays, redomap.lam.body.stms)
    counted = {p.name for stm in (*parts.before, *(s for w in walks for s in w.stms))
               if isinstance(stm.exp, ir.Iota) for p in stm.pat}
    made, elements, rest = _elements([*walks, innermost], counted)
    walks.append(replace(innermost, stms=made))
    combine = ir.Body(rest, redomap.lam.body.result)
    used = names_from_outside(combine)
    if len(walks) == 1:  # the index of a single loop is known where elements are combined
        elements = [*redomap.lam.params, *(p for p in elements if p not in redomap.lam.params)]
    if not all(isinstance(p.type, Prim) for p in elements if p.name in used):
        return None
    operands = tuple(_operand(parts, walks, p) for p in elements if p.name in used)
    return Nest(parts.before, parts.reduction, parts.redomap, parts.after, parts.result,
                tuple(walks), operands, combine)


def _only_reduction(redomap: ir.Redomap) -> ir.Redomap | None:
    """The reduction that makes the elements of another one, with its operators; else None."""
    stms, result = redomap.lam.body.stms, redomap.lam.body.result
    if not stms or not isinstance(inner := stms[-1].exp, ir.Redomap):
        return None
    alike = (result == tuple(p.name for p in stms[-1].pat)
             and len(inner.ops) == len(redomap.ops)
             and all(_same_operator(one, other)
                     for one, other in zip(redomap.ops, inner.ops, strict=True))
             and all(isinstance(s.exp, REPEATED) for s in stms[:-1]))
    return inner if alike else None


def _same_operator(one: ir.Operator, other: ir.Operator) -> bool:
    """True if two operators differ in names at most, and have constant neutral elements."""
    left, right = one.lam, other.lam
    if (one.neutral != other.neutral or any(isinstance(a, VName) for a in one.neutral)
            or len(left.body.stms) != len(right.body.stms)):
        return False
    names: dict[VName, Atom] = {
        q.name: p.name for p, q in zip(left.params, right.params, strict=True)}
    for mine, its in zip(left.body.stms, right.body.stms, strict=True):
        if len(mine.pat) != len(its.pat) or mine.exp != substitute_stm(its, names).exp:
            return False
        names |= {q.name: p.name for p, q in zip(mine.pat, its.pat, strict=True)}
    return left.body.result == tuple(names.get(a, a) if isinstance(a, VName) else a
                                     for a in right.body.result)


def _elements(walks: Sequence[Walk], counted: set[VName]
              ) -> tuple[tuple[ir.Stm, ...], list[ir.Param], tuple[ir.Stm, ...]]:
    """The innermost loop's loads of elements, the loaded names, and its other statements.

    Elements are loaded from arrays at places that do not depend on elements.
    """
    loaded, elements, made = set[VName](), list[ir.Param](), list[ir.Stm]()
    for walk in walks:
        for param, array in zip(walk.params, walk.arrays, strict=True):
            if isinstance(param.type, Prim) and array not in counted:
                elements.append(param)
                loaded.add(param.name)
        for stm in walk.stms:
            if not isinstance(stm.exp, REPEATED) or not loaded.isdisjoint(free_vars(stm)):
                loaded |= {p.name for p in stm.pat}
                continue
            made.append(stm)
            if isinstance(stm.exp, ir.Index) and isinstance(stm.pat[0].type, Prim):
                elements += stm.pat
                loaded.add(stm.pat[0].name)
    found = needed_for(made, (stm.pat[0].name for stm in made if isinstance(stm.exp, ir.Index)
                              or not isinstance(stm.pat[0].type, Prim)))
    inside = walks[-1].stms
    return (tuple(s for s in inside if s in found), elements,
            tuple(s for s in inside if s not in found))


def _operand(parts: Reducing, walks: Sequence[Walk], param: ir.Param) -> Operand:
    """An operand with the statements that compute it."""
    wanted, needed = {param.name}, list[Walk]()
    for walk in reversed(walks):
        stms = needed_for(walk.stms, wanted)
        wanted |= {v for stm in stms for v in free_vars(stm)}
        pairs = [(p, a) for p, a in zip(walk.params, walk.arrays, strict=True) if p.name in wanted]
        wanted |= {a for _, a in pairs}
        needed.insert(0, Walk(walk.width, tuple(p for p, _ in pairs),
                              tuple(a for _, a in pairs), stms))
    return Operand(param, parts.needed(wanted), tuple(needed))


@dataclass(frozen=True, slots=True)
class Product(Nest):
    """A map that is a product.

    The dimensions of its space are ``rows``, ``columns``, of which the last one is one, and
    ``batch``.  ``left`` are the operands that vary with rows and not with columns.  ``right`` are
    the operands that vary with columns and not with rows.  All other operands vary with neither.
    """

    exp: ir.SegMap
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    batch: tuple[int, ...]
    left: frozenset[VName]
    right: frozenset[VName]


def product_of(exp: ir.SegMap) -> Product | None:
    """The map as a product; None for other maps."""
    nest = nest_of(exp.body, exp.ret) if len(exp.space) > 1 else None
    if nest is None:
        return None
    uses = nest.dependences()
    place = {dim.index: n for n, dim in enumerate(exp.space)}
    last = len(exp.space) - 1
    dims = {o.param.name: {place[v] for v in uses.get(o.param.name, ()) if v in place}
            for o in nest.operands}
    right = frozenset(name for name, some in dims.items() if last in some)
    across = {n for name in right for n in dims[name]}
    beside = {n for name, some in dims.items() if name not in right for n in some}
    rows, columns = beside - across, across - beside
    left = frozenset(name for name, some in dims.items() if some & rows)
    inside = {exp.space[n].index for n in rows | columns} | {
        walk.params[0].name for walk in nest.walks if walk.params}
    fixed = {v for v in (*nest.constant_names, *nest.lengths) if isinstance(v, VName)}
    if any(inside & uses.get(v, {v}) for v in fixed) or not left or not right:
        return None
    if len(nest.walks) > 1 and (not dims.keys() <= left | right
                                or any(v in uses for v in nest.lengths)):
        return None
    return Product(nest.before, nest.reduction, nest.redomap, nest.after, nest.result, nest.walks,
                   nest.operands, nest.combine, exp, tuple(sorted(rows)), tuple(sorted(columns)),
                   tuple(n for n in range(last + 1) if n not in rows | columns), left, right)


def dependences(stms: Sequence[ir.Stm], found: dict[VName, set[VName]] | None = None
                ) -> dict[VName, set[VName]]:
    """The names that each bound name depends on, itself included.

    Dependences in ``found`` are followed, but are not part of the result.
    """
    found = {} if found is None else found
    for stm in stms:
        needs = {d for v in free_vars(stm) for d in found.get(v, {v})}
        found |= {p.name: {p.name, *needs} for p in stm.pat}
    return found
