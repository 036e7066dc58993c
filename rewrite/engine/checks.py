"""Bounds checks as statements, for accesses that become operations which ignore bad indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runelift.ir.base import failures
from runelift.ir.base.source import Loc
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Assert, Dim, Index, Param, PrimOp, SliceDim, Stm
from runelift.ir.types import Atom, Const, i64


def checks_of(names: Names, stm: Stm, shape: Sequence[Atom]) -> Iterator[Stm]:
    """Assertions that fail where ``stm``, an operation on scalars or an access, would fail.

    ``shape`` is that of the array that the access is to.
    """
    match stm.exp:
        case PrimOp() if stm.exp.may_trap:
            zero, nonzero = (Param(names.fresh(base), Prim.BOOL) for base in ("zero", "nonzero"))
            divisor = stm.exp.args[-1]
            yield Stm((zero,), PrimOp("eq", stm.exp.prim, (divisor, Const(0, stm.exp.prim))))
            yield Stm((nonzero,), PrimOp("not", Prim.BOOL, (zero.name,)))
            yield Stm((), Assert(nonzero.name, failures.DIVISION), loc=stm.loc)
        case Index(_, dims, True):
            yield from _Access(names, stm.loc).checks(dims, shape)


@dataclass(slots=True)
class _Access:
    """Checks of the dimensions of one access."""

    names: Names
    loc: Loc | None
    stms: list[Stm] = field(default_factory=list)

    def checks(self, dims: Sequence[Dim], shape: Sequence[Atom]) -> list[Stm]:
        """Statements that fail, with the message of the access, if it is out of bounds."""
        written = [self.written(dim) for dim in dims]
        message = failures.access([len(each) for each in written])
        values = (*(value for each in written for value in each), *shape)
        for dim, size in zip(dims, shape, strict=True):
            fine = self.slice_fits(dim, size) if isinstance(dim, SliceDim) else self.within(
                dim, size)
            self.stms.append(Stm((), Assert(fine, message, values), loc=self.loc))
        return self.stms

    def compute(self, op: str, a: Atom, b: Atom, prim: Prim = Prim.I64) -> VName:
        """An operation on two numbers."""
        logical = prim is Prim.BOOL or op in ("lt", "le", "eq")
        param = Param(self.names.fresh("check"), Prim.BOOL if logical else Prim.I64)
        self.stms.append(Stm((param,), PrimOp(op, prim, (a, b))))
        return param.name

    def within(self, index: Atom, size: Atom) -> VName:
        """``0 <= index < size``."""
        return self.compute("and", self.compute("le", i64(0), index),
                            self.compute("lt", index, size), Prim.BOOL)

    def slice_fits(self, dim: SliceDim, size: Atom) -> VName:
        """The slice is empty, or its first and last elements are inside."""
        last = self.compute("add", dim.start, self.compute(
            "mul", self.compute("sub", dim.count, i64(1)), dim.stride))
        ends = self.compute("and", self.within(dim.start, size), self.within(last, size), Prim.BOOL)
        some = self.compute("and", self.compute("lt", i64(0), dim.count), ends, Prim.BOOL)
        return self.compute("or", self.compute("eq", dim.count, i64(0)), some, Prim.BOOL)

    def written(self, dim: Dim) -> tuple[Atom, ...]:
        """A dimension as a program writes it: an index, or start, stop and step."""
        if not isinstance(dim, SliceDim):
            return (dim,)
        stop = self.compute("add", dim.start, self.compute("mul", dim.count, dim.stride))
        return (dim.start, stop, *([dim.stride] if dim.stride != i64(1) else []))


def bounds_checks(names: Names, indices: Sequence[Atom], shape: Sequence[Atom],
                  loc: Loc | None) -> Iterator[Stm]:
    """Fail unless all ``0 <= index < size``, with the message of a checked access."""
    message = failures.access([1] * len(indices))
    for index, size in zip(indices, shape, strict=True):
        above, below, inside = (Param(names.fresh("inside"), Prim.BOOL) for _ in range(3))
        yield Stm((above,), PrimOp("le", Prim.I64, (i64(0), index)))
        yield Stm((below,), PrimOp("lt", Prim.I64, (index, size)))
        yield Stm((inside,), PrimOp("and", Prim.BOOL, (above.name, below.name)))
        yield Stm((), Assert(inside.name, message, (*indices, *shape)), loc=loc)
