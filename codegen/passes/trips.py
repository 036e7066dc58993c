"""Announcing the iterations of loops whose bounds elements decide, for models of cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Stm


def with_trips(code: Sequence[Stm], trips: imp.Trips) -> list[Stm]:
    """The code whose loops announce ``trips`` if they announce nothing."""
    return [_announcing(stm, trips) for stm in code]


def _announcing(stm: Stm, trips: imp.Trips) -> Stm:
    match stm:
        case imp.For(body=body):
            inside = tuple(with_trips(body, trips))
            return replace(stm, body=inside, expected=stm.expected or trips)
        case imp.While(body=body) | imp.AtomicUpdate(body=body) | imp.Locked(body=body):
            return replace(stm, body=tuple(with_trips(body, trips)))
        case imp.If(_, then_, else_):
            return replace(stm, then_=tuple(with_trips(then_, trips)),
                           else_=tuple(with_trips(else_, trips)))
    return stm
