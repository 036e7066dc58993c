"""Flat places: numbers that stand for several indices, in row-major order.

A program may count the elements of a matrix with one number or with two.  Both are read alike.
"""

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import ArrayType, Atom, elem_of, shape_of
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope


@rule(ir.PrimOp, ops=("div", "quot", "mod", "rem"))
def quotient_of_sum(scope: Scope, stm: ir.Stm) -> Replacement:
    """(i * m + j) / m ⇒ i,  (i * m + j) % m ⇒ j,  j / m ⇒ 0,  j % m ⇒ j

    Provided: the type is i64, 0 <= i and 0 <= j < m, and i * m is less than a size.
    Because: places in a flat array stand for pairs of indices.
    """
    match stm.exp:
        case ir.PrimOp("div" | "quot" | "mod" | "rem" as name, Prim.I64, (x, m)):
            found = scope.quotient(x, m)
            if found is not None:
                return ir.AtomExp(found[name in ("mod", "rem")])
    return None


@rule(ir.Index)
def index_flattened(scope: Scope, stm: ir.Stm) -> Replacement:
    """(reshape (n * m) xs)[i * m + j] ⇒ xs[i, j]

    Provided: xs has the sizes n and m in front, and 0 <= j < m.
    Because: i * m + j is inside of n * m if and only if i is inside of n.
    """
    match scope.looked_at(stm):
        case ir.Index(_, (VName() as place, *rest), checked), ir.Reshape(shape, origin):
            before = shape_of(scope.type(origin))
            split = len(before) - len(shape) + 1
            if split < 2 or before[split:] != shape[1:]:
                return None
            indices: list[ir.Dim] = []
            index: Atom = place
            for size in reversed(before[1:split]):
                found = scope.quotient(index, size)
                if found is None:
                    return None
                index = found[0]
                indices.insert(0, found[1])
            return ir.Index(origin, (index, *indices, *rest), checked)
    return None


@rule(ir.Index)
def index_quotient(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs[p / m, p % m] ⇒ (reshape (n * m) xs)[p]

    Provided: xs has the sizes n and m, and p counts up to n * m.
    Because: elements in row-major order are read without a division.
    """
    match stm.exp:
        case ir.Index(array, (VName() as row, VName() as column)) if not scope.consumes(array):
            sizes = shape_of(scope.type(array))
            match scope.exp(row), scope.exp(column):
                case (ir.PrimOp("div" | "quot", Prim.I64, (VName() as place, m)),
                      ir.PrimOp("mod" | "rem", Prim.I64, (same, n))) if (
                          place == same and m == n == sizes[1] and place in scope.bounds):
                    count = scope.resolve(scope.bounds[place])
                    match scope.exp(count):
                        case ir.PrimOp("mul", Prim.I64, (x, y)) if {x, y} == {*sizes}:
                            flat = scope.fresh("fs", ArrayType(elem_of(scope.type(array)),
                                                               (count,)))
                            return (ir.Stm((flat,), ir.Reshape((count,), array), loc=stm.loc),
                                    ir.Stm(stm.pat, ir.Index(flat.name, (place,)), stm.attrs,
                                           stm.loc))
    return None


FLAT_PLACES = RuleBook([quotient_of_sum, index_flattened, index_quotient])
