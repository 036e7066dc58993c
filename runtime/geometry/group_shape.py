"""Sizes of work-groups, and the chunks of a row that their work-items share.

Contiguous chunks in private memory pay where a row stays there over several operations, as long as
a chunk fits in registers.  So the group is as small as the preferred chunk allows.  Chunks grow
only where the group cannot.
"""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import GroupShape
from runelift.runtime.devices.limits import LOOP_ELEMENTS, ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.shape import LARGEST_GROUP, Geometry, GeometryLimits, powers
from runelift.runtime.geometry.subgroup_size import subgroup_of


class GroupShapeRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.GroupShape` as numbers.

    Numbers of ``points`` that are ``changing`` in a loop (by place) are taken not to come out even.
    Building one more kernel for the few that do takes longer than it saves.
    """

    groups: int
    points: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    rows: tuple[tuple[int, int], ...] = ()
    wanted_lanes: int = 0
    wanted_chunk: int = 0
    teams: bool = False
    independent: int = 0
    scanned: bool = False
    changing: tuple[int, ...] = ()


class ChunkAnswer(NamedTuple):
    """The length of a chunk, and 1 if the chunks of a group hold exactly the points, else 0."""

    size: int
    whole: int


class GroupShapeAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.GroupShape`."""

    group: int
    staged: int
    subgroup: int
    chunks: tuple[ChunkAnswer, ...]


def choose(asked: GroupShapeRequest, limits: GeometryLimits) -> GroupShapeAnswer:
    """The group that has the work-items that its rows, loops and chunks need.

    Of several teams, none has more work-items than it needs, and fewer if the other teams keep the
    device busy.  Each of few rows is reduced by a sub-group, unless all groups keep the device
    busy.  If nothing is scanned, chunks save little.

    >>> from dataclasses import replace
    >>> shares = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, together=128, short=4)
    >>> def group(*points, loops=(), rows=(), groups=1000, scanned=True, limits=shares, **asked):
    ...     found = choose(GroupShapeRequest(groups, points, loops, rows, scanned=scanned, **asked),
    ...                    GeometryLimits(limits))
    ...     whole = [f"{size} whole" if whole else str(size) for size, whole in found.chunks]
    ...     print(f"{found.group} items of {found.subgroup}, chunks: {', '.join(whole) or 'none'}")
    >>> group(4096, 256, groups=4096)
    256 items of 1, chunks: 16 whole, 1 whole
    >>> group(100)
    32 items of 1, chunks: 4
    >>> group(100, scanned=False, limits=replace(shares, crew=1 << 18))
    128 items of 1, chunks: 1
    >>> group(loops=(100,)); group(loops=(100,), groups=1)
    32 items of 1, chunks: none
    128 items of 1, chunks: none
    >>> group(5, rows=((5, 1000),), limits=replace(shares, subgroup=32))
    256 items of 32, chunks: 1
    >>> group(5, rows=((5, 1000),), limits=replace(shares, subgroup=32, crew=1 << 15))
    64 items of 32, chunks: 1
    >>> group(1000000)
    0 items of 1, chunks: 1024
    >>> group(5); group(5, teams=True)
    32 items of 1, chunks: 1
    8 items of 1, chunks: 1
    >>> for n in (4, 16, 64):
    ...     group(n, groups=1 << 20, teams=True, limits=replace(shares, crew=1 << 18))
    2 items of 1, chunks: 2 whole
    8 items of 1, chunks: 2 whole
    8 items of 1, chunks: 8 whole
    >>> group(1024); group(1024, groups=1); group(1024, independent=1)
    64 items of 1, chunks: 16 whole
    256 items of 1, chunks: 4 whole
    256 items of 1, chunks: 4 whole
    >>> group(1024, 64, changing=(0,))
    64 items of 1, chunks: 16, 1 whole
    >>> group(256, independent=2); group(512, independent=2)
    32 items of 1, chunks: 8 whole
    128 items of 1, chunks: 4 whole
    """
    shares = limits.shares
    if asked.wanted_lanes or asked.wanted_chunk:
        shares = shares.preferring(asked.wanted_chunk, asked.wanted_lanes)
    group = _group(asked, shares)
    sizes = [power_of_two_above(ceil_div(count, group)) for count in asked.points]
    possible = max(sizes, default=1) <= shares.max_chunk
    return GroupShapeAnswer(
        group if possible else 0, int(shares.staged), subgroup_of(shares, group), tuple(
            ChunkAnswer(size, int(size * group == count and place not in asked.changing))
            for place, (size, count) in enumerate(zip(sizes, asked.points, strict=True))))


def _group(asked: GroupShapeRequest, shares: ShareLimits) -> int:
    longest, chunk = max(asked.points, default=1), 1
    lanes = shares.lanes_of(asked.groups, longest) if asked.teams else shares.lanes
    enough = shares.chunk_of(longest, asked.groups, asked.independent, scanned=asked.scanned)
    while chunk < enough and ceil_div(longest, chunk) > lanes:
        chunk *= 2
    while chunk < shares.max_chunk and ceil_div(longest, chunk) > shares.max_group:
        chunk *= 2
    looping = min(_busy(asked, shares, lanes), shares.group)
    least = 1 if asked.teams and asked.groups >= shares.busy_groups else lanes
    return min(max(least, power_of_two_above(ceil_div(longest, chunk)),
                   power_of_two_above(looping)), shares.max_group)


def _busy(asked: GroupShapeRequest, shares: ShareLimits, lanes: int) -> int:
    """The work-items that loops, and few rows, keep busy."""
    alone = LOOP_ELEMENTS if asked.groups >= shares.busy_groups else 1
    most = ceil_div(shares.crew, max(1, asked.groups))
    rows = [min(count * min(ceil_div(length, alone), shares.subgroup), most)
            for count, length in asked.rows if count < lanes]
    return max([ceil_div(max(asked.loops, default=1), alone), *rows])


GROUP_SHAPE = Geometry(GroupShape, GroupShapeRequest, choose, values=lambda step, shares: {
    "wanted_lanes": powers(1 if step.teams or shares.lanes < 32 else 32, LARGEST_GROUP),
    "wanted_chunk": powers(1, shares.max_chunk)})
