"""Loops that a parameter says how to unroll: those that run as long as the data say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Stm
from runelift.ir.imp.traverse import statements
from runelift.ir.names import VName

LARGEST = 64
"""Bodies of more statements are long enough as they are."""


def has_loops(code: Sequence[Stm], constants: Collection[VName]) -> bool:
    """Whether there are loops to unroll."""
    return any(_qualifies(stm, constants) for stm in statements(code))


def unrolled_by(name: VName, code: Sequence[Stm], constants: Collection[VName]) -> list[Stm]:
    """The code with these loops unrolled as often as ``name`` says."""
    return [_mark(name, stm, constants) for stm in code]


def _mark(name: VName, stm: Stm, constants: Collection[VName]) -> Stm:
    match stm:
        case imp.For() if _qualifies(stm, constants):
            return replace(stm, unroll=name)
        case imp.For(body=body) | imp.While(body=body) | imp.AtomicUpdate(body=body):
            return replace(stm, body=tuple(unrolled_by(name, body, constants)))
        case imp.If(_, then_, else_):
            return replace(stm, then_=tuple(unrolled_by(name, then_, constants)),
                           else_=tuple(unrolled_by(name, else_, constants)))
    return stm


def _qualifies(stm: Stm, constants: Collection[VName]) -> bool:
    """Whether it is an innermost loop, of so many iterations as is not known before, and short."""
    if not isinstance(stm, imp.For) or stm.unroll or isinstance(stm.bound, imp.Lit) or (
            isinstance(stm.bound, imp.Var) and stm.bound.name in constants):
        return False
    inside = list(statements(stm.body))
    return len(inside) <= LARGEST and not any(
        isinstance(s, imp.For | imp.While | imp.Barrier | imp.AtomicUpdate) for s in inside)
