"""Times of launches, by their work and made-up constants."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.codegen.cost.totals import Work
from runelift.runtime.cost.device_costs import DeviceCosts
from runelift.runtime.cost.model import LaunchTime, launch_time

COSTS = DeviceCosts(**{
    **{each.name: 1e-9 for each in fields(DeviceCosts)}, "launch": 1e-6, "bandwidth": 1e12,
    "cache_bandwidth": 4e12, "unit_bandwidth": 1e11, "cache": 1e6, "unit_cache": 1e5,
    "random": 32.0, "items": 2048.0, "groups": 16.0, "room": 65536.0, "abreast": 4096.0,
    "norm": 2.0})
"""Constants of no device."""
UNITS = 8
NONE = Work(*[0.0] * len(Work._fields))
COUNTS = st.one_of(st.just(0.0), st.floats(1.0, 1e9))
WORKS = st.builds(Work, *[COUNTS] * len(Work._fields))
GROUPS, GROUP = st.integers(1, 10_000), st.sampled_from([1, 32, 96, 256, 1024])
ROOM = st.sampled_from([0, 1, 4096, 49152])
MEMORY = {"read", "written", "apart", "random", "distinct"}
ARITHMETIC = {"operations", "special", "doubles", "accesses", "private", "local"}
CHAIN = {"steps", "waits", "streams", "barriers"}


def time(work: Work, groups: int = 100, group: int = 256, room: int = 0,
         costs: DeviceCosts = COSTS) -> LaunchTime:
    return launch_time(costs, UNITS, groups, group, room, work)


def test_nothing_takes_as_long_as_a_launch() -> None:
    found = time(NONE)
    assert found == LaunchTime(COSTS.launch, 0.0, 0.0, 0.0, 0.0, COSTS.launch)


@given(WORKS, GROUPS, GROUP, ROOM)
def test_parts_overlap(work: Work, groups: int, group: int, room: int) -> None:
    """A launch takes as long as its longest part, at least, and no longer than all in turn."""
    start, *parts, seconds = time(work, groups, group, room)
    assert all(part >= 0 for part in (start, *parts))
    assert start + max(parts) <= seconds * (1 + 1e-9)
    assert seconds <= (start + sum(parts)) * (1 + 1e-9)


@given(WORKS, GROUPS, GROUP, ROOM, st.sampled_from(Work._fields), st.floats(1.0, 1e9))
def test_more_work_never_takes_less_time(work: Work, groups: int, group: int, room: int, name: str,
                                         amount: float) -> None:
    """But for ``accesses``: of those that are more, fewer miss the cache."""
    if name == "accesses":
        work = work._replace(waits=0.0, streams=0.0)
    before, after = (time(each, groups, group, room)
                     for each in (work, work._replace(**{name: getattr(work, name) + amount})))
    assert after.seconds >= before.seconds * (1 - 1e-9)


@pytest.mark.parametrize(("names", "part"), [
    (MEMORY, "memory"), (ARITHMETIC, "arithmetic"), ({"atomics", "local_atomics"}, "atomics"),
    (CHAIN, "chain")])
def test_each_kind_of_work_belongs_to_a_part(names: set[str], part: str) -> None:
    crowded = replace(COSTS, unit_cache=1.0)
    for name in names:
        found = time(NONE._replace(**{name: 1e9}), costs=crowded)
        assert {each for each in LaunchTime._fields if getattr(found, each) > 0} == {
            "start", part, "seconds"}


def test_rows_apart_move_again_if_too_many_work_items_share_a_cache() -> None:
    work = NONE._replace(read=1e6, apart=8e6)
    few, many = time(work, groups=UNITS, group=1), time(work, groups=16 * UNITS, group=256)
    assert many.memory > 5 * few.memory / UNITS
    assert time(work._replace(apart=0.0), groups=16 * UNITS).memory < many.memory


def test_more_bytes_than_the_last_cache_has_come_from_memory() -> None:
    inside, outside = (time(NONE._replace(read=4e6, distinct=distinct), groups=1000)
                       for distinct in (COSTS.cache, 4 * COSTS.cache))
    assert inside.memory == pytest.approx(4e6 / (UNITS * COSTS.unit_bandwidth))
    assert outside.memory == pytest.approx(max(inside.memory, 4e6 / COSTS.bandwidth))


def test_few_groups_leave_units_idle() -> None:
    work = NONE._replace(operations=1e9)
    one, half, all_ = (time(work, groups=groups).arithmetic for groups in (1, UNITS // 2, UNITS))
    assert one == pytest.approx(UNITS * all_)
    assert half == pytest.approx(2 * all_)
    assert time(work, groups=100 * UNITS).arithmetic == all_


@pytest.mark.parametrize(("groups", "group", "room", "waves"), [
    (1, 1, 0, 1), (UNITS * 8, 256, 0, 1), (UNITS * 16, 256, 0, 2), (UNITS * 16, 32, 0, 1),
    (UNITS * 32, 32, 0, 2), (UNITS * 2, 32, 49152, 2), (UNITS * 8, 2048, 0, 8)])
def test_groups_that_do_not_fit_at_once_run_in_waves(groups: int, group: int, room: int,
                                                     waves: float) -> None:
    """Units have room for 2048 work-items, 16 groups, and 64 KiB of local memory."""
    work = NONE._replace(steps=1000.0)
    assert time(work, groups, group, room).chain == pytest.approx(waves * time(work, 1).chain)


def test_work_items_of_a_processor_run_one_after_the_other() -> None:
    work = NONE._replace(steps=1000.0)
    alone, processor = time(work, 1, 64), time(work, 1, 64, costs=replace(COSTS, abreast=1.0))
    assert processor.chain == pytest.approx(64 * alone.chain)
