"""Sizes of groups that give all compute units some work."""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import GroupSize
from runelift.runtime.geometry.shape import Geometry, GeometryLimits


class GroupSizeRequest(NamedTuple):
    """The most work-items of a group, and the points that have one each."""

    most: int
    points: int


class GroupSizeAnswer(NamedTuple):
    """The number of work-items of a group."""

    group: int


def choose(asked: GroupSizeRequest, limits: GeometryLimits) -> GroupSizeAnswer:
    """The largest group with which there are as many groups as the device runs at once.

    Compilers make code for each size, so there are few of them.

    >>> from runelift.runtime.devices.limits import ShareLimits
    >>> cpu = GeometryLimits(ShareLimits(4, 64, 4096, 16, 32, False, 1024), num_groups=8)
    >>> [choose(GroupSizeRequest(64, points), cpu).group for points in (2700, 100, 27, 1)]
    [64, 4, 1, 1]
    """
    group = asked.most
    while group > 1 and asked.points < group * limits.num_groups:
        group = max(group // 4, 1)
    return GroupSizeAnswer(group)


GROUP_SIZE = Geometry(GroupSize, GroupSizeRequest, choose)
