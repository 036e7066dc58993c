"""Conditions of rewrites: proved or refuted now, or else tested when the program runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.constraints import Constraint, Relation
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import CeilDiv, Factor, Greatest, Least, Size
from runelift.ir.solver.inequalities import Facts
from runelift.ir.syntax import Body, If, PrimOp, Stm
from runelift.ir.traverse import arithmetic, rename_body
from runelift.ir.types import TRUE, Atom, Const, Type, i64, shape_of
from runelift.rewrite.engine.scope import Scope

DEPTH = 6
"""The most nested definitions of a size that are looked through."""


def size_at(scope: Scope, atom: Atom, depth: int = DEPTH) -> Size:
    """The i64 ``atom`` at a place, as a polynomial of the names that it is computed from."""
    if isinstance(atom, Const):
        return Size.of(int(atom.value))
    found = arithmetic(scope.exp(atom), lambda x: size_at(scope, x, depth - 1)) if depth else None
    return Size.var(atom) if found is None else found


@dataclass(frozen=True, slots=True)
class Refuted:
    """A constraint that never holds, with the reason."""

    reason: str


def settled(scope: Scope, constraint: Constraint) -> Constraint | Refuted | None:
    """The rest of a constraint at a place: None if it always holds."""
    left, right = (size.substitute(lambda name: size_at(scope, name))
                   for size in (constraint.left, constraint.right))
    known = replace(constraint, left=left, right=right)
    match _facts(scope, left, right).truth(known):
        case True:
            return None
        case False if left.constant is not None and right.constant is not None:
            return Refuted(known.complaint({}))
        case False:
            return Refuted(f"{known} cannot hold ({known.source()})")
    return known


def _facts(scope: Scope, *sizes: Size) -> Facts:
    """Sizes of arguments are not negative."""
    names = frozenset[VName]().union(*(size.variables() for size in sizes))
    return Facts(tuple(Size.var(name) for name in sorted(names) if scope.natural(name)))


def under(scope: Scope, stm: Stm, made: tuple[Stm, ...], residual: Iterable[Constraint]
          ) -> tuple[Stm, ...]:
    """``made`` where all constraints hold, and ``stm`` elsewhere."""
    residual = tuple(residual)
    if not residual:
        return made
    tests = _Tests(scope)
    cond = tests.all(residual)
    ret = _closed([p.type for p in stm.pat], stm)
    yes = Body(made, tuple(p.name for p in stm.pat))
    no = Body((stm,), yes.result)
    branches = If(cond, rename_body(yes, scope.names), rename_body(no, scope.names), ret)
    return (*tests.stms, Stm(stm.pat, branches, loc=stm.loc))


def _closed(types: list[Type], stm: Stm) -> tuple[Type, ...]:
    own = {p.name for p in stm.pat}
    if any(size in own for type_ in types for size in shape_of(type_)):
        raise CompilerLimitation("a rewrite under a condition of a statement that binds the sizes "
                                 "of its own results")
    return tuple(types)


@dataclass(slots=True)
class _Tests:
    """Statements that compute sizes and conditions."""

    scope: Scope
    stms: list[Stm] = field(default_factory=list)

    def all(self, constraints: Iterable[Constraint]) -> Atom:
        """The conjunction of constraints."""
        found: Atom = TRUE
        for each in constraints:
            cond = self.holds(each)
            found = cond if found == TRUE else self.op("and", Prim.BOOL, found, cond)
        return found

    def holds(self, constraint: Constraint) -> Atom:
        """The condition that a constraint holds."""
        left, right = self.size(constraint.left), self.size(constraint.right)
        match constraint.kind:
            case Relation.AT_LEAST:
                return self.op("le", Prim.I64, right, left)
            case Relation.EQUAL:
                return self.op("eq", Prim.I64, left, right)
        if isinstance(left, Const):  # positive
            return self.op("eq", Prim.I64, self.op("mod", Prim.I64, right, left), i64(0))
        divisor = self.op("max", Prim.I64, left, i64(1))
        whole = self.op("eq", Prim.I64, self.op("mod", Prim.I64, right, divisor), i64(0))
        return self.op("and", Prim.BOOL, self.op("lt", Prim.I64, i64(0), left), whole)

    def size(self, size: Size) -> Atom:
        """Add the computation of a size; its atom."""
        total: Atom | None = None
        for monomial, coefficient in size.terms:
            product: Atom = i64(coefficient)
            for factor in monomial:
                value = self.factor(factor)
                product = value if product == i64(1) else self.op("mul", Prim.I64, product, value)
            total = product if total is None else self.op("add", Prim.I64, total, product)
        return i64(0) if total is None else total

    def factor(self, factor: Factor) -> Atom:
        """Add the computation of a factor of a size; its atom."""
        match factor:
            case VName():
                return factor
            case Least(sizes):
                return self._fold("min", sizes)
            case Greatest(sizes):
                return self._fold("max", sizes)
            case CeilDiv(num, den):
                divisor = self.op("max", Prim.I64, self.size(den), i64(1))
                above = self.op("add", Prim.I64, self.size(num),
                                self.op("sub", Prim.I64, divisor, i64(1)))
                return self.op("div", Prim.I64, above, divisor)
        raise CompilerLimitation(f"a condition of a rewrite on the size '{factor}'")

    def _fold(self, op: str, sizes: Iterable[Size]) -> Atom:
        first, *rest = map(self.size, sizes)
        for each in rest:
            first = self.op(op, Prim.I64, first, each)
        return first

    def op(self, name: str, prim: Prim, *args: Atom) -> Atom:
        """Add a primitive operation; the name of its result."""
        found = self.scope.fresh("fits", OPS[name].result(prim))
        self.stms.append(Stm((found,), PrimOp(name, prim, args)))
        return found.name
