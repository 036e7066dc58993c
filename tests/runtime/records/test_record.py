"""Records without what recording itself cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.runtime.records.record import Encounter, Record


def record(*times: tuple[float, float], wall: float) -> Record:
    """Encounters of these (busy, idle) times one after the other, and nothing else."""
    encounters = tuple(
        Encounter("s", number, None, {}, {}, (0,), 0, busy + idle, busy, idle, 1)
        for number, (busy, idle) in enumerate(times))
    busy, idle = (sum(column) for column in zip(*times, strict=True))
    return Record("main", encounters, busy + idle, busy, wall, idle, len(times), 0, "simulated")


def left(whole: Record, cost: float, seconds: float) -> list[float]:
    """The times of encounters without the cost of recording."""
    shares = whole.shares(cost, seconds)
    return [shares.time(e.busy, e.time) for e in whole.encounters]


def test_what_recording_costs_is_idle_time() -> None:
    whole = record((10.0, 0.0), (2.0, 6.0), (1.0, 2.0), wall=25.0)
    assert left(whole, 4.0, 21.0) == pytest.approx([10.0, 5.0, 2.0])


def test_what_is_more_than_idle_time_is_taken_off_all() -> None:
    """As the run without a record took less time than the device was busy in the other."""
    whole = record((10.0, 0.0), (2.0, 6.0), wall=20.0)
    assert left(whole, 12.0, 6.0) == pytest.approx([5.0, 1.0])


def test_noise_of_the_host_leaves_what_the_device_was_busy() -> None:
    """A host that was late once says nothing of kernels."""
    whole = record((10.0, 0.0), (2.0, 6.0), wall=1000.0)
    assert left(whole, 980.0, 20.0) == [10.0, 2.0]


def test_a_record_that_cost_nothing_stays() -> None:
    whole = record((10.0, 0.0), (2.0, 6.0), wall=20.0)
    assert left(whole, 0.0, 20.0) == [10.0, 8.0]


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1), st.floats(0, 9),
       st.floats(0, 999))
def test_encounters_add_up_to_no_more_than_the_run(times: list[tuple[float, float]],
                                                   seconds: float, cost: float) -> None:
    whole = record(*times, wall=999.0)
    found = left(whole, cost, seconds)
    assert 0 <= sum(found) <= whole.span * (1 + 1e-9)
    smallest = 1e-300  # below it, floats have few digits
    assert sum(found) + smallest >= min(seconds, whole.busy) * (1 - 1e-9)
