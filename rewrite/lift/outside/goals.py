"""The state of a match, and the goals that it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.pretty import pretty_const, pretty_stm
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Const, Type, shape_of
from runelift.rewrite.engine.scope import is_whole

MOST_ORDERS = 64
"""The most assignments of inputs of an array operation that are tried."""

Goal: TypeAlias = tuple[str, Any, Any]


@dataclass(slots=True)
class Match:
    """The state of a match; complete once nothing is left to compare.

    ``atoms``, ``functions`` and ``types`` are what parameters stand for.  ``locals_`` pairs
    variables that the sides bind.  ``inner`` are names of the program bound in matched lambdas.
    ``statements`` are the statements that the left side stands for, by the first name that each
    binds.
    """

    atoms: dict[VName, Atom] = field(default_factory=dict)
    functions: dict[VName, ir.Lambda] = field(default_factory=dict)
    types: dict[Prim, Type] = field(default_factory=dict)
    locals_: dict[VName, Atom] = field(default_factory=dict)
    inner: set[VName] = field(default_factory=set)
    statements: dict[VName, ir.Stm] = field(default_factory=dict)
    open_calls: set[VName] = field(default_factory=set)
    """The first results of calls of which other results have not been found yet."""

    def copy(self) -> Match:
        """An independent copy of the match, for another attempt."""
        return Match(self.atoms.copy(), self.functions.copy(), self.types.copy(),
                     self.locals_.copy(), self.inner.copy(), self.statements.copy(),
                     self.open_calls.copy())


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The definitions and types of names that are known at a statement, and a supply of names."""

    defs: MutableMapping[VName, ir.Stm]
    types: MutableMapping[VName, Type]
    names: Names

    def learn(self, params: Iterable[ir.Param], body: ir.Body) -> None:
        """Add the names that a lambda binds."""
        self.types.update((p.name, p.type) for p in params)
        for stm in body.stms:
            for param in stm.pat:
                self.defs[param.name] = stm
                self.types[param.name] = param.type

    def type(self, atom: Atom) -> Type:
        """The type of an atom."""
        return atom.prim if isinstance(atom, Const) else self.types[atom]


def whole_rows(array: Type, rank: int, dims: tuple[ir.Dim, ...]) -> bool:
    """True if ``dims`` takes all dimensions from ``rank`` on in whole."""
    return all(isinstance(dim, ir.SliceDim) and is_whole(dim, size)
               for dim, size in zip(dims[rank:], shape_of(array)[rank:], strict=True))


def inputs_paired(ours: ir.Map, theirs: ir.Map) -> Iterator[list[Goal]]:
    """All ways to pair the inputs of two maps; one of ``theirs`` may equal several of ``ours``."""
    count = len(theirs.arrays)
    straight = tuple(range(count))
    orders = [order for order in islice(product(range(count), repeat=len(ours.arrays)), MOST_ORDERS)
              if len(set(order)) == count and order != straight]
    if len(ours.arrays) == count:
        orders.insert(0, straight)
    names = names_of(theirs.lam)
    for order in orders:
        yield [*pairs("atom", ours.arrays, [theirs.arrays[k] for k in order]),
               ("lambda", ours.lam, (theirs.lam, [names[k] for k in order]))]


def pairs(kind: str, ours: Sequence[Any], theirs: Sequence[Any]) -> list[Goal]:
    """A goal for each pair of an item of ``ours`` and an item of ``theirs``."""
    return [(kind, one, two) for one, two in zip(ours, theirs, strict=True)]


def names_of(lam: ir.Lambda) -> list[VName]:
    """The names of the parameters of a lambda."""
    return [p.name for p in lam.params]


def shown(stm: ir.Stm) -> str:
    """The first line of the expression of a statement, for a message."""
    first = pretty_stm(stm).splitlines()[0]
    return re.sub(r"(\w)_\d+", r"\1", first.partition(" = ")[2])


def base_of(atom: Atom) -> str:
    """An atom without the number of its name."""
    return atom.base if isinstance(atom, VName) else pretty_const(atom)
