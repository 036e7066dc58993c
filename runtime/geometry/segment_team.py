"""Work-items that share a segment, where segments differ in length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from runelift.codegen.plan.shapes import SegmentTeamShape
from runelift.runtime.devices.limits import ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.shape import (
    MOST_REMEMBERED,
    Geometry,
    GeometryLimits,
    power_of_two_below,
    powers,
)

FEWEST_LANES, MOST_LANES = 1, 32
"""The lanes of a segment, if a group has several."""
LANE_ELEMENTS = 8
"""The elements of a mean segment that a lane takes, so that several loads are under way.

Work-items with few elements wait for the length and the place of their segment most of the time.
"""
ITEM_ELEMENTS = 8
"""The elements of a mean segment for each work-item of a group that has no other segment."""


class SegmentTeamRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.SegmentTeamShape`."""

    segments: int
    elements: int
    bytes: int
    alone: bool
    wanted_group: int = 0
    wanted_lanes: int = 0


class SegmentTeamAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.SegmentTeamShape`."""

    group: int
    lanes: int


@lru_cache(MOST_REMEMBERED)
def choose(asked: SegmentTeamRequest, limits: GeometryLimits) -> SegmentTeamAnswer:
    """Lanes for a segment of mean length, in groups whose partial results fit local memory.

    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 32, 132, 128))
    >>> for mean in (1, 32, 1000):
    ...     several = choose(SegmentTeamRequest(1000, 1000 * mean, 4, False, 256), gpu)
    ...     print(several.lanes, choose(SegmentTeamRequest(1000, 1000 * mean, 4, True, 256), gpu))
    1 SegmentTeamAnswer(group=32, lanes=32)
    4 SegmentTeamAnswer(group=32, lanes=32)
    32 SegmentTeamAnswer(group=128, lanes=128)
    """
    group = min(power_of_two_below(asked.wanted_group or limits.shares.group), limits.max_group)
    while group > 1 and group * asked.bytes > limits.local_bytes // 2:
        group //= 2
    mean = ceil_div(asked.elements, max(1, asked.segments))
    if asked.alone:
        useful = power_of_two_above(ceil_div(mean, ITEM_ELEMENTS))
        group = min(group, max(useful, limits.shares.lanes, limits.shares.subgroup))
        return SegmentTeamAnswer(group, group)
    lanes = asked.wanted_lanes or power_of_two_above(ceil_div(mean, LANE_ELEMENTS))
    lanes = min(max(power_of_two_below(lanes), FEWEST_LANES), MOST_LANES)
    return SegmentTeamAnswer(group, min(lanes, group))


def _values(step: SegmentTeamShape, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    return {"wanted_lanes": [] if step.alone else [
        lanes for lanes in powers(1, MOST_LANES) if lanes >= FEWEST_LANES]}


SEGMENT_TEAM = Geometry(SegmentTeamShape, SegmentTeamRequest, choose, values=_values)
