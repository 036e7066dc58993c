"""Tiles of scans: the elements that a group scans at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from runelift.codegen.plan.shapes import ScanTileShape
from runelift.ir.constraints import Constraint, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size, least
from runelift.runtime.devices.limits import ShareLimits, ceil_div, power_of_two_above
from runelift.runtime.geometry.shape import (
    MOST_REMEMBERED,
    ONE,
    PLENTY_OF_DATA,
    Geometry,
    GeometryLimits,
    Place,
    power_of_two_below,
    powers,
)

ONE_TILE = 4
"""So many tiles of the usual size are one tile where a work-item scans it.

A core scans as many floats in the time of two launches (EPYC, PoCL 3.0, 2026-11-25).  So many
elements of a work-item are scanned before a group that waits for another has its total.
"""
LEAST_TILE = 64
"""The least such tile, so that few kernels are built."""
LONGEST_PRIVATE_CHUNK = 64
"""The longest chunk that a work-item of a large group keeps in private memory."""


class ScanTileRequest(NamedTuple):
    """The fields of :class:`~runelift.codegen.plan.shapes.ScanTileShape` as numbers."""

    points: int
    bytes: int
    wanted_group: int = 0
    wanted_chunk: int = 0


class ScanTileAnswer(NamedTuple):
    """The answers to :class:`~runelift.codegen.plan.shapes.ScanTileShape`."""

    group: int
    staged: int
    chunk: int
    window: int
    patience: int


@lru_cache(MOST_REMEMBERED)
def choose(asked: ScanTileRequest, limits: GeometryLimits) -> ScanTileAnswer:
    """Chunks so short that local memory suffices and that there is work for all groups.

    Where chunks go through local memory, a group for each compute unit is enough.  Its work-items
    have many loads under way, and each further tile waits for the tiles before it.  Where there is
    no local memory to go through, one work-item has a tile.  Few points are one tile there, as two
    further launches take longer; a group waits for none if it has all.  Small tiles take less time
    than publishing their totals, so groups look back at more of them.  A wanted chunk may leave
    groups without work.

    >>> gpu = GeometryLimits(ShareLimits(32, 256, 1024, 16, 32, True, 32, 132, 128))
    >>> choose(ScanTileRequest(points=1 << 24, bytes=4), gpu)
    ScanTileAnswer(group=256, staged=1, chunk=32, window=128, patience=0)
    >>> for bytes in (12, 16, 128):
    ...     found = choose(ScanTileRequest(1 << 24, bytes), gpu)
    ...     print(f"{found.chunk} for each of {found.group}, looking back at {found.window}")
    8 for each of 256, looking back at 256
    8 for each of 256, looking back at 128
    1 for each of 64, looking back at 64
    >>> [choose(ScanTileRequest(10 ** n, 4), gpu).chunk for n in (3, 4, 5, 6)]
    [4, 1, 2, 16]
    >>> from dataclasses import replace
    >>> cpu = gpu._replace(shares=replace(gpu.shares, staged=False, tile=1024), num_groups=8)
    >>> [choose(ScanTileRequest(n, 4), cpu).chunk for n in (3, 1000, 4096, 5000, 1 << 20)]
    [64, 1024, 4096, 512, 1024]
    """
    shares, points, wanted = limits.shares, asked.points, asked.wanted_chunk
    group = 1
    if shares.staged:
        group = power_of_two_below(asked.wanted_group) if asked.wanted_group else shares.group
    chunk = wanted or shares.tile
    if not (shares.staged or wanted) and points <= ONE_TILE * chunk:
        return _tile(asked, limits, group, max(LEAST_TILE, power_of_two_above(points)))
    groups = limits.num_groups
    if wanted:
        groups = 1
    elif shares.staged and points <= ONE_TILE * group:
        groups = 0
        chunk = min(chunk, power_of_two_above(ceil_div(max(1, points), group)))
    elif shares.staged and shares.busy_groups:
        groups = min(groups, shares.busy_groups)
    while chunk > 1 and points < groups * group * chunk:
        chunk //= 2
    while shares.staged and _tile_bytes(group, chunk, asked.bytes) > limits.local_bytes and (
            group > 1):
        group, chunk = (group, chunk // 2) if chunk > 1 else (group // 2, chunk)
    return _tile(asked, limits, group, chunk)


def _tile(asked: ScanTileRequest, limits: GeometryLimits, group: int, chunk: int
          ) -> ScanTileAnswer:
    """The tile of a group with some chunks; a group that has all points waits for none."""
    shares, large = limits.shares, 3 * group * chunk * asked.bytes >= 2 * limits.local_bytes
    return ScanTileAnswer(group, int(shares.staged), chunk,
                          min(shares.window, group) if large else group,
                          shares.patience if asked.points > group * chunk else 0)


def _tile_bytes(group: int, chunk: int, size: int) -> int:
    """The most local memory that a group needs for a tile of elements of ``size`` bytes.

    All of them, padded; one for each work-item in either of two rounds of a scan and in the
    window; and flags.
    """
    return size * (group * chunk * 33 // 32 + 3 * group) + 8 * group + 256


def _constraints(step: ScanTileShape, shares: ShareLimits, place: Place
                 ) -> Iterator[Constraint]:
    """Tiles that go through local memory are not made smaller than was asked for."""
    if shares.staged:
        for answer, atom in ((step.group, step.wanted_group), (step.chunk, step.wanted_chunk)):
            if isinstance(atom, VName):
                yield equal(least(ONE, Size.var(atom)) * Size.var(answer), Size.var(atom),
                            "tiles of a scan fit into local memory", span=place.span)


def _values(step: ScanTileShape, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    most = LONGEST_PRIVATE_CHUNK if shares.staged else 4 * shares.tile
    return {"wanted_chunk": powers(max(1, most // 64), most)}


SCAN_TILE = Geometry(ScanTileShape, ScanTileRequest, choose, derive=choose,
                     plenty={"points": PLENTY_OF_DATA}, constraints=_constraints,
                     values=_values)
