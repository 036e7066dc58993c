"""Group sizes and chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runelift.codegen.plan.shapes import Box
from runelift.runtime.devices.info import select
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.geometry.group_shape import (
    GROUP_SHAPE,
    ChunkAnswer,
    GroupShapeAnswer,
    GroupShapeRequest,
)
from runelift.runtime.geometry.product_tile import PRODUCT_TILE, ProductTileRequest
from runelift.runtime.geometry.segment_block import SEGMENT_BLOCK, SegmentBlockRequest
from runelift.runtime.geometry.shape import GeometryLimits
from runelift.runtime.geometry.team_count import TEAM_COUNT, TeamCountRequest

GPU = ShareLimits(lanes=32, group=256, max_group=1024, chunk=16, max_chunk=32, staged=True,
                  tile=1)


def shape(shares: ShareLimits, points: tuple[int, ...] = (), groups: int = 1, *,
          scanned: bool = True, **asked: Any) -> GroupShapeAnswer:
    """The shape of groups with some points."""
    return GROUP_SHAPE.choose(GroupShapeRequest(groups, points, scanned=scanned, **asked),
                              GeometryLimits(shares))


def teams(shares: ShareLimits, group: int, groups: int, size: int, *wanted: int,
          independent: int = 0) -> int:
    """The number of teams on a device."""
    asked = TeamCountRequest(group, groups, size, *wanted, independent=independent)
    return TEAM_COUNT.choose(asked, GeometryLimits(shares)).teams


def alone(group: int, *chunks: tuple[int, int]) -> GroupShapeAnswer:
    """A group on :data:`GPU` whose work-items cannot hand each other values."""
    return GroupShapeAnswer(group, 1, 1, tuple(ChunkAnswer(*each) for each in chunks))


@pytest.mark.parametrize(("points", "group", "chunk", "whole"), [
    (0, 32, 1, 0), (1, 32, 1, 0), (32, 32, 1, 1), (100, 32, 4, 0), (256, 32, 8, 1),
    (4096, 256, 16, 1), (4097, 512, 16, 0), (16384, 1024, 16, 1), (32768, 1024, 32, 1),
    (32769, 0, 64, 0)])
def test_rows_on_a_gpu(points: int, group: int, chunk: int, whole: int) -> None:
    assert shape(GPU, (points,), 1) == alone(group, (chunk, whole))


@pytest.mark.parametrize("points", range(1, 3000, 97))
def test_every_element_has_its_place(points: int) -> None:
    found = shape(GPU, (points, 3))
    size, whole = found.chunks[0]
    assert found.group * size >= points
    assert bool(whole) == (found.group * size == points)


@pytest.mark.parametrize(("wish", "group", "chunk"), [
    (1, 1024, 4), (4, 1024, 4), (8, 512, 8), (30, 128, 32), (100, 128, 32)])
def test_chunks_as_a_tuning_file_wishes(wish: int, group: int, chunk: int) -> None:
    assert shape(GPU.preferring(wish), (4096,), 1) == alone(group, (chunk, 1))


def test_loops_of_any_length() -> None:
    assert shape(GPU, groups=1, loops=(10**9,)) == alone(256)
    assert shape(GPU, (64,), loops=(10**9,), groups=1) == alone(256, (1, 0))


def test_few_groups_are_large() -> None:
    """Work-items of a single group should not loop while the device has nothing else to do."""
    crowded = replace(GPU, busy_groups=10)
    assert shape(crowded, groups=9, loops=(256,)) == alone(256)
    assert shape(crowded, groups=10, loops=(256,)) == alone(64)


@pytest.mark.parametrize(("points", "group"), [(1, 1), (5, 8), (16, 16), (33, 32), (4096, 256)])
def test_groups_side_by_side_are_as_small_as_their_rows(points: int, group: int) -> None:
    assert shape(GPU, (points,), 1000, teams=True).group == group


@pytest.mark.parametrize(("groups", "group", "chunk"), [
    (9, 32, 8), (100, 32, 8), (1000, 16, 16), (1 << 20, 16, 16)])
def test_many_rows_have_few_work_items_each(groups: int, group: int, chunk: int) -> None:
    limits = replace(GPU, crew=1 << 13)
    assert shape(limits, (256,), groups, teams=True) == alone(group, (chunk, 1))
    assert shape(limits.preferring(0, 32), (256,), groups, teams=True).group == 32


@pytest.mark.parametrize(("points", "groups", "group", "chunk"), [
    (512, 512, 128, 4), (1024, 1024, 256, 4), (2048, 2048, 256, 8), (100, 1, 32, 4), (3, 1, 32, 1),
    (8192, 1, 1024, 8), (32768, 1, 1024, 32)])
def test_work_items_that_hand_nothing_to_each_other(points: int, groups: int, group: int,
                                                    chunk: int) -> None:
    """They have short chunks, twice as long if there are more than the device has room for."""
    limits = replace(GPU, busy_groups=132, crew=270336, short=4)
    found = shape(limits, (points,), groups, independent=1)
    assert (found.group, found.chunks[0].size) == (group, chunk)
    wanted = limits.preferring(16)
    assert shape(wanted, (points,), groups, independent=1) == shape(
        wanted, (points,), groups)


@pytest.mark.parametrize(("points", "group", "chunk", "side_by_side"), [
    (256, 32, 8, 4), (512, 128, 4, 1), (2048, 512, 4, 1)])
def test_groups_that_know_their_row_if_it_is_the_only_one(points: int, group: int, chunk: int,
                                                          side_by_side: int) -> None:
    limits = replace(GPU, busy_groups=132, crew=270336, short=4, together=128)
    found = shape(limits, (points,), 1 << 15, independent=2)
    assert (found.group, found.chunks[0].size) == (group, chunk)
    assert teams(limits, group, 1 << 15, 0, independent=2) == side_by_side


@pytest.mark.parametrize(("groups", "group"), [(1, 256), (131, 256), (132, 64)])
def test_groups_with_a_unit_each_have_short_chunks(groups: int, group: int) -> None:
    limits = replace(GPU, busy_groups=132, short=4)
    assert shape(limits, (1024,), groups).group == group
    assert shape(limits.preferring(0, 32), (1024,), groups).group == group
    assert shape(limits.preferring(16), (1024,), groups).group == 64


@pytest.mark.parametrize(("groups", "found"), [
    (100, 1), (256, 2), (512, 4), (600, 1), (10_000, 4), (1 << 20, 4)])
def test_no_unit_has_more_groups_because_they_are_side_by_side(groups: int, found: int) -> None:
    limits = replace(GPU, together=128, busy_groups=132)
    assert teams(limits, 128, groups, 0) == found
    assert teams(limits, 32, groups, 64) == found


@pytest.mark.parametrize(("subgroup", "points", "found"), [
    (32, 5, 8), (32, 100, 32), (32, 32768, 32), (16, 32768, 1), (1, 100, 1)])
def test_sub_groups_of_a_group(subgroup: int, points: int, found: int) -> None:
    """Of so many sub-groups that one of them cannot put all totals together, none is used."""
    limits = replace(GPU, subgroup=subgroup)
    assert shape(limits, (points,), 1000, teams=True).subgroup == found


@pytest.mark.parametrize(("group", "groups", "size", "wanted", "found"), [
    (8, 1 << 20, 64, 0, 16), (32, 1 << 20, 64, 0, 4), (256, 1 << 20, 64, 0, 1), (8, 5, 64, 0, 1),
    (8, 100, 64, 0, 2), (8, 1 << 20, 5000, 0, 8), (8, 5, 64, 9, 8), (512, 1 << 20, 64, 64, 2),
    (8, 1 << 20, 60000, 4, 1), (0, 1 << 20, 64, 0, 128)])
def test_how_many_groups_are_side_by_side(group: int, groups: int, size: int, wanted: int,
                                          found: int) -> None:
    limits = replace(GPU, together=128, busy_groups=10)
    assert teams(limits, group, groups, size, wanted) == found


def test_a_plain_device_likes_naive_kernels(simulator: str) -> None:
    info = select(simulator)
    assert info is not None
    plain = info.plain()
    product = ProductTileRequest(4096, 4096, 1, 4096, (4, 4))
    requests = [SegmentBlockRequest(64, 64, 1, 64, slides, 4, 64, roots=not slides, loops=1)
                for slides in (True, False)]
    for device, pays in ((info, True), (plain, False)):
        limits = GeometryLimits(device.shares, units=8, local_bytes=1 << 15)
        assert (PRODUCT_TILE.choose(product, limits).rows > 0) == pays
        for request in requests:
            assert (SEGMENT_BLOCK.choose(request, limits).points > 0) == pays
    assert not plain.interleaves
    assert open_device(plain) is not open_device(info)
    assert open_device(plain).info == plain


@pytest.mark.parametrize("width", [1, 31, 64, 65, 1000])
@pytest.mark.parametrize("height", [0, 1, 3, 100])
@pytest.mark.parametrize("wanted", [(64, 8, 4, 1, 0), (256, 16, 1, 32, 1), (32, 4, 0, 0, 64)])
@pytest.mark.parametrize("boxes", [(), (Box(4, ((1, 1, 0, 0), (0, 0, 1, 1))),)])
def test_segment_blocks_lie_within_the_segments(
        width: int, height: int, boxes: tuple[Box, ...],
        wanted: tuple[int, int, int, int, int]) -> None:
    asked = SegmentBlockRequest(height, width, 2, 50, True, 16, *wanted, loops=1, boxes=boxes)
    found = SEGMENT_BLOCK.choose(asked, GeometryLimits(GPU))
    partials = found.points * found.group * 16 if found.split > 1 else 0
    assert found.split == 1 or found.points == 1 or partials <= 48 << 10
    assert not found.tile or (boxes and asked.wanted_tile != 1)
    assert not found.tile or partials + 4 * (
        (found.points + found.steps * found.split - 1)
        * (found.across + found.tile - 1)) <= 48 << 10
    assert found.group == found.across * found.split == asked.wanted_group
    assert found.cells == found.points * found.steps
    assert found.points == 1 or found.points <= (height or width // found.across)


@pytest.mark.parametrize(("groups", "rows", "found"), [
    (0, ((5, 1000),), 256), (10, ((5, 1000),), 256), (1000, ((5, 1000),), 64),
    (1 << 20, ((5, 1000),), 32), (10, ((2, 20),), 64), (10, ((40, 1000),), 32), (10, (), 32)])
def test_groups_grow_for_few_rows(groups: int, rows: tuple[tuple[int, int], ...],
                                  found: int) -> None:
    """Each row has as many work-items as can hand each other values, while the device has any."""
    limits = replace(GPU, subgroup=32, crew=1 << 15, busy_groups=132)
    points = max((n for n, _ in rows), default=1)
    assert shape(limits, (points,), groups, rows=rows).group == found
