"""Programs up to their names: canonical texts, and the names that correspond in two programs.

Two programs that differ in names only have one canonical text.  A pairing of names tells whether
statements of two programs are alike, and which names then stand for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.pretty import pretty
from runelift.ir.traverse import Mapper, map_body, map_lambda, map_stm
from runelift.ir.types import Atom, Type, elem_of, shape_of

Types: TypeAlias = tuple[Mapping[VName, Type], Mapping[VName, Type]]
"""The types of names in the first and in the second of two programs."""


def canonical_text(fun: ir.Fun) -> str:
    """The text of a function with its names numbered in the order in which they occur."""
    numbers = _Numbers()
    m = numbers.mapper()
    params, body = tuple(map(m.param, fun.params)), map_body(m, fun.body)
    return pretty(ir.Program((replace(fun, params=params, body=body,
                                      results=tuple(map(m.param, fun.results))),)))


class Pairing:
    """A one-to-one relation between the names of two programs."""

    def __init__(self, known: Iterable[VName] = ()) -> None:
        self.left: dict[VName, VName] = {name: name for name in known}
        self._right = dict(self.left)

    def copy(self) -> Pairing:
        """Another pairing with the same pairs."""
        new = Pairing()
        new.left, new._right = dict(self.left), dict(self._right)
        return new

    @property
    def right(self) -> Mapping[VName, VName]:
        """The name in the first program for each name in the second program."""
        return self._right

    def pair_statements(self, left: ir.Stm, right: ir.Stm, types: Types = ({}, {})) -> bool:
        """True if the statements are alike; then their names are paired, if they were not yet.

        Names that both ``types`` know must have like types, whose sizes are paired as well.
        """
        if type(left.exp) is not type(right.exp) or len(left.pat) != len(right.pat):
            return False
        (one, ours), (other, theirs) = _anonymous(left), _anonymous(right)
        return one == other and _like_types(ours, theirs, types) and self._pair(ours, theirs)

    def pair_atoms(self, left: Iterable[Atom], right: Iterable[Atom]) -> bool:
        """True if the atoms are alike; then names among them are paired."""
        ours, theirs = tuple(left), tuple(right)
        names = [(a, b) for a, b in zip(ours, theirs, strict=True)
                 if isinstance(a, VName) and isinstance(b, VName)]
        return all(a == b or (isinstance(a, VName) and isinstance(b, VName))
                   for a, b in zip(ours, theirs, strict=True)) and self._pair(
            [a for a, _ in names], [b for _, b in names])

    def _pair(self, ours: Iterable[VName], theirs: Iterable[VName]) -> bool:
        new = list[tuple[VName, VName]]()
        for a, b in zip(ours, theirs, strict=True):
            if a not in self.left and b not in self._right:
                self.left[a], self._right[b] = b, a
                new.append((a, b))
            elif self.left.get(a) != b or self._right.get(b) != a:
                for x, y in new:
                    del self.left[x], self._right[y]
                return False
        return True


def _like_types(ours: list[VName], theirs: list[VName], types: Types) -> bool:
    """True if names have like types; then the names of sizes are added to both lists."""
    for one, other in list(zip(ours, theirs, strict=True)):
        left, right = types[0].get(one), types[1].get(other)
        if left is None or right is None:
            continue
        shapes = shape_of(left), shape_of(right)
        if elem_of(left) is not elem_of(right) or len(shapes[0]) != len(shapes[1]):
            return False
        for a, b in zip(*shapes, strict=True):
            if isinstance(a, VName) and isinstance(b, VName):
                ours.append(a)
                theirs.append(b)
            elif a != b:
                return False
    return True


def _anonymous(stm: ir.Stm) -> tuple[ir.Stm, list[VName]]:
    """A statement with numbers for its names, and these in the order of their numbers."""
    numbers = _Numbers()
    return map_stm(numbers.mapper(), stm), list(numbers.of)


class _Numbers:
    """Names without a base, numbered in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.of = dict[VName, VName]()

    def name(self, name: VName) -> VName:
        """The canonical name for ``name``, numbered by first use."""
        if name not in self.of:
            self.of[name] = VName("v", len(self.of))
        return self.of[name]

    def mapper(self) -> Mapper:
        """The mapper that numbers all names."""
        def atom(use: Atom) -> Atom:
            return self.name(use) if isinstance(use, VName) else use

        m = Mapper(atom, self.name, lambda body: map_body(m, body), lambda lam: map_lambda(m, lam))
        return m
