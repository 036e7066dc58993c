"""Running tuned thresholds and the defaults side by side."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from runelift.runtime.tuner.measure.paired_comparison import (
    PairedRun,
    PairedTimes,
    compare_all_paired,
    compare_paired,
)
from runelift.runtime.tuner.policy import NORMAL
from tests.runtime.tuner.simulated import CHAIN, Simulated, close, inputs

POLICY = NORMAL.comparison
SHORT, LITTLE = POLICY.short_seconds, POLICY.steady_seconds
FEW, PAIRS, MANY = POLICY.long_pairs, POLICY.pairs, POLICY.short_pairs


class Clocked(Simulated):
    """Takes ``seconds``, and tuned a multiple of that which depends on the number of the run."""

    seconds: float
    tuned: Callable[[int], float]
    taken = 0.0
    runs = 0

    def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
        found = self.seconds * (self.tuned(self.runs) if options["thresholds"] else 1.0)
        self.runs += 1
        self.taken += found
        return found


def clocked(seconds: float, tuned: Callable[[int], float], monkeypatch: pytest.MonkeyPatch
            ) -> tuple[Clocked, PairedTimes]:
    """A program on whose clock only its runs take time, and its comparison."""
    sim = Clocked.of(CHAIN, close)
    sim.seconds, sim.tuned = seconds, tuned
    (dataset,) = inputs(a=[2])
    monkeypatch.setattr("runelift.runtime.tuner.measure.paired_comparison.time",
                        SimpleNamespace(perf_counter=lambda: sim.taken))
    both = compare_paired(sim, dataset, {}, {"main.t0": 1}, 3)
    assert both is not None
    return sim, both


@pytest.mark.parametrize(("seconds", "slow", "pairs"), [
    (2 * SHORT, (1, 1, 1.1), FEW), (2 * SHORT, (1, 1.02, 1.005), FEW),
    (2 * SHORT, (1.02, 1.03, 1.04), PAIRS), (2 * SHORT, (0.97, 0.98, 0.99), PAIRS),
    (SHORT / 2, (1, 1, 1.1), 2 * PAIRS),
    (2 * LITTLE, (0.97, 0.98, 0.995), 2 * PAIRS), (LITTLE / 2, (0.97, 0.98, 0.99), MANY),
    (2 * LITTLE, (0.96, 0.97, 0.98), PAIRS), (2 * LITTLE, (1.02, 1.03, 1.04), PAIRS),
    (LITTLE / 2, (0.95, 0.96, 0.97), 2 * PAIRS), (LITTLE / 20, (0.95, 0.96, 0.97), MANY)])
def test_undecided_runs_end_after_few_pairs_if_they_take_long(
        seconds: float, slow: Sequence[float], pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all pairs so far say the same, there are as many as it takes to be certain."""
    sim, both = clocked(seconds, lambda run: slow[(run + 1) // 2 % 3], monkeypatch)
    assert sim.runs == 2 + 2 * pairs
    assert both.faster == (max(slow) < 1)


@pytest.mark.parametrize(("launches", "others", "asked"), [
    (0, 0, False), (1, 0, False), (400, 0, True), (400, 399, False), (0, 400, False),
    (100, 0, False)])  # to save so many gains less than there is to lose
def test_runs_that_come_often_decide_where_the_default_launches_less(
        launches: int, others: int, asked: bool) -> None:
    """The default one is slower, until its launches are fused."""
    class Joining(Simulated):
        often = False

        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            return 1.1e-2 if options["thresholds"] else 1e-2 if self.often else 1.2e-2

        def time_all(self, entry, args, choices, *, often=False):  # type: ignore[no-untyped-def]
            self.often |= often
            return super().time_all(entry, args, choices, often=often)

        def saved_launches(self, entry, args, choices):  # type: ignore[no-untyped-def]
            return [others if thresholds else launches for thresholds in choices]

    sim = Joining.of(CHAIN, close)
    (dataset,) = inputs(a=[2])
    both = compare_paired(sim, dataset, {}, {"main.t0": 1}, 3)
    assert both is not None
    assert sim.often == asked
    assert (both.faster, both.slower) == (not asked, asked)


@pytest.mark.parametrize(("seconds", "anyway", "asked"), [
    ((1.1e-2, 1.1e-2), False, True),  # both are faster
    ((1.18e-2, 1.1e-2), False, True),  # one of them by so much that it is worth it
    ((1.18e-2, 1.18e-2), False, False),  # none is
    ((1.1e-2, 1.3e-2), False, False),  # one is slower: others will be tried
    ((1.2e-2, 1.2e-2), False, False),  # none is faster: the defaults stay
    ((1.2e-2, 1.2e-2), True, True)])
def test_kernels_for_runs_that_come_often_are_built_only_for_what_may_be_kept(
        seconds: tuple[float, float], anyway: bool, asked: bool) -> None:
    class Joining(Simulated):
        often = False

        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            return seconds[args[0]] if options["thresholds"] else 1.2e-2

        def time_all(self, entry, args, choices, *, often=False):  # type: ignore[no-untyped-def]
            self.often |= often
            return super().time_all(entry, args, choices, often=often)

        def saved_launches(self, entry, args, choices):  # type: ignore[no-untyped-def]
            return [0 if thresholds else 400 for thresholds in choices]

    sim = Joining.of(CHAIN, close)
    pairs = {d.name: PairedRun(sim, d, {}, {"main.t0": 1}, 3) for d in inputs(a=[0], b=[1])}
    found = compare_all_paired(pairs, anyway=lambda: anyway)
    assert found.keys() == pairs.keys()
    assert sim.often == asked
    assert any(each.faster for each in found.values()) == (min(seconds) < 1.15e-2)


def test_the_longest_runs_come_first() -> None:
    """Whatever the order of the datasets, which the results have."""
    timed: list[tuple[int, ...]] = []

    class Noted(Simulated):
        def time(self, entry, args, **options):  # type: ignore[no-untyped-def]
            timed.append(tuple(args))
            return super().time(entry, args, **options)

    sim = Noted.of(CHAIN, close)
    pairs = {each.name: PairedRun(sim, each, sim.default, sim.default, PAIRS, seconds=seconds)
             for each, seconds in zip(inputs(a=[2], b=[4], c=[8]), (1.0, 3.0, 2.0), strict=True)}
    found = compare_all_paired(pairs, anyway=lambda: False)
    assert list(dict.fromkeys(timed)) == [(4,), (8,), (2,)]
    assert list(found) == ["a", "b", "c"]


@pytest.mark.parametrize(("lasts", "slower"), [(4, False), (12, False), (1 << 30, True)])
def test_what_seems_slower_by_chance_runs_longer(lasts: int, slower: bool,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuned program is late in so many pairs, now and then; a loss that stays is one."""
    sim, both = clocked(
        SHORT, lambda run: 1.03 if run // 2 < lasts and run // 2 % 3 else 1.0, monkeypatch)
    assert both.slower == slower
    assert not both.doubtful
    assert POLICY.enough_seconds < sim.taken < POLICY.patience_seconds
