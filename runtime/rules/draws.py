"""Random values and functions for the parameters of a rule.

Functions are expressions of the language, so that a counterexample can be copied into a program.
Numbers are small, and floats are multiples of a half: few operations on them round.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runelift.frontend.elaborate.values import Dynamic, leaves, shaped
from runelift.frontend.syntax.types import Array, Arrow, Tuple, Type, TypeVar, show
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.types import i64
from runelift.runtime.data.text import Value

LARGEST_NUMBER = 4
"""The largest random number, and the largest absolute value of one."""
LARGEST_EXACT = 1 << 10
"""The largest float that is taken from a rule: sums and products of larger floats round."""
MOST_DEPTH = 2
"""The most operators on the way to an operand in a random function."""

Types = Mapping[str, Prim]
"""The types that stand for type parameters, by name."""


class NoDraw(Exception):
    """There are no random values or functions of a type; the reason in words."""


@dataclass(frozen=True, slots=True)
class Monoid:
    """An associative operator of a type with its neutral element, as texts."""

    op: str
    neutral: str
    commutative: bool = True


def monoids(prim: Prim) -> list[Monoid]:
    """Associative operators of a type; for numbers also some that are not commutative."""
    if prim is Prim.BOOL:
        return [Monoid("\\x y -> x && y", "true"), Monoid("\\x y -> x || y", "false"),
                Monoid("\\x y -> x != y", "false")]
    zero, one = (f"{n}{prim}" for n in (0, 1))
    least, most = ((f"-{prim}.inf", f"{prim}.inf") if prim.is_float else
                   (f"{prim}.lowest", f"{prim}.highest"))
    return [Monoid("\\x y -> x + y", zero),
            Monoid(f"\\x y -> if x == {zero} then y else x", zero, commutative=False),
            Monoid(f"\\x y -> {prim}.max x y", least),
            Monoid(f"\\x y -> if y == {zero} then x else y", zero, commutative=False),
            Monoid("\\x y -> x * y", one), Monoid(f"\\x y -> {prim}.min x y", most)]


class Draws:
    """A supply of random values and functions, which a seed determines."""

    def __init__(self, seed: str, types: Types) -> None:
        self._random = random.Random(seed)
        self._types = types

    def monoid(self, type_: Type, *, commutative: bool) -> Monoid:
        """An associative operator on values of a type."""
        match self._concrete(type_):
            case Prim() as prim:
                return self._random.choice([each for each in monoids(prim)
                                            if each.commutative or not commutative])
        raise NoDraw(f"no associative operators are known on {show(type_)}, only on numbers and "
                     "truth values")

    def commutative(self, type_: Type) -> str:
        """A commutative operator on values of a type, which need not be associative."""
        match self._concrete(type_):
            case Prim.BOOL:
                return self._random.choice(["\\x y -> x == y", "\\x y -> !(x && y)"])
            case Prim() as prim:
                return self._random.choice([f"\\x y -> x * y + 1{prim}", "\\x y -> x + y + x * y"])
        raise NoDraw(f"no commutative operators are known on {show(type_)}")

    def function(self, type_: Arrow) -> str:
        """A function of a type, as a lambda."""
        names: list[tuple[str, Type]] = []
        result: Type = type_
        while isinstance(result, Arrow):
            names.append((f"x{len(names)}" if isinstance(result.codomain, Arrow) or names
                          else "x", result.domain))
            result = result.codomain
        if any(isinstance(domain, Arrow) for _, domain in names):
            raise NoDraw("it takes a function as an argument")
        body = self._expression(result, names, MOST_DEPTH)
        return f"\\{' '.join(name for name, _ in names)} -> {_bare(body)}"

    def _concrete(self, type_: Type) -> Type:
        """A type, or what stands for it if it is a type parameter."""
        return self._types[type_.name.base] if isinstance(type_, TypeVar) else type_

    # Expressions

    def _expression(self, type_: Type, names: Sequence[tuple[str, Type]], depth: int) -> str:
        match self._concrete(type_):
            case Prim.BOOL:
                return self._truth(names, depth)
            case Prim() as prim:
                return self._number(prim, names, depth)
            case Tuple(items):
                return f"({', '.join(self._expression(item, names, depth) for item in items)})"
            case Array(size, elem):
                return self._array(size, elem, names, depth)
        raise NoDraw(f"no functions to {show(type_)} are known")

    def _array(self, size: Size, elem: Type, names: Sequence[tuple[str, Type]], depth: int) -> str:
        """An array: a map over one that is given, or over indices."""
        given = [(name, t) for name, t in names if isinstance(t, Array) and t.size == size]
        inner = f"v{depth}"
        if given:
            name, array = self._random.choice(given)
            assert isinstance(array, Array)
            others = [(n, t) for n, t in names if n != name]
            body = self._expression(elem, [(inner, array.elem), *others], depth - 1)
            return f"map (\\{inner} -> {body}) {name}"
        if size.variable is None:
            raise NoDraw(f"no functions to arrays of size {show(Array(size, elem))} are known")
        body = self._expression(elem, [(inner, Prim.I64), *names], depth - 1)
        return f"map (\\{inner} -> {body}) (iota {size.variable.base})"

    def _number(self, prim: Prim, names: Sequence[tuple[str, Type]], depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.15:
            return self._operand(prim, names)
        left, right = (self._operand(prim, names), self._number(prim, names, depth - 1))
        match self._random.randrange(5):
            case 0:
                return f"({left} - {right})"
            case 1:
                return f"({left} * {right})"
            case 2:
                return f"(if {self._truth(names, 0)} then {left} else {right})"
        return f"({left} + {right})"

    def _operand(self, prim: Prim, names: Sequence[tuple[str, Type]]) -> str:
        """A variable or part of one, converted to a type; a constant if there is none."""
        scalars = [(name, found) for name, t in names
                   if isinstance(found := self._concrete(t), Prim)]
        arrays = [(name, t.elem) for name, t in names if isinstance(t, Array)]
        if arrays and (not scalars or self._random.random() < 0.5):
            name, elem = self._random.choice(arrays)
            inner = f"{name}'e"
            zero = f"0{prim}"
            return (f"(reduce (+) {zero} (map (\\{inner} -> "
                    f"{self._operand(prim, [(inner, elem)])}) {name}))")
        pairs = [(f"{name}.{k}", t) for name, tuple_ in names
                 if isinstance(found := self._concrete(tuple_), Tuple)
                 for k, t in enumerate(found.items)]
        scalars += [(name, found) for name, t in pairs
                    if isinstance(found := self._concrete(t), Prim)]
        if not scalars or self._random.random() < 0.2:
            return self._constant(prim)
        name, found = self._random.choice(scalars)
        if found is prim:
            return name
        if found is Prim.BOOL:
            return f"(if {name} then {self._constant(prim)} else {self._constant(prim)})"
        return f"{prim}.{found} {name}" if "." not in name else f"({prim}.{found} {name})"

    def _truth(self, names: Sequence[tuple[str, Type]], depth: int) -> str:
        scalars = [(name, found) for name, t in names
                   if isinstance(found := self._concrete(t), Prim)]
        if not scalars:
            return self._random.choice(["true", "false"])
        name, found = self._random.choice(scalars)
        if found is Prim.BOOL:
            return self._random.choice([name, f"!{name}"])
        test = f"{name} {self._random.choice(['<', '>', '!='])} {self._constant(found)}"
        if depth > 0 and self._random.random() < 0.3:
            return f"({test} && {self._truth(names, depth - 1)})"
        return f"({test})"

    def _constant(self, prim: Prim) -> str:
        number = self._random.randint(0, LARGEST_NUMBER)
        return f"{number}{prim}"

    # Values

    def values(self, type_: Type, sizes: Mapping[VName, int], *, extreme: bool = False,
               around: Sequence[float] = ()) -> list[Value]:
        """The parts of a value of a type that is not a function.

        ``extreme``: some of the integers are the least and greatest of their type.  Some elements
        are ``around`` given numbers: equal to them, beside them, or their opposites.
        """
        found: list[Value] = []

        def scalar(prim: Prim, shape: tuple[Any, ...]) -> Dynamic:
            array = self._array_of(prim, tuple(int(s.value) for s in shape), extreme)
            found.append(self._around(array, prim, around) if around else array)
            return Dynamic(i64(0), prim)

        def other(var: TypeVar | Arrow, shape: tuple[Any, ...]) -> Dynamic:
            assert isinstance(var, TypeVar)
            return scalar(self._types[var.name.base], shape)

        list(leaves(shaped(type_, scalar, lambda size: i64(size.value(sizes)), other=other)))
        return found

    def _array_of(self, prim: Prim, shape: tuple[int, ...], extreme: bool) -> Value:
        count = int(np.prod(shape))
        least = -LARGEST_NUMBER if prim.is_signed or prim.is_float else 0
        numbers = [self._random.randint(2 * least, 2 * LARGEST_NUMBER) for _ in range(count)]
        if prim is Prim.BOOL:
            array = np.array([n > 0 for n in numbers], np.bool_)
        elif prim.is_float:
            array = np.array([n / 2 for n in numbers], prim.dtype)
        else:
            ends = (int(prim.least), int(prim.greatest))
            array = np.array([self._random.choice(ends) if extreme and self._random.random() < 0.3
                              else n // 2 for n in numbers], prim.dtype)
        return array.reshape(shape)[()]

    def _around(self, array: Value, prim: Prim, numbers: Sequence[float]) -> Value:
        """An array of which a part is replaced by numbers and their neighbours."""
        chosen = np.array(array)
        for place in np.ndindex(chosen.shape):
            if prim is Prim.BOOL or self._random.random() < 0.25:
                continue
            number = self._random.choice(numbers) + self._random.choice((0, 0, 0, -1, 1))
            number = number if self._random.random() < 0.6 else -number
            if prim.is_float:
                chosen[place] = number if (2 * number).is_integer() and (
                    abs(number) <= LARGEST_EXACT) else chosen[place]
            elif int(prim.least) <= number <= int(prim.greatest):
                chosen[place] = int(number)
        return chosen[()]

    def size(self, most: int) -> int:
        """A size up to a number."""
        return self._random.randint(0, most)


def _bare(text: str) -> str:
    """An expression without the parentheses around all of it.

    >>> _bare("(x + 1)"), _bare("(x) + (y)")
    ('x + 1', '(x) + (y)')
    """
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 1 and char == ",":
            return text  # a tuple
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 and place else text
    return text
