"""Operators over vectors inside of a lambda: each element of the vectors is reduced by itself.

A work-item that reduces vectors stores each of them, and the total beside it.  A reduction of one
column needs one scalar.  Outside of lambdas rule G4 of the flattener does this, because
attributes of the reduction decide there.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.points import settings
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type, array_of, elem_of, row_of, shape_of
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import is_scalar
from runelift.rewrite.engine.scope import Scope

MOST_REPEATED = 4
"""The most cheap statements before the map of a lambda that each column repeats."""


@rule(ir.Redomap)
def fold_columns(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap (map ⊕) (replicate k e) (λx → map f x) xs ⇒
    map (λy → redomap ⊕ e f y) (transpose xs)

    Provided: it stands in a lambda, and no map that may fuse with it makes xs.
    Does not handle: scans, whose results processors want to write row by row.
    """
    soac = ir.node_of(stm, ir.Redomap)
    if not scope.depth or settings(stm) or len(soac.ops) != 1:
        return None
    (op,) = soac.ops
    inner = op.vector
    neutral = [_element(scope, atom) for atom in op.neutral]
    if inner is None or len(soac.lam.ret) != len(neutral) or None in neutral:
        return None
    found = _rows_made(scope, soac.lam, inner.width)
    if found is None or any(isinstance(scope.exp(a), ir.Map) and scope.here(a)
                            for a in soac.arrays):
        return None
    outside, before, made = found
    turned = _Turned(scope, stm)
    inside = turned.inputs(soac, made)
    body = ir.Body((*before, *made.lam.body.stms), made.lam.body.result)
    used = free_vars(body)
    inside += [(array, param) for array, param in zip(soac.arrays, soac.lam.params, strict=True)
               if param.name in used]
    scalar = ir.Operator(inner.lam, tuple(a for a in neutral if a is not None), op.comm)
    fold = ir.Redomap(soac.width, (scalar,),
                      ir.Lambda(tuple(p for _, p in inside), body, made.lam.ret),
                      tuple(array for array, _ in inside))
    folded = tuple(scope.fresh(p.name, row_of(p.type)) for p in stm.pat)
    columns = turned.mapped(inner.width, (ir.Stm(folded, fold, loc=stm.loc),), folded)
    return (*outside, *turned.views, ir.Stm(stm.pat, columns, loc=stm.loc))


class _Turned:
    """A map over columns under construction: its input arrays, and views of these."""

    def __init__(self, scope: Scope, stm: ir.Stm) -> None:
        self.scope, self.stm = scope, stm
        self.views: list[ir.Stm] = []
        self.arrays: list[VName] = []
        self.params: list[ir.Param] = []

    def inputs(self, soac: ir.Redomap, made: ir.Map
               ) -> list[tuple[VName, ir.Param]]:
        """Map over the inputs of ``made``, which stands in ``soac``; the columns among them."""
        array_of_row = dict(zip((p.name for p in soac.lam.params), soac.arrays, strict=True))
        inside: list[tuple[VName, ir.Param]] = []
        for param, array in zip(made.lam.params, made.arrays, strict=True):
            if array not in array_of_row:
                self.arrays.append(array)
                self.params.append(param)
                continue
            view = _transposed(self.scope, array_of_row[array], self.stm)
            column = self.scope.fresh("column", row_of(view.pat[0].type))
            self.views.append(view)
            self.arrays.append(view.pat[0].name)
            self.params.append(column)
            inside.append((column.name, param))
        return inside

    def mapped(self, width: Atom, stms: tuple[ir.Stm, ...], results: tuple[ir.Param, ...]
               ) -> ir.Map:
        """The map over columns, with these statements and results."""
        lam = ir.Lambda(tuple(self.params), ir.Body(stms, tuple(p.name for p in results)),
                        tuple(p.type for p in results))
        return ir.Map(width, lam, tuple(self.arrays))


def _exchange(array: VName, type_: Type) -> ir.Rearrange:
    """An array with its first two dimensions exchanged."""
    return ir.Rearrange((1, 0, *range(2, len(shape_of(type_)))), array)


def _transposed(scope: Scope, array: VName, stm: ir.Stm) -> ir.Stm:
    """A view of the columns of an array."""
    type_ = scope.type(array)
    height, width, *inner = shape_of(type_)
    out = scope.fresh(array, array_of((width, height, *inner), elem_of(type_)))
    return ir.Stm((out,), _exchange(array, type_), loc=stm.loc)


def _element(scope: Scope, neutral: Atom) -> Atom | None:
    """The element of a replicated vector; None for other atoms."""
    match scope.exp(neutral):
        case ir.Replicate((_,), value):
            return value
    return None


def _rows_made(scope: Scope, lam: ir.Lambda, width: Atom
               ) -> tuple[tuple[ir.Stm, ...], tuple[ir.Stm, ...], ir.Map] | None:
    """The map at the end of a lambda that makes its vectors, and what stands before it.

    First come the iotas and replicates that do not depend on the lambda.  None if something else
    makes the vectors, or if the rest is not worth repeating for each element of a vector.
    """
    if lam.body.result == tuple(p.name for p in lam.params):  # the vectors are there
        elements = tuple(scope.fresh("x", row_of(type_)) for type_ in lam.ret)
        names = tuple(p.name for p in elements)
        element = ir.Lambda(elements, ir.Body((), names), tuple(p.type for p in elements))
        return (), (), ir.Map(width, element, tuple(p.name for p in lam.params))
    outside, before = list[ir.Stm](), list[ir.Stm]()
    bound = {p.name for p in lam.params}
    for stm in lam.body.stms[:-1]:
        if isinstance(stm.exp, ir.Iota | ir.Replicate) and not bound & free_vars(stm.exp):
            outside.append(stm)
        else:
            before.append(stm)
            bound |= {p.name for p in stm.pat}
    bound -= {p.name for p in lam.params}
    match lam.body.stms[-1:]:
        case (ir.Stm(pat, ir.Map(made_width, arrays=arrays) as made) as stm,) if (
                not settings(stm) and
                made_width == width and not bound.intersection(arrays)
                and lam.body.result == tuple(p.name for p in pat)
                and all(map(_is_cheap, before)) and len(before) <= MOST_REPEATED):
            return tuple(outside), tuple(before), made
    return None


def _is_cheap(stm: ir.Stm) -> bool:
    """True if a statement may be repeated for each column."""
    return is_scalar(stm) and isinstance(stm.exp, ir.PrimOp | ir.Convert | ir.AtomExp | ir.Index)


VECTOR_OPERATORS = RuleBook([fold_columns])
"""Reductions of vectors inside of lambdas."""
