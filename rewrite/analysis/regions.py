"""Regions of arrays: which elements an access touches, and whether two of them can meet.

A region says for each dimension which indices it has.  What is not an access by indices, such as
mapping over an array, touches all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.syntax import Body, Dim, Exp, If, Index, Lambda, SliceDim, Stm
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of, uses
from runelift.ir.types import Atom
from runelift.rewrite.analysis.bounds import Known

ONE = Size.of(1)


@dataclass(frozen=True, slots=True)
class Span:
    """``count`` indices ``start, start + stride, ...``, or the index ``start`` (count None)."""

    start: Size
    count: Size | None = None
    stride: Size = ONE

    @property
    def last(self) -> Size | None:
        """The largest index, if the stride is known to go up."""
        if self.count is None:
            return self.start
        if self.stride.constant is None or self.stride.constant < 1:
            return None
        return self.start + (self.count - 1) * self.stride


Region: TypeAlias = tuple[Span, ...]


def region(known: Known, dims: Iterable[Dim]) -> Region:
    """The region that an access with these dimensions touches."""
    return tuple(Span(known.value(d.start), known.value(d.count), known.value(d.stride))
                 if isinstance(d, SliceDim) else Span(known.value(d)) for d in dims)


def whole(known: Known, shape: Iterable[Atom]) -> Region:
    """The region that is all of an array."""
    return tuple(Span(Size.of(0), known.value(size)) for size in shape)


def part(outer: Region, inner: Region) -> Region:
    """The region of the sliced array that ``inner``, a region of the slice ``outer``, covers.

    >>> n = Size.var(VName("n", 1))
    >>> rows = (Span(Size.of(2), n), Span(Size.of(5)))
    >>> part(rows, (Span(n),)) == (Span(n + 2), Span(Size.of(5)))
    True
    """
    rest = iter(inner)

    def inside(span: Span, picked: Span) -> Span:
        return Span(span.start + picked.start * span.stride, picked.count,
                    picked.stride * span.stride if picked.count is not None else ONE)

    return tuple(span if span.count is None else inside(span, next(rest)) for span in outer)


def disjoint(known: Known, one: Region | None, other: Region) -> bool:
    """True if two regions are proved to have no element in common.

    In one dimension all indices of the one are below all indices of the other.  None is a region of
    which nothing is known.
    """
    if one is None:
        return False
    prove = known.facts.prove
    return any(
        (a.last is not None and prove(b.start - a.last - 1))
        or (b.last is not None and prove(a.start - b.last - 1))
        for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class Access:
    """A region of an array that a statement reads or writes, with the facts known there.

    ``name``: the slice that an access makes, if it makes one; ``None`` for an element, and for
    uses that are no accesses by indices.
    """

    region: Region | None
    known: Known
    name: VName | None = None


def accesses(stm: Stm, aliases: dict[VName, Region | None], known: Known) -> Iterator[Access]:
    """The accesses of ``stm``, and of code inside it, to an array that is known under ``aliases``.

    Slices of the array become further aliases.
    """
    exp = stm.exp
    if isinstance(exp, Index) and exp.array in aliases:
        outer = aliases[exp.array]
        found = None if outer is None else part(outer, region(known, exp.dims))
        sliced = any(isinstance(d, SliceDim) for d in exp.dims)
        yield Access(found, known, stm.pat[0].name if sliced else None)
        if sliced:
            aliases[stm.pat[0].name] = found
        return
    for name in uses(exp):
        if name in aliases:
            yield Access(aliases[name], known)
    if aliases.keys() & free_vars(exp):
        for body, there in _bodies(exp, known):
            yield from accesses_in(body, aliases, there)


def accesses_in(body: Body, aliases: dict[VName, Region | None], known: Known) -> Iterator[Access]:
    """The accesses of a body and its result; ``known`` learns from its statements."""
    for stm in body.stms:
        yield from accesses(stm, aliases, known)
        known.pass_by(stm)
    for atom in body.result:
        if isinstance(atom, VName) and atom in aliases:
            yield Access(aliases[atom], known)


def _bodies(exp: Exp, known: Known) -> Iterator[tuple[Body, Known]]:
    """The bodies inside of an expression, with the facts known in them."""
    if isinstance(exp, If):
        for body, truth in ((exp.then_, True), (exp.else_, False)):
            side = known.inner()
            side.assume(exp.cond, truth)
            yield body, side
        return
    around = known.within(exp)
    for body in bodies_of(exp):
        yield body, around.inner()
    for lam in lambdas_of(exp):
        yield _entered(lam, around.inner())


def _entered(lam: Lambda, known: Known) -> tuple[Body, Known]:
    known.declare(lam.params)
    return lam.body, known


def same(known: Known, one: Size, other: Size) -> bool:
    """True if two indices are equal."""
    return one == other or (known.facts.prove(one - other) and known.facts.prove(other - one))


def equal(known: Known, one: Span, other: Span) -> bool:
    """True if two slices of a dimension are equal."""
    return (one.count is not None and other.count is not None
            and same(known, one.start, other.start) and same(known, one.count, other.count)
            and same(known, one.stride, other.stride))


def kept(spans: Sequence[Span]) -> list[int]:
    """The dimensions of which a region has a slice."""
    return [k for k, span in enumerate(spans) if span.count is not None]
