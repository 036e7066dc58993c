"""Integers of a kernel as polynomials over sizes and over all that varies among work-items.

An :class:`Atom` is a size, or varies: the place of a work-item or group, a loop's count, a
quotient, a minimum, an element of memory.  A :class:`Form` is a polynomial over atoms, so that
``q*m + (i - q*m)`` is ``i``.  Sizes are taken as non-negative, and what varies as spread evenly
over its range: a sum in mixed radix, such as a global id, is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from runelift.codegen.cost.expressions import LARGEST_SHIFT, Expr, Graph
from runelift.codegen.cost.polynomials import (
    NOTHING,
    ZERO,
    Atom,
    Form,
    Monomial,
    divided,
    number,
    of,
)
from runelift.ir.prim import Prim

_BITWISE = {"and": "&", "or": "|", "xor": "^"}
MOST_TERMS = 24
"""Longer sums count as unknown."""
SUB_GROUP = 32
"""Work-items that access memory together."""
LONG_WORD = 1 << 31
"""No index reaches so far: what is divided by it is a word of two parts."""


class Clamped(NamedTuple):
    """The values of a minimum of a size and a form that varies.

    ``full`` counts the values that reach the size, ``part`` the values from 1 to below it, and
    ``all`` counts all values.  ``middle`` is the mean of the values that ``part`` counts.
    """

    full: Expr
    part: Expr
    all: Expr
    middle: Expr

    def mean(self, graph: Graph, of_full: Expr, of_part: Expr) -> Expr:
        """The mean of a quantity that is 0 for values below 1."""
        return graph.over(graph.add(graph.mul(self.full, of_full),
                                    graph.mul(self.part, of_part)), self.all)


class Forms:
    """Makes atoms, and finds ranges and means of forms.

    ``bounds`` has the greatest values of forms that conditions around allow.  ``filled`` has forms
    that take all values from 0 below a size, equally often.  ``lane`` is the place of a work-item
    in its group; quotients by large numbers are alike for a sub-group.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.bounds: dict[Form, Expr] = {}
        self.filled: dict[Form, Form] = {}
        self.lane: Atom | None = None
        self._made: dict[tuple[object, ...], Atom] = {}
        self._ranges: dict[Form, tuple[Expr, Expr]] = {}
        self._means: dict[Form, Expr] = {}
        self._resolved: dict[Form, Form] = {}
        self._items: dict[Expr, list[Atom]] = {}
        self._count = 0

    # Atoms

    @property
    def made(self) -> int:
        """The number of the last atom made so far; later atoms have greater numbers."""
        return self._count

    def _atom(self, kind: str, args: tuple[Form, ...], low: Expr, high: Expr) -> Atom:
        self._count += 1
        atom = Atom(self._count, kind, args, low, high)
        atom.varies = NOTHING.union(*(arg.varies for arg in args))
        return atom

    def size(self, expr: Expr, *, fixed: bool = False) -> Form:
        """The form of a value that is equal in all work-items."""
        if isinstance(expr, (int, float)):
            return number(int(expr))
        key = ("size", expr)
        if key not in self._made:
            self._made[key] = self._atom("size", (), expr, expr)
            self._made[key].fixed = fixed
        return of(self._made[key])

    def is_fixed(self, form: Form) -> bool:
        """True if the value is known when the kernel is compiled."""
        return all(atom.fixed for monomial in form.terms for atom in monomial)

    def item(self, count: Expr, taken: Iterable[Atom] = ()) -> Atom:
        """An atom that counts from 0 below ``count``; a known atom if one is not ``taken``."""
        found = self._items.setdefault(count, [])
        for atom in found:
            if atom not in taken:
                return atom
        high = self.graph.most(self.graph.sub(count, 1), 0)
        atom = self._atom("item", (), 0, high)
        atom.varies = frozenset((atom,))
        found.append(atom)
        return atom

    def element(self, *sources: Form, depth: int = 0) -> Form:
        """An unknown number that these forms decide."""
        atom = self._atom("element", (), 0, 0)
        atom.varies = frozenset((atom,)).union(*(source.varies for source in sources))
        atom.sources, atom.depth = sources, depth
        return of(atom)

    def is_size(self, form: Form) -> bool:
        """True if all work-items have the same value."""
        return not form.varies

    def varies(self, form: Form) -> frozenset[Atom]:
        """The items and elements on which a form depends."""
        return form.varies

    def unknown(self, form: Form) -> bool:
        """True if it depends on elements."""
        return any(v.kind == "element" for v in self.varies(form))

    # Arithmetic

    def bounded(self, form: Form) -> Form:
        """The form, or an atom in its place if it has too many terms."""
        if len(form.terms) <= MOST_TERMS:
            return form
        if self.is_size(form):
            return self.size(self.expr(form))
        return self.element(form)

    def quotient(self, form: Form, by: Form) -> Form:
        """``form / by``, rounded down."""
        graph = self.graph
        if by.constant == 1:
            return form
        if (by.constant or 0) >= LONG_WORD:
            return ZERO
        if self.is_size(by) and by.terms:
            exact = divided(form, by)
            if exact is not None:
                return exact
        if not self.is_size(by):
            return self.element(form, by)
        if self.is_size(form):
            return self.size(graph.floor(self.expr(form), self.expr(by)),
                             fixed=self.is_fixed(form) and self.is_fixed(by))
        key = ("quotient", form, by)
        if key not in self._made:
            low, high = self.range(form)
            m = self.expr(by)
            self._made[key] = self._atom("quotient", (form, by), graph.floor(low, m),
                                         graph.floor(high, m))
        return of(self._made[key])

    def rest(self, form: Form, by: Form) -> Form:
        """``form % by``."""
        return form.add(by.mul(self.quotient(form, by)), -1)

    def _rest_atom(self, form: Form, by: Form) -> Atom:
        key = ("rest", form, by)
        if key not in self._made:
            graph, high = self.graph, self.range(form)[1]
            high = graph.most(graph.least(high, graph.sub(self.expr(by), 1)), 0)
            self._made[key] = self._atom("rest", (form, by), 0, high)
        return self._made[key]

    def extreme(self, kind: str, a: Form, b: Form) -> Form:
        """``min`` or ``max`` of two."""
        if a == b:
            return a
        difference = a.add(b, -1).constant
        if difference is not None:
            return a if (difference < 0) == (kind == "min") else b
        choose = self.graph.least if kind == "min" else self.graph.most
        if self.is_size(a) and self.is_size(b):
            return self.size(choose(self.expr(a), self.expr(b)),
                             fixed=self.is_fixed(a) and self.is_fixed(b))
        key = (kind, a, b)
        if key not in self._made:
            (a_low, a_high), (b_low, b_high) = self.range(a), self.range(b)
            self._made[key] = self._atom(kind, (a, b), choose(a_low, b_low), choose(a_high, b_high))
        return of(self._made[key])

    def of_sizes(self, op: str, prim: Prim, args: Sequence[Form]) -> Expr | None:
        """The value of a rarer operation on sizes, if it is followed."""
        graph = self.graph
        a, b = self.expr(args[0]), self.expr(args[-1])
        if not isinstance(a, int) and op == "clz":
            return graph.sub(prim.bits, graph.node("bits", a))
        match op:
            case "clz":
                assert isinstance(a, int)
                return prim.bits - a.bit_length()
            case "popc":
                return graph.node("ones", a)
            case "and" | "or" | "xor":
                return graph.node(_BITWISE[op], a, b)
            case "shl":
                return graph.node("<<", a, graph.clamp(b, 0, LARGEST_SHIFT))
            case "shr" | "lshr":
                return graph.node(">>", a, graph.clamp(b, 0, LARGEST_SHIFT))
            case "abs":
                return graph.most(a, graph.mul(-1, a))
        return None

    # Values

    def expr(self, form: Form) -> Expr:
        """The value of a form of sizes."""
        found = form.expr
        if found is None:
            graph = self.graph
            found = form.expr = graph.total(
                [graph.mul(count, *[atom.low for atom in monomial])
                 for monomial, count in form.terms.items()])
        return found

    def split(self, form: Form) -> Mapping[Monomial, Form]:
        """The factor of sizes of each product of atoms that vary; ``()`` is that of sizes alone."""
        found = form.parts
        if found is None:
            if not form.varies:
                form.parts = {(): form} if form.terms else {}
                return form.parts
            terms: dict[Monomial, dict[Monomial, int]] = {}
            for monomial, count in form.terms.items():
                varying = tuple(a for a in monomial if a.varies)
                rest = tuple(a for a in monomial if not a.varies)
                terms.setdefault(varying, {})[rest] = count
            found = form.parts = {key: Form(each) for key, each in terms.items()}
        return found

    def resolved(self, form: Form) -> Form:
        """The form with ``f - m*(f/m)`` as a remainder."""
        found = self._resolved.get(form)
        if found is None:
            found = form
            for atom in form.atoms():
                if atom.kind == "quotient":
                    found = self._with_rest(found, atom, atom.args[0])
            for atom in found.atoms():  # those of sums with remainders
                if atom.kind == "quotient" and (whole := self.resolved(
                        atom.args[0])) != atom.args[0]:
                    found = self._with_rest(found, atom, whole)
            self._resolved[form] = found
        return found

    def _with_rest(self, form: Form, quotient: Atom, whole: Form) -> Form:
        by = quotient.args[1]
        split = self.split(form)
        factor = split.get((quotient,))
        if factor is None:
            return form
        times: Form | None = None
        for varying, coefficient in self.split(whole).items():
            if varying and times is None:
                times = divided(split.get(varying, ZERO), coefficient)
            if times is None or not times.terms:
                if varying:
                    return form
            elif varying and split.get(varying) != coefficient.mul(times):
                return form
        if times is None:
            return form
        taken = by.mul(times)
        if any(factor.terms.get(monomial) != -count for monomial, count in taken.terms.items()):
            return form
        rest = of(self._rest_atom(*quotient.args))
        return form.add(whole.mul(times), -1).add(taken.mul(of(quotient))).add(rest.mul(times))

    def arms(self, form: Form) -> tuple[Form, Form] | None:
        """The two arms of a form that is a minimum, the arm of sizes alone first; else None."""
        for monomial, count in form.terms.items():
            if len(monomial) == 1 and (count, monomial[0].kind) in ((1, "min"), (-1, "max")):
                rest = form.add(of(monomial[0]), -count)
                a, b = (rest.add(arm, count) for arm in monomial[0].args)
                return (b, a) if self.is_size(b) else (a, b)
        return None

    def cut(self, form: Form) -> tuple[Form, Form] | None:
        """The size and the varying arm of a form that is their minimum."""
        arms = self.arms(form)
        return arms if arms is not None and self.is_size(arms[0]) and not self.is_size(
            arms[1]) else None

    def range(self, form: Form) -> tuple[Expr, Expr]:
        """The least and the greatest value; of elements as if they were 0."""
        found = self._ranges.get(form)
        if found is None:
            found = self._ranges[form] = self._range(form)
        bound = self.bounds.get(form)
        return found if bound is None else (found[0], self.graph.least(found[1], bound))

    def _range(self, form: Form) -> tuple[Expr, Expr]:
        graph, arms = self.graph, self.arms(form)
        if arms is not None:
            (a, high_a), (b, high_b) = map(self.range, arms)
            return graph.least(a, b), graph.least(high_a, high_b)
        low, high = self._spread(form)
        start = self.expr(self.split(self.resolved(form)).get((), ZERO))
        return graph.add(start, low), graph.add(start, high)

    def _spread(self, form: Form) -> tuple[Expr, Expr]:
        """The range of what varies in a form."""
        graph = self.graph
        lows: list[Expr] = []
        highs: list[Expr] = []
        for varying, factor in self.split(self.resolved(form)).items():
            if not varying:
                continue
            by = self.expr(factor)
            low = graph.mul(by, *[a.low for a in varying])
            high = graph.mul(by, *[a.high for a in varying])
            signs = {count > 0 for count in factor.terms.values()}
            if signs == {False}:
                low, high = high, low
            elif len(signs) == 2:
                low, high = graph.least(low, high), graph.most(low, high)
            lows.append(low)
            highs.append(high)
        return graph.total(lows), graph.total(highs)

    def span(self, form: Form) -> Expr:
        """The number of integers from the least to the greatest value."""
        graph = self.graph
        if form in self.bounds or self.arms(form) is not None:
            low, high = self.range(form)
            return graph.add(graph.sub(high, low), 1)
        parts: list[Expr] = [1]
        for varying, factor in self.split(self.resolved(form)).items():
            if varying:
                high = graph.mul(1, *[a.high for a in varying])
                low = graph.mul(1, *[a.low for a in varying])
                parts.append(graph.mul(graph.absolute(self.expr(factor)), graph.sub(high, low)))
        return graph.total(parts)

    def mean(self, form: Form) -> Expr:
        """The mean over work-items and iterations; of a minimum with 0 for what is below."""
        found = self._means.get(form)
        if found is None:
            graph, arms, cut = self.graph, self.arms(form), self.cut(form)
            if cut is not None:
                parts = self._clamped(*cut)
                found = parts.mean(graph, self.expr(cut[0]), parts.middle)
            elif arms is not None:
                found = graph.least(*map(self.mean, arms))
            else:
                found = graph.total([graph.mul(self.expr(factor), *map(self.mean_of, varying))
                                     for varying, factor in self.split(form).items()])
            self._means[form] = found
        return found

    def mean_of(self, atom: Atom) -> Expr:
        """The mean value of an atom over its range."""
        if atom.mean is None:
            graph = self.graph
            match atom.kind:
                case "item":
                    atom.mean = graph.mul(0.5, atom.high)
                case "quotient":
                    atom.mean = self._mean_quotient(atom)
                case "rest":
                    form, by = atom.args
                    taken = graph.mul(self.expr(by), self.mean(self.quotient(form, by)))
                    atom.mean = graph.clamp(graph.sub(self.mean(form), taken), 0, atom.high)
                case "min":
                    atom.mean = graph.least(*map(self.mean, atom.args))
                case "max":
                    atom.mean = graph.most(*map(self.mean, atom.args))
                case _:
                    atom.mean = atom.low
        return atom.mean

    def _mean_quotient(self, atom: Atom) -> Expr:
        graph, (form, by) = self.graph, atom.args
        m, cut = self.expr(by), self.cut(form)
        if cut is None:
            middle = graph.sub(self.mean(form), graph.mul(0.5, graph.sub(m, 1)))
            return graph.clamp(graph.over(middle, m), atom.low, atom.high)
        parts = self._clamped(*cut)
        return parts.mean(graph, graph.floor(self.expr(cut[0]), m), graph.floor(parts.middle, m))

    def _clamped(self, size: Form, varying: Form) -> Clamped:
        """The values of a minimum of a size and a form; only ``all`` counts values below 1."""
        graph = self.graph
        a, (low, high) = self.expr(size), self.range(varying)
        count = graph.most(graph.add(graph.sub(high, low), 1), 0)
        full = graph.clamp(graph.add(graph.sub(high, a), 1), 0, count)
        least, last = graph.most(low, 1), graph.least(graph.sub(a, 1), high)
        part = graph.most(graph.sub(graph.add(last, 1), least), 0)
        return Clamped(full, part, count, graph.mul(0.5, graph.add(least, last)))

    def share(self, form: Form) -> Expr:
        """The share of values that are above 0."""
        graph = self.graph
        if self.is_size(form):
            return graph.choose(graph.less(0, self.expr(form)), 1, 0)
        arms = self.arms(form)
        if arms is not None and form not in self.bounds:
            return graph.least(*map(self.share, arms))
        return graph.clamp(graph.over(self.range(form)[1], self.span(form)), 0, 1)

    def trips(self, distance: Form, step: Form) -> tuple[Expr, Expr]:
        """The mean and the greatest number of steps of a size that cover a distance."""
        mean, longest = self._trips(distance, step)
        return self.graph.most(mean, 0), self.graph.most(longest, 0)

    def _trips(self, distance: Form, step: Form) -> tuple[Expr, Expr]:
        """The results of :meth:`trips`; negative for some sizes without an iteration."""
        graph, by = self.graph, self.graph.most(self.expr(step), 1)

        def up(value: Expr) -> Expr:
            return value if by == 1 else graph.floor(graph.add(value, graph.sub(by, 1)), by)

        if self.is_size(distance):
            exact = up(self.expr(distance))
            return exact, exact
        exact_trips = None if by == 1 else divided(distance, step)
        if exact_trips is not None:
            return self.mean(exact_trips), self.range(exact_trips)[1]
        distance = self.resolved(distance)
        low, high = self.range(distance)
        longest = up(high)
        atoms = list(distance.terms)
        if by == 1 and len(atoms) == 1 and len(atoms[0]) == 1 and atoms[0][0].kind == "rest":
            return self.mean(distance), longest
        cut, arms = self.cut(distance), self.arms(distance)
        if cut is not None:
            parts = self._clamped(*cut)
            return parts.mean(graph, up(graph.most(self.expr(cut[0]), 0)),
                              up(parts.middle)), longest
        if arms is not None:
            (a, most_a), (b, most_b) = (self._trips(arm, step) for arm in arms)
            return graph.least(a, b), graph.least(most_a, most_b)
        if self._fills(distance, step):
            return graph.over(graph.most(high, 0), by), longest
        middle = graph.mul(0.5, graph.add(graph.most(low, 1), high))
        if by != 1:
            middle = graph.over(graph.add(middle, graph.mul(0.5, graph.sub(by, 1))), by)
        if low == 1:
            return middle, longest
        return graph.mul(self.share(distance), graph.most(middle, 1)), longest

    def _fills(self, distance: Form, step: Form) -> bool:
        """True if the starts of work-items fill a step, as in a loop over a grid."""
        varying = Form({m: -c for m, c in distance.terms.items() if any(a.varies for a in m)})
        if self.filled.get(varying) == step:
            return True
        atoms = list(self.resolved(varying).atoms())
        return len(atoms) == 1 and atoms[0].kind == "rest" and atoms[0].args[1] == step

    def rate(self, form: Form, item: Atom) -> Expr:
        """The change of a form, with remainders resolved, from one value of an item to the next."""
        graph = self.graph
        parts: list[Expr] = []
        for varying, factor in self.split(form).items():
            for k, atom in enumerate(varying):
                if item in atom.varies:
                    others = map(self.mean_of, varying[:k] + varying[k + 1:])
                    parts.append(graph.mul(self.expr(factor), self.atom_rate(atom, item), *others))
        return graph.total(parts)

    def atom_rate(self, atom: Atom, item: Atom) -> Expr:
        """The change of an atom from one value of an item to the next."""
        if atom is item:
            return 1
        if atom.kind == "quotient":
            whole, by = atom.args
            if item is self.lane and (by.constant or 0) >= SUB_GROUP:
                return 0
            return self.graph.over(self.rate(self.resolved(whole), item), self.expr(by))
        if atom.kind == "rest":
            return self.rate(self.resolved(atom.args[0]), item)
        if atom.kind in ("min", "max"):
            arm = next(a for a in atom.args if item in self.varies(a))
            return self.rate(self.resolved(arm), item)
        return 0

    def unclamped(self, form: Form) -> Form:
        """The form without minima and maxima with sizes, for how it changes."""
        for atom in form.atoms():
            if atom.kind in ("min", "max"):
                arm = next((a for a in atom.args if not self.is_size(a)), atom.args[0])
                replaced = ZERO
                for monomial, count in form.terms.items():
                    factor = Form({tuple(a for a in monomial if a is not atom): count})
                    for _ in range(monomial.count(atom)):
                        factor = factor.mul(arm)
                    replaced = replaced.add(factor)
                return self.unclamped(replaced)
        return form
