"""The symbol table of the place where a statement stands, which rules look things up in.

Binders are unique in a program, so one table serves all scopes.  A name that a statement uses is in
scope there, and so are the operands of its definition.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import ArrayType, Atom, Const, Type, i64, shape_of
from runelift.rewrite.engine.ranges import Ranges

Computed: TypeAlias = tuple[ir.Exp, tuple[VName, ...]]
"""An expression, and the names of its results."""


@dataclass(slots=True)
class KnownExpressions:
    """The expressions computed so far in the current body and the bodies around it, by keys.

    One table for all bodies: a body that ends takes its own expressions out again.
    """

    table: dict[Hashable, list[Computed]] = field(default_factory=dict)
    added: list[list[Hashable]] = field(default_factory=lambda: [[]])

    def begin_body(self) -> None:
        """Begin an inner body, to which the expressions added from now on belong."""
        self.added.append([])

    def end_body(self) -> None:
        """Forget the expressions of the innermost body."""
        for key in self.added.pop():
            self.table[key].pop()

    def find(self, key: Hashable) -> Iterable[Computed]:
        """Expressions with a key, the latest first."""
        return reversed(self.table.get(key, ()))

    def add(self, key: Hashable, exp: ir.Exp, names: tuple[VName, ...]) -> None:
        """Remember an expression of the innermost body, and the names of its results."""
        self.table.setdefault(key, []).append((exp, names))
        self.added[-1].append(key)


@dataclass(slots=True)
class Scope(Ranges):
    """The definitions, types and ranges of names.

    ``bounds`` holds names that are at least 0 and less than an atom.  ``sizes`` are the sizes
    of the arguments of the function.  ``depths`` says how many lambdas stand around a definition,
    ``depth`` how many stand here.  ``consumed`` are arrays that an in-place update reuses: a rule
    must not make them live longer.  ``live`` are the names that are used after the statement
    (during the backward walk only).  ``copies`` are names that are known to be other atoms,
    ``known`` the expressions computed so far.
    """

    names: Names
    consumed: frozenset[VName] = frozenset()
    defs: dict[VName, ir.Stm] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    bounds: dict[VName, Atom] = field(default_factory=dict)
    sizes: set[Atom] = field(default_factory=set)
    depths: dict[VName, int] = field(default_factory=dict)
    depth: int = 0
    live: set[VName] = field(default_factory=set)
    copies: dict[VName, Atom] = field(default_factory=dict)
    known: KnownExpressions = field(default_factory=KnownExpressions)

    # Learning

    def bind(self, params: Iterable[ir.Param]) -> None:
        """Learn the types of parameters: names that have no definition."""
        for param in params:
            self.types[param.name] = param.type
            self.depths[param.name] = self.depth

    def bind_index(self, name: VName, bound: Atom) -> None:
        """Learn an i64 that counts from 0 up to ``bound``."""
        self.bind((ir.Param(name, Prim.I64),))
        self.bounds[name] = bound

    def define(self, stm: ir.Stm) -> None:
        """Learn the names of a statement's pattern."""
        for param in stm.pat:
            self.types[param.name] = param.type
            self.depths[param.name] = self.depth
            self.defs[param.name] = stm

    # Looking up

    def exp(self, atom: Atom) -> ir.Exp | None:
        """The expression of which ``atom`` is the only result."""
        stm = self.defs.get(atom) if isinstance(atom, VName) else None
        return stm.exp if stm is not None and len(stm.pat) == 1 else None

    def looked_at(self, stm: ir.Stm) -> tuple[ir.Exp, ir.Exp | None]:
        """The expression of a statement, and that of the array or value that it is a view of."""
        match stm.exp:
            case (ir.Index(array=source) | ir.Rearrange(array=source) | ir.Reshape(array=source)
                  | ir.Copy(array=source) | ir.Slide(array=source) | ir.Pad(array=source)
                  | ir.Replicate(value=source)):
                return stm.exp, self.exp(source)
        return stm.exp, None

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

    def fresh(self, base: str | VName, type_: Type) -> ir.Param:
        """A parameter with a name that occurs nowhere else."""
        return ir.Param(self.names.fresh(base), type_)

    def here(self, name: VName) -> bool:
        """True if ``name`` is bound at the lambda depth of the current statement.

        Otherwise a lambda around the statement separates it from the binding.
        """
        return self.depths.get(name, 0) == self.depth

    def consumes(self, name: VName) -> bool:
        """True if a statement reuses the memory of ``name``."""
        return name in self.consumed

    # Ranges

    def inside(self, dim: ir.Dim, size: Atom) -> bool:
        """True if an index or slice is inside of a dimension of ``size`` for certain."""
        if not isinstance(dim, ir.SliceDim):
            return self.below(dim, size)
        return is_whole(dim, size) or (
            isinstance(dim.count, Const) and dim.stride == i64(1) and dim.count.value > 0
            and self.before(dim.start, size, int(dim.count.value)))

    def selects_inside(self, array: VName, dims: tuple[ir.Dim, ...]) -> bool:
        """True if ``array[dims]`` cannot be out of bounds."""
        shape = shape_of(self.type(array))
        return all(self.inside(d, n) for d, n in zip(dims, shape, strict=True))


def is_whole(dim: ir.Dim, size: Atom) -> bool:
    """True if ``dim`` is the slice of a whole dimension of ``size``."""
    return isinstance(dim, ir.SliceDim) and dim == whole(size)


def whole(size: Atom) -> ir.SliceDim:
    """The slice ``0 :+ size * 1``."""
    return ir.SliceDim(i64(0), size, i64(1))


def is_counting(exp: ir.Exp | None) -> bool:
    """True if ``exp`` is ``[0, 1, ..., n-1]`` of type i64."""
    match exp:
        case ir.Iota(_, Const(0), Const(1), Prim.I64):
            return True
    return False
