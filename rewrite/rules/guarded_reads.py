"""Guarded reads: an element where its index is inside, else a constant, is an element of a pad.

So a program that tests its indices has the form of one that pads an array.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import ArrayType, Atom, Const, elem_of, i64, shape_of
from runelift.rewrite.engine.ranges import LARGEST_OFFSET
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope

Bound: TypeAlias = tuple[str, Atom | None, Atom | None, int]
"""A test of a number: ``("least", x, None, c)`` is x >= c, ``("below", x, n, c)`` is x < n + c."""


@dataclass(frozen=True, slots=True)
class _Margin:
    """A dimension of a read as one of a pad: the ``index`` there, and the ``tests`` it replaces."""

    index: Atom
    before: int
    after: int
    tests: frozenset[Bound]


@rule(ir.If)
def guarded_read(scope: Scope, stm: ir.Stm) -> Replacement:
    """if 0 <= i - a && i - a < n then xs[i - a] else v ⇒ (pad a b v xs)[i]

    Provided: a, b and v are constants, 0 <= i < a + n + b is known, and nothing consumes xs.  Index
    i is a sum of two indices, or both a and b are positive.
    Because: margins are tested where local memory is filled, or stored where that is better.
    """
    match stm.exp:
        case ir.If(cond, ir.Body((ir.Stm((read,), ir.Index(read_of, dims, checked)),), (result,)),
                   ir.Body((), (Const() as value,)), _) if (
                read.name == result and isinstance(read.type, Prim) and scope.depth
                and not scope.consumes(read_of)):
            tests = _tests(scope, cond)
            array = scope.resolve(read_of)  # the branch is not rewritten yet
            if tests is None or not isinstance(array, VName):
                return None
            sizes = shape_of(scope.type(array))
            margins = [_margin(scope, dim, size, tests) for dim, size in zip(dims, sizes,
                                                                             strict=True)]
            if not any(margins) or tests != {t for m in margins if m for t in m.tests} or (
                    checked and not all(m or scope.inside(dim, size) for m, dim, size in zip(
                        margins, dims, sizes, strict=True))):
                return None
            return _padded_read(scope, stm, array, dims, margins, value)
    return None


def _padded_read(scope: Scope, stm: ir.Stm, array: VName, dims: tuple[ir.Dim, ...],
                 margins: list[_Margin | None], value: Const) -> tuple[ir.Stm, ...]:
    """The pads of an array, and the read of the last of them."""
    stms: list[ir.Stm] = []
    shape, element = list(shape_of(scope.type(array))), elem_of(scope.type(array))
    indices = list(dims)
    for dim, margin in reversed(list(enumerate(margins))):
        if margin is None:
            continue
        length = scope.fresh("t", Prim.I64)
        stms.append(ir.Stm((length,), ir.PrimOp("add", Prim.I64, (
            shape[dim], i64(margin.before + margin.after))), loc=stm.loc))
        shape[dim], indices[dim] = length.name, margin.index
        padded = scope.fresh("ps", ArrayType(element, tuple(shape)))
        stms.append(ir.Stm((padded,), ir.Pad(
            dim, i64(margin.before), i64(margin.after), value, array), loc=stm.loc))
        array = padded.name
    return (*stms, ir.Stm(stm.pat, ir.Index(array, tuple(indices)), stm.attrs, stm.loc))


def _tests(scope: Scope, cond: Atom) -> set[Bound] | None:
    """The tests that a condition consists of; None if one is of another kind."""
    found: set[Bound] = set()
    for part in _conjuncts(scope, cond):
        bound = _bound(scope, part)
        if bound is None:
            return None
        found.add(bound)
    return found


def _conjuncts(scope: Scope, cond: Atom) -> Iterator[Atom]:
    match scope.exp(cond):
        case ir.PrimOp("and", Prim.BOOL, args):
            for each in args:
                yield from _conjuncts(scope, each)
        case _:
            yield cond


def _bound(scope: Scope, test: Atom) -> Bound | None:
    """A comparison as a bound."""
    match scope.exp(test):
        case ir.PrimOp("le" | "lt" as op, Prim.I64, (left, right)):
            strict = op == "lt"
            if isinstance(left, Const):
                base, shift = _sum(scope, right)
                return "least", base, None, int(left.value) + strict - shift
            base, shift = _sum(scope, left)
            size, further = _sum(scope, right)
            return "below", base, size, further - shift + (not strict)
    return None


def _sum(scope: Scope, number: Atom) -> tuple[Atom | None, int]:
    """A number as another, None for zero, and a constant."""
    number = scope.resolve(number)
    if isinstance(number, Const):
        return None, int(number.value)
    match scope.exp(number):
        case ir.PrimOp("add" | "sub" as op, Prim.I64, (inner, Const(c))) if (
                abs(c) <= LARGEST_OFFSET):
            base, shift = _sum(scope, inner)
            return base, shift + (int(c) if op == "add" else -int(c))
    return number, 0


def _margin(scope: Scope, dim: ir.Dim, size: Atom, tests: set[Bound]) -> _Margin | None:
    """The margin that the tests of an index stand for, if they do."""
    if isinstance(dim, ir.SliceDim):
        return None
    base, shift = _sum(scope, dim)
    length, further = _sum(scope, size)
    if base is None:
        return None
    own = frozenset({("least", base, None, -shift), ("below", base, length, further - shift)})
    before = max(0, -shift)
    index = base if before else dim
    upper = scope.upper(index)
    if not own & tests or upper is None or upper.base != length or not scope.natural(index):
        return None
    after = upper.offset + 1 - further - before
    tested = own & tests
    if (("least", base, None, -shift) not in tested and not scope.natural(dim)) or (
            ("below", base, length, further - shift) not in tested and after > 0):
        return None
    both = before > 0 and after > 0
    return _Margin(index, before, after, tested) if after >= 0 and before + after and (
        both or _adds_indices(scope, base)) else None


def _adds_indices(scope: Scope, index: Atom) -> bool:
    """True for a sum of two numbers that are no constants."""
    match scope.exp(index):
        case ir.PrimOp("add", Prim.I64, (VName(), VName())):
            return True
    return False


GUARDED_READS = RuleBook([guarded_read])
