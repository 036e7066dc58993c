"""What encounters cost, from records in which each launch took the device longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.runtime.records.record import Encounter, Record
from runelift.runtime.tuner.costs.log import LoggedRun
from runelift.runtime.tuner.costs.recording_overhead import corrected_records


def run(kernels: Sequence[Sequence[float]], profiling: float, *, timed: bool = True,
        version: int = 0) -> LoggedRun:
    """A run with an encounter for each of these, launching kernels that take so many seconds."""
    encounters = tuple(
        Encounter("s", number, None, {}, {}, (0, 1), version,
                  time := sum(seconds + profiling for seconds in each), time, 0.0, len(each))
        for number, each in enumerate(kernels))
    launches = sum(map(len, kernels))
    span = sum(each.time for each in encounters)
    record = Record("main", encounters, span, span, span, 0.0, launches, 0, "simulated")
    seconds = sum(map(sum, kernels)) if timed else None
    return LoggedRun("d", {"s": version}, record, time=seconds, issue=0.0 if timed else None)


seconds = st.floats(1.0, 100.0)
encounters = st.lists(st.lists(seconds, min_size=1, max_size=5), min_size=1, max_size=5)


@given(encounters, st.floats(0.0, 0.9))
def test_each_launch_of_a_record_took_as_much_longer(kernels: list[list[float]],
                                                     profiling: float) -> None:
    (found,) = corrected_records([run(kernels, profiling)])
    assert found.costs[0].tolist() == pytest.approx([sum(each) for each in kernels])
    assert found.whole.device == pytest.approx(sum(map(sum, kernels)))


def test_so_did_those_of_a_record_without_another_run() -> None:
    """Versions that are far behind run once."""
    known, once = [[8.0], [1.0, 2.0]], [[30.0], [4.0, 4.0, 4.0]]
    _, found = corrected_records([run(known, 0.5), run(once, 0.5, timed=False, version=1)])
    assert found.costs[0].tolist() == pytest.approx([30.0, 12.0])


def test_what_is_shorter_than_recording_a_launch_takes_some_time() -> None:
    """A loop whose launches are one without a record: nobody knows what short ones of them take."""
    kernels = [[10.0] * 4, [0.5] * 16]
    made = run(kernels, 2.0)
    record = made.record
    assert record is not None
    (found,
     ) = corrected_records([LoggedRun("d", made.force, record, time=record.span / 8, issue=0.0)])
    assert found.whole.device == pytest.approx(record.span / 8)
    long, short = found.costs[0]
    assert long == pytest.approx(48.0 - 4 * (7 / 8 * record.span / 20))
    assert short == pytest.approx(40.0 / 16)


def noisy(busy: float, late: float, seconds: float, waits: int, *, timed: bool = True) -> LoggedRun:
    """A run of one kernel in which the host was ``late`` while a record was made."""
    span = busy + late
    encounter = Encounter("s", 0, None, {}, {}, (0, 1), 0, span, busy, 0.0, 1)
    record = Record("main", (encounter,), span, busy, span + late, 0.0, 1, 0, "simulated",
                    waits=waits)
    return LoggedRun("d", {"s": 0 if timed else 1}, record, time=seconds if timed else None,
                     issue=0.0 if timed else None)


@pytest.mark.parametrize("waits", [0, 1])
@given(st.floats(1.0, 20.0), st.floats(0.0, 1e4), st.floats(0.0, 100.0))
def test_no_time_is_below_what_the_device_was_busy(waits: int, busy: float, late: float,
                                                   slack: float) -> None:
    """However late the host was while it recorded; nor is that of a version that ran once."""
    found = corrected_records([noisy(busy, late, busy + slack, waits),
                               noisy(2 * busy, 0.0, 0.0, waits, timed=False)])
    for each in found:
        assert each.costs[0][0] >= each.record.busy * (1 - 1e-9)
        assert each.whole.device >= each.record.busy * (1 - 1e-9)


@given(st.lists(st.lists(seconds, min_size=1, max_size=5), min_size=2, max_size=5),
       st.floats(1.5, 3.0))
def test_a_record_that_was_slow_by_chance_was_slow_in_all_its_parts(
        kernels: list[list[float]], chance: float) -> None:
    """Other records tell that recording takes little; what is more slows long kernels most."""
    made = run(kernels, 1e-6)
    record = made.record
    assert record is not None
    slow = replace(made, record=replace(
        record, span=chance * record.span, busy=chance * record.busy, encounters=tuple(
            each._replace(time=chance * each.time, busy=chance * each.busy)
            for each in record.encounters)))
    usual = [run(kernels, 1e-6, version=version) for version in (1, 2)]
    found, *_ = corrected_records([slow, *usual])
    assert found.costs[0].tolist() == pytest.approx([sum(each) for each in kernels], rel=1e-3)
    assert found.whole.device == pytest.approx(sum(map(sum, kernels)), rel=1e-3)


def test_an_overhead_that_most_versions_have_is_none_by_chance() -> None:
    """However large: each launch of the second kernel took as much longer as that of the first."""
    kernels = [[10.0], [1.0] * 4]
    for found in corrected_records([run(kernels, 0.5, version=version) for version in range(3)]):
        assert found.costs[0].tolist() == pytest.approx([10.0, 4.0])
