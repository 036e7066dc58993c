"""The symbol table of the place where a statement stands, which rules look things up in.

Binders are unique in a program, so one table serves all scopes.  A name that a statement uses is in
scope there, and so are the operands of its definition.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Dim, Exp, Iota, Param, PrimOp, SliceDim, Stm
from runelift.ir.types import ArrayType, Atom, Const, Type, i64, shape_of

Known: TypeAlias = dict[Hashable, list[tuple[Exp, tuple[VName, ...]]]]
"""Expressions with equal keys, and the names of their results."""

LARGEST_OFFSET = 1 << 40
"""The largest constant beside a size that is known not to wrap."""
SUM_DEPTH = 4
"""The most nested sums that the range of an index is found through."""


@dataclass(slots=True)
class Scope:
    """The definitions, types and ranges of names.

    ``bounds`` holds names that are at least 0 and less than an atom.  ``sizes`` are those of the
    arguments of the function.  ``depths`` says how many
    lambdas stand around a definition, ``depth`` how many stand here.  ``consumed`` are arrays
    that an in-place update reuses: a rule must not make them live longer.  ``live`` are the
    names that are used after the statement (during the backward walk only).  ``copies`` are names
    that are known to be other atoms, ``known`` the expressions computed so far, per body.
    """

    names: Names
    consumed: frozenset[VName] = frozenset()
    defs: dict[VName, Stm] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    bounds: dict[VName, Atom] = field(default_factory=dict)
    sizes: set[Atom] = field(default_factory=set)
    depths: dict[VName, int] = field(default_factory=dict)
    depth: int = 0
    live: set[VName] = field(default_factory=set)
    copies: dict[VName, Atom] = field(default_factory=dict)
    known: list[Known] = field(default_factory=lambda: [{}])

    # Learning

    def bind(self, params: Iterable[Param]) -> None:
        """Names that have no definition: parameters."""
        for param in params:
            self.types[param.name] = param.type
            self.depths[param.name] = self.depth

    def bind_index(self, name: VName, bound: Atom) -> None:
        """An i64 that counts from 0 up to ``bound``."""
        self.bind((Param(name, Prim.I64),))
        self.bounds[name] = bound

    def define(self, stm: Stm) -> None:
        """The names of a statement's pattern."""
        for param in stm.pat:
            self.types[param.name] = param.type
            self.depths[param.name] = self.depth
            self.defs[param.name] = stm

    # Looking up

    def exp(self, atom: Atom) -> Exp | None:
        """The expression of which ``atom`` is the only result."""
        stm = self.defs.get(atom) if isinstance(atom, VName) else None
        return stm.exp if stm is not None and len(stm.pat) == 1 else None

    def resolve(self, atom: Atom) -> Atom:
        """The atom that ``atom`` is known to equal."""
        return self.copies.get(atom, atom) if isinstance(atom, VName) else atom

    def type(self, atom: Atom) -> Type:
        """The type of an atom, with its sizes resolved."""
        if not isinstance(atom, VName):
            return atom.prim
        type_ = self.types[atom]
        if isinstance(type_, ArrayType) and any(size in self.copies for size in type_.shape):
            return ArrayType(type_.elem, tuple(map(self.resolve, type_.shape)))
        return type_

    def fresh(self, base: str | VName, type_: Type) -> Param:
        """A parameter with a name that occurs nowhere else."""
        return Param(self.names.fresh(base), type_)

    def here(self, name: VName) -> bool:
        """True if ``name`` is bound inside the same lambdas as this place."""
        return self.depths.get(name, 0) == self.depth

    def consumes(self, name: VName) -> bool:
        """True if something reuses the memory of ``name``."""
        return name in self.consumed

    # Ranges

    def below(self, index: Atom, size: Atom) -> bool:
        """True if ``0 <= index < size`` for certain."""
        return self.before(index, size, 1)

    def before(self, index: Atom, size: Atom, count: int) -> bool:
        """True if ``0 <= index`` and ``index + count <= size`` for certain.

        What is known follows from the indices in ``index`` alone.  So it holds wherever they are
        known, also where no inner loop runs.
        """
        most = self.most(index)
        if most is None:
            return False
        base, offset = most
        size_base, size_offset = self._with_offset(size)
        return base == size_base and offset + count <= size_offset

    def most(self, index: Atom, depth: int = SUM_DEPTH) -> tuple[Atom | None, int] | None:
        """A size and a constant whose sum ``index`` never exceeds; None if it may be below 0."""
        if isinstance(index, Const):
            return (None, int(index.value)) if 0 <= index.value <= LARGEST_OFFSET else None
        if (bound := self.bounds.get(index)) is not None:
            base, offset = self._with_offset(self.resolve(bound))
            return base, offset - 1
        match self.exp(index):
            case PrimOp("add", Prim.I64, (x, y)) if depth:
                left, right = self.most(x, depth - 1), self.most(y, depth - 1)
                if left is not None and right is not None and (
                        left[0] is None or right[0] is None):
                    return left[0] or right[0], left[1] + right[1]
            case PrimOp("mul", Prim.I64, (x, Const(c)) | (Const(c), x)) if depth and c >= 0:
                part = self.most(x, depth - 1)
                if part is not None and part[0] is None and part[1] * c <= LARGEST_OFFSET:
                    return None, int(part[1] * c)
        return None

    def quotient(self, index: Atom, size: Atom) -> tuple[Atom, Atom] | None:
        """The quotient and the remainder of ``index`` by ``size``, if they are known atoms."""
        if self.below(index, size):
            return i64(0), index
        match self.exp(index):
            case PrimOp("add", Prim.I64, (x, y)):
                for row, rest in ((x, y), (y, x)):
                    factor = self._factor(row, size)
                    if factor is not None and self.below(rest, size):
                        return factor, rest
        return None

    def _factor(self, product: Atom, size: Atom) -> Atom | None:
        """The index that is multiplied by ``size`` in ``product``."""
        match self.exp(product):
            case PrimOp("mul", Prim.I64, (x, y)):
                for factor, other in ((x, y), (y, x)):
                    if other == size and self.natural(factor):
                        return factor
        return None

    def natural(self, atom: Atom, depth: int = SUM_DEPTH) -> bool:
        """True if ``atom`` is not negative, as sums and products of sizes and indices are."""
        if isinstance(atom, Const):
            return atom.value >= 0
        if atom in self.bounds or atom in self.sizes:
            return True
        match self.exp(atom):
            case PrimOp("add" | "mul", Prim.I64, (x, y)) if depth:
                return self.natural(x, depth - 1) and self.natural(y, depth - 1)
        return False

    def _with_offset(self, size: Atom) -> tuple[Atom | None, int]:
        """A size as another and a constant."""
        if isinstance(size, Const):
            return None, int(min(size.value, LARGEST_OFFSET))
        match self.exp(size):
            case PrimOp("add", Prim.I64, (VName() as base, Const(c))) if (
                    abs(c) <= LARGEST_OFFSET):
                return base, int(c)
        return size, 0

    def inside(self, dim: Dim, size: Atom) -> bool:
        """True if an index or slice is inside of a dimension of ``size`` for certain."""
        if not isinstance(dim, SliceDim):
            return self.below(dim, size)
        return is_whole(dim, size) or (
            isinstance(dim.count, Const) and dim.stride == i64(1) and dim.count.value > 0
            and self.before(dim.start, size, int(dim.count.value)))

    def selects_inside(self, array: VName, dims: tuple[Dim, ...]) -> bool:
        """True if ``array[dims]`` cannot be out of bounds."""
        shape = shape_of(self.type(array))
        return all(self.inside(d, n) for d, n in zip(dims, shape, strict=True))


def is_whole(dim: Dim, size: Atom) -> bool:
    """True if ``dim`` is the slice that takes a dimension of ``size`` as it is."""
    return isinstance(dim, SliceDim) and dim == whole(size)


def whole(size: Atom) -> SliceDim:
    """The slice ``0 :+ size * 1``."""
    return SliceDim(i64(0), size, i64(1))


def is_counting(exp: Exp | None) -> bool:
    """True if ``exp`` is ``[0, 1, ..., n-1]`` of type i64."""
    match exp:
        case Iota(_, Const(0), Const(1), Prim.I64):
            return True
    return False
