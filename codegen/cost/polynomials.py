"""Polynomials over what is known alike to all work-items, and what varies among them."""

from __future__ import annotations

from typing import TypeAlias

from runelift.codegen.cost.expressions import Expr


class Atom:
    """A factor.

    ``kind`` is ``size``, ``item`` for a lane, group or count of a loop, ``quotient``, ``rest``,
    ``min``, ``max``, or ``element`` for what is not known.  ``args`` are forms.  ``varies`` are the
    atoms of kind ``item`` and ``element`` on which it depends.  ``low``, ``high`` and ``mean`` are
    of its values; the last is found when it is asked for.
    """

    __slots__ = ("args", "depth", "fixed", "high", "kind", "low", "mean", "number",
                 "sources", "varies")

    def __init__(self, number: int, kind: str, args: tuple[Form, ...], low: Expr, high: Expr
                 ) -> None:
        self.number = number
        self.kind = kind
        self.args = args
        self.low = low
        self.high = high
        self.mean: Expr | None = None
        self.fixed = False
        """For sizes: known when the kernel is compiled."""
        self.depth = 0
        """For elements: the number of loads that follow one another to find them."""
        self.sources: tuple[Form, ...] = ()
        """For elements: the forms that decide them, such as the index of a load."""
        self.varies: frozenset[Atom] = frozenset()

    def __lt__(self, other: Atom) -> bool:
        return self.number < other.number


Monomial: TypeAlias = tuple[Atom, ...]


class Form:
    """A sum of products of atoms, each with an integer."""

    __slots__ = ("_hash", "_varies", "expr", "parts", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self.expr: Expr | None = None
        """The value, once it has been asked for, if it is a size."""
        self.parts: dict[Monomial, Form] | None = None
        """The parts of the form by their varying atoms; None until they are first asked for."""
        self._hash: int | None = None
        self._varies: frozenset[Atom] | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.terms == other.terms

    @property
    def varies(self) -> frozenset[Atom]:
        """The items and elements on which it depends; none if it is a size."""
        found = self._varies
        if found is None:
            found = NOTHING
            for monomial in self.terms:
                for atom in monomial:
                    if atom.varies and not atom.varies <= found:
                        found = found | atom.varies
            self._varies = found
        return found

    @property
    def constant(self) -> int | None:
        """The value of a constant form; None for other forms."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def atoms(self) -> dict[Atom, None]:
        """The atoms of the form as an ordered set."""
        return dict.fromkeys(atom for monomial in self.terms for atom in monomial)

    def add(self, other: Form, times: int = 1) -> Form:
        """The sum of this form and ``times`` the form ``other``."""
        if not other.terms:
            return self
        terms = dict(self.terms)
        for monomial, count in other.terms.items():
            new = terms.get(monomial, 0) + count * times
            if new:
                terms[monomial] = new
            else:
                terms.pop(monomial, None)
        return Form(terms)

    def mul(self, other: Form) -> Form:
        """The product of two forms."""
        terms: dict[Monomial, int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                key = tuple(sorted(a + b)) if a and b else a or b
                new = terms.get(key, 0) + x * y
                if new:
                    terms[key] = new
                else:
                    terms.pop(key, None)
        return Form(terms)


NOTHING = frozenset[Atom]()
ZERO = Form({})
ONE = Form({(): 1})


def number(value: int) -> Form:
    """The form that is a constant."""
    return Form({(): value}) if value else ZERO


def of(atom: Atom) -> Form:
    """The form that is a single atom."""
    return Form({(atom,): 1})


def divided(form: Form, by: Form) -> Form | None:
    """The exact quotient by a form of sizes, if there is one."""
    if not by.terms:
        return None
    lead, count = next(iter(by.terms.items()))
    quotient = ZERO
    left = form
    for _ in range(4):
        if not left.terms:
            return quotient
        for monomial, times in left.terms.items():
            rest = list(monomial)
            for atom in lead:
                if atom not in rest:
                    break
                rest.remove(atom)
            else:
                if times % count == 0:
                    part = Form({tuple(rest): times // count})
                    break
        else:
            return None
        quotient = quotient.add(part)
        left = left.add(part.mul(by), -1)
    return quotient if not left.terms else None
