"""Statements under construction: of the host or a kernel, and definitions of Σ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.types import Atom, Type, elem_of
from runelift.rewrite.engine import code

if TYPE_CHECKING:
    from runelift.rewrite.flatten.flattener import Flattener
    from runelift.rewrite.flatten.walk import Walk


class Code(code.Code):
    """Statements in order; the flattener learns what they bind."""

    def __init__(self, flattener: Flattener) -> None:
        super().__init__(flattener.names)
        self.flattener = flattener

    def fresh(self, base: str | VName, type_: Type) -> ir.Param:
        """A new name of a type."""
        return self.flattener.fresh(base, type_)

    def emit(self, *stms: ir.Stm) -> None:
        """Add statements."""
        super().emit(*stms)
        for stm in self.out[len(self.out) - len(stms):]:
            self.flattener.learn(stm)

    def read(self, array: VName, *indices: Atom, base: str | VName | None = None) -> VName:
        """An element of an array of scalars."""
        return self.emitted(base or array.base, elem_of(self.flattener.types[array]),
                            ir.Index(array, indices))


class Definitions(Code):
    """Definitions of Σ, each of which is made once."""

    def __init__(self, walk: Walk) -> None:
        super().__init__(walk.flattener)
        self.walk = walk

    def emit(self, *stms: ir.Stm) -> None:
        """Define the names of statements."""
        self.walk.nest = self.walk.nest.define(stms)

    def emitted(self, base: str | VName, type_: Type, exp: ir.Exp, attrs: tuple[str, ...] = ()
                ) -> VName:
        """The name of an expression's result at each point of Σ."""
        known = next((name for name, stm in self.walk.nest.defs.items() if stm.exp == exp), None)
        return super().emitted(base, type_, exp, attrs) if known is None else known
