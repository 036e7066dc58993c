"""Sub-groups: the work-items of a group that hand each other values."""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import SubGroupSize
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.geometry.shape import Geometry, GeometryLimits


class SubGroupSizeRequest(NamedTuple):
    """The size of a group whose sub-groups are asked for."""

    group: int


class SubGroupSizeAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.SubGroupSize`."""

    subgroup: int


def subgroup_of(limits: ShareLimits, group: int) -> int:
    """The work-items of a group that can hand each other values; 1 if that is of no use to it.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, subgroup=32)
    >>> [subgroup_of(gpu, group) for group in (1, 8, 256, 1024, 2048, 48)]
    [1, 8, 32, 32, 1, 1]
    """
    size = min(group, limits.subgroup)
    return size if group <= limits.subgroup ** 2 and group % size == 0 else 1


def choose(asked: SubGroupSizeRequest, limits: GeometryLimits) -> SubGroupSizeAnswer:
    """The sub-groups of a kernel whose groups are large; smaller groups do without."""
    return SubGroupSizeAnswer(subgroup_of(limits.shares, asked.group)
                              if asked.group >= limits.shares.subgroup else 1)


SUBGROUP_SIZE = Geometry(SubGroupSize, SubGroupSizeRequest, choose)
