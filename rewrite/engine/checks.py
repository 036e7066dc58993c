"""Bounds checks as statements, for accesses that become operations which ignore bad indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.ir.base import failures
from runelift.ir.base.source import Loc
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Assert, Dim, Index, Param, PrimOp, SliceDim, Stm
from runelift.ir.types import Atom, Const, Type, i64
from runelift.rewrite.engine.code import Code


def checks_of(names: Names, stm: Stm, shape: Sequence[Atom]) -> Iterator[Stm]:
    """Assertions that fail where ``stm``, an operation on scalars or an access, would fail.

    ``shape`` is that of the array that the access is to.
    """
    match stm.exp:
        case PrimOp() if stm.exp.may_trap:
            code, prim = Code(names), stm.exp.prim
            zero = code.holds("eq", stm.exp.args[-1], Const(0, prim), prim, base="zero")
            nonzero = code.emitted("nonzero", Prim.BOOL, PrimOp("not", Prim.BOOL, (zero,)))
            yield from (*code.out, Stm((), Assert(nonzero, failures.DIVISION), loc=stm.loc))
        case Index(_, dims, True):
            yield from _Access(names).checks(dims, shape, stm.loc)


class _Access(Code):
    """Checks of the dimensions of one access."""

    def fresh(self, base: str | VName, type_: Type) -> Param:
        """A new name for a number or condition of the checks."""
        return super().fresh("check", type_)

    def checks(self, dims: Sequence[Dim], shape: Sequence[Atom], loc: Loc | None) -> list[Stm]:
        """Statements that fail, with the message of the access, if it is out of bounds."""
        written = [self.written(dim) for dim in dims]
        message = failures.access([len(each) for each in written])
        values = (*(value for each in written for value in each), *shape)
        for dim, size in zip(dims, shape, strict=True):
            fine = self.slice_fits(dim, size) if isinstance(dim, SliceDim) else within(
                self, dim, size)
            self.emit(Stm((), Assert(fine, message, values), loc=loc))
        return self.out

    def slice_fits(self, dim: SliceDim, size: Atom) -> VName:
        """The slice is empty, or its first and last elements are inside."""
        last = self.computed("add", dim.start, self.computed(
            "mul", self.computed("sub", dim.count, i64(1)), dim.stride))
        ends = self.both(within(self, dim.start, size), within(self, last, size))
        some = self.both(self.holds("lt", i64(0), dim.count), ends)
        return self.holds("or", self.holds("eq", dim.count, i64(0)), some, Prim.BOOL)

    def written(self, dim: Dim) -> tuple[Atom, ...]:
        """A dimension as a program writes it: an index, or start, stop and step."""
        if not isinstance(dim, SliceDim):
            return (dim,)
        stop = self.computed("add", dim.start, self.computed("mul", dim.count, dim.stride))
        return (dim.start, stop, *([dim.stride] if dim.stride != i64(1) else []))


def within(code: Code, index: Atom, size: Atom) -> VName:
    """``0 <= index < size``."""
    return code.both(code.holds("le", i64(0), index), code.holds("lt", index, size))


def bounds_checks(names: Names, dims: Sequence[Dim], shape: Sequence[Atom],
                  loc: Loc | None) -> list[Stm]:
    """Fail unless an access to these elements is inside of an array of this shape."""
    return _Access(names).checks(dims, shape, loc)
