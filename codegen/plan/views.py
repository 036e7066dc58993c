"""Views: the mapping from the indices of an element to a place in memory.

A layout operation (rearrange, reshape, slice) costs nothing: it makes another view of the same
memory.  A view without memory is a *virtual* array, computed where it is read (iota, replicate).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce

from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import SHARED_CONSTANTS, Const

Indices = Sequence[Exp]


@lru_cache(SHARED_CONSTANTS)
def lit(value: int, prim: Prim = Prim.I64) -> Exp:
    """A literal of an integer type."""
    return imp.Lit(Const(value, prim))


def op(name: str, *args: Exp, prim: Prim = Prim.I64) -> Exp:
    """An operation on i64s (or ``prim``), computed now if the operands are constants or neutral."""
    consts = [a.const.value for a in args if isinstance(a, imp.Lit)]
    if not consts:
        return imp.Apply(name, prim, args)
    if len(consts) == len(args) and name in ("add", "sub", "mul"):
        return imp.Lit(Const(apply(name, prim, *consts).item(), prim))
    match name, args:
        case "add", (x, imp.Lit(c)) if c.value == 0:
            return x
        case "add", (imp.Lit(c), x) if c.value == 0:
            return x
        case "sub", (x, imp.Lit(c)) if c.value == 0:
            return x
        case "mul", (x, imp.Lit(c)) if c.value == 1:
            return x
        case "mul", (imp.Lit(c), x) if c.value == 1:
            return x
        case "mul", (imp.Lit(c), _) | (_, imp.Lit(c)) if c.value == 0:
            return lit(0)
        case ("quot" | "div", (x, imp.Lit(c))) if c.value == 1:
            return x
        case ("rem" | "mod", (_, imp.Lit(c))) if c.value == 1:
            return lit(0)
    return imp.Apply(name, prim, args)


def all_of(*conditions: Exp) -> Exp:
    """True if all conditions hold."""
    return reduce(lambda one, other: imp.Apply("and", Prim.BOOL, (one, other)), conditions)


def any_of(*conditions: Exp) -> Exp:
    """True if one of the conditions holds."""
    return reduce(lambda one, other: imp.Apply("or", Prim.BOOL, (one, other)), conditions)


def negated(cond: Exp) -> Exp:
    """True if a condition does not hold."""
    return imp.Apply("not", Prim.BOOL, (cond,))


def within(index: Exp, size: Exp) -> Exp:
    """True if ``0 <= index < size``."""
    return all_of(op("le", lit(0), index), op("lt", index, size))


def volume(shape: Indices) -> Exp:
    """The number of points of a shape."""
    points: Exp = lit(1)
    for size in shape:
        points = op("mul", points, size)
    return points


def ceil_quot(number: Exp, parts: Exp) -> Exp:
    """The quotient, rounded up."""
    return op("quot", op("sub", op("add", number, parts), lit(1)), parts)


def flat_index(indices: Indices, shape: Indices) -> Exp:
    """The row-major position of ``indices`` in an array of ``shape``."""
    total: Exp = lit(0)
    for index, size in zip(indices, shape, strict=True):
        total = op("add", op("mul", total, size), index)
    return total


def _as_it_is(exp: Exp) -> Exp:
    return exp


def unflat_index(position: Exp, shape: Indices, hold: Callable[[Exp], Exp] = _as_it_is
                 ) -> list[Exp]:
    """The indices of the row-major ``position`` in an array of ``shape``.

    One division for each dimension but the first: it is the remainder that is cheap to make.
    ``hold`` may put a quotient into a variable.
    """
    indices: list[Exp] = []
    for size in reversed(shape[1:]):
        above = hold(op("quot", position, size))
        indices.insert(0, op("sub", position, op("mul", above, size)))
        position = above
    return [position, *indices] if shape else []


@dataclass(frozen=True, slots=True)
class View:
    """An array: its shape, and the place (``at``) or value (``read``) of its elements.

    ``mem`` is None for a virtual array.  If the elements fill the memory from its start, ``order``
    lists the dimensions as they vary in memory, the fastest last; else it is None.  Neighbours
    along dimension ``near``, if there is one, are neighbours in memory.

    ``stored`` is the same array in a lazy copy, which is filled when a kernel reads it.
    """

    prim: Prim
    shape: tuple[Exp, ...]
    mem: VName | None
    at: Callable[[Indices], Exp] = field(compare=False)
    order: tuple[int, ...] | None = None
    near: int | None = None
    stored: View | None = None

    @property
    def unit(self) -> bool:
        """True if neighbours along the last dimension are neighbours in memory."""
        return self.near == len(self.shape) - 1

    @property
    def dense(self) -> bool:
        """True if the elements fill the memory in row-major order."""
        return self.order == tuple(range(len(self.shape)))

    @property
    def leads(self) -> bool:
        """True if it has one dimension, and its elements begin where the memory does."""
        probe = imp.Var(VName("probe", -1))
        return len(self.shape) == 1 and self.at([probe]) == probe

    def read(self, indices: Indices) -> Exp:
        """The element at ``indices``."""
        place = self.at(indices)
        return place if self.mem is None else imp.Load(self.mem, place, self.prim)

    def write(self, indices: Indices, value: Exp) -> imp.Stm:
        """Set the element at ``indices``."""
        assert self.mem is not None
        return imp.Store(self.mem, self.at(indices), value, self.prim)

    def rearrange(self, perm: Sequence[int]) -> View:
        """Dimension k of the result is dimension ``perm[k]``."""
        inverse = [perm.index(k) for k in range(len(perm))]
        return View(self.prim, tuple(self.shape[k] for k in perm), self.mem,
                    lambda ix: self.at([ix[k] for k in inverse]),
                    None if self.order is None else tuple(inverse[k] for k in self.order),
                    None if self.near is None else inverse[self.near],
                    self.stored and self.stored.rearrange(perm))

    def reshape(self, shape: tuple[Exp, ...]) -> View:
        """A view of the elements in row-major order with another shape."""
        if self.dense:
            return View(self.prim, shape, self.mem, lambda ix: flat_index(ix, shape),
                        tuple(range(len(shape))), len(shape) - 1)
        common = 0
        while (common < min(len(shape), len(self.shape)) and shape[common] == self.shape[common]):
            common += 1
        inner, outer = self.shape[common:], shape[common:]

        def at(ix: Indices) -> Exp:
            rest = unflat_index(flat_index(ix[common:], outer), inner) if inner else []
            return self.at([*ix[:common], *rest])

        return View(self.prim, shape, self.mem, at,
                    stored=self.stored and self.stored.reshape(shape))

    def slice(self, dims: Sequence[Exp | tuple[Exp, Exp, Exp]]) -> View:
        """Select an index of a dimension, or ``(start, count, stride)``, for each dimension."""
        shape = tuple(d[1] for d in dims if isinstance(d, tuple))
        whole = all(isinstance(d, tuple) and d[0] == lit(0) and d[2] == lit(1) and d[1] == size
                    for d, size in zip(dims, self.shape, strict=True))

        def at(ix: Indices) -> Exp:
            given = iter(ix)
            return self.at([op("add", d[0], op("mul", next(given), d[2]))
                            if isinstance(d, tuple) else d for d in dims])

        kept = [n for n, d in enumerate(dims) if isinstance(d, tuple)
                and (n != self.near or d[2] == lit(1))]
        return View(self.prim, shape, self.mem, at, self.order if whole else None,
                    kept.index(self.near) if self.near in kept else None,
                    self.stored and self.stored.slice(dims))

    def slide(self, dim: int, size: Exp, step: Exp, count: Exp) -> View:
        """``count`` windows of ``size`` neighbours along a dimension, each ``step`` further."""
        shape = (*self.shape[:dim], count, size, *self.shape[dim + 1:])

        def at(ix: Indices) -> Exp:
            place = op("add", op("mul", ix[dim], step), ix[dim + 1])
            return self.at([*ix[:dim], place, *ix[dim + 2:]])

        near = None if self.near is None else self.near + (self.near >= dim)
        return View(self.prim, shape, self.mem, at, None, near,
                    self.stored and self.stored.slide(dim, size, step, count))

    def pad(self, dim: int, before: Exp, length: Exp, value: Exp) -> View:
        """The elements from place ``before`` on, and ``value`` at other places of ``length``.

        It is virtual: there is nothing to write to.
        """
        shape = (*self.shape[:dim], length, *self.shape[dim + 1:])

        def at(ix: Indices) -> Exp:
            place = op("sub", ix[dim], before)
            element = self.read([*ix[:dim], place, *ix[dim + 1:]])
            return imp.Select(within(place, self.shape[dim]), element, value, self.prim)

        return View(self.prim, shape, None, at)

    def row(self, *indices: Exp) -> View:
        """The part of the array behind the outermost indices."""
        rest = self.shape[len(indices):]
        return self.slice([*indices, *((lit(0), size, lit(1)) for size in rest)])


@dataclass(frozen=True, slots=True)
class PaddedLoad:
    """An element of a padded array: ``load`` if all ``tests`` hold, else ``value``.

    Each test is a pair of an index and the size that bounds it.
    """

    tests: tuple[tuple[Exp, Exp], ...]
    load: imp.Load
    value: Exp


def as_padded(exp: Exp) -> PaddedLoad | None:
    """The parts of a padded element, as :meth:`View.pad` makes it; None for other expressions."""
    match exp:
        case imp.Select(imp.Apply("and", args=(
                imp.Apply("le", Prim.I64, (_, index)),
                imp.Apply("lt", Prim.I64, (_, size)))) as test,
                inner, value) if test == within(index, size):
            if isinstance(inner, imp.Load):
                return PaddedLoad(((index, size),), inner, value)
            rest = as_padded(inner)
            if rest is not None and rest.value == value:
                return replace(rest, tests=((index, size), *rest.tests))
    return None


def row_major(mem: VName, prim: Prim, shape: tuple[Exp, ...]) -> View:
    """All of a memory as an array of ``shape``."""
    return View(prim, shape, mem, lambda ix: flat_index(ix, shape), tuple(range(len(shape))),
                len(shape) - 1)


def behind(rank: int, outer: int) -> tuple[int, ...]:
    """The memory order of ``rank`` dimensions if the ``outer`` first dimensions vary fastest.

    The order begins with the dimension that varies slowest.
    """
    return (*range(outer, rank), *range(outer))


def interleaved(mem: VName, prim: Prim, shape: tuple[Exp, ...], outer: int) -> View:
    """All of a memory as an array of ``shape`` whose ``outer`` first dimensions vary fastest."""
    inner = len(shape) - outer
    memory = row_major(mem, prim, (*shape[outer:], *shape[:outer]))
    return memory.rearrange([*range(inner, len(shape)), *range(inner)])


def iota(prim: Prim, count: Exp, start: Exp, step: Exp) -> View:
    """``start, start + step, ...``, computed where it is read."""
    def element(ix: Indices) -> Exp:
        index = ix[0] if prim is Prim.I64 else imp.Convert(Prim.I64, prim, ix[0])
        return op("add", start, op("mul", index, step, prim=prim), prim=prim)
    return View(prim, (count,), None, element)


def replicate(prim: Prim, outer: tuple[Exp, ...], value: Exp | View) -> View:
    """``value`` at every outer index, computed where it is read."""
    if isinstance(value, View):
        inner = value
        return View(prim, (*outer, *inner.shape), None, lambda ix: inner.read(ix[len(outer):]))
    scalar = value
    return View(prim, outer, None, lambda ix: scalar)
