"""Group sizes and chunks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runelift.runtime.devices.info import select
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.geometry.product_blocks import block
from runelift.runtime.geometry.tiles import Boxes, Combining, SegmentBatch, coarse
from runelift.runtime.geometry.work_groups import share_out, teams

GPU = ShareLimits(lanes=32, group=256, max_group=1024, chunk=16, max_chunk=32, staged=True,
                  tile=1)


@pytest.mark.parametrize(("points", "group", "chunk", "whole"), [
    (0, 32, 1, 0), (1, 32, 1, 0), (32, 32, 1, 1), (100, 32, 4, 0), (256, 32, 8, 1),
    (4096, 256, 16, 1), (4097, 512, 16, 0), (16384, 1024, 16, 1), (32768, 1024, 32, 1),
    (32769, 0, 64, 0)])
def test_rows_on_a_gpu(points: int, group: int, chunk: int, whole: int) -> None:
    assert share_out(GPU, (points,), (), 1) == (group, 1, 1, chunk, whole)


@pytest.mark.parametrize("points", range(1, 3000, 97))
def test_every_element_has_its_place(points: int) -> None:
    group, _, _, chunk, whole, *_ = share_out(GPU, (points, 3), (), 1)
    assert group * chunk >= points
    assert bool(whole) == (group * chunk == points)


@pytest.mark.parametrize(("wish", "group", "chunk"), [
    (1, 1024, 4), (4, 1024, 4), (8, 512, 8), (30, 128, 32), (100, 128, 32)])
def test_chunks_as_a_tuning_file_wishes(wish: int, group: int, chunk: int) -> None:
    assert share_out(GPU.preferring(wish), (4096,), (), 1) == (group, 1, 1, chunk, 1)


def test_loops_of_any_length() -> None:
    assert share_out(GPU, (), (10**9,), 1) == (256, 1, 1)
    assert share_out(GPU, (64,), (10**9,), 1) == (256, 1, 1, 1, 0)


def test_few_groups_are_large() -> None:
    """Work-items of a single group should not loop while the device has nothing else to do."""
    crowded = replace(GPU, busy_groups=10)
    assert share_out(crowded, (), (256,), 9) == (256, 1, 1)
    assert share_out(crowded, (), (256,), 10) == (64, 1, 1)


@pytest.mark.parametrize(("points", "group"), [(1, 1), (5, 8), (16, 16), (33, 32), (4096, 256)])
def test_groups_side_by_side_are_as_small_as_their_rows(points: int, group: int) -> None:
    assert share_out(GPU, (points,), (), 1000, teams=True)[0] == group


@pytest.mark.parametrize(("groups", "group", "chunk"), [
    (9, 32, 8), (100, 32, 8), (1000, 16, 16), (1 << 20, 16, 16)])
def test_many_rows_have_few_work_items_each(groups: int, group: int, chunk: int) -> None:
    limits = replace(GPU, crew=1 << 13)
    assert share_out(limits, (256,), (), groups, teams=True) == (group, 1, 1, chunk, 1)
    assert share_out(limits.preferring(0, 32), (256,), (), groups, teams=True)[0] == 32


@pytest.mark.parametrize(("points", "groups", "group", "chunk"), [
    (512, 512, 128, 4), (1024, 1024, 256, 4), (2048, 2048, 256, 8), (100, 1, 32, 4), (3, 1, 32, 1),
    (8192, 1, 1024, 8), (32768, 1, 1024, 32)])
def test_work_items_that_hand_nothing_to_each_other(points: int, groups: int, group: int,
                                                    chunk: int) -> None:
    """They have short chunks, twice as long if there are more than the device has room for."""
    limits = replace(GPU, busy_groups=132, crew=270336, short=4)
    assert share_out(limits, (points,), (), groups, apart=1)[:4] == (group, 1, 1, chunk)
    wanted = limits.preferring(16)
    assert share_out(wanted, (points,), (), groups, apart=1) == share_out(
        wanted, (points,), (), groups)


@pytest.mark.parametrize(("points", "group", "chunk", "side_by_side"), [
    (256, 32, 8, 4), (512, 128, 4, 1), (2048, 512, 4, 1)])
def test_groups_that_know_their_row_if_it_is_the_only_one(points: int, group: int, chunk: int,
                                                          side_by_side: int) -> None:
    limits = replace(GPU, busy_groups=132, crew=270336, short=4, together=128)
    assert share_out(limits, (points,), (), 1 << 15, apart=2)[:4] == (group, 1, 1, chunk)
    assert teams(limits, group, 1 << 15, 0, 48 << 10, apart=2) == side_by_side


@pytest.mark.parametrize(("groups", "group"), [(1, 256), (131, 256), (132, 64)])
def test_groups_with_a_unit_each_have_short_chunks(groups: int, group: int) -> None:
    limits = replace(GPU, busy_groups=132, short=4)
    assert share_out(limits, (1024,), (), groups)[0] == group
    assert share_out(limits.preferring(0, 32), (1024,), (), groups)[0] == group
    assert share_out(limits.preferring(16), (1024,), (), groups)[0] == 64


@pytest.mark.parametrize(("groups", "found"), [
    (100, 1), (256, 2), (512, 4), (600, 1), (10_000, 4), (1 << 20, 4)])
def test_no_unit_has_more_groups_because_they_are_side_by_side(groups: int, found: int) -> None:
    limits = replace(GPU, together=128, busy_groups=132)
    assert teams(limits, 128, groups, 0, 48 << 10) == found
    assert teams(limits, 32, groups, 64, 48 << 10) == found


@pytest.mark.parametrize(("subgroup", "points", "found"), [
    (32, 5, 8), (32, 100, 32), (32, 32768, 32), (16, 32768, 1), (1, 100, 1)])
def test_sub_groups_of_a_group(subgroup: int, points: int, found: int) -> None:
    """Of so many sub-groups that one of them cannot put all totals together, none is used."""
    limits = replace(GPU, subgroup=subgroup)
    assert share_out(limits, (points,), (), 1000, teams=True)[2] == found


@pytest.mark.parametrize(("group", "groups", "size", "wanted", "found"), [
    (8, 1 << 20, 64, 0, 16), (32, 1 << 20, 64, 0, 4), (256, 1 << 20, 64, 0, 1), (8, 5, 64, 0, 1),
    (8, 100, 64, 0, 2), (8, 1 << 20, 5000, 0, 8), (8, 5, 64, 9, 8), (512, 1 << 20, 64, 64, 2),
    (8, 1 << 20, 60000, 4, 1), (0, 1 << 20, 64, 0, 128)])
def test_how_many_groups_are_side_by_side(group: int, groups: int, size: int, wanted: int,
                                          found: int) -> None:
    limits = replace(GPU, together=128, busy_groups=10)
    assert teams(limits, group, groups, size, 48 << 10, wanted) == found


def test_a_plain_device_likes_naive_kernels(simulator: str) -> None:
    info = select(simulator)
    assert info is not None
    plain = info.plain()
    assert block(info.shares, 4096, 4096, 1, 4096, 8, (4, 4), 1 << 15)[3] > 0
    assert block(plain.shares, 4096, 4096, 1, 4096, 8, (4, 4), 1 << 15)[3] == 0
    for slides, roots in ((True, False), (False, True)):
        combining = Combining(slides, roots, 1, 4)
        points, none = (coarse(each.shares, SegmentBatch(64, 64, 1, 64), combining, 8, 9999,
                               (64, 0, 0, 0, 0))[3] for each in (info, plain))
        assert points > 0
        assert none == 0
    assert not plain.interleaves
    assert open_device(plain) is not open_device(info)
    assert open_device(plain).info == plain


@pytest.mark.parametrize("width", [1, 31, 64, 65, 1000])
@pytest.mark.parametrize("height", [0, 1, 3, 100])
@pytest.mark.parametrize("wanted", [(64, 8, 4, 1, 0), (256, 16, 1, 32, 1), (32, 4, 0, 0, 64)])
@pytest.mark.parametrize("boxes", [(), ((4, ((1, 1, 0, 0), (0, 0, 1, 1))),)])
def test_coarse_blocks_lie_within_the_segments(width: int, height: int, boxes: Boxes,
                                               wanted: tuple[int, ...]) -> None:
    group, across, split, points, steps, cells, tile = coarse(
        GPU, SegmentBatch(height, width, 2, 50), Combining(True, False, 1, 16, boxes), 132,
        48 << 10,
        wanted)
    partials = points * group * 16 if split > 1 else 0
    assert split == 1 or points == 1 or partials <= 48 << 10
    assert not tile or (boxes and wanted[4] != 1)
    assert not tile or partials + 4 * (
        (points + steps * split - 1) * (across + tile - 1)) <= 48 << 10
    assert group == across * split == wanted[0]
    assert cells == points * steps
    assert points == 1 or points <= (height or width // across)


@pytest.mark.parametrize(("groups", "rows", "found"), [
    (0, ((5, 1000),), 256), (10, ((5, 1000),), 256), (1000, ((5, 1000),), 64),
    (1 << 20, ((5, 1000),), 32), (10, ((2, 20),), 64), (10, ((40, 1000),), 32), (10, (), 32)])
def test_groups_grow_for_few_rows(groups: int, rows: tuple[tuple[int, int], ...],
                                  found: int) -> None:
    """Each row has as many work-items as can hand each other values, while the device has any."""
    limits = replace(GPU, subgroup=32, crew=1 << 15, busy_groups=132)
    assert share_out(limits, (max((n for n, _ in rows), default=1),), (), groups, rows=rows
                     )[0] == found
