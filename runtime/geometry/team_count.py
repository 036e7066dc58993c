"""Teams: groups that run side by side, as one group of the device."""

from __future__ import annotations

from typing import NamedTuple

from runelift.codegen.plan.shapes import TeamCount
from runelift.runtime.devices.limits import ceil_div
from runelift.runtime.geometry.shape import (
    LARGEST_GROUP,
    Geometry,
    GeometryLimits,
    power_of_two_below,
    powers,
)

LEAST_TEAMS = 4
"""The least number of teams in a group if they keep nothing in local memory.

The elements that one team reads, its neighbours find in the cache.
"""
EVEN_PARTS = 8
"""Teams must not load a compute unit more than without them, but for one in so many."""


class TeamCountRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.TeamCount` as numbers."""

    group: int
    groups: int
    bytes: int
    wanted_teams: int = 0
    independent: int = 0


class TeamCountAnswer(NamedTuple):
    """The number of teams, and 1 if they come out even, else 0."""

    teams: int
    even: int


def choose(asked: TeamCountRequest, limits: GeometryLimits) -> TeamCountAnswer:
    """As many teams as are wanted and possible, or with which a group is large enough.

    Groups that are large enough are alone where they know their row only if it is the only one.

    >>> from runelift.runtime.devices.limits import ShareLimits
    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, together=128))
    >>> def teams(group, groups, bytes, wanted=0, independent=0):
    ...     return choose(TeamCountRequest(group, groups, bytes, wanted, independent), gpu).teams
    >>> [teams(8, groups, 64) for groups in (10, 500, 1000, 1000000)]
    [1, 4, 8, 16]
    >>> teams(8, 1000000, 9000), teams(8, 1000000, 64, wanted=4)
    (4, 4)
    >>> teams(128, 2048, 64), teams(128, 2048, 0)
    (1, 4)
    >>> [teams(128, groups, 0) for groups in (100, 256, 512, 600)]
    [1, 2, 4, 1]
    >>> [teams(group, 1000, 0, independent=2) for group in (64, 128)]
    [4, 1]
    """
    shares, group, wanted = limits.shares, max(1, asked.group), asked.wanted_teams
    most = shares.together // group
    if asked.bytes == 0 and shares.together > 1 and not (
            asked.independent > 1 and group >= shares.together):
        most = max(most, LEAST_TEAMS)
    count = power_of_two_below(max(1, min(
        wanted or most, shares.max_group // group, limits.local_bytes // max(1, asked.bytes))))
    units = max(1, shares.busy_groups)
    least = _load(units, asked.groups, 1)
    while not wanted and count > 1 and (
            EVEN_PARTS * (_load(units, asked.groups, count) - least) > least):
        count //= 2
    return TeamCountAnswer(count, int(asked.groups % count == 0))


def _load(units: int, groups: int, count: int) -> int:
    """The most groups that one of ``units`` has if ``count`` run side by side."""
    return count * ceil_div(ceil_div(groups, count), units)


TEAM_COUNT = Geometry(TeamCount, TeamCountRequest, choose, values=lambda step, shares: {
    "wanted_teams": powers(1, LARGEST_GROUP)})
