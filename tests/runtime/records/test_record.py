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


def test_what_recording_costs_is_idle_time() -> None:
    found = record((10.0, 0.0), (2.0, 6.0), (1.0, 2.0), wall=25.0).without_recording(4.0)
    assert [e.time for e in found.encounters] == pytest.approx([10.0, 5.0, 2.0])
    assert found.span == pytest.approx(17.0)
    assert found.wall == 21.0


def test_what_is_more_than_idle_time_is_taken_off_all() -> None:
    found = record((10.0, 0.0), (2.0, 6.0), wall=20.0).without_recording(12.0)
    assert [e.time for e in found.encounters] == pytest.approx([5.0, 1.0])
    assert found.host == 0


def test_a_record_that_cost_nothing_stays() -> None:
    found = record((10.0, 0.0), (2.0, 6.0), wall=20.0)
    assert found.without_recording(0.0) == found


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1), st.floats(0, 9),
       st.floats(0, 999))
def test_encounters_still_add_up_to_the_span(times: list[tuple[float, float]], host: float,
                                             cost: float) -> None:
    whole = record(*times, wall=host + sum(b + i for b, i in times))
    found = whole.without_recording(cost)
    assert sum(e.time for e in found.encounters) == pytest.approx(found.span, abs=1e-9)
    assert 0 <= found.span <= whole.span
    assert all(e.time >= 0 for e in found.encounters)
