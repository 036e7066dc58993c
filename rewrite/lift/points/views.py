"""Views that points put around what they rewrite, with the conditions that these ask for."""

from __future__ import annotations

from dataclasses import dataclass, field

from runelift.ir import syntax as ir
from runelift.ir.constraints import Constraint, divides
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.traverse import size_of
from runelift.ir.types import Atom, Const, Type, array_of, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.point import Arguments


@dataclass(slots=True)
class Views:
    """Statements in place of ``stm``, which ``point`` rewrites, and their conditions."""

    scope: Scope
    stm: ir.Stm
    point: str
    stms: list[ir.Stm] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    sizes: dict[VName, Size] = field(default_factory=dict)
    """The sizes that the statements compute: conditions are about names from before them."""

    def bind(self, base: str | VName, type_: Type, exp: ir.Exp, attrs: tuple[str, ...] = ()
             ) -> VName:
        """Add a statement for an expression; its name."""
        param = self.scope.fresh(base, type_)
        self.stms.append(ir.Stm((param,), exp, attrs, self.stm.loc))
        return param.name

    # Sizes

    def quotient(self, size: Atom, tile: Atom) -> Atom | str:
        """The number of tiles in a size; the reason if they do not fit."""
        if tile == i64(1):
            return size
        if isinstance(size, Const) and isinstance(tile, Const):
            whole = divides(size_of(tile), size_of(size), self.point, span=self.stm.loc)
            if not whole.holds({}):
                return whole.complaint({})
            return i64(int(size.value) // int(tile.value))
        if (found := self._factor(size, tile)) is not None:
            return found
        self.constraints.append(divides(size_of(tile), self.size(size), self.point,
                                        span=self.stm.loc))
        return self.bind("tiles", Prim.I64, ir.PrimOp("quot", Prim.I64, (size, tile)))

    def _factor(self, size: Atom, tile: Atom) -> Atom | None:
        """The quotient of a size that is a product with the tile or a multiple of it."""
        match self.scope.exp(size):
            case ir.PrimOp("mul", Prim.I64, (x, y)) if tile in (x, y):
                return x if y == tile else y
            case ir.PrimOp("mul", Prim.I64, (VName() as x, Const(number))) if (
                    isinstance(tile, Const) and int(number) % int(tile.value) == 0):
                return self.compute("mul", x, i64(int(number) // int(tile.value)), "tiles")
        return None

    def compute(self, op: str, left: Atom, right: Atom, base: str = "size") -> Atom:
        """Add a product or sum of sizes; its name."""
        if isinstance(left, Const) and isinstance(right, Const):
            x, y = int(left.value), int(right.value)
            return i64(x * y if op == "mul" else x + y)
        if op == "mul" and i64(1) in (left, right):
            return right if left == i64(1) else left
        found = self.bind(base, Prim.I64, ir.PrimOp(op, Prim.I64, (left, right)))
        one, other = self.size(left), self.size(right)
        self.sizes[found] = one * other if op == "mul" else one + other
        return found

    def size(self, atom: Atom) -> Size:
        """An atom as a size of names from before the statements, but for quotients."""
        return self.sizes.get(atom) or size_of(atom) if isinstance(atom, VName) else size_of(atom)

    # Arrays

    def reshape(self, array: VName, shape: tuple[Atom, ...], element: Type) -> VName:
        """An array with elements of the primitive type of ``element`` in another shape."""
        return self.bind(array, array_of(shape, elem_of(element)), ir.Reshape(shape, array))

    def split(self, array: VName, dim: int, tile: Atom, shape: tuple[Atom, ...], element: Type
              ) -> VName:
        """An array with a dimension split into tiles; ``shape`` is that of the result.

        These are windows that do not overlap: a place needs no division, as in a reshaped array.
        """
        return self.bind(array, array_of(shape, elem_of(element)), ir.Slide(
            dim, tile, tile, shape[dim], array))

    def rearrange(self, array: VName, perm: tuple[int, ...], shape: tuple[Atom, ...],
                  element: Type) -> VName:
        """An array with its outer dimensions permuted; ``shape`` is that of the result."""
        if perm == tuple(range(len(perm))):
            return array
        return self.bind(array, array_of(shape, elem_of(element)), ir.Rearrange(
            (*perm, *range(len(perm), len(shape))), array))

    def restore(self, array: VName, perm: tuple[int, ...], shape: tuple[Atom, ...],
                element: Type, out: ir.Param) -> None:
        """Bind ``out`` to an array with outer dimensions permuted to ``shape``, then joined."""
        full = (*shape, *shape_of(element))
        last = shape_of(out.type)
        if len(full) == len(last):
            self.stms.append(ir.Stm((out,), ir.Rearrange(
                (*perm, *range(len(perm), len(full))), array), loc=self.stm.loc))
            return
        array = self.rearrange(array, perm, full, element)
        self.stms.append(ir.Stm((out,), ir.Reshape(last, array), loc=self.stm.loc))

    def pad(self, array: VName, dim: int, amount: Atom, shape: tuple[Atom, ...], element: Type
            ) -> VName:
        """Bind an array with ``amount`` zeros behind it along ``dim``; returns its name."""
        prim = elem_of(element)
        return self.bind(array, array_of(shape, prim), padding(array, dim, amount, prim))

    def iota(self, width: Atom) -> VName:
        """``[0, 1, ..., width - 1]``."""
        return self.bind("is", array_of((width,), Prim.I64), ir.Iota(width, i64(0), i64(1),
                                                                    Prim.I64))

    def replicate(self, shape: tuple[Atom, ...], value: Atom, type_: Type) -> VName:
        """Add an array of equal elements; its name."""
        return self.bind("neutral", array_of(shape, type_), ir.Replicate(shape, value))


def padding(array: VName, dim: int, amount: Atom, prim: Prim) -> ir.Pad:
    """An array with ``amount`` zeros behind it along ``dim``."""
    return ir.Pad(dim, i64(0), amount, zero(prim), array)


def number(given: Arguments, name: str) -> Const:
    """A numeric argument of a point; a tuned argument has a value at this time, too."""
    value = given[name]
    assert isinstance(value, Const)
    return value
