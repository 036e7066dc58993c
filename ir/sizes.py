"""Symbolic sizes: the one home of arithmetic on array sizes.

A :class:`Size` is a polynomial with integer coefficients over atoms, in normal form: a sum of
monomials.  An atom is a variable, a ceiling division, or a minimum or maximum of sizes.  Two sizes
that are equal as polynomials over the same atoms are equal Python values.

>>> n, m = Size.var(VName("n", 1)), Size.var(VName("m", 2))
>>> (n + 1) * m == n * m + m
True
>>> print(ceil_div(n + 31, Size.of(32)) * 32)
32*ceil((31 + n_1)/32)
>>> (n * m).value({VName("n", 1): 3, VName("m", 2): 4})
12
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from runelift.ir.names import VName


@dataclass(frozen=True, slots=True)
class CeilDiv:
    """``ceil(num / den)``; the denominator is positive."""

    num: Size
    den: Size


@dataclass(frozen=True, slots=True)
class Least:
    """The minimum of at least two sizes."""

    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    """The maximum of at least two sizes."""

    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator or function of the source applied to sizes, such as ``/`` or ``**``.

    It is opaque: nothing is known of it but that equal arguments give equal values.
    """

    op: str
    args: tuple[Size, ...]


Factor: TypeAlias = VName | CeilDiv | Least | Greatest | Applied
Monomial: TypeAlias = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A sum of ``coefficient * monomial``, sorted and without zero coefficients.

    ``written`` is the operator and the operands that the source has, if it has them.  ``n*m`` and
    ``m*n`` are the same size, but arrays of these sizes are unflattened differently.
    """

    terms: tuple[tuple[Monomial, int], ...]
    written: tuple[str, Size, Size] | None = field(default=None, compare=False)

    @staticmethod
    def of(value: int) -> Size:
        """The size that is a constant."""
        return Size((((), value),)) if value else Size(())

    @staticmethod
    def var(name: VName) -> Size:
        """The size that is a variable."""
        return Size((((name,), 1),))

    @property
    def constant(self) -> int | None:
        """The value, if no variable occurs in it."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def variable(self) -> VName | None:
        """The variable that this is, if it is nothing else."""
        match self.terms:
            case ((((VName() as name),), 1),):
                return name
        return None

    def __add__(self, other: Size | int) -> Size:
        return _normal([*self.terms, *_size(other).terms])

    def __sub__(self, other: Size | int) -> Size:
        return self + other * -1

    def __mul__(self, other: Size | int) -> Size:
        if isinstance(other, int):
            return Size(tuple((m, other * c) for m, c in self.terms) if other else ())
        return _normal([(tuple(sorted(a + b, key=_order)) if a and b else a or b, x * y)
                        for a, x in self.terms for b, y in other.terms])

    __radd__ = __add__
    __rmul__ = __mul__

    def value(self, env: Mapping[VName, int]) -> int:
        """The number that this size is when its variables have the values of ``env``."""
        total = 0
        for monomial, coefficient in self.terms:
            for factor in monomial:
                coefficient *= _factor_value(factor, env)
            total += coefficient
        return total

    def variables(self) -> frozenset[VName]:
        """The variables that occur in this size."""
        return frozenset(_variables(self))

    def substitute(self, f: Callable[[VName], Size]) -> Size:
        """The size with ``f(v)`` for every variable ``v``."""
        return _substitute(self, f, {})

    def render(self, name: Callable[[VName], str] = str) -> str:
        """The size as text, with ``name`` for its variables."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            factors = [_render_factor(factor, name) for factor in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            parts.append("*".join(factors))
        return " + ".join(parts)

    def difference(self, name: Callable[[VName], str] = str) -> str:
        """The size as people write it: a term that is subtracted stands last, as in ``n - 1``."""
        added = tuple(term for term in self.terms if term[1] > 0)
        taken = [Size(((m, -c),)) for m, c in self.terms if c < 0]
        if not added or not taken:
            return self.render(name)
        return " - ".join(each.render(name) for each in (Size(added), *taken))

    def __str__(self) -> str:
        return self.render()


def _substitute(size: Size, f: Callable[[VName], Size], known: dict[int, Size]) -> Size:
    """``size.substitute(f)``; ``known`` has the results for operands, which sizes share."""
    match size.terms:
        case () | (((), _),):
            return size
        case ((((VName() as name),), 1),):
            return f(name)
    if size.written is not None:
        if id(size) not in known:
            op, left, right = size.written
            known[id(size)] = written(op, _substitute(left, f, known), _substitute(right, f, known))
        return known[id(size)]
    total = Size(())
    for monomial, coefficient in size.terms:
        product = Size.of(coefficient)
        for factor in monomial:
            product = product * _map_factor(factor, f)
        total = total + product
    return total


def written_alike(left: Size, right: Size, known: set[tuple[int, int]] | None = None) -> bool:
    """True if two equal sizes are written with the same operators and operands in one order."""
    seen = set() if known is None else known
    if left is right or (id(left), id(right)) in seen:
        return True
    seen.add((id(left), id(right)))
    if left.written is None or right.written is None:
        return left.written is right.written and left == right
    (op, *these), (other, *those) = left.written, right.written
    return op == other and all(written_alike(x, y, seen) for x, y in zip(these, those, strict=True))


def ceil_div(num: Size, den: Size) -> Size:
    """``ceil(num / den)``, simplified when the division is exact or constant."""
    if den.constant == 1:
        return num
    if den.constant is not None:
        if num.constant is not None:
            return Size.of(-(-num.constant // den.constant))
        if all(c % den.constant == 0 for _, c in num.terms):
            return Size(tuple((m, c // den.constant) for m, c in num.terms))
    return Size((((CeilDiv(num, den),), 1),))


def least(*sizes: Size) -> Size:
    """The minimum of sizes."""
    return _extreme(Least, min, sizes)


def greatest(*sizes: Size) -> Size:
    """The maximum of sizes."""
    return _extreme(Greatest, max, sizes)


def applied(op: str, *args: Size) -> Size:
    """An operator or function of the source applied to sizes, simplified if it is a division."""
    if op in ("/", "//") and len(args) == 2 and (divisor := args[1].constant):
        return _quotient(op, args[0], divisor)
    return Size((((Applied(op, args),), 1),))


def _quotient(op: str, number: Size, divisor: int) -> Size:
    """``number op divisor`` for the division that rounds down, or that to zero."""
    if all(c % divisor == 0 for _, c in number.terms):
        return Size(tuple((m, c // divisor) for m, c in number.terms))
    if op == "//" or divisor < 0:
        if number.constant is not None and op == "//":
            size = abs(number.constant) // abs(divisor)
            return Size.of(size if (number.constant < 0) == (divisor < 0) else -size)
        return Size((((Applied(op, (number, Size.of(divisor))),), 1),))
    whole = Size(tuple((m, c // divisor) for m, c in number.terms if m == () or c % divisor == 0))
    rest = Size(tuple((m, c % divisor if m == () else c) for m, c in number.terms
                      if c % divisor != 0))
    if rest.constant is not None:
        return whole
    return whole + Size((((Applied(op, (rest, Size.of(divisor))),), 1),))


def written(op: str, left: Size, right: Size) -> Size:
    """``left op right`` for ``+``, ``-`` or ``*``, which remembers how it is written."""
    size = left + right if op == "+" else left - right if op == "-" else left * right
    return Size(size.terms, (op, left, right))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes; 1 if there are none."""
    total = Size.of(1)
    for size in sizes:
        total = total * size
    return total


def _extreme(node: type[Least] | type[Greatest], pick: Callable[[list[int]], int],
             sizes: tuple[Size, ...]) -> Size:
    flat: list[Size] = []
    for size in sizes:
        match size.terms:
            case ((((Least() | Greatest()) as inner,), 1),) if isinstance(inner, node):
                flat += inner.sizes
            case _:
                flat.append(size)
    constants = [size.constant for size in flat if size.constant is not None]
    rest = sorted({size for size in flat if size.constant is None}, key=str)
    if constants:
        rest.insert(0, Size.of(pick(constants)))
    return rest[0] if len(rest) == 1 else Size((((node(tuple(rest)),), 1),))


def _size(value: Size | int) -> Size:
    return value if isinstance(value, Size) else Size.of(value)


@lru_cache(1 << 14)
def _order(factor: Factor) -> tuple[int, str]:
    return (not isinstance(factor, VName), _render_factor(factor, str))


def _normal(terms: list[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda term: _place(term[0]))
    return Size(tuple(kept))


@lru_cache(1 << 14)
def _place(monomial: Monomial) -> tuple[int, tuple[tuple[int, str], ...]]:
    """A key that orders the terms of a size when it is printed."""
    return len(monomial), tuple(map(_order, monomial))


def _factor_value(factor: Factor, env: Mapping[VName, int]) -> int:
    match factor:
        case VName():
            return env[factor]
        case CeilDiv(num, den):
            return -(-num.value(env) // den.value(env))
        case Least(sizes):
            return min(size.value(env) for size in sizes)
        case Greatest(sizes):
            return max(size.value(env) for size in sizes)
        case Applied(op):
            raise ValueError(f"the value of a size with '{op}' is up to the running program")


def _map_factor(factor: Factor, f: Callable[[VName], Size]) -> Size:
    match factor:
        case VName():
            return f(factor)
        case CeilDiv(num, den):
            return ceil_div(num.substitute(f), den.substitute(f))
        case Least(sizes):
            return least(*(size.substitute(f) for size in sizes))
        case Greatest(sizes):
            return greatest(*(size.substitute(f) for size in sizes))
        case Applied(op, args):
            return applied(op, *(arg.substitute(f) for arg in args))


def _variables(size: Size) -> Iterator[VName]:
    for monomial, _ in size.terms:
        for factor in monomial:
            match factor:
                case VName():
                    yield factor
                case CeilDiv(num, den):
                    yield from _variables(num)
                    yield from _variables(den)
                case Least(sizes) | Greatest(sizes) | Applied(_, sizes):
                    for inner in sizes:
                        yield from _variables(inner)


def _render_factor(factor: Factor, name: Callable[[VName], str]) -> str:
    match factor:
        case VName():
            return name(factor)
        case CeilDiv(num, den):
            return f"ceil({_bracketed(num, name)}/{_bracketed(den, name)})"
        case Least(sizes):
            return f"min({', '.join(size.render(name) for size in sizes)})"
        case Greatest(sizes):
            return f"max({', '.join(size.render(name) for size in sizes)})"
        case Applied(op, args):
            shown = [_bracketed(arg, name) for arg in args]
            infix = len(args) == 2 and not op[0].isalpha()
            return f"({f' {op} '.join(shown) if infix else ' '.join([op, *shown])})"


def _bracketed(size: Size, name: Callable[[VName], str]) -> str:
    text = size.render(name)
    simple = size.constant is not None or (len(size.terms) == 1 and size.terms[0][1] == 1
                                           and len(size.terms[0][0]) == 1)
    return text if simple else f"({text})"
