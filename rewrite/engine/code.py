"""Statements under construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Type


class Code:
    """Statements in order."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.out: list[ir.Stm] = []
        self.loc: Loc | None = None
        """The place of the program that statements without a place stand for."""

    def fresh(self, base: str | VName, type_: Type) -> ir.Param:
        """A new name of a type."""
        return ir.Param(self.names.fresh(base), type_)

    def emit(self, *stms: ir.Stm) -> None:
        """Add statements."""
        self.out += [stm if stm.loc is not None or self.loc is None else replace(stm, loc=self.loc)
                     for stm in stms]

    def name(self, name: VName, exp: ir.Exp) -> None:
        """Bind the name of an i64."""
        self.emit(ir.Stm((ir.Param(name, Prim.I64),), exp))

    def emitted(self, base: str | VName, type_: Type, exp: ir.Exp, attrs: tuple[str, ...] = ()
                ) -> VName:
        """The name of an expression's result."""
        param = self.fresh(base, type_)
        self.emit(ir.Stm((param,), exp, attrs))
        return param.name

    def computed(self, op: str, *args: Atom, base: str = "part") -> VName:
        """The result of an operation on i64s."""
        return self.emitted(base, Prim.I64, ir.PrimOp(op, Prim.I64, args))

    def holds(self, op: str, a: Atom, b: Atom, prim: Prim = Prim.I64, *, base: str = "inside"
              ) -> VName:
        """The result of a comparison of numbers, or of an operation on conditions."""
        return self.emitted(base, Prim.BOOL, ir.PrimOp(op, prim, (a, b)))

    def both(self, a: Atom, b: Atom, base: str = "inside") -> VName:
        """True if two conditions hold."""
        return self.holds("and", a, b, Prim.BOOL, base=base)

    def chosen(self, cond: Atom, then_: ir.Body, else_: ir.Body, types: Sequence[Type],
               base: str = "part") -> tuple[VName, ...]:
        """The results of a body if a condition holds, else the results of another body."""
        pat = tuple(self.fresh(base, type_) for type_ in types)
        self.emit(ir.Stm(pat, ir.If(cond, then_, else_, tuple(types))))
        return tuple(p.name for p in pat)

    def as_body(self, *result: Atom) -> ir.Body:
        """The statements with results."""
        return ir.Body(tuple(self.out), result)
