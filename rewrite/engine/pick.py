"""Selections from results and inputs, which many rules make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from runelift.ir.names import VName
from runelift.ir.syntax import AtomExp, Body, Exp, Lambda, Param, Stm
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, shape_of

Item = TypeVar("Item")


def pick(items: Sequence[Item], keep: Sequence[bool]) -> tuple[Item, ...]:
    """The items whose flag in ``keep`` is true."""
    return tuple(item for item, kept in zip(items, keep, strict=True) if kept)


def pick_body(body: Body, keep: Sequence[bool]) -> Body:
    """``body`` with some of its results."""
    return Body(body.stms, pick(body.result, keep))


def pick_lambda(lam: Lambda, keep: Sequence[bool]) -> Lambda:
    """``lam`` with some of its results."""
    return Lambda(lam.params, pick_body(lam.body, keep), pick(lam.ret, keep))


def bound_in(body: Body) -> set[Atom]:
    """The names that the statements of ``body`` bind for its results."""
    return {p.name for stm in body.stms for p in stm.pat}


def bound_by_lambda(lam: Lambda) -> set[Atom]:
    """The names that ``lam`` binds for its results."""
    return {p.name for p in lam.params} | bound_in(lam.body)


def let(pat: Sequence[Param], atoms: Sequence[Atom]) -> tuple[Stm, ...]:
    """``let p = a`` for each of the parameters."""
    return tuple(Stm((p,), AtomExp(a)) for p, a in zip(pat, atoms, strict=True))


@dataclass(frozen=True, slots=True)
class Repeated:
    """Columns of results of which some are equal.

    ``keep`` says for each column if it is kept.  ``first`` has, for each dropped column, the number
    of the equal column that is kept.
    """

    keep: list[bool]
    first: dict[int, int]

    def names_sizes(self, pat: Sequence[Param]) -> bool:
        """True if a name that would be dropped from ``pat`` is a size in its types."""
        dropped = {pat[k].name for k in self.first}
        return any(size in dropped for p in pat for size in shape_of(p.type))

    def copies(self, pat: Sequence[Param]) -> tuple[Stm, ...]:
        """The names dropped from ``pat``, as copies of names that are kept."""
        return tuple(Stm((pat[k],), AtomExp(pat[j].name)) for k, j in self.first.items())

    def statements(self, stm: Stm, exp: Exp) -> tuple[Stm, ...]:
        """``exp`` with what is kept of the pattern of ``stm``, then copies."""
        return (Stm(pick(stm.pat, self.keep), exp, stm.attrs, stm.loc), *self.copies(stm.pat))


def repeated(columns: Sequence[object]) -> Repeated | None:
    """The columns that are equal to an earlier one, if there are any."""
    seen: dict[object, int] = {}
    first: dict[int, int] = {}
    for k, column in enumerate(columns):
        if seen.setdefault(column, k) != k:
            first[k] = seen[column]
    return Repeated([k not in first for k in range(len(columns))], first) if first else None


def users(stms: Iterable[Stm], result: Sequence[Atom]) -> Counter[VName]:
    """The number of statements and results that use each name."""
    found = Counter(names_in(result))
    for stm in stms:
        found.update(free_vars(stm))
    return found


def names_in(atoms: Sequence[Atom]) -> set[VName]:
    """The names among ``atoms``."""
    return {atom for atom in atoms if isinstance(atom, VName)}
