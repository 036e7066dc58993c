"""The last comparison: three choices in turn, what runs with each, and the limits of ratios."""

from __future__ import annotations

import math

import pytest

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.records.statistics import ratio_of_medians
from runelift.runtime.tuner.autotune import autotune, fit_thresholds, settle
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    TUNED,
    Choice,
    SideBySide,
    run_side_by_side,
    speedup,
)
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.state import State
from tests.runtime.tuner.simulated import CHAIN, Simulated, inputs, job_for


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated times are no seconds of this machine: all choices run."""
    monkeypatch.setattr("runelift.runtime.tuner.settle._within",
                        lambda seconds, entry, dataset, choices: dict(choices))


def cost(where: str, index: int, par: int) -> float:
    return [100.0 / par, 200.0, 20.0][index]


def test_a_tuning_ends_with_all_three_in_turn() -> None:
    sim = Simulated.of(CHAIN, cost)
    state = autotune(job_for(sim, inputs(a=[16], b=[2, 2]), repeats=1))
    one, other = state.final
    assert one.versions == {DEFAULT: ("V2",), TUNED: ("V1",), BEST: ("V1",)}
    assert one.same(TUNED, BEST)
    assert not one.same(DEFAULT, TUNED)
    ratio, low, high = speedup([one])
    assert low <= ratio <= high
    assert ratio == pytest.approx((200.0 + 0.5) / (100 / 16 + 0.5))
    assert other.same(DEFAULT, TUNED)  # V3 either way
    assert speedup([other]) == (1.0, 1.0, 1.0)


def test_a_choice_that_fails_has_no_times() -> None:
    sim = Simulated.of(CHAIN, cost, fail={("s", 1): CompilerLimitation("no")})
    (dataset,) = inputs(a=[1])
    found = run_side_by_side(sim, dataset, {
        DEFAULT: Choice({}, ("V3",)), TUNED: Choice({"main.t1": 1}, ("V2",))}, NORMAL.comparison)
    assert found is not None
    assert found.seconds.keys() == {DEFAULT}
    assert math.isnan(found.median(TUNED))
    assert all(map(math.isnan, speedup([found])))


def test_what_turns_out_slower_is_not_kept() -> None:
    slow = set[int]()
    sim = Simulated.of(CHAIN, lambda where, index, par: 300.0 if index in slow
                       else cost(where, index, par))
    job = job_for(sim, inputs(a=[16]), repeats=1)
    state = fit_thresholds(job, State())
    assert state.values != sim.default
    assert settle(job, state).values == state.values
    slow.add(0)
    after = settle(job, state)
    assert after.values == sim.default
    (entry,) = after.thresholds.entries
    assert entry.fit.kept_default == "in the end a got slower, and none faster"
    assert after.final[0].same(DEFAULT, TUNED)


def test_limits_hold_the_ratio() -> None:
    ratio, low, high = ratio_of_medians([([2.0, 2.2, 1.8] * 5, [1.0, 1.1, 0.9] * 5)],
                                        paired=False)
    assert ratio == 2.0
    assert 1.5 < low <= ratio <= high < 2.5
    few = ratio_of_medians([([3.0, 4.0], [1.0, 2.0])], paired=False)
    assert few == (pytest.approx(3.5 / 1.5), 1.5, 4.0)  # of so few, any two runs
    assert all(map(math.isnan, ratio_of_medians([([1.0], [])])))


def test_several_datasets_are_summed_up() -> None:
    pairs = [SideBySide(name, "main", {DEFAULT: (2.0 * k,) * 9, TUNED: (1.0 * k,) * 9}, {})
             for name, k in (("a", 1), ("b", 3))]
    assert speedup(pairs) == (2.0, 2.0, 2.0)
