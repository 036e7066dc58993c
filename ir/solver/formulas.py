"""Formulas for people: sizes as sympy factors them, and the values that constraints leave.

Only commands that explain something import it, since sympy takes long to import.  Without sympy,
which is optional, sizes stay sums, and divisors are not listed.

>>> from runelift.ir.constraints import divides
>>> side, rows = Size.var(VName("side", 1)), Size.var(VName("rows", 2))
>>> formula(side * rows * rows * 4 + side * rows * 8 + side * 12)
'4*side*(rows**2 + 2*rows + 3)'
>>> shown(divides(side, Size.of(12)))
'side divides 12: 1, 2, 3, 4, 6 or 12'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

try:
    import sympy
except ImportError:
    sympy = None

from runelift.ir.constraints import Constraint, Relation
from runelift.ir.names import VName
from runelift.ir.sizes import Applied, CeilDiv, Factor, Greatest, Least, Size

MOST_DIVISORS = 12
"""The most divisors that are listed."""


def base(name: VName) -> str:
    """A variable as people know it."""
    return name.base


def formula(size: Size, name: Callable[[VName], str] = base) -> str:
    """A size as a product where that is shorter than the sum.

    Variables that people know by one name are told apart by numbers.
    """
    name = apart([size], name)
    if sympy is None:
        return size.render(name)
    plain, factored = _expression(size, name), sympy.factor(_expression(size, name))
    return min(str(plain), str(factored), key=len)


def apart(sizes: Iterable[Size], name: Callable[[VName], str] = base) -> Callable[[VName], str]:
    """The names of variables, where a name of several variables gets a number from 2 on.

    >>> formula(Size.var(VName("end", 1)) - Size.var(VName("end", 2)))
    'end - end_2'
    """
    found: dict[str, list[VName]] = {}
    for each in sorted({each for size in sizes for each in size.variables()},
                       key=lambda variable: variable.tag):
        found.setdefault(name(each), []).append(each)
    texts = {variable: text if number == 1 else f"{text}_{number}"
             for text, variables in found.items()
             for number, variable in enumerate(variables, 1)}
    return lambda variable: texts.get(variable) or name(variable)


def shown(constraint: Constraint, name: Callable[[VName], str] = base) -> str:
    """A constraint with both sides as formulas, and the divisors where they are known."""
    left, right = formula(constraint.left, name), formula(constraint.right, name)
    text = f"{left} {constraint.kind.value} {right}"
    number = constraint.right.constant
    if sympy is not None and constraint.kind is Relation.DIVIDES and number:
        divisors = [str(each) for each in sympy.divisors(number)]
        if 1 < len(divisors) <= MOST_DIVISORS:
            text += f": {', '.join(divisors[:-1])} or {divisors[-1]}"
    return text


def _expression(size: Size, name: Callable[[VName], str]) -> sympy.Expr:
    return sympy.Add(*(
        sympy.Mul(coefficient, *(_factor(factor, name) for factor in monomial))
        for monomial, coefficient in size.terms))


def _factor(factor: Factor, name: Callable[[VName], str]) -> sympy.Expr:
    match factor:
        case VName():
            return sympy.Symbol(name(factor), integer=True, positive=True)
        case CeilDiv(num, den):
            return sympy.Function("ceil")(_expression(num, name) / _expression(den, name))
        case Least(sizes):
            return sympy.Function("min")(*(_expression(each, name) for each in sizes))
        case Greatest(sizes):
            return sympy.Function("max")(*(_expression(each, name) for each in sizes))
        case Applied():
            return sympy.Symbol(Size((((factor,), 1),)).render(name))
