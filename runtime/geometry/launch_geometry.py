"""Launch geometry on one device: groups, chunks and tiles for the sizes of each launch.

Host plans call these methods by way of :class:`~runelift.runtime.execution.run.Run`.
"""

from __future__ import annotations

from runelift.runtime.devices.context import Device
from runelift.runtime.geometry.product_blocks import block, slab_width
from runelift.runtime.geometry.tiles import (
    Boxes,
    Combining,
    SegmentBatch,
    coarse,
    strip,
    transposed,
    width,
)
from runelift.runtime.geometry.work_groups import (
    MOST_REMEMBERED,
    share_out,
    spread,
    subgroup_of,
    teams,
    tile,
)


class LaunchGeometry:
    """The geometry of launches on ``device``; it remembers what it worked out."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._shares: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._teams: dict[tuple[int, ...], tuple[int, int]] = {}

    def share_out(self, points: tuple[int, ...], loops: tuple[int, ...],
                  rows: tuple[tuple[int, int], ...], groups: int, lanes: int, chunk: int,
                  teams: bool, apart: int, scanned: bool,
                  changing: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The size of a group and of the chunks of its work-items.

        The parameters are those of :class:`~runelift.codegen.plan.distribution.GroupShape`.  In a
        loop numbers of points may be ``changing``; few of these come out even.
        """
        key = points, loops, rows, groups, lanes, chunk, teams, apart, scanned, changing
        if (shares := self._shares.get(key)) is None:
            limits = self._device.shares
            if lanes or chunk:
                limits = limits.preferring(chunk, lanes)
            if len(self._shares) >= MOST_REMEMBERED:
                self._shares.clear()
            shares = self._shares[key] = share_out(limits, points, loops, groups,
                                                  rows=rows, teams=teams, apart=apart,
                                                  scanned=scanned, changing=changing)
        return shares

    def teams(self, group: int, groups: int, size: int, wanted: int,
              apart: int) -> tuple[int, int]:
        """The number of teams in a group, and 1 if the teams come out even, else 0."""
        key = group, groups, size, wanted, apart
        if (found := self._teams.get(key)) is None:
            info = self._device.info
            if len(self._teams) >= MOST_REMEMBERED:
                self._teams.clear()
            count = teams(info.shares, group, groups, size, info.local_bytes, wanted, apart)
            found = self._teams[key] = count, int(groups % count == 0)
        return found

    def subgroup(self, group: int) -> int:
        """The number of work-items of a group that hand each other values."""
        shares = self._device.shares
        return subgroup_of(shares, group) if group >= shares.subgroup else 1

    def spread(self, most: int, points: int) -> int:
        """The size of groups of work-items that have much to do."""
        return spread(most, points, self._device.info.num_groups)

    def width(self, points: int, rows: int, beside: int, size: int, shares: bool, most: int,
              wanted: int) -> tuple[int, int]:
        """The number of points of a map that a work-item has, and 1 if they lie as in one
        dimension, else 0.

        The parameters are those of :class:`~runelift.codegen.plan.distribution.MapWidth`.
        """
        info = self._device.info
        return width(info.shares, points, rows, beside, size, shares, most,
                     info.num_groups * info.group_size, wanted)

    def tile(self, points: int, size: int, *wanted: int) -> tuple[int, int, int, int, int]:
        """The tiles of a scan, and the number of times that a group asks for those before."""
        info = self._device.info
        shares = tile(info.shares, points, size, info.num_groups, info.local_bytes, wanted)
        group, _, chunk, _ = shares
        return *shares, self._device.patience if points > group * chunk else 0

    def block(self, height: int, width: int, batch: int, length: int, sizes: tuple[int, int],
              *wanted: int) -> tuple[int, ...]:
        """The tiles of a product."""
        info = self._device.info
        found = block(info.shares, height, width, batch, length, info.units,
                      sizes, info.local_bytes, wanted)
        group, side, across, rows, columns, depth, *_, slabs, _, _ = found
        need = slabs * depth * slab_width(sizes, (side, across), (rows, columns))
        if group > info.max_group or need > info.local_bytes:  # a schedule asks for too much
            return (*found[:3], 0, *found[4:])
        return found

    def coarse(self, height: int, width: int, batch: int, length: int, slides: bool, roots: bool,
               loops: int, size: int, boxes: Boxes, *wanted: int) -> tuple[int, ...]:
        """The tiles of segments that are reduced together.

        The parameters are those of :class:`~runelift.codegen.plan.distribution.SegmentBlockShape`.
        """
        info = self._device.info
        found = coarse(info.shares, SegmentBatch(height, width, batch, length),
                       Combining(slides, roots, loops, size, boxes),
                       info.units, info.local_bytes, wanted)
        if found[0] > info.max_group:  # a schedule asks for too much
            return (*found[:3], 0, *found[4:])
        return found

    def strip(self, width: int, height: int, batch: int, length: int) -> tuple[int, ...]:
        """The strips of reductions down columns."""
        info = self._device.info
        return strip(info.shares, width, height, batch, length, info.units)

    transposed = staticmethod(transposed)
