"""Tiles of elements and ends of segments: the steps that a group goes at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from runelift.codegen.plan.shapes.merge_tile import MergeTileShape
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.geometry.shape import (
    MOST_REMEMBERED,
    Geometry,
    GeometryLimits,
    power_of_two_below,
    powers,
)

LONGEST_CHUNK = 16
"""The longest chunk of a work-item, which walks through it step by step."""
STEP_BYTES = 8
"""The bytes of local memory for a step: where a segment ends, and the segment of an element."""


class MergeTileRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.merge_tile.MergeTileShape`."""

    steps: int
    bytes: int
    wanted_group: int = 0
    wanted_chunk: int = 0


class MergeTileAnswer(NamedTuple):
    """The answers to a launch shape, one for each field of type ``Answer`` in its class.

    The class is :class:`~runelift.codegen.plan.shapes.merge_tile.MergeTileShape`.
    """

    group: int
    chunk: int


@lru_cache(MOST_REMEMBERED)
def choose(asked: MergeTileRequest, limits: GeometryLimits) -> MergeTileAnswer:
    """The longest chunks with which all groups have work, and with which local memory suffices.

    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 32, 132, 128))
    >>> [choose(MergeTileRequest(steps, 4), gpu).chunk for steps in (1000, 10 ** 6, 10 ** 7)]
    [1, 2, 16]
    """
    group = power_of_two_below(asked.wanted_group or limits.shares.group)
    group = min(group, limits.max_group)
    chunk = asked.wanted_chunk or LONGEST_CHUNK
    while not asked.wanted_chunk and chunk > 1 and (
            asked.steps < limits.num_groups * group * chunk):
        chunk //= 2
    while _tile_bytes(group, chunk, asked.bytes) > limits.local_bytes and group * chunk > 1:
        group, chunk = (group, chunk // 2) if chunk > 1 else (group // 2, chunk)
    return MergeTileAnswer(group, chunk)


def _tile_bytes(group: int, chunk: int, size: int) -> int:
    """The local memory of a tile, padded, and of the totals of work-items in two rounds."""
    return (size + STEP_BYTES) * (group * chunk * 33 // 32) + (2 * size + 2) * group + 256


def _values(step: MergeTileShape, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    return {"wanted_chunk": powers(1, 2 * LONGEST_CHUNK)}


MERGE_TILE = Geometry(MergeTileShape, MergeTileRequest, choose, values=_values)
