"""Ranges of i64s: what sizes and indices say about sums, products and quotients of them.

What is known of a number follows from the indices that it is made of.  So it holds wherever these
are known, also where no inner loop runs.

Arithmetic wraps.  Sizes of arrays, indices below them and small constants are far from where it
does, and so are sums of few of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Exp, PrimOp
from runelift.ir.types import Atom, Const, i64

LARGEST_OFFSET = 1 << 40
"""The largest constant beside a size that is known not to wrap."""
SUM_DEPTH = 5
"""The most nested operations that the range of an index is found through."""


@dataclass(frozen=True, slots=True)
class Upper:
    """A number is at most ``base + offset``, and ``base + floor`` is not negative.

    Without a base, ``offset`` is the bound, and ``floor`` means nothing.
    """

    base: Atom | None
    offset: int
    floor: int = 0

    def plus(self, number: int) -> Upper:
        """The bound of a sum with a constant."""
        return replace(self, offset=self.offset + number)


class Ranges:
    """Facts about the ranges of i64s, for a table of definitions.

    ``bounds`` holds names that are at least 0 and less than an atom.  ``sizes`` are not negative.
    """

    __slots__ = ()
    bounds: Mapping[VName, Atom]
    sizes: Set[Atom]

    def exp(self, atom: Atom) -> Exp | None:
        """The expression of which ``atom`` is the only result."""
        raise NotImplementedError

    def resolve(self, atom: Atom) -> Atom:
        """The atom that ``atom`` is known to equal."""
        raise NotImplementedError

    def below(self, index: Atom, size: Atom) -> bool:
        """True if ``0 <= index < size`` for certain."""
        return self.before(index, size, 1)

    def before(self, index: Atom, size: Atom, count: int) -> bool:
        """True if ``0 <= index`` and ``index + count <= size`` for certain."""
        return self.natural(index) and self.at_most(index, size, -count)

    def at_most(self, number: Atom, size: Atom, offset: int = 0) -> bool:
        """True if ``number <= size + offset`` for certain."""
        upper, (base, further) = self.upper(number), self._with_offset(size)
        return upper is not None and upper.base == base and upper.offset <= further + offset

    def natural(self, atom: Atom, depth: int = SUM_DEPTH) -> bool:
        """True if ``atom`` is not negative for certain."""
        if isinstance(atom, Const):
            return atom.value >= 0
        if atom in self.bounds or atom in self.sizes:
            return True
        match self.exp(atom):
            case PrimOp("mul", Prim.I64, (x, y)) if depth:  # sizes alone may wrap
                return (any(isinstance(each, Const) or each in self.bounds for each in (x, y))
                        and self.natural(x, depth - 1) and self.natural(y, depth - 1))
            case PrimOp("add" | "div" | "quot" | "rem" | "min" as op, Prim.I64,
                        (x, y)) if depth:
                if self.natural(x, depth - 1) and self.natural(y, depth - 1):
                    return True
                return op == "min" and (self._reaches(x, y, depth) or self._reaches(y, x, depth))
            case PrimOp("max", Prim.I64, (x, y)) if depth:
                return self.natural(x, depth - 1) or self.natural(y, depth - 1)
            case PrimOp("mod", Prim.I64, (_, y)) if depth:
                return self.natural(y, depth - 1)
        return False

    def _reaches(self, index: Atom, last: Atom, depth: int) -> bool:
        """True if ``index`` is not negative and shows that the last place of a size exists."""
        base, offset = self._with_offset(last)
        upper = self.upper(index, depth - 1)
        return (upper is not None and upper.base == base is not None and offset >= upper.floor
                and self.natural(index, depth - 1))

    def upper(self, atom: Atom, depth: int = SUM_DEPTH) -> Upper | None:
        """A bound of a number that is far from wrapping; None if there is none."""
        if isinstance(atom, Const):
            return Upper(None, int(atom.value)) if abs(atom.value) <= LARGEST_OFFSET else None
        if (bound := self.bounds.get(atom)) is not None:
            base, offset = self._with_offset(self.resolve(bound))
            return Upper(base, offset - 1, offset - 1)
        if atom in self.sizes:
            return Upper(atom, 0)
        match self.exp(atom):
            case PrimOp(op, Prim.I64, (x, y)) if depth:
                return self._of_operation(op, x, y, depth - 1)
        return None

    def _of_operation(self, op: str, x: Atom, y: Atom, depth: int) -> Upper | None:
        if op in ("rem", "mod") and self.natural(y, depth) and (
                op == "mod" or self.natural(x, depth)):
            base, offset = self._with_offset(y)
            return Upper(base, offset - 1, offset - 1)
        left, right = self.upper(x, depth), self.upper(y, depth)
        if left is None or right is None:
            return None
        match op:
            case "add" if right.base is None:
                return left.plus(right.offset)
            case "add" if left.base is None:
                return right.plus(left.offset)
            case "sub" if isinstance(y, Const):
                return left.plus(-right.offset)
            case "mul" if left.base is None and right.base is None and self.natural(
                    x, depth) and self.natural(y, depth) and (
                    left.offset * right.offset <= LARGEST_OFFSET):
                return Upper(None, left.offset * right.offset)
            case "mul" if right.base is None:
                return self._times(left, y)
            case "mul" if left.base is None:
                return self._times(right, x)
            case "max":
                return _greatest(left, right)
            case "min" if left.base == right.base:
                return min(left, right, key=lambda upper: upper.offset)
            case "min":
                return right if left.base is None else left
        return None

    def _times(self, upper: Upper, factor: Atom) -> Upper | None:
        """The bound of ``factor`` times a number that is bounded by a quotient by ``factor``.

        That is at most the dividend, as division rounds down.
        """
        match self.exp(upper.base) if upper.base is not None else None:
            case PrimOp("div" | "quot" as op, Prim.I64, (size, Const(int() as k))) if (
                    factor == i64(k) and 0 < k <= LARGEST_OFFSET
                    and max(abs(upper.offset), abs(upper.floor)) <= LARGEST_OFFSET // k
                    and (op == "div" or self.natural(size))):
                base, further = self._with_offset(size)
                if base is not None and self.upper(base) is not None:
                    return Upper(base, further + k * upper.offset, further + k * upper.floor)
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

    def _with_offset(self, size: Atom) -> tuple[Atom | None, int]:
        """A size as another and a constant."""
        if isinstance(size, Const):
            return None, int(min(size.value, LARGEST_OFFSET))
        match self.exp(size):
            case PrimOp("add", Prim.I64, (VName() as base, Const(c))) if (
                    abs(c) <= LARGEST_OFFSET):
                return base, int(c)
            case PrimOp("sub", Prim.I64, (VName() as base, Const(c))) if abs(c) <= LARGEST_OFFSET:
                return base, -int(c)
        return size, 0


def _greatest(left: Upper, right: Upper) -> Upper | None:
    """The bound of the greater of two numbers."""
    if left.base == right.base:
        return Upper(left.base, max(left.offset, right.offset), min(left.floor, right.floor))
    if left.base is None:
        left, right = right, left
    if right.base is None:  # a constant c is at most c + base + floor
        return Upper(left.base, max(left.offset, left.floor + right.offset), left.floor)
    return None
