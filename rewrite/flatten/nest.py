"""Map nests: the context Σ of the flattening rules.

Σ is the stack of maps that have been passed on the way to an expression.  The paper writes it as
parameters ranging over arrays.  Here every nest name is *defined* by a statement, from host names
and the indices of the levels.  The statement is cheap enough to be computed again in each kernel
that needs it::

    map (λx → map (λy → e) ys) xs      Σ = ⟨i < n, j < m⟩,  x := xs[i],  y := ys[j]

So a result ``r`` of a kernel over Σ, stored in the host array ``r'``, is ``r := r'[i, j]`` from
then on.  A kernel body is the definitions it needs followed by its other statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.sizes import Size, product
from runelift.ir.syntax import Body, Dim, Index, Lambda, Param, SegDim, SliceDim, Space, Stm
from runelift.ir.traverse import free_vars, size_of
from runelift.ir.types import Atom, Const, Type, i64, shape_of
from runelift.rewrite.engine.scope import whole


def is_whole(dim: Dim) -> bool:
    """True if ``dim`` is a slice from 0 with stride 1."""
    return isinstance(dim, SliceDim) and dim.start == i64(0) and dim.stride == i64(1)


class Facts(NamedTuple):
    """The greatest length, the number of lengths above 0, and the sum of their squares."""

    longest: VName
    live: VName
    squares: VName


@dataclass(frozen=True, slots=True)
class Segments:
    """The descriptor of a width that differs between the points of Σ, of which there are ``count``.

    All are names of the host (:mod:`runelift.rewrite.flatten.segments`).
    """

    count: Atom
    lengths: VName
    total: VName
    facts: Facts | None = None
    offsets: VName | None = None
    owners: VName | None = None

    @property
    def known(self) -> Facts:
        """The facts, which have been made."""
        assert self.facts is not None
        return self.facts

    @property
    def starts(self) -> VName:
        """The offsets, which have been made."""
        assert self.offsets is not None
        return self.offsets


@dataclass(frozen=True, slots=True)
class Nest:
    """Σ: the index space of the enclosing maps, and the definitions of the names they bind.

    ``segments`` are the descriptors of inner widths that have been made.  A deeper nest has more
    points, so these are not its descriptors.
    """

    space: Space = ()
    defs: Mapping[VName, Stm] = field(default_factory=lambda: MappingProxyType({}))
    segments: Mapping[VName, Segments] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def indices(self) -> tuple[VName, ...]:
        """The indices of the levels, outermost first."""
        return tuple(dim.index for dim in self.space)

    @property
    def widths(self) -> tuple[Atom, ...]:
        """The widths of the levels, outermost first."""
        return tuple(dim.width for dim in self.space)

    @property
    def par(self) -> Size:
        """Par(Σ): how many points the nest has."""
        return product([size_of(width) for width in self.widths])

    def invariant(self, atom: Atom) -> bool:
        """True if ``atom`` is the same at all points of the nest."""
        return isinstance(atom, Const) or (atom not in self.defs and atom not in self.indices)

    def regular(self, type_: Type) -> bool:
        """True if values of this type have the same shape at all points of the nest."""
        return all(self.invariant(size) for size in shape_of(type_))

    def define(self, stms: Iterable[Stm]) -> Nest:
        """Σ with further definitions, each of one name."""
        defs = dict(self.defs)
        defs.update({stm.pat[0].name: stm for stm in stms})
        return Nest(self.space, MappingProxyType(defs), self.segments)

    def with_segments(self, width: VName, found: Segments) -> Nest:
        """Σ with the descriptor of a width."""
        return Nest(self.space, self.defs, MappingProxyType({**self.segments, width: found}))

    def enter(self, index: VName, width: Atom, params: Iterable[tuple[Param, VName]],
              loc: Loc | None = None) -> Nest:
        """Σ, ⟨params ∈ arrays, width⟩: one level deeper, for a map at ``loc``."""
        inner = Nest((*self.space, SegDim(index, width)), self.defs)
        return inner.define(self.element(param, array, index, loc) for param, array in params)

    def element(self, param: Param, array: VName, index: VName, loc: Loc | None = None) -> Stm:
        """``param := array[index]``, through the definition of ``array`` where that is a view."""
        match self.defs.get(array):
            case Stm(_, Index(origin, dims, checked)):
                first = next((k for k, dim in enumerate(dims) if isinstance(dim, SliceDim)), None)
                if first is not None and is_whole(dims[first]):
                    return Stm((param,), Index(origin, (*dims[:first], index, *dims[first + 1 :]),
                                               checked), loc=loc)
        return Stm((param,), Index(array, (index, *map(whole, shape_of(param.type)))), loc=loc)

    def point(self, param: Param, array: VName, loc: Loc | None = None) -> Stm:
        """``param := array[i...]``: the part of an expanded array that belongs to a point."""
        place: tuple[Dim, ...] = (*self.indices, *map(whole, shape_of(param.type)))
        return Stm((param,), Index(array, place), loc=loc)

    def expanded(self, name: VName) -> VName | None:
        """The host array whose part at each point is ``name``, if ``name`` is defined so."""
        match self.defs.get(name):
            case Stm(_, Index(array, dims)) if (
                dims[: len(self.space)] == self.indices
                and all(is_whole(dim) for dim in dims[len(self.space) :])
            ):
                return array
        return None

    def kernel_body(self, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Body:
        """``stms`` with the definitions that they and ``result`` need in front."""
        needed: list[Stm] = []
        seen: set[VName] = set()

        def visit(names: Iterable[VName]) -> None:
            for name in names:
                definition = self.defs.get(name)
                if definition is not None and name not in seen:
                    seen.add(name)
                    visit(free_vars(definition))
                    needed.append(definition)

        visit(free_vars(Body(stms, result)))
        return Body((*needed, *stms), result)


class Elements(NamedTuple):
    """Σ ▷ width: a nest, the flat number of a point of Σ, and the index of an element there."""

    nest: Nest
    number: VName
    at: VName

    def of(self, lam: Lambda, arrays: Iterable[VName], loc: Loc | None) -> Nest:
        """The nest with the parameters of a lambda, each of which is an element of an array."""
        return self.nest.define(self.nest.element(param, array, self.at, loc)
                                for param, array in zip(lam.params, arrays, strict=True))

    def kernel_body(self, element: Body) -> Body:
        """The body of a kernel over all elements that computes one."""
        return self.nest.kernel_body(element.stms, element.result)


def base_name(atom: Atom) -> str:
    """An atom as a derivation shows it."""
    return str(atom.value) if isinstance(atom, Const) else atom.base


def show_nest(nest: Nest) -> str:
    """A nest as a derivation shows it."""
    shown = [base_name(d.width) if d.ragged is None else
             f"{d.ragged.lengths.base}[{nest.space[0].index.base}]" for d in nest.space]
    return "⟨" + ", ".join(f"{d.index.base} < {width}"
                           for d, width in zip(nest.space, shown, strict=True)) + "⟩"
