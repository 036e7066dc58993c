"""Announcing the iterations of loops whose bounds elements decide, for models of cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Stm
from runelift.ir.imp.traverse import map_blocks


def with_trips(code: Iterable[Stm], trips: imp.Trips) -> list[Stm]:
    """The code whose loops announce ``trips`` if they announce nothing."""
    inside = [map_blocks(stm, lambda block: with_trips(block, trips)) for stm in code]
    return [replace(stm, expected=stm.expected or trips) if isinstance(stm, imp.For) else stm
            for stm in inside]
